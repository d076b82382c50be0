"""One call of the second reading: the statements with their evidence, the checks of the reader, and what it found."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from hashlib import blake2b
from itertools import groupby
from typing import Annotated, Any, ClassVar, Final, cast

import regex
from pydantic import Field, WithJsonSchema

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
from dream.guards.verdict import EvidenceText, Verdict, judge
from dream.guards.wording import plain, sentences_of, words_of
from dream.passes.answers import TEXTS, AnswerItem, TextList, answer_form, choice_of, item_schema, read_items
from dream.passes.conversation.evidence import holds_quote
from dream.passes.inference_checks import inference_checks_of
from dream.passes.prompts import fenced, quoted, system_text
from dream.passes.protocol import ModelContext
from dream.passes.reader_checks import CANARIES, CONTROLS, LONGEST_CHECK, checks_of, telling_words

_ATTRIBUTES: Final = 20
"""Tokens of a line without its text."""
_CHECKS: Final = CANARIES + CONTROLS
MOST_STATEMENTS: Final = READ_AT_ONCE + _CHECKS
"""Statements in one call, those that check the reader among them."""
_CHECKED: Final = _CHECKS * (LONGEST_CHECK + _ATTRIBUTES)
"""Tokens of the checks at most, which are left for no statement."""

CONTRACT: Final = """\
Answer with {"readings": [...]}, one item for each statement, none left out. Each has:
- "id": the statement's handle, such as "s1c07";
- "reading": "says", "contradicts" or "not_said";
- "quotes": words copied unchanged from its evidence, or [];
- "leftOut": what a statement marked `whole` leaves out, or [].
A statement's `evidence` and `beside` name the records it is judged by; no other record counts for it."""

_BY_DAY: Final = """
A record stands under the day on which it was said, with the time (UTC), the role and the name of who said it."""
_RECORDS: Final = "Records:"
_STATEMENTS: Final = "Statements:"


class _ReadingItem(AnswerItem):
    called: ClassVar[str] = "reading {}"

    handle: Annotated[str, Field(validation_alias="id")]
    reading: Annotated[Reading, WithJsonSchema(choice_of(one for one in Reading if one is not Reading.OFF_LIMITS))]
    quotes: TextList = ()
    left_out: Annotated[TextList, WithJsonSchema(dict(TEXTS)), Field(validation_alias="leftOut")] = ()

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
    reading: Annotated[_InferenceReading, WithJsonSchema(choice_of(_InferenceReading))]
    quotes: TextList = ()

    def as_read(self) -> SecondReading:
        """Return it as any second reading."""
        return SecondReading(reading=_AS_READ[self.reading], quotes=self.quotes)


_AS_READ: Final = {
    _InferenceReading.FOLLOWS: Reading.SAYS,
    _InferenceReading.MAY: Reading.NOT_SAID,
    _InferenceReading.DOES_NOT: Reading.CONTRADICTS,
}
_INFERENCE_CONTRACT: Final = """\
Answer with {"readings": [...]}, one item for each statement, none left out. Each has:
- "id": the statement's handle, such as "s1c07";
- "reading": "follows", "may" or "does_not";
- "quotes": words copied unchanged from its evidence, for "follows" of each record, or [].
A statement's `evidence` and `beside` name the records it is judged by; no other record counts for it."""


class _WaryReadingItem(_ReadingItem):
    reading: Annotated[Reading, WithJsonSchema(choice_of(Reading))]


_FORM: Final = answer_form("readings", readings=item_schema(_ReadingItem))
_INFERENCE_FORM: Final = answer_form("readings", readings=item_schema(_InferenceItem))
_WARY_FORM: Final = answer_form("readings", readings=item_schema(_WaryReadingItem))
"""The same where there are off-limits topics."""


