"""One call of the second reading: the statements with their evidence, the checks of the reader, and what it found."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from itertools import chain
from typing import Annotated, ClassVar, Final

import regex
from pydantic import Field, WithJsonSchema

from agentcore.llm.chat import ChatMessage, ChatRequest, ChatRole, estimate_tokens
from dream.domain.rounds import Answer
from dream.domain.verification import VERIFY, Assertion, EvidenceLine, Reading, SecondReading
from dream.guards.verdict import EvidenceText, Verdict, judge
from dream.passes.answers import TEXTS, AnswerItem, TextList, answer_form, choice_of, item_schema, read_items
from dream.passes.conversation.evidence import holds_quote
from dream.passes.prompts import fenced, quoted, system_text
from dream.passes.protocol import ModelContext

MOST_STATEMENTS: Final = 18
"""Statements in one call, those that check the reader among them."""
MOST_TOKENS: Final = 6_000
"""Tokens of statements and evidence in one call."""
_CANARIES: Final = 2
_CONTROLS: Final = 1
_ATTRIBUTES: Final = 20
"""Tokens of a line without its text."""

CONTRACT: Final = """\
Answer with {"readings": [...]}, one item for each statement, none left out. Each has:
- "id": the statement's handle, such as "s1c07";
- "reading": "says", "contradicts" or "not_said";
- "quotes": words copied unchanged from its evidence, or [];
- "leftOut": what a statement marked `whole` leaves out, or [].
A statement's `evidence` and `beside` name the records it is judged by; no other record counts for it."""

_RECORDS: Final = "Records:"
_STATEMENTS: Final = "Statements:"


class _ReadingItem(AnswerItem):
    called: ClassVar[str] = "reading {}"

    handle: Annotated[str, Field(validation_alias="id")]
    reading: Annotated[Reading, WithJsonSchema(choice_of(Reading))]
    quotes: TextList = ()
    left_out: Annotated[TextList, WithJsonSchema(dict(TEXTS)), Field(validation_alias="leftOut")] = ()


_FORM: Final = answer_form("readings", readings=item_schema(_ReadingItem))


