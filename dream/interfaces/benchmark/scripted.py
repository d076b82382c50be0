"""Answers a dream's prompts by rules where no model may be asked, so that a benchmark gives the same figures twice.

There is no intelligence in them. They copy sentences and join nearly equal ones, which shows that the machinery around
a model works and what it costs, and nothing of what a model would find.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, cast

import orjson

from dream.domain.built_in_passes import FACT_MINING
from dream.passes.reader_checks import true_examples

ALIKE = 0.5
"""Share of their words that two entries have in common from which they are joined."""

_FENCED = re.compile(r"^<<<(\S+)\n(.*?)^\1>>>$", re.DOTALL | re.MULTILINE)
_STRING = r'"(?:[^"\\]|\\.)*"'
_LINE = re.compile(rf"\[([a-z]+\d+)\] (.*?)((?:\.\d+ )?{_STRING}(?: \.\d+ {_STRING})*)")
_TOLD = re.compile(_STRING)
_ATTRIBUTE = re.compile(rf"([\w-]+)(?:=({_STRING}|\S+))?")
_STATEMENT = re.compile(rf'\[([s-z]\d+)\] ((?:r\d+ ?)+)(?:\([^)]*\))?([^"]*): ({_STRING})')
_SAID = re.compile(rf"(?:(\w+) ?)?({_STRING})?(?: ?about=\S+)?( read-before)?: ")
_PART = re.compile(r'^# Part "([\w-]+)"$', re.MULTILINE)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_WORD = re.compile(r"[\w'-]+")
_OF_ONESELF = frozenset({"i", "i'm", "i've", "i'd", "i'll", "my", "me", "we", "we're", "we've", "our"})
_FEWEST_WORDS = 6
_SAME_EACH_TIME: Mapping[str, Mapping[str, Any]] = {
    '"rating"': {"rating": "fair", "summary": "Something was said."},
    '"themes"': {"themes": []},
    '"edits"': {"edits": []},
    '"summary"': {"toSave": [], "toDelete": []},
}
"""What is said to contracts that name a field, the first that does: of a session, the diary, MEMORY.md, skills."""
_NOT_TO_CHANGE = "context-only"
_READ_BEFORE = "read-before"


@dataclass(frozen=True, slots=True)
class Record:
    """One line of data in a prompt.

    Args:
        handle: What an answer calls it.
        attributes: What stands beside the text; marks have no value.
        text: What the record says.
    """

    handle: str
    attributes: Mapping[str, str]
    text: str

    @property
    def is_settled(self) -> bool:
        """Whether it is shown for what others refer to, and nothing is asked about it."""
        return not {_NOT_TO_CHANGE, _READ_BEFORE}.isdisjoint(self.attributes)

    @property
    def words(self) -> frozenset[str]:
        """Its words in lower case."""
        return frozenset(_words(self.text))


def scripted_answer(prompt: str) -> str:
    r"""Answer the prompt of a dream by rule; the same prompt always gets the same answer.

    Of turns (handles `t1`, `t2`, ...), each user's first statement about themselves becomes a fact that quotes it word
    for word; no episode and no preference is found in them. Of entries (`e1`, ...), two of one category that share half
    of their words are merged by joining both texts. Failures of wisps (`w1`, ...) come from outside, and no skill is
    told of them; of a conversation at rest nothing can be said but that it is `fair`, and a diary gets no theme.
    Nothing is ever superseded or dropped; MEMORY.md and other records are left alone. Read a second time, a statement
    is said if it is copied from its evidence, and tells every word of it where it has to tell the whole.

    Args:
        prompt: All messages, as `agentcore.testing.ServedRequest.prompt` gives them.

    Example:
        >>> turn = '[t1] at=2025-05-08T18:05 speaker=Marta role=user "Thanks! We finally moved to Braga last month."'
        >>> scripted_answer(f"Find facts.\n<<<k7\n{turn}\nk7>>>")[:66]
        '{"facts":[{"content":"Marta said: We finally moved to Braga last m'
    """
    records = list(records_in(prompt))
    if '"readings"' in prompt:
        return _written({"readings": list(_readings(prompt, {record.handle: record for record in records}))})
    parts = _PART.findall(prompt)
    if parts:
        turns = [record for record in records if record.handle.startswith("t")]
        return _written({name: list(_facts(turns)) if name == FACT_MINING.name else [] for name in parts})
    for field, said in _SAME_EACH_TIME.items():
        if field in prompt:
            return _written(said)
    wisps = [record.handle for record in records if record.handle.startswith("w")]
    if wisps:
        patterns = [{"pattern": handle, "classification": "external"} for handle in wisps]
        return _written({"patterns": patterns, "skillUpdates": []})
    turns = [record for record in records if record.handle.startswith("t")]
    if turns:
        return _written({"facts": list(_facts(turns)), "toSave": []})
    entries = [record for record in records if record.handle.startswith("e")]
    return _written({"toSave": list(_merges(entries)), "toDelete": []})


def records_in(prompt: str) -> Iterator[Record]:
    """Yield the records that a dream's prompt holds between its fences; what directives show as examples is none."""
    return (record for line in fenced_lines(prompt) if (record := record_of(line)) is not None)