def first_of(
    pending: Sequence[tuple[int, Assertion]], most: int = MOST_STATEMENTS, tokens: int = MOST_TOKENS
) -> list[tuple[int, Assertion]]:
    """Return as many of the first statements as one call holds, one at least.

    Args:
        pending: The statements, by the caller's key.
        most: Statements in the call at most, its checks among them.
        tokens: Tokens of a prompt at most, directives aside.
    """
    room = min(MOST_TOKENS, tokens) - _CHECKED
    used = 0
    chosen: list[tuple[int, Assertion]] = []
    lines: set[EvidenceLine] = set()
    for key, assertion in pending:
        fresh = set(assertion.evidence) - lines
        used += estimate_tokens(assertion.text) + sum(estimate_tokens(line.text) + _ATTRIBUTES for line in fresh)
        if chosen and (used > room or len(chosen) >= min(most, READ_AT_ONCE)):
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

    def request(self, context: ModelContext, *, by_day: bool = False) -> ChatRequest:
        """Return the question; *by_day* with the records under the days on which they were said, in fewer tokens."""
        asked = self.handled
        records = {line: f"r{place}" for place, line in enumerate(_lines(one for _, one in asked), 1)}
        lines = _by_day(records) if by_day else (_record(handle, line) for line, handle in records.items())
        blocks = [
            _INFERENCE_CONTRACT if self.infers else CONTRACT + (_BY_DAY if by_day else ""),
            fenced(context.marker, _RECORDS, lines),
            fenced(context.marker, _STATEMENTS, (_statement(handle, one, records) for handle, one in asked)),
        ]
        return ChatRequest(
            messages=(
                ChatMessage(ChatRole.SYSTEM, system_text(context, (VERIFY_INFERENCE if self.infers else VERIFY,))),
                ChatMessage(ChatRole.USER, "\n\n".join(blocks)),
            ),
            max_output_tokens=context.options.model.answer_tokens,
            purpose=VERIFY,
            response_format=_INFERENCE_FORM if self.infers else _WARY_FORM if context.off_limits else _FORM,
            temperature=0.0,
            model=context.options.model.verifier,
        )

    def read(self, answer: Answer) -> dict[int, SecondReading] | None:
        """Return what the reader found, by key; None if it let a false statement pass, or stopped a true one.

        What it says nothing of is not in it, nor what it says without showing it (`is_shown`). Of two readings of one
        statement the one counts that does not say `says`.
        """
        found: dict[Assertion, SecondReading] = {}
        given = self._given(answer)
        for handle, one in self.handled:
            said = [_reading(one, reading) for named, reading in given if named == handle]
            denials = [reading for reading in said if reading.reading is not Reading.SAYS]
            if said:
                found[one] = denials[0] if denials else said[0]
        if any(found.get(one, _SAYS).reading is Reading.SAYS for one in self.canaries):
            return None
        if any(found.get(one, _DENIES).reading not in _ADMITTED for one in self.controls):
            return None
        return {key: found[one] for key, one in self.statements if one in found and counts(one, found[one])}

    @property
    def infers(self) -> bool:
        """Whether it is about conclusions."""
        return any(one.infers for _, one in self.statements)

    def _given(self, answer: Answer) -> list[tuple[str, SecondReading]]:
        """Return the readings of an answer with the handles that they name."""
        most = 4 * MOST_STATEMENTS
        if self.infers:
            inferred, _ = read_items(answer, "readings", _InferenceItem, what="readings", most=most)
            return [(one.handle, one.as_read()) for one in inferred]
        items, _ = read_items(answer, "readings", _ReadingItem, what="readings", most=most)
        return [(one.handle, one.as_read()) for one in items]

    @property
    def handled(self) -> list[tuple[str, Assertion]]:
        """All that is asked, each once, in the order of the handles."""
        told = {*(assertion for _, assertion in self.statements), *self.canaries, *self.controls}
        return sorted(((self._handle(one), one) for one in told), key=lambda one: one[0])

    def _handle(self, assertion: Assertion) -> str:
        """Return the handle of a statement in this call: a hash, so that nothing tells a check from the others."""
        said = (f"{line.source}{line.text}{line.is_beside}" for line in assertion.evidence)
        told = "\x1f".join((str(self.number), assertion.text, *said))
        return f"s{blake2b(told.encode('utf-8', 'replace'), digest_size=4).hexdigest()[:6]}"


