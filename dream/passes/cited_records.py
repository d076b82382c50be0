"""Shows a second reader the records that statements rest on: each once, sentence by sentence, whoever cites it."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby
from typing import Final, Self

import regex

from agentcore.domain.evidence import SourceRef
from agentcore.llm.chat import estimate_tokens
from dream.domain.verification import Assertion, EvidenceLine
from dream.passes.conversation.sentences import sentences_in
from dream.passes.prompts import quoted
from dream.passes.terms import terms_of

_ASSISTANT: Final = "assistant"
_LONGEST: Final = 400
"""Characters shown of what an assistant said: it proves nothing, and is there for what a person affirms of it."""
_LONGEST_BESIDE: Final = 200
"""Characters shown of what only stands beside: its end, its beginning, and what is said of it."""
_ATTRIBUTES: Final = 8
"""Tokens of a line without its text; a heading now and then is among them."""
_SHORT: Final = 30
"""Characters that a sentence has at least which stands behind a handle of its own."""
_ORDINAL: Final = regex.compile(r"\d\.$")
_HANDLE: Final = regex.compile(r"\[?r(\d+)(?:\.(\d+))?\]?")


@dataclass(frozen=True, slots=True)
class CitedRecords:
    """The records of one call.

    Args:
        handles: By line, in the order in which they were said.
        whole: Records that evidence cites, by their source: what stands beside another statement is the same line then.
        texts: The sentences that are shown of a line, by their numbers.
    """

    handles: Mapping[EvidenceLine, str]
    whole: Mapping[SourceRef, EvidenceLine]
    texts: Mapping[EvidenceLine, Mapping[int, str]]

    @classmethod
    def of(cls, assertions: Sequence[Assertion]) -> Self:
        """Number the records of these statements."""
        cited = [line for one in assertions for line in one.evidence]
        whole = {line.source: line for line in reversed(cited) if line.source is not None}
        whole |= {line.source: line for line in cited if line.source is not None and not line.is_beside}
        told: dict[EvidenceLine, list[str]] = {}
        beside: dict[EvidenceLine, bool] = {}
        for one in assertions:
            for line in one.evidence:
                shown = _plain(line, whole)
                told.setdefault(shown, []).append(one.text)
                beside[shown] = beside.get(shown, True) and line.is_beside
        ordered = sorted(
            told, key=lambda line: (line.said_at is None, line.said_at and line.said_at.timestamp(), line.text)
        )
        texts = {line: _shown(line, told[line], is_beside=beside[line]) for line in ordered}
        return cls({line: f"r{place}" for place, line in enumerate(ordered, 1)}, whole, texts)

    def lines(self) -> Iterator[str]:
        """Yield the lines of the records, each day under one heading."""
        for day, lines in groupby(self.handles, lambda line: line.said_at and line.said_at.date()):
            if day is not None:
                yield f"{day:%A %Y-%m-%d}"
            for line in lines:
                by = [line.role] if line.speaker is None or line.role != "user" else []
                by += [] if line.speaker is None else [quoted(line.speaker)]
                by += [] if line.about is None else [f"about={line.about}"]
                said = (f".{place} {quoted(text)}" if place > 1 else quoted(text) for place, text in self._said(line))
                yield f"[{self.handles[line]}] {' '.join(by)}: {' '.join(said)}"

    def statement(self, handle: str, assertion: Assertion) -> str:
        """Return the line of a statement, with the handles of what it rests on; of a conclusion what is against it."""
        evidence, beside = (
            " ".join(dict.fromkeys(self.handles[_plain(line, self.whole)] for line in lines))
            for lines in _sides(assertion)
        )
        marks = "".join(f" {mark}" for mark, is_set in (("whole", assertion.whole), ("adds", assertion.adds)) if is_set)
        against = f" ({beside})" if beside and assertion.infers else ""
        return f"[{handle}] {evidence}{against}{marks}: {quoted(assertion.text)}"

    def in_words(self, assertion: Assertion, named: Iterable[str]) -> tuple[str, ...]:
        """Return the words that a reader shows: copied ones as they are, and the sentences behind handles.

        A sentence of a record that the statement does not rest on shows nothing, and is left out.
        """
        own = {self.handles[_plain(line, self.whole)]: line for line in assertion.evidence}
        return tuple(dict.fromkeys(words for cell in named for words in self._words(cell, own)))

    def _words(self, cell: str, own: Mapping[str, EvidenceLine]) -> Iterator[str]:
        found = [_HANDLE.fullmatch(one) for one in cell.replace(",", " ").split()]
        handles = [one for one in found if one is not None]
        if not handles or len(handles) < len(found):
            yield cell
            return
        for one in handles:
            line = own.get(f"r{one[1]}")
            if line is not None:
                said = self.texts[_plain(line, self.whole)]
                chosen = said.values() if one[2] is None else [said[int(one[2])]] if int(one[2]) in said else []
                yield from (text.strip() for text in chosen if any(character.isalnum() for character in text))

    def _said(self, line: EvidenceLine) -> Iterable[tuple[int, str]]:
        return self.texts[line].items()


def weight_of(line: EvidenceLine) -> int:
    """Return what the line of a record takes of a prompt at most, in tokens."""
    most = _longest(line, is_beside=line.is_beside)
    text = line.text if most is None else line.text[:most]
    return estimate_tokens(text) + len(_pieces(text)) + _ATTRIBUTES


def _sides(assertion: Assertion) -> tuple[list[EvidenceLine], list[EvidenceLine]]:
    evidence = [line for line in assertion.evidence if not line.is_beside]
    return evidence, [line for line in assertion.evidence if line.is_beside]


def _plain(line: EvidenceLine, whole: Mapping[SourceRef, EvidenceLine]) -> EvidenceLine:
    """Return the line that is shown for one: it does not matter in which statement's place it stands."""
    known = line if line.source is None else whole.get(line.source, line)
    return replace(known, is_beside=False)


