"""One call of the second reading: the statements with their evidence, the checks of the reader, and what it found."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from hashlib import blake2b
from typing import Annotated, Any, ClassVar, Final, cast

import regex
from pydantic import Field

from agentcore.domain.evidence import SourceRef
from agentcore.llm.chat import ChatMessage, ChatRequest, ChatRole, estimate_tokens
from dream.domain.rounds import Answer
from dream.domain.verification import (
    MOST_TOKENS,
    READ_AT_ONCE,
    VERIFY,
    VERIFY_INFERENCE,
    Assertion,
    EvidenceLine,
    Reading,
    SecondReading,
)
from dream.guards.detail import DetailKind
from dream.guards.details import measures_of
from dream.guards.verdict import EvidenceText, Verdict, judge
from dream.guards.wording import plain, sentences_of, words_of
from dream.passes.answers import TEXT, AnswerItem, TextList, answer_form, read_items
from dream.passes.cited_records import CitedRecords, weight_of
from dream.passes.conversation.quotes import holds_quote
from dream.passes.inference_checks import inference_checks_of
from dream.passes.prompts import fenced, system_text
from dream.passes.protocol import ModelContext
from dream.passes.reader_checks import CANARIES, CONTROLS, LONGEST_CHECK, checks_of, telling_words

_ATTRIBUTES: Final = 8
"""Tokens of the line of a statement without its text."""
_CHECKS: Final = CANARIES + CONTROLS
MOST_STATEMENTS: Final = READ_AT_ONCE + _CHECKS
"""Statements in one call, those that check the reader among them."""
_EXAMPLE: Final = 120
"""Tokens of a check that comes from a file, with its record."""

_SHAPE: Final = """\
A statement stands behind the handles of its own records. A record stands under its day: its speaker, by role or name,
or what it is; `about`, the time it tells of; its sentences, numbered from the second on: r4.1 is the first of r4, r4.2
the second; r4 is all of it, or its only one."""
CONTRACT: Final = f"""\
Answer with {{"readings": [...]}}, a row for each statement, none left out: its handle, then "says", "contradicts",
"not_said" or "incomplete", then the sentences that decide, or those left out, by their handles alone. As in
["s1", "says", "r4.2 r7"] or ["s2", "not_said"].
{_SHAPE}"""

_LETTERS: Final = "stuvwxyz"
"""Letters of handles, one for each round: an answer is none to another call."""
_INCOMPLETE: Final = "incomplete"
_RECORDS: Final = "Records:"
_STATEMENTS: Final = "Statements:"


class _ReadingItem(AnswerItem):
    called: ClassVar[str] = "reading {}"

    handle: Annotated[str, Field(validation_alias="id")]
    reading: Reading
    quotes: TextList = ()
    left_out: Annotated[TextList, Field(validation_alias="leftOut")] = ()

    def as_read(self) -> SecondReading:
        """Return what it says."""
        return SecondReading(reading=self.reading, quotes=self.quotes, left_out=self.left_out)


class _InferenceReading(StrEnum):
    """What a reader finds of a conclusion."""

    FOLLOWS = "follows"
    MAY = "may"
    DOES_NOT = "does_not"


class _InferenceItem(AnswerItem):
    called: ClassVar[str] = "reading {}"

    handle: Annotated[str, Field(validation_alias="id")]
    reading: _InferenceReading
    quotes: TextList = ()

    def as_read(self) -> SecondReading:
        """Return it as any second reading."""
        return SecondReading(reading=_AS_READ[self.reading], quotes=self.quotes)


_AS_READ: Final = {
    _InferenceReading.FOLLOWS: Reading.SAYS,
    _InferenceReading.MAY: Reading.NOT_SAID,
    _InferenceReading.DOES_NOT: Reading.CONTRADICTS,
}
_INFERENCE_CONTRACT: Final = f"""\
Answer with {{"readings": [...]}}, a row for each statement, none left out: its handle, then "follows", "may" or
"does_not", then, for "follows", the sentences that show it, one of each record, by their handles alone. As in
["s1", "follows", "r4.2 r7"].
{_SHAPE} In brackets stand the handles of what speaks against a statement."""


_FORM: Final = answer_form("readings", readings={"type": "array", "items": dict(TEXT)})


def in_objects(answer: Answer) -> Answer:
    """Return an answer whose readings are objects, where they were rows.

    Example:
        >>> in_objects({"readings": [["s1", "says", "moved"], ["s2", "incomplete", "when"]]})["readings"][1]
        {'id': 's2', 'reading': 'not_said', 'leftOut': ['when']}
    """
    given: object = answer.get("readings")
    if not isinstance(given, list):
        return answer
    return {**answer, "readings": [_in_object(one) for one in cast("list[object]", given)]}


def _in_object(given: object) -> object:
    if not isinstance(given, list):
        return given
    handle, reading, *texts = [*cast("list[object]", given), None, None][: max(2, len(cast("list[object]", given)))]
    if reading == _INCOMPLETE:
        return {"id": handle, "reading": Reading.NOT_SAID.value, "leftOut": texts}
    return {"id": handle, "reading": reading, "quotes": texts}


def first_of(
    pending: Sequence[tuple[int, Assertion]], most: int = MOST_STATEMENTS, tokens: int = MOST_TOKENS
) -> list[tuple[int, Assertion]]:
    """Return as many of the first statements as one call holds, one at least.

    Args:
        pending: The statements, by the caller's key.
        most: Statements in the call at most, its checks among them.
        tokens: Tokens of a prompt at most, directives aside.
    """
    used = 0
    longest = 0
    chosen: list[tuple[int, Assertion]] = []
    lines: dict[SourceRef | EvidenceLine, int] = {}
    for key, assertion in pending:
        shown = _weights(assertion)
        fresh = {one: weight for one, weight in shown.items() if weight > lines.get(one, 0)}
        told = estimate_tokens(assertion.text) + _ATTRIBUTES * max(1, len(assertion.evidence) // 4)
        used += told + sum(weight - lines.get(one, 0) for one, weight in fresh.items())
        longest = max(longest, min(told, LONGEST_CHECK))
        # The checks of the reader are made from what it reads, and come from a file.
        room = min(MOST_TOKENS, tokens) - CANARIES * (longest + _ATTRIBUTES) - _EXAMPLE
        if chosen and (used > room or len(chosen) >= min(most, READ_AT_ONCE)):
            break
        lines |= fresh
        chosen.append((key, assertion))
    return chosen


def _weights(assertion: Assertion) -> dict[SourceRef | EvidenceLine, int]:
    """Return what the records of a statement take of a prompt, each by what it is known by."""
    return {line if line.source is None else line.source: weight_of(line) for line in assertion.evidence}


@dataclass(frozen=True, slots=True)
class VerificationCall:
    """What one call reads: statements, and such beside them as the host knows to be true or false.

    Args:
        number: The round of the exchange: handles and order are another's in each.
        statements: What is to be decided, by the caller's key.
        canaries: Statements that the host knows to be false.
        controls: Statements that the host knows to be true.
    """

    number: int
    statements: tuple[tuple[int, Assertion], ...]
    canaries: tuple[Assertion, ...] = ()
    controls: tuple[Assertion, ...] = ()

    @classmethod
    def of(
        cls, statements: Sequence[tuple[int, Assertion]], number: int, proven: Sequence[Assertion] = ()
    ) -> "VerificationCall":
        """Return the call about these statements, as many as `first_of` takes; *proven* ones may serve as controls."""
        asked = [assertion for _, assertion in statements]
        infers = any(one.infers for one in asked)
        checks = inference_checks_of(asked, number) if infers else checks_of(asked, number, proven)
        return cls(number, tuple(statements), checks.canaries, checks.controls)

    def request(self, context: ModelContext) -> ChatRequest:
        """Return the question: each record once, under the day on which it was said."""
        asked, records = self.handled, self._records
        blocks = [
            _INFERENCE_CONTRACT if self.infers else CONTRACT,
            fenced(context.marker, _RECORDS, records.lines()),
            fenced(context.marker, _STATEMENTS, (records.statement(handle, one) for handle, one in asked)),
        ]
        return ChatRequest(
            messages=(
                ChatMessage(ChatRole.SYSTEM, system_text(context, (VERIFY_INFERENCE if self.infers else VERIFY,))),
                ChatMessage(ChatRole.USER, "\n\n".join(blocks)),
            ),
            max_output_tokens=context.options.model.answer_tokens,
            purpose=VERIFY,
            response_format=_FORM,
            temperature=0.0,
            model=context.options.model.verifier,
        )

    def read(self, answer: Answer) -> dict[int, SecondReading] | None:
        """Return what the reader found, by key; None if it let a false statement pass, or stopped a true one.

        What it says nothing of is not in it, nor what it says without showing it (`is_shown`). Of two readings of one
        statement the one counts that does not say `says`.
        """
        found: dict[Assertion, SecondReading] = {}
        given, records = self._given(answer), self._records
        for handle, one in self.handled:
            said = [_reading(one, _in_words(records, one, reading)) for named, reading in given if named == handle]
            denials = [reading for reading in said if reading.reading is not Reading.SAYS]
            if said:
                found[one] = denials[0] if denials else said[0]
        if any(found.get(one, _SAYS).reading is Reading.SAYS for one in self.canaries):
            return None
        if any(found.get(one, _DENIES).reading not in _ADMITTED for one in self.controls):
            return None
        return {key: found[one] for key, one in self.statements if one in found and counts(one, found[one])}

    def parts(self, answer: Answer) -> dict[Assertion, list[Mapping[str, Any]]]:
        """Return the items of an answer by their statements, as another call can read them: in words alone."""
        given, records = readings_by_handle(answer), self._records

        def told(one: Assertion, item: Mapping[str, Any]) -> dict[str, Any]:
            return {name: list(records.in_words(one, texts_in(item.get(name)))) for name in ("quotes", "leftOut")}

        return {one: [{**item, **told(one, item)} for item in given.get(handle, ())] for handle, one in self.handled}

    @property
    def _records(self) -> CitedRecords:
        return CitedRecords.of([one for _, one in self.handled])

    @property
    def infers(self) -> bool:
        """Whether it is about conclusions."""
        return any(one.infers for _, one in self.statements)

    def _given(self, answer: Answer) -> list[tuple[str, SecondReading]]:
        """Return the readings of an answer with the handles that they name."""
        most = 4 * MOST_STATEMENTS
        if self.infers:
            inferred, _ = read_items(in_objects(answer), "readings", _InferenceItem, what="readings", most=most)
            return [(one.handle, one.as_read()) for one in inferred]
        items, _ = read_items(in_objects(answer), "readings", _ReadingItem, what="readings", most=most)
        return [(one.handle, one.as_read()) for one in items]

    @property
    def handled(self) -> list[tuple[str, Assertion]]:
        """All that is asked, each once, in the order of the handles: by a hash, so that nothing tells a check."""
        told = {*(assertion for _, assertion in self.statements), *self.canaries, *self.controls}
        letter = _LETTERS[self.number % len(_LETTERS)]
        return [(f"{letter}{place}", one) for place, one in enumerate(sorted(told, key=self._place), 1)]

    def _place(self, assertion: Assertion) -> bytes:
        said = (f"{line.source}{line.text}{line.is_beside}" for line in assertion.evidence)
        told = "\x1f".join((str(self.number), assertion.text, *said))
        return blake2b(told.encode("utf-8", "replace"), digest_size=8).digest()


_SAYS: Final = SecondReading(reading=Reading.SAYS)
_DENIES: Final = SecondReading(reading=Reading.NOT_SAID)
_ADMITTED: Final = frozenset({Reading.SAYS, Reading.OFF_LIMITS})
"""What may be read of a statement that is known to be true."""


def _reading(assertion: Assertion, item: SecondReading) -> SecondReading:
    """Return what an item says; what leaves something out of the whole is not said."""
    says = item.reading is Reading.SAYS and not (assertion.whole and item.left_out)
    reading = Reading.SAYS if says else Reading.NOT_SAID if item.reading is Reading.SAYS else item.reading
    return SecondReading(reading=reading, quotes=item.quotes, left_out=item.left_out if assertion.whole else ())


def _in_words(records: CitedRecords, assertion: Assertion, item: SecondReading) -> SecondReading:
    quotes, left_out = records.in_words(assertion, item.quotes), records.in_words(assertion, item.left_out)
    return SecondReading(reading=item.reading, quotes=quotes, left_out=left_out)


def texts_in(given: object) -> list[str]:
    """Return the texts of a list; none of anything else."""
    return [one for one in cast("list[object]", given) if isinstance(one, str)] if isinstance(given, list) else []


def counts(assertion: Assertion, given: SecondReading) -> bool:
    """Tell whether a reading decides: a `says` does only if its quotes show it.

    Each quote has to stand in the evidence, and one at least in what a person said; each clause of the statement needs
    one, unless most of its words stand in what is quoted, dates and times aside; where the statement must tell the
    whole, each record needs one that has words of its own. The records quoted must not refute it by themselves, names
    aside: who is meant may stand in any record.

    Example:
        >>> line = EvidenceLine(text="I moved to Lisbon.", speaker="Ana", role="user")
        >>> told = Assertion(text="Ana lives in Lisbon.", evidence=(line,))
        >>> counts(told, SecondReading(reading=Reading.SAYS, quotes=("I live in Lisbon",)))
        False
    """
    if given.reading is not Reading.SAYS:
        return True
    if assertion.infers:
        return _is_inferred(assertion, given.quotes)
    quotes = (*given.quotes, *_repeated(assertion)) if given.quotes else ()
    quoting = [line for line in assertion.evidence if any(_holds(line.text, one) for one in quotes)]
    proving = [line for line in assertion.evidence if line.proves]
    unquoted = [line for line in proving if line not in quoting]
    if len(unquoted) == len(proving) or not all(any(_holds(line.text, one) for line in quoting) for one in quotes):
        return False
    if assertion.adds:
        return True
    if assertion.whole and _has_words_of_its_own(unquoted, [assertion.text, *(line.text for line in quoting)]):
        return False
    return _has_a_quote_each(assertion.text, quotes, quoting) and not _refuted(assertion.text, quoting)


def _is_inferred(assertion: Assertion, quotes: Sequence[str]) -> bool:
    """Tell whether words are quoted of each record that a conclusion rests on, and of no other text."""
    proving = [line for line in assertion.evidence if line.proves]
    is_shown = all(any(_holds(line.text, one) for one in quotes) for line in proving)
    return is_shown and all(any(_holds(line.text, one) for line in assertion.evidence) for one in quotes)


def _refuted(statement: str, quoting: Sequence[EvidenceLine]) -> bool:
    judged = judge(statement, [evidence_text(line) for line in quoting], beside=times_of(quoting))
    return judged.verdict is Verdict.REFUTED and any(one.kind is not DetailKind.NAME for one in judged.details)


def _repeated(assertion: Assertion) -> list[str]:
    """Return the sentences of the evidence that a statement says word for word: each is its own quote."""
    told = {words_of(sentence) for sentence in sentences_of(assertion.text)}
    said = [sentence for line in assertion.evidence if line.proves for sentence in sentences_of(line.text)]
    return [sentence for sentence in said if words_of(sentence) in told]


def _holds(text: str, quote: str) -> bool:
    return holds_quote(plain(text), plain(quote))


def _has_words_of_its_own(lines: Sequence[EvidenceLine], told: Sequence[str]) -> bool:
    """Tell whether one of the records has a telling word that stands in none of these texts."""
    known = telling_words(" ".join(told))
    return any(telling_words(line.text) - known for line in lines)


def _has_a_quote_each(statement: str, quotes: Sequence[str], quoting: Sequence[EvidenceLine]) -> bool:
    """Tell whether each clause of a statement can have a quote: words of its own, or others that no clause has.

    One whose words stand for the most part in the quoted records needs none, and dates and times are not counted: words
    decide about those.
    """
    clauses = [words for words in map(_to_be_shown, _CLAUSE.split(statement)) if len(words) >= _LEAST_WORDS]
    said = telling_words(" ".join(quotes))
    known = telling_words(" ".join(line.text for line in quoting))
    alone = [words for words in clauses if not words & said and 2 * len(words & known) < len(words)]
    other = said.difference(*clauses)
    return len(alone) * _LEAST_QUOTED <= len(other)


def _to_be_shown(clause: str) -> frozenset[str]:
    return telling_words(clause).difference(*(telling_words(one.text) for one in measures_of(clause)))


_LEAST_WORDS: Final = 3
"""Telling words of a clause that needs a quote."""
_LEAST_QUOTED: Final = 1
"""Telling words that a clause needs of the quotes where it shares none with them."""
_CLAUSE: Final = regex.compile(r"[.!?;:,\u060c\u061b\u061f]+(?:\s|$)|[\u3001\u3002\uff01\uff0c\uff1a\uff1b\uff1f]")


def evidence_text(line: EvidenceLine, quotes: Sequence[str] = ()) -> EvidenceText:
    """Return a line as the judge of words reads it; with *quotes* the sentences that hold one of them alone."""
    text = line.text
    if quotes:
        sentences = [one for one in sentences_of(text) if any(_holds(one, quote) for quote in quotes)]
        text = " ".join(sentences) or text
    return EvidenceText(text=text, speaker=line.speaker, is_person=line.proves, said_at=line.said_at)


def times_of(lines: Iterable[EvidenceLine]) -> list[EvidenceText]:
    """Return the times that records tell of as the judge of words reads them: beside the texts, they refute nothing."""
    return [EvidenceText(text=line.about.replace("..", " ")) for line in lines if line.about]


def readings_by_handle(answer: Answer) -> dict[str, list[Mapping[str, Any]]]:
    """Return the items of an answer by the handles of their statements, as they were given."""
    given = in_objects(answer).get("readings")
    found: dict[str, list[Mapping[str, Any]]] = {}
    for one in cast("list[object]", given) if isinstance(given, list) else []:
        item = cast("dict[str, Any]", one) if isinstance(one, dict) else {}
        if isinstance(item.get("id"), str):
            found.setdefault(item["id"], []).append(item)
    return found
