"""Says how an exchange whose texts are verified stands: what is proven, read, left to be read, and denied."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from agentcore.domain.evidence import EvidenceVerdict
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.domain.rounds import Answer, Round
from dream.domain.verification import Assertion, Reading, SecondReading
from dream.guards.secrets import secret_in
from dream.guards.verdict import Verdict
from dream.passes.second_reading import MOST_STATEMENTS, VerificationCall, first_of

R = TypeVar("R")

_HOST: Final = "host"


@dataclass(frozen=True, slots=True, kw_only=True)
class Item(Generic[R]):
    """One item of an answer, judged by words.

    Args:
        number: Its place in the answer's list, from 1.
        value: What it makes if it holds.
        verdict: What the words of the evidence say of it.
        assertion: What a verifier has to read where the words leave it undecided; None if nothing was worded anew.
        refusal: Why it is not taken, if it is refuted.
    """

    number: int
    value: R
    verdict: Verdict = Verdict.PROVEN
    assertion: Assertion | None = None
    refusal: Refusal | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled(Generic[R]):
    """What may be made, and how that was decided.

    Args:
        value: What the item makes.
        verdict: Whether its evidence proves it, or a second reading found it there.
        written_by: The model that wrote it; "" if that is not known.
        verified_by: The model that read it; "host" if none had to.
        round: The number of the round that decided.
        quotes: The words of the evidence that the verifier named.
    """

    value: R
    verdict: EvidenceVerdict
    written_by: str = ""
    verified_by: str = _HOST
    round: int = 1
    quotes: tuple[str, ...] = ()


_Decided = tuple[SecondReading, str, int]
"""What a second reading found, the model that read, and the number of the round."""


@dataclass(slots=True)
class ExchangeState(Generic[R]):
    """How an exchange stands after some rounds."""

    answer: Answer
    items: dict[int, Item[R]]
    refused: list[Refusal]
    writers: dict[int, str]
    """The models that wrote the items."""
    decided: dict[int, _Decided] = field(default_factory=dict[int, _Decided])
    tries: Counter[int] = field(default_factory=Counter[int])
    """How often an item was read in vain."""
    asked: set[int] = field(default_factory=set[int])
    """Items that the model was asked about: the host's verifier had let them pass."""
    left_out: set[int] = field(default_factory=set[int])
    """Items that a reader who passed the checks said nothing of, or did not show."""
    most: int = MOST_STATEMENTS
    """Statements in one call: fewer after an answer that could not be read, such as one that was cut off."""
    told: frozenset[int] = frozenset()
    """Items that a repair was asked of."""
    repairs: int = 0
    is_wary: bool = False
    """Whether what is proven is read as well, since it may tell of an off-limits topic."""

    def call(self, number: int, most_tries: int, tokens: int) -> VerificationCall | None:
        """Return the next second reading; None if nothing is left, but what was read in vain as often as it may be.

        What was read in vain is read again after all others.
        """
        pending = [(key, one) for key, one in self.unread().items() if self.tries[key] < most_tries]
        pending.sort(key=lambda one: self.tries[one[0]])
        again = [one for one in pending if self.tries[one[0]] == self.tries[pending[0][0]]]
        return VerificationCall.of(first_of(again, self.most, tokens), number, self.proven()) if again else None

    def proven(self) -> list[Assertion]:
        """Return what needs no second reading, for those who check the reader by it."""
        found = (item for item in self.items.values() if item.verdict is Verdict.PROVEN)
        return [item.assertion for item in found if item.assertion is not None]

    def unread(self) -> dict[int, Assertion]:
        """Return what is undecided and was not read."""
        return {
            number: item.assertion
            for number, item in self.items.items()
            if self._is_read(item) and item.assertion is not None and number not in self.decided
        }

    def _is_read(self, item: Item[R]) -> bool:
        return item.verdict is Verdict.UNDECIDED or (self.is_wary and item.verdict is Verdict.PROVEN)

    def settled(self) -> dict[int, Settled[R]]:
        """Return what may be made: what is proven, and what a second reading found in the evidence."""
        found: dict[int, Settled[R]] = {}
        unread = self.unread()
        for number, item in self.items.items():
            if number in unread or self._is_off_limits(number):
                continue
            writer = self.writers.get(number, "")
            if item.verdict is Verdict.PROVEN:
                found[number] = Settled(value=item.value, verdict=EvidenceVerdict.PROVEN, written_by=writer)
            elif item.verdict is Verdict.UNDECIDED and self._is_said(number):
                found[number] = _verified(item.value, writer, *self.decided[number])
        return found

    def denied(self) -> list[int]:
        """Return the items that are not taken: refuted by words, or denied, or without anything to read them by."""
        return [
            number
            for number, item in self.items.items()
            if item.verdict is Verdict.REFUTED
            or (item.verdict is Verdict.UNDECIDED and number not in self.unread() and not self._is_said(number))
        ]

    def _is_off_limits(self, number: int) -> bool:
        return number in self.decided and self.decided[number][0].reading is Reading.OFF_LIMITS

    def denials(self) -> list[Refusal]:
        """Return why items are not taken."""
        found = [one.refusal for one in self.items.values() if one.verdict is Verdict.REFUTED and one.refusal]
        said = {number: one for number, (one, _, _) in self.decided.items() if not _says(one)}
        is_proven = {number for number, item in self.items.items() if item.verdict is Verdict.PROVEN}
        # What its own words prove is not denied: it was read for what it is about.
        stands = {number for number in is_proven if not self._is_off_limits(number)}
        return found + [_denial(number, one) for number, one in said.items() if number not in stands]

    def _is_said(self, number: int) -> bool:
        return number in self.decided and _says(self.decided[number][0])

    def read(self, one: Round, number: int) -> None:
        """Take over what a second reading found; what it left out, or all of it if it is void, was read in vain.

        What a reader who passes the checks leaves out once more, or calls said and does not show, is not said.
        """
        unread = self.unread()
        about = [(key, unread[key]) for key in one.asked.about if key in unread]
        self.asked.update(one.asked.about)
        # Who read for several exchanges at once was checked then, by statements of all of them.
        shared = VerificationCall(one.asked.read_as, tuple(about)) if one.asked.read_as else None
        readings = (shared or VerificationCall.of(about, number, self.proven())).read(one.answer)
        if not one.answer:
            self.most = max(1, len(about) // 2)
        for key, _ in about:
            if readings is not None and key in readings:
                self.decided[key] = (readings[key], one.model, number)
            elif readings is not None and key in self.left_out:
                self.decided[key] = (SecondReading(reading=Reading.NOT_SAID), one.model, number)
            else:
                self.tries[key] += 1
                self.left_out |= set() if readings is None else {key}


def _says(reading: SecondReading) -> bool:
    return reading.reading is Reading.SAYS


def _denial(number: int, reading: SecondReading) -> Refusal:
    if reading.reading is Reading.OFF_LIMITS:
        return Refusal(Refused.OFF_LIMITS, f"item {number}", number)
    told = [f"item {number}: {reading.reading}"]
    told += [f"the records say {quote!r}" for quote in reading.quotes[:3] if secret_in(quote) is None]
    told += [f"left out: {one!r}" for one in reading.left_out[:5] if secret_in(one) is None]
    return Refusal(Refused.DENIED, "; ".join(told), number)


def _verified(value: R, writer: str, reading: SecondReading, model: str, number: int) -> Settled[R]:
    return Settled(
        value=value,
        verdict=EvidenceVerdict.VERIFIED,
        written_by=writer,
        verified_by=model,
        round=number,
        quotes=reading.quotes,
    )
