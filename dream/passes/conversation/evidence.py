"""Reads the evidence of a statement: the turns it may rest on, the quote that shows it, and the times they name."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Protocol, cast

from agentcore.domain.conversation import Turn
from agentcore.domain.evidence import Evidence, SourceKind, SourceRef
from agentcore.domain.memory import Trust
from agentcore.domain.subject_time import PartialDate, Precision, Span, SubjectTime
from agentcore.errors import InvalidSubjectTimeError
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.domain.verification import EvidenceLine
from dream.guards.detail import DetailKind
from dream.guards.details import Details, measures_of
from dream.guards.relative_dates import DateMention, DateReading, day_of, nearest_years, relative_dates
from dream.passes.conversation.naming import naming_turns
from dream.passes.conversation.quotes import holds_quote, on_one_line
from dream.passes.conversation.sentences import sentences_in
from dream.passes.prompts import PromptTurn
from dream.passes.terms import terms_of

if TYPE_CHECKING:
    from dream.guards.dates import Day
    from dream.guards.numbers import Quantity


READABLE: Final = frozenset({"user", "assistant"})
"""Roles whose turns are shown: prompts and the output of tools are no conversation."""

_LONGEST_QUOTE: Final = 300
_SHORT: Final = 80
"""Characters of a turn that mostly tells nothing without the one before it."""


class CitedItem(Protocol):
    """An item of an answer, as far as its evidence goes."""

    @property
    def label(self) -> str:
        """What refusals call it, such as `fact 3`."""
        ...

    @property
    def handles(self) -> tuple[str, ...]:
        """Turns it cites, each once."""
        ...

    @property
    def content(self) -> str:
        """What it says; blank where it names a known record."""
        ...

    @property
    def quote(self) -> str | None:
        """Words that shall stand in one of them; None for the sentence that has most words of what it says."""
        ...


@dataclass(frozen=True, slots=True)
class TurnEvidence:
    """What a statement rests on.

    Args:
        turns: Its sources, in the order they were said.
        quoted: The one that holds the quote; that of a person if several do.
        quote: The quote on one line, as the model wrote it.
        beside: What was said right before and after them, as far as it was shown.
        sentences: The sentences that are kept with the entry once the statement is known to hold.
    """

    turns: tuple[Turn, ...]
    quoted: Turn
    quote: str
    beside: tuple[EvidenceLine, ...] = ()
    sentences: tuple[Evidence, ...] = ()

    @property
    def sources(self) -> tuple[SourceRef, ...]:
        """References to its turns, sorted."""
        return tuple(sorted(SourceRef(SourceKind.TURN, turn.id) for turn in self.turns))

    @property
    def trust(self) -> Trust:
        """The least trust of its turns; a machine never calls a thing confirmed."""
        return min([Trust.STATED, *(turn.trust for turn in self.turns)])

    @property
    def heard(self) -> tuple[Turn, ...]:
        """What people said of it: each such turn can count once as an observation."""
        return tuple(turn for turn in self.turns if turn.role == "user")

    def lines(self) -> tuple[EvidenceLine, ...]:
        """Return what a verifier reads of it, in the order it was said."""
        return tuple(sorted((*map(line_of, self.turns), *self.beside), key=_said_at))


def line_of(turn: Turn) -> EvidenceLine:
    """Return a turn as evidence."""
    source = SourceRef(SourceKind.TURN, turn.id)
    return EvidenceLine(
        text=turn.content, speaker=turn.speaker, role=turn.role, said_at=turn.occurred_at, source=source
    )


def _said_at(line: EvidenceLine) -> float:
    return 0.0 if line.said_at is None else line.said_at.timestamp()


def not_shown(label: str, handle: str) -> Refusal:
    """Return why an item is refused that names a handle of nothing that it was shown."""
    return Refusal(Refused.UNKNOWN_HANDLE, f"{label} names {handle[:20]!r}, which it was not shown")


def is_evidence(turn: Turn) -> bool:
    """Tell whether a turn may be shown as something that was said."""
    return turn.role in READABLE and not turn.generated


def evidence_of(claim: CitedItem, shown: Mapping[str, PromptTurn], known: frozenset[str]) -> TurnEvidence | Refusal:
    """Return what a claim rests on, or why it must not.

    A person said it: what an assistant said counts only beside what a person said later in that session, if the claim
    cites that too. Whether the person takes it up is for the second reading to tell.

    Args:
        claim: The item of the answer.
        shown: Turns of the prompt that are still as they were, by handle.
        known: All handles of turns in the prompt.
    """
    valid = cited_turns(claim, shown, known)
    if isinstance(valid, Refusal):
        return valid
    quote = claim.quote if claim.quote is not None else _nearest(claim.content, valid)
    holders = [one.turn for one in valid if holds_quote(one.turn.content, quote)]
    if not holders:
        return _refused(Refused.QUOTE_NOT_FOUND, claim, "has a quote that stands in none of its turns")
    return TurnEvidence(
        tuple(one.turn for one in valid),
        next((turn for turn in holders if turn.role == "user"), holders[0]),
        on_one_line(quote),
        beside_of(valid, shown, claim.content),
    )


def _nearest(content: str, cited: Sequence[PromptTurn]) -> str:
    """Return the sentence of what people said that has most words of a statement."""
    told = frozenset(terms_of(content))
    said = [sentence for one in cited if one.turn.role == "user" for sentence in sentences_in(one.turn.content)]
    nearest = max(said, key=lambda sentence: len(told.intersection(terms_of(sentence))), default="")
    return nearest if len(nearest) <= _LONGEST_QUOTE else _to_a_word(nearest)


def _to_a_word(text: str) -> str:
    """Return the beginning of a long text, up to the end of a word: no quote may cut one."""
    cut = text[:_LONGEST_QUOTE]
    return cut.rpartition(" ")[0] or cut


def cited_turns(claim: CitedItem, shown: Mapping[str, PromptTurn], known: frozenset[str]) -> list[PromptTurn] | Refusal:
    """Return those of the cited turns that count as evidence, or why they do not: one must be a new one of a person."""
    unknown = [handle for handle in claim.handles if handle not in known]
    if unknown:
        return _refused(Refused.UNKNOWN_HANDLE, claim, f"cites {unknown[0][:20]!r}, which it was not shown")
    if any(handle not in shown for handle in claim.handles):
        return _refused(Refused.STALE_SOURCE, claim, "cites a turn that changed or is gone")
    cited = sorted((shown[handle] for handle in claim.handles), key=lambda one: one.place)
    if not any(one.is_new for one in cited):
        return _refused(Refused.NO_SOURCES, claim, "cites only turns that were read before")
    said = [one for one in cited if is_evidence(one.turn)]
    valid = [one for one in said if one.turn.role == "user" or any(_is_later(other, one) for other in said)]
    if not any(one.is_new and one.turn.role == "user" for one in valid):
        return _refused(Refused.NOT_EVIDENCE, claim, "cites no new turn in which a person says it or takes it up")
    return valid


def _is_later(one: PromptTurn, other: PromptTurn) -> bool:
    """Tell whether a person said *one* after *other* in its session."""
    return one.turn.role == "user" and one.turn.session_id == other.turn.session_id and one.place > other.place


def beside_of(
    cited: Sequence[PromptTurn], shown: Mapping[str, PromptTurn], content: str = ""
) -> tuple[EvidenceLine, ...]:
    """Return what was said right before and after each of the cited turns, and where words of a statement stand.

    Before a short turn stands the one that it answers as well.
    """
    places = {one.place for one in cited}
    pairs = list(adjacent(shown.values()))
    found = {after.place: after for before, after in pairs if before.place in places}
    earlier = {before.place: before for before, after in pairs if after.place in places}
    short = {place for place, one in earlier.items() if len(one.turn.content) < _SHORT}
    found |= earlier | {before.place: before for before, after in pairs if after.place in short}
    said = [one for one in shown.values() if is_evidence(one.turn)]
    known = [*cited, *found.values()]
    found |= {one.place: one for one in naming_turns(content, cited, known, said)}
    return tuple(replace(line_of(found[place].turn), is_beside=True) for place in sorted(found) if place not in places)


def adjacent(shown: Iterable[PromptTurn]) -> Iterator[tuple[PromptTurn, PromptTurn]]:
    """Yield the turns that follow each other in a session, as far as they are shown and were said."""
    last: dict[str, PromptTurn] = {}
    for one in sorted(shown, key=lambda one: one.place):
        if not is_evidence(one.turn):
            continue
        before = last.get(one.turn.session_id)
        last[one.turn.session_id] = one
        if before is not None:
            yield before, one


def _refused(code: Refused, claim: CitedItem, problem: str) -> Refusal:
    return Refusal(code, f"{claim.label} {problem}")


_YEARS = range(1000, 3000)
_SECONDS_OF_MINUTE = 60


@dataclass(frozen=True, slots=True)
class EvidenceTimes:
    """The times that a fact's turns tell.

    Args:
        dates: What a date of the fact has to agree with.
        minutes: Times of day that stand in the turns, in minutes since midnight.
        in_quote: What the quote comes to, if it holds one relative date and no other.
    """

    dates: frozenset[PartialDate]
    minutes: frozenset[int]
    in_quote: SubjectTime | None

    @classmethod
    def of(cls, evidence: TurnEvidence) -> "EvidenceTimes":
        """Read the turns of a fact."""
        dates: set[PartialDate] = set()
        minutes: set[int] = set()
        for turn in evidence.turns:
            found = measures_of(turn.content)
            dates.add(day_of(turn.occurred_at.date()))
            dates.update(_named(found, turn))
            for mention in relative_dates(turn.content, turn.occurred_at.date()):
                dates.update(bound for reading in mention.readings for bound in _bounds(reading))
            times = (item for item in (*found, *found.also) if item.kind is DetailKind.TIME)
            minutes.update(cast("int", item.key) // _SECONDS_OF_MINUTE for item in times)
        return cls(frozenset(dates), frozenset(minutes), _of_quote(evidence))

    def follows(self, subject: SubjectTime) -> bool:
        """Tell whether every bound of a subject time agrees with a date that was told, and is no more exact."""
        bounds = [*subject.points, *(_bounds(subject.span) if subject.span else ())]
        return all(self._has(bound) for bound in bounds)

    def _has(self, bound: PartialDate) -> bool:
        if bound.precision is Precision.MINUTE:
            told = bound.begins.hour * 60 + bound.begins.minute in self.minutes
            return told and day_of(bound.begins.date()) in self.dates
        return any(bound.contains(date) for date in self.dates)


def subject_time_of(given: object, told: EvidenceTimes) -> tuple[SubjectTime | None, bool]:
    """Return the subject time of a fact, and whether what the model gave was dropped.

    Args:
        given: What stood in the answer; None or blank is nothing.
        told: What the fact's turns say of times.
    """
    if given is None or (isinstance(given, str) and not given.strip()):
        return told.in_quote, False
    try:
        subject = SubjectTime.parse(given.strip()) if isinstance(given, str) else None
    except InvalidSubjectTimeError:
        subject = None
    if subject is not None and told.follows(subject):
        return subject, False
    return told.in_quote, True


def _named(found: Details, turn: Turn) -> Iterator[PartialDate]:
    """Return the dates of a text; one without a year gets those near the day it was said."""
    for item in found.of(DetailKind.DATE):
        day = cast("Day", item.key)
        if day.year is not None and not day.raw:
            yield from _partial(day.year, day.month, day.day)
        elif day.month is not None:
            yield from nearest_years(day.month, day.day, turn.occurred_at.date())
    for item in found.of(DetailKind.NUMBER):
        for value in cast("Quantity", item.key).values:
            if value.isdecimal() and int(value) in _YEARS:
                yield from _partial(int(value), None, None)


def _partial(year: int, month: int | None, day: int | None) -> Iterator[PartialDate]:
    text = f"{year:04}" + "".join(f"-{part:02}" for part in (month, day) if part is not None)
    try:
        yield PartialDate.parse(text)
    except InvalidSubjectTimeError:
        return  # a day that no calendar has


def _of_quote(evidence: TurnEvidence) -> SubjectTime | None:
    if measures_of(evidence.quote).of(DetailKind.DATE):
        return None
    told = relative_dates(evidence.quote, evidence.quoted.occurred_at.date())
    # For how long something has been so says nothing of when it is.
    mentions: Sequence[DateMention] = [mention for mention in told if not mention.begins]
    if len(mentions) != 1 or not mentions[0].sure:
        return None
    reading = mentions[0].readings[0]
    return SubjectTime(span=reading) if isinstance(reading, Span) else SubjectTime((reading,))


def _bounds(reading: DateReading) -> tuple[PartialDate, ...]:
    if isinstance(reading, PartialDate):
        return (reading,)
    return tuple(bound for bound in (reading.start, reading.end) if bound is not None)
