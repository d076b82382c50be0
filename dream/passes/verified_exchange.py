"""Runs an exchange whose texts are verified: question, second readings, one repair at most, second readings of that."""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from agentcore.domain.evidence import EvidenceVerdict
from agentcore.llm.chat import ChatRequest
from dream.domain.proposal import Notes, Refusal
from dream.domain.reasons import Refused
from dream.domain.rounds import Answer, NextRound, Round, RoundKind
from dream.domain.step import Batch, WaitingExchange
from dream.domain.verification import Assertion, Reading, SecondReading
from dream.guards.secrets import secret_in
from dream.guards.verdict import Verdict
from dream.options import VerificationMode
from dream.passes.host_verifier import host_verifier
from dream.passes.protocol import ModelContext
from dream.passes.repairs import handles_in, items_of, put_right, repair_question, repairable, with_texts
from dream.passes.second_reading import MOST_STATEMENTS, VerificationCall, first_of

R = TypeVar("R")

_TRIES: Final = 2
"""So often a run has the same statements read where the reader turns out unreliable, each time in another order."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome(Generic[R]):
    """What became of the items of an exchange.

    Args:
        answer: The first answer, with what was put right in its place.
        settled: What may be made.
        denied: What is refuted or denied, after its repair too: what was said is kept instead.
        for_review: What a person has to decide in the mode strict, as it would then be made.
        undecided: What waits for a second reading that could not be had.
        waits: Why it waits; None if nothing does.
        refused: Why items are not taken.
        unread: The same of items that nobody reads in the mode off.
        writers: The models that wrote the items, by their numbers.
        notes: Counts: repairs, items that hold by them, items read a second time, items denied.
    """

    answer: Answer
    settled: tuple[Settled[R], ...] = ()
    denied: tuple[R, ...] = ()
    for_review: tuple[Settled[R], ...] = ()
    undecided: tuple[R, ...] = ()
    waits: Refused | None = None
    refused: tuple[Refusal, ...] = ()
    unread: tuple[Refusal, ...] = ()
    writers: Mapping[int, str] = field(default_factory=dict[int, str])
    notes: Notes = field(default_factory=dict[str, int])


_Decided = tuple[SecondReading, str, int]
"""What a second reading found, the model that read, and the number of the round."""


@dataclass(slots=True)
class _Stand(Generic[R]):
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


def _unread(numbers: Iterable[int]) -> Iterator[Refusal]:
    return (Refusal(Refused.UNVERIFIED, f"item {number}", number) for number in numbers)


def _denial(number: int, reading: SecondReading) -> Refusal:
    if reading.reading is Reading.OFF_LIMITS:
        return Refusal(Refused.OFF_LIMITS, f"item {number}", number)
    told = [f"item {number}: {reading.reading}"]
    told += [f"the records say {quote!r}" for quote in reading.quotes[:3] if secret_in(quote) is None]
    told += [f"left out: {one!r}" for one in reading.left_out[:5] if secret_in(one) is None]
    return Refusal(Refused.DENIED, "; ".join(told), number)


Judge = Callable[[Answer], Awaitable[tuple[Sequence[Item[R]], Sequence[Refusal]]]]
"""Judges an answer by words: its items, and why others cannot be read or must not be made."""
Question = Callable[[frozenset[str] | None], Awaitable[ChatRequest | None]]
"""Words the question about a batch, showing all its records or those with these handles alone; None for nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifiedExchange(Generic[R]):
    """One exchange with the model about a batch, and the rounds that verify what it wrote.

    Args:
        context: The run's.
        batch: What it is about.
        name: The list of the answer that holds its items.
        question: Words the question.
        judge: Judges an answer by words.
        repairs: In how many exchanges of a run a repair may be asked for; None for in each.
        in_parts: Whether what is decided is made while other items wait to be read; not where that would change the
            records that the others are about. The pass makes what an outcome says is settled, also while it waits.
    """

    context: ModelContext
    batch: Batch
    name: str
    question: Question
    judge: Judge[R]
    repairs: int | None = None
    in_parts: bool = False

    async def next_round(self, rounds: Sequence[Round]) -> NextRound | None:
        """Return the next question of the exchange; None if it is over."""
        if not rounds:
            request = await self.question(None)
            return request and NextRound(request)
        stand = await self._stand(rounds)
        call = (
            stand.call(len(rounds) + 1, self._most_tries, self.context.options.model.prompt_tokens)
            if self._reads
            else None
        )
        if call is not None:
            about = tuple(number for number, _ in call.statements)
            return NextRound(call.request(self.context), RoundKind.VERIFICATION, about=about)
        if stand.repairs or (self._reads and stand.unread()):
            return None
        request = await self._repair(stand)
        return request and NextRound(request, RoundKind.REPAIR, at_most=self.repairs)

    async def next_call(self, rounds: Sequence[Round]) -> VerificationCall | None:
        """Return the second reading that is next; None if the next round is another one, or none."""
        stand = await self._stand(rounds)
        return (
            stand.call(len(rounds) + 1, self._most_tries, self.context.options.model.prompt_tokens)
            if self._reads
            else None
        )

    async def undecided(self, rounds: Sequence[Round]) -> tuple[dict[int, Assertion], list[Assertion]]:
        """Return what is to be read a second time after these rounds, by number, and what is proven beside it."""
        stand = await self._stand(rounds)
        return (stand.unread(), stand.proven()) if self._reads else ({}, [])

    async def outcome(self, rounds: Sequence[Round]) -> Outcome[R]:
        """Return what became of the items; the last rounds may be missing.

        While something waits, nothing is denied for good, since its repair may still be asked for, and what is decided
        is told in the run that decided it alone: the run that goes on with the rest does not make it again.
        """
        stand = await self._stand(rounds)
        unread = stand.unread()
        made = await self._made()
        settled = tuple(one for number, one in stand.settled().items() if number not in made)
        if self._reads and unread:
            return Outcome(
                answer=stand.answer,
                settled=settled if self.in_parts else (),
                undecided=tuple(stand.items[number].value for number in unread),
                waits=Refused.VERIFIER_UNRELIABLE if stand.tries else Refused.UNVERIFIED,
            )
        denials = stand.denials()
        denied = [*stand.denied(), *(() if self._strict else unread)]
        if self._is_over and not self._strict:
            denials += [Refusal(Refused.WAITED_TOO_LONG, f"item {number}", number) for number in unread]
        held = len(stand.told - {one.place for one in (*denials, *stand.refused)}) if stand.repairs else 0
        return Outcome(
            answer=stand.answer,
            settled=settled,
            # The sentence that would be kept instead was read by nobody: it may tell of what is off limits.
            denied=() if self.context.off_limits else tuple(stand.items[number].value for number in sorted(denied)),
            for_review=tuple(unverified(stand.items[number].value, stand.writers.get(number, "")) for number in unread)
            if self._strict
            else (),
            refused=with_texts((*stand.refused, *denials), stand.answer, self.name, self.batch),
            unread=()
            if self._is_over or self._strict
            else with_texts(_unread(unread), stand.answer, self.name, self.batch),
            writers=stand.writers,
            notes={
                "repairs": stand.repairs,
                "repaired": held,
                "read_again": len(stand.decided),
                "denied": sum(one.code == Refused.DENIED for one in denials),
            },
        )

    async def _made(self) -> frozenset[int]:
        """Return the items that an earlier run made before the exchange waited."""
        waited = self._waited
        if waited is None or not waited.rounds or not self.in_parts:
            return frozenset()
        before = await self._stand(waited.rounds)
        return frozenset(before.settled()) if before.unread() else frozenset()

    @property
    def _waited(self) -> WaitingExchange | None:
        return self.context.waited.get(self.batch.number)

    @property
    def _is_over(self) -> bool:
        """Whether it waited as long as it may: what was not read takes the fallback."""
        return self._waited is not None and self._waited.reason == Refused.WAITED_TOO_LONG

    @property
    def _reads(self) -> bool:
        return self.context.options.verification is VerificationMode.VERIFIED and not self._is_over

    @property
    def _strict(self) -> bool:
        return self.context.options.verification is VerificationMode.STRICT

    @property
    def _most_tries(self) -> int:
        return _TRIES * (1 + (0 if self._waited is None else self._waited.runs))

    async def _stand(self, rounds: Sequence[Round]) -> _Stand[R]:
        """Return how the exchange stands: the same rounds always give the same."""
        stand = await self._begun(rounds[0])
        for number, one in enumerate(rounds[1:], 2):
            match one.kind:
                case RoundKind.VERIFICATION:
                    stand.read(one, number)
                case RoundKind.REPAIR:
                    await self._read_by_host(stand, number)
                    stand = await self._put_right(stand, one)
                case _:
                    stand = await self._begun(one)
        await self._read_by_host(stand, len(rounds) + 1)
        return stand

    async def _read_by_host(self, stand: _Stand[R], number: int) -> None:
        """Deny what the host's verifier denies of what the model was not asked about yet."""
        verifier = host_verifier(self.context.options.verifier)
        unread = {key: one for key, one in stand.unread().items() if key not in stand.asked}
        if verifier is None or not unread or not self._reads:
            return
        denied = await verifier.denials(self.context.run_id, list(unread.values()))
        stand.decided |= {key: (denied[one], verifier.name, number) for key, one in unread.items() if one in denied}

    async def _begun(self, one: Round) -> _Stand[R]:
        items, refused = await self.judge(one.answer)
        writers = dict.fromkeys(range(1, len(items_of(one.answer, self.name)) + 1), one.model)
        return _Stand(one.answer, {item.number: item for item in items}, list(refused), writers, is_wary=self._is_wary)

    @property
    def _is_wary(self) -> bool:
        return bool(self.context.off_limits) and self.context.options.verification is VerificationMode.VERIFIED

    async def _put_right(self, stand: _Stand[R], repair: Round) -> _Stand[R]:
        """Return how it stands with the items that a repair gave again; those it did not stay as they were."""
        asked = {one.place: one.code for one in self._repairable(stand) if one.place is not None}
        told = frozenset(asked)
        to_split = {place for place, code in asked.items() if code == Refused.SPLIT_IT}
        answer, given = put_right(stand.answer, repair.answer, self.name, set(told), to_split)
        items, refused = await self.judge(answer)
        again = {item.number: item for item in items}
        kept = {number: item for number, item in stand.items.items() if number not in given}
        return _Stand(
            answer,
            dict(sorted({**again, **kept}.items())),
            [
                *(one for one in refused if one.place in given),
                *(one for one in stand.refused if one.place not in given),
            ],
            {**stand.writers, **dict.fromkeys(given, repair.model)},
            {number: one for number, one in stand.decided.items() if number not in given},
            asked=stand.asked - given,
            most=stand.most,
            told=told,
            repairs=1,
            is_wary=stand.is_wary,
        )

    def _repairable(self, stand: _Stand[R]) -> list[Refusal]:
        return repairable((*stand.refused, *stand.denials()), stand.answer, self.name)

    async def _repair(self, stand: _Stand[R]) -> ChatRequest | None:
        """Ask for the refused and denied items anew, showing the records that they cite and nothing else."""
        told = self._repairable(stand)
        if not told:
            return None
        items = items_of(stand.answer, self.name)
        cited = handles_in(items[one.place - 1] for one in told if one.place is not None)
        request = await self.question(cited or None)
        return request and repair_question(request, self.context, told, items, self.name)


def unverified(value: R, written_by: str = "") -> Settled[R]:
    """Return what would be made of an item that nobody has read beside its evidence."""
    return Settled(value=value, verdict=EvidenceVerdict.UNVERIFIED, written_by=written_by, verified_by="", round=0)


def _verified(value: R, writer: str, reading: SecondReading, model: str, number: int) -> Settled[R]:
    return Settled(
        value=value,
        verdict=EvidenceVerdict.VERIFIED,
        written_by=writer,
        verified_by=model,
        round=number,
        quotes=reading.quotes,
    )