def fenced_lines(prompt: str) -> Iterator[str]:
    """Yield the lines of data between the fences of a dream's prompt."""
    for _, block in _FENCED.findall(prompt):
        yield from cast("str", block).splitlines()


def record_of(line: str) -> Record | None:
    """Return the record that a line of data tells; None of another line."""
    found = _LINE.fullmatch(line)
    if found is None:
        return None
    said = _SAID.fullmatch(found[2])
    if said is not None:
        told = {"role": said[1] or "user", "speaker": said[2] and _read(said[2]), _READ_BEFORE: said[3]}
        return Record(found[1], {name: value for name, value in told.items() if value}, _text_in(found[3]))
    attributes = {name: _read(value) for name, value in _ATTRIBUTE.findall(found[2])}
    return Record(found[1], attributes, _text_in(found[3]))


def _text_in(strings: str) -> str:
    """Return the text of a record: one string, or its sentences with their numbers."""
    told = [str(orjson.loads(one)) for one in _TOLD.findall(strings)]
    return "".join(one if one.endswith("\n") else f"{one} " for one in told).strip()


def _read(value: str) -> str:
    return str(orjson.loads(value)) if value.startswith('"') else value


def _facts(turns: Iterable[Record]) -> Iterator[dict[str, Any]]:
    for turn in turns:
        if turn.attributes.get("role", "user") != "user" or _READ_BEFORE in turn.attributes:
            continue
        statement = next(filter(_is_statement, _SENTENCE_END.split(turn.text)), None)
        if statement is not None:
            speaker = turn.attributes.get("speaker")
            yield {
                "content": _as_said(turn, statement),
                "category": f"people/{speaker}" if speaker else "general",
                "tags": [],
                "sourceTurns": [turn.handle],
                "quote": statement,
            }


def _is_statement(sentence: str) -> bool:
    words = _words(sentence)
    return len(words) >= _FEWEST_WORDS and not sentence.endswith("?") and not _OF_ONESELF.isdisjoint(words)


def _merges(entries: Iterable[Record]) -> Iterator[dict[str, Any]]:
    used: set[str] = set()
    for one, other in combinations(entries, 2):
        if used.isdisjoint({one.handle, other.handle}) and _are_alike(one, other):
            used |= {one.handle, other.handle}
            yield {
                "content": _joined(one, other),
                "category": one.attributes.get("category", "general"),
                "tags": [],
                "sourceIds": [one.handle, other.handle],
                "reason": "nearly the same words",
            }


def _are_alike(one: Record, other: Record) -> bool:
    if _NOT_TO_CHANGE in one.attributes or _NOT_TO_CHANGE in other.attributes:
        return False
    if any(one.attributes.get(name) != other.attributes.get(name) for name in ("category", "subject")):
        return False
    return len(one.words & other.words) >= ALIKE * len(one.words | other.words)


def _joined(one: Record, other: Record) -> str:
    """Return both texts, or the one that holds every word of the other."""
    if other.words <= one.words:
        return one.text
    if one.words <= other.words:
        return other.text
    return f"{one.text.rstrip('. ')}. {other.text}"


def _readings(prompt: str, records: Mapping[str, Record]) -> Iterator[dict[str, Any]]:
    for line in fenced_lines(prompt):
        found = _STATEMENT.fullmatch(line)
        if found is not None:
            handle, cited, marks, text = found.groups()
            evidence = [records[one] for one in cited.split()]
            quotes = _quotes(orjson.loads(text), evidence, is_whole="whole" in marks.split())
            yield {"id": handle, "reading": "says" if quotes else "not_said", "quotes": quotes, "leftOut": []}


def _quotes(text: str, evidence: Sequence[Record], *, is_whole: bool) -> list[str]:
    """Return the sentences that a statement was copied from; none if it was not, or if it leaves a word out."""
    if text in true_examples():
        return [evidence[0].text]
    said = {said: sentence for record in evidence for said, sentence in _copies(record)}
    quotes = [said.get(tuple(_words(sentence)), "") for sentence in _SENTENCE_END.split(text)]
    words = set(_words(text))
    is_short = is_whole and any(not words.issuperset(_words(record.text)) for record in evidence)
    if is_short or not all(quotes):
        return []
    return [*quotes, *(_SENTENCE_END.split(record.text)[0] for record in evidence)] if is_whole else quotes


def _copies(record: Record) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the words in which a sentence of a record may be told, each with the sentence."""
    for sentence in _SENTENCE_END.split(record.text):
        if record.attributes.get("role") != "assistant":
            yield tuple(_words(_as_said(record, sentence))), sentence
        if record.attributes.get("role") in {"entry", "item"}:
            yield tuple(_words(sentence)), sentence


def _as_said(record: Record, sentence: str) -> str:
    return f"{record.attributes.get('speaker') or 'The user'} said: {sentence}"


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]


def _written(answer: Mapping[str, Any]) -> str:
    return orjson.dumps(answer).decode()