_SAYS: Final = SecondReading(reading=Reading.SAYS)
_DENIES: Final = SecondReading(reading=Reading.NOT_SAID)
_ADMITTED: Final = frozenset({Reading.SAYS, Reading.OFF_LIMITS})
"""What may be read of a statement that is known to be true."""


def _reading(assertion: Assertion, item: SecondReading) -> SecondReading:
    """Return what an item says; what leaves something out of the whole is not said."""
    says = item.reading is Reading.SAYS and not (assertion.whole and item.left_out)
    reading = Reading.SAYS if says else Reading.NOT_SAID if item.reading is Reading.SAYS else item.reading
    return SecondReading(reading=reading, quotes=item.quotes, left_out=item.left_out if assertion.whole else ())


def counts(assertion: Assertion, given: SecondReading) -> bool:
    """Tell whether a reading decides: a `says` does only if its quotes show it.

    Each quote has to stand in the evidence, and one at least in what a person said; each clause of the statement needs
    one; where the statement must tell the whole, each record needs one. The records quoted must not refute it
    by themselves, names aside: who is meant may stand in any record.

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
    if len(unquoted) == len(proving) or (assertion.whole and not assertion.adds and unquoted):
        return False
    if not all(any(_holds(line.text, one) for line in quoting) for one in quotes):
        return False
    return assertion.adds or (_has_a_quote_each(assertion.text, quotes) and not _refuted(assertion.text, quoting))


def _is_inferred(assertion: Assertion, quotes: Sequence[str]) -> bool:
    """Tell whether words are quoted of each record that a conclusion rests on, and of no other text."""
    proving = [line for line in assertion.evidence if line.proves]
    is_shown = all(any(_holds(line.text, one) for one in quotes) for line in proving)
    return is_shown and all(any(_holds(line.text, one) for line in assertion.evidence) for one in quotes)


def _refuted(statement: str, quoting: Sequence[EvidenceLine]) -> bool:
    judged = judge(statement, [evidence_text(line) for line in quoting])
    return judged.verdict is Verdict.REFUTED and any(one.kind is not DetailKind.NAME for one in judged.details)


def _repeated(assertion: Assertion) -> list[str]:
    """Return the sentences of the evidence that a statement says word for word: each is its own quote."""
    told = {words_of(sentence) for sentence in sentences_of(assertion.text)}
    said = [sentence for line in assertion.evidence if line.proves for sentence in sentences_of(line.text)]
    return [sentence for sentence in said if words_of(sentence) in told]


def _holds(text: str, quote: str) -> bool:
    return holds_quote(plain(text), plain(quote))


def _has_a_quote_each(statement: str, quotes: Sequence[str]) -> bool:
    """Tell whether each clause of a statement can have a quote: words of its own, or others that no clause has."""
    clauses = [words for words in map(telling_words, _CLAUSE.split(statement)) if len(words) >= _LEAST_WORDS]
    said = telling_words(" ".join(quotes))
    alone = [words for words in clauses if not words & said]
    other = said.difference(*clauses)
    return len(alone) * _LEAST_QUOTED <= len(other)


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


def _by_day(records: Mapping[EvidenceLine, str]) -> Iterator[str]:
    """Return the lines of records, each day under one heading."""
    for day, lines in groupby(records, lambda line: line.said_at and line.said_at.date()):
        yield "undated" if day is None else f"{day:%Y-%m-%d %A}"
        for line in lines:
            at = "" if line.said_at is None else f" {line.said_at:%H:%M}"
            speaker = "" if line.speaker is None else f" {quoted(line.speaker)}"
            yield f"[{records[line]}]{at} {line.role}{speaker}: {quoted(line.text)}"


def readings_by_handle(answer: Answer) -> dict[str, list[Mapping[str, Any]]]:
    """Return the items of an answer by the handles of their statements, as they were given."""
    given = answer.get("readings")
    found: dict[str, list[Mapping[str, Any]]] = {}
    for one in cast("list[object]", given) if isinstance(given, list) else []:
        item = cast("dict[str, Any]", one) if isinstance(one, dict) else {}
        if isinstance(item.get("id"), str):
            found.setdefault(item["id"], []).append(item)
    return found


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