def _longest(line: EvidenceLine, *, is_beside: bool) -> int | None:
    """Return how many characters are shown of a line; None for all."""
    return _LONGEST_BESIDE if is_beside else _LONGEST if line.role == _ASSISTANT else None


def _shown(line: EvidenceLine, statements: Iterable[str], *, is_beside: bool) -> dict[int, str]:
    """Return the sentences that are shown of a record, by their numbers: of a long one those that explain something.

    What has most words of the statements comes first; of what only stands beside, its beginning and its end count as
    well, since others answer to them.
    """
    most = _longest(line, is_beside=is_beside)
    sentences = _pieces(line.text)
    if most is None or len(line.text) <= most:
        return dict(enumerate(sentences, 1))
    told = Counter({term: 1 for one in statements for term in terms_of(one)})
    weights = [len(told.keys() & set(terms_of(one))) for one in sentences]
    edges = {len(sentences) - 1: 1, 0: 2} if is_beside else {}
    ranked = sorted(range(len(sentences)), key=lambda place: (-weights[place], edges.get(place, 3), place))
    room, kept = most, set[int]()
    for place in ranked:
        room -= len(sentences[place])
        if kept and room < 0:
            break
        kept.add(place)
    return {place + 1: _to_a_word(sentences[place], most) for place in sorted(kept)}


@lru_cache(maxsize=4096)
def _pieces(text: str) -> tuple[str, ...]:
    r"""Return the sentences of a text as they stand there, with the breaks of their lines; short ones with the next.

    Example:
        >>> _pieces("Sorry! It is now on 14. April, not before. So I am away until the end of that month.")
        ('Sorry! It is now on 14. April, not before.', 'So I am away until the end of that month.')
    """
    pieces: list[str] = []
    begin, end = 0, 0
    for sentence in sentences_in(text):
        end = text.index(sentence, end) + len(sentence)
        gap = len(text[end:]) - len(text[end:].lstrip())
        is_line = "\n" in text[end : end + gap]
        if is_line or (end - begin >= _SHORT and not _ORDINAL.search(sentence)):
            pieces.append(text[begin : end + gap if is_line else end])
            begin = end = end + gap
    left = text[begin:].strip()
    return (*pieces, left) if left or not pieces else tuple(pieces)


def _to_a_word(text: str, most: int) -> str:
    """Return the beginning of a text, up to the end of a word."""
    if len(text) <= most:
        return text
    return text[:most].rpartition(" ")[0] or text[:most]