def first_of(pending: Sequence[tuple[int, Assertion]]) -> list[tuple[int, Assertion]]:
    """Return as many of the first statements as one call holds, one at least."""
    chosen: list[tuple[int, Assertion]] = []
    lines: set[EvidenceLine] = set()
    tokens = 0
    for key, assertion in pending:
        fresh = set(assertion.evidence) - lines
        tokens += estimate_tokens(assertion.text) + sum(estimate_tokens(line.text) + _ATTRIBUTES for line in fresh)
        if chosen and (tokens > MOST_TOKENS or len(chosen) >= MOST_STATEMENTS - _CANARIES - _CONTROLS):
            break
        lines |= fresh
        chosen.append((key, assertion))
    return chosen


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
    canaries: tuple[Assertion, ...] = field(default=())
    controls: tuple[Assertion, ...] = field(default=())

    @classmethod
    def of(cls, statements: Sequence[tuple[int, Assertion]], number: int) -> "VerificationCall":
        """Return the call about these statements: as many as `first_of` takes."""
        told = [assertion for _, assertion in statements]
        return cls(number, tuple(statements), tuple(canaries_of(told, number)), tuple(controls_of(told, number)))

    def request(self, context: ModelContext) -> ChatRequest:
        """Return the question."""
        asked = sorted(chain(self._handles(self._asked)), key=lambda one: one[0])
        records = {line: f"r{place}" for place, line in enumerate(_lines(one for _, one in asked), 1)}
        blocks = [
            CONTRACT,
            fenced(context.marker, _RECORDS, (_record(handle, line) for line, handle in records.items())),
            fenced(context.marker, _STATEMENTS, (_statement(handle, one, records) for handle, one in asked)),
        ]
        return ChatRequest(
            messages=(
                ChatMessage(ChatRole.SYSTEM, system_text(context, (VERIFY,))),
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

        What it says nothing of is not in it. A `says` counts only with quotes that stand in the evidence, and only if
        these alone do not refute the statement.
        """
        items, _ = read_items(answer, "readings", _ReadingItem, what="readings", most=4 * MOST_STATEMENTS)
        found = {
            one.handle: SecondReading(reading=one.reading, quotes=one.quotes, left_out=one.left_out) for one in items
        }
        readings = {handle: held(one, found[handle]) for handle, one in self._handles(self._asked) if handle in found}
        if any(found.get(self._handle(one), _PASSED).reading is Reading.SAYS for one in self.canaries):
            return None
        if any(readings.get(self._handle(one), _STOPPED).reading is not Reading.SAYS for one in self.controls):
            return None
        keys = {self._handle(assertion): key for key, assertion in self.statements}
        return {keys[handle]: one for handle, one in readings.items() if handle in keys}

    @property
    def _asked(self) -> list[Assertion]:
        return [*(assertion for _, assertion in self.statements), *self.canaries, *self.controls]

    def _handles(self, assertions: Iterable[Assertion]) -> Iterator[tuple[str, Assertion]]:
        return ((self._handle(one), one) for one in assertions)

    def _handle(self, assertion: Assertion) -> str:
        """Return the handle of a statement in this call: a hash, so that nothing tells a check from the others."""
        told = "\x1f".join((str(self.number), assertion.text, *(line.text for line in assertion.evidence)))
        return f"s{blake2b(told.encode('utf-8', 'replace'), digest_size=4).hexdigest()[:5]}"


_PASSED: Final = SecondReading(reading=Reading.SAYS)
_STOPPED: Final = SecondReading(reading=Reading.NOT_SAID)


def held(assertion: Assertion, given: SecondReading) -> SecondReading:
    """Return a reading as far as it can be believed: a `says` without quotes that prove it is none.

    Example:
        >>> line = EvidenceLine(text="I moved to Lisbon.", speaker="Ana", role="user")
        >>> told = Assertion(text="Ana lives in Lisbon.", evidence=(line,))
        >>> held(told, SecondReading(reading=Reading.SAYS, quotes=("I live in Lisbon",))).reading
        <Reading.NOT_SAID: 'not_said'>
    """
    if given.reading is not Reading.SAYS:
        return given
    if given.left_out and assertion.whole:
        return replace(given, reading=Reading.NOT_SAID)
    lines = [line for line in assertion.evidence if any(holds_quote(line.text, quote) for quote in given.quotes)]
    stands = given.quotes and all(
        any(holds_quote(line.text, quote) for line in assertion.evidence) for quote in given.quotes
    )
    if not stands or not any(not line.is_beside for line in lines):
        return replace(given, reading=Reading.NOT_SAID)
    if assertion.adds:
        return given
    said = [evidence_text(line, given.quotes) for line in lines]
    # What tells all of its evidence is too long to be quoted whole.
    beside = [evidence_text(line) for line in assertion.evidence] if assertion.whole else []
    refuted = judge(assertion.text, said, beside=beside).verdict is Verdict.REFUTED
    return replace(given, reading=Reading.CONTRADICTS) if refuted else given


def evidence_text(line: EvidenceLine, quotes: Sequence[str] = ()) -> EvidenceText:
    """Return a line as the judge of words reads it; with *quotes* the sentences that hold one of them alone."""
    text = line.text
    if quotes:
        sentences = [one for one in _SENTENCE.split(text) if any(holds_quote(one, quote) for quote in quotes)]
        text = " ".join(sentences) or text
    return EvidenceText(text=text, speaker=line.speaker, is_person=line.proves, said_at=line.said_at)


_SENTENCE: Final = regex.compile(r"(?<=[.!?\u2026\u061f])\s+|(?<=[\u3002\uff01\uff1f])|\n+")


def canaries_of(assertions: Sequence[Assertion], number: int) -> Iterator[Assertion]:
    """Yield statements that are false beyond doubt: a name exchanged or all denied, and one beside foreign evidence."""
    if not assertions:
        return
    mine = assertions[number % len(assertions)]
    yield _turned(mine, assertions)
    other = next((one for one in assertions if not set(one.evidence) & set(mine.evidence)), None)
    if other is not None:
        yield Assertion(text=mine.text, evidence=other.evidence)


def _turned(assertion: Assertion, beside: Sequence[Assertion]) -> Assertion:
    names = {line.speaker for one in beside for line in one.evidence if line.speaker}
    mine = next((name for name in sorted(names) if name in assertion.text), None)
    others = sorted(name for name in names if name not in assertion.text)
    if mine is not None and others:
        return replace(assertion, text=assertion.text.replace(mine, others[0]), whole=False)
    return replace(assertion, text=f"It is not true that: {assertion.text}", whole=False)


def controls_of(assertions: Sequence[Assertion], number: int) -> Iterator[Assertion]:
    """Yield statements that are true beyond doubt: what somebody said, word for word."""
    said = [line for one in assertions for line in one.evidence if line.proves and line.speaker]
    if said:
        line = said[number % len(said)]
        sentence = max(_SENTENCE.split(line.text), key=len).strip()
        yield Assertion(text=f'{line.speaker} said: "{sentence}"', evidence=(line,))


def _lines(assertions: Iterable[Assertion]) -> list[EvidenceLine]:
    """Return each line once, in the order in which they were said."""
    distinct = dict.fromkeys(replace(line, is_beside=False) for one in assertions for line in one.evidence)
    return sorted(
        distinct, key=lambda line: (line.said_at is None, line.said_at and line.said_at.timestamp(), line.text)
    )


def _record(handle: str, line: EvidenceLine) -> str:
    at = "" if line.said_at is None else f" at={line.said_at:%Y-%m-%dT%H:%MZ %A}"
    speaker = "" if line.speaker is None else f" speaker={quoted(line.speaker)}"
    return f"[{handle}]{at} role={line.role}{speaker} {quoted(line.text)}"


def _statement(handle: str, assertion: Assertion, records: dict[EvidenceLine, str]) -> str:
    named = {
        is_beside: ",".join(
            records[replace(line, is_beside=False)] for line in assertion.evidence if line.is_beside is is_beside
        )
        for is_beside in (False, True)
    }
    beside = f" beside={named[True]}" if named[True] else ""
    marks = "".join(f" {mark}" for mark, is_set in (("whole", assertion.whole), ("adds", assertion.adds)) if is_set)
    return f"[{handle}] evidence={named[False]}{beside}{marks} {quoted(assertion.text)}"
