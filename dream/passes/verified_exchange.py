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
from dream.domain.verification import Assertion
from dream.options import VerificationMode
from dream.passes.exchange_state import ExchangeState, Item, Settled
from dream.passes.host_verifier import host_verifier
from dream.passes.protocol import ModelContext
from dream.passes.repairs import (
    handles_in,
    items_of,
    naming_handles,
    put_right,
    repair_question,
    repairable,
    with_texts,
)
from dream.passes.second_reading import VerificationCall

R = TypeVar("R")

_TRIES: Final = 2
"""So often a run has the same statements read where the reader turns out unreliable, each time in another order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangeOutcome(Generic[R]):
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


def _unread(numbers: Iterable[int]) -> Iterator[Refusal]:
    return (Refusal(Refused.UNVERIFIED, f"item {number}", number) for number in numbers)


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
        return None if self._reads and stand.unread() else await self._next_repair(stand)

    async def next_call(self, rounds: Sequence[Round]) -> VerificationCall | None:
        """Return the second reading that is next; None if the next round is another one, or none."""
        stand = await self._stand(rounds)
        return (
            stand.call(len(rounds) + 1, self._most_tries, self.context.options.model.prompt_tokens)
            if self._reads
            else None
        )

    async def next_repair(self, rounds: Sequence[Round]) -> NextRound | None:
        """Return the repair that may be asked for now; None if there is none, or something was not read at all."""
        stand = await self._stand(rounds)
        if self._reads and not all(stand.tries[number] for number in stand.unread()):
            return None
        return await self._next_repair(stand)

    async def undecided(self, rounds: Sequence[Round]) -> tuple[dict[int, Assertion], list[Assertion]]:
        """Return what is to be read a second time after these rounds, by number, and what is proven beside it."""
        if not self._reads:
            return {}, []
        stand = await self._stand(rounds)
        left = {number: one for number, one in stand.unread().items() if stand.tries[number] < self._most_tries}
        return left, stand.proven()

    async def outcome(self, rounds: Sequence[Round]) -> ExchangeOutcome[R]:
        """Return what became of the items; the last rounds may be missing.

        While something waits, nothing is denied for good, since its repair may still be asked for, and what is decided
        is told in the run that decided it alone: the run that goes on with the rest does not make it again.
        """
        stand = await self._stand(rounds)
        unread = stand.unread()
        made = await self._made()
        settled = tuple(one for number, one in stand.settled().items() if number not in made)
        if self._reads and unread:
            return ExchangeOutcome(
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
        return ExchangeOutcome(
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

    async def _stand(self, rounds: Sequence[Round]) -> ExchangeState[R]:
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

    async def _read_by_host(self, stand: ExchangeState[R], number: int) -> None:
        """Deny what the host's verifier denies of what the model was not asked about yet."""
        verifier = host_verifier(self.context.options.verifier)
        unread = {key: one for key, one in stand.unread().items() if key not in stand.asked}
        if verifier is None or not unread or not self._reads:
            return
        denied = await verifier.denials(self.context.run_id, list(unread.values()))
        stand.decided |= {key: (denied[one], verifier.name, number) for key, one in unread.items() if one in denied}

    async def _begun(self, one: Round) -> ExchangeState[R]:
        items, refused = await self.judge(one.answer)
        writers = dict.fromkeys(range(1, len(items_of(one.answer, self.name)) + 1), one.model)
        return ExchangeState(
            one.answer, {item.number: item for item in items}, list(refused), writers, is_wary=self._is_wary
        )

    @property
    def _is_wary(self) -> bool:
        return bool(self.context.off_limits) and self.context.options.verification is VerificationMode.VERIFIED

    async def _put_right(self, stand: ExchangeState[R], repair: Round) -> ExchangeState[R]:
        """Return how it stands with the items that a repair gave again; those it did not stay as they were."""
        asked = {one.place: one.code for one in self._repairable(stand) if one.place is not None}
        told = frozenset(asked)
        to_split = {place for place, code in asked.items() if code == Refused.SPLIT_IT}
        answer, given = put_right(stand.answer, repair.answer, self.name, set(told), to_split)
        items, refused = await self.judge(answer)
        again = {item.number: item for item in items}
        kept = {number: item for number, item in stand.items.items() if number not in given}
        return ExchangeState(
            answer,
            dict(sorted({**again, **kept}.items())),
            [
                *(one for one in refused if one.place in given),
                *(one for one in stand.refused if one.place not in given),
            ],
            {**stand.writers, **dict.fromkeys(given, repair.model)},
            {number: one for number, one in stand.decided.items() if number not in given},
            tries=Counter({number: count for number, count in stand.tries.items() if number not in given}),
            asked=stand.asked - given,
            left_out=stand.left_out - given,
            most=stand.most,
            told=told,
            repairs=1,
            is_wary=stand.is_wary,
        )

    def _repairable(self, stand: ExchangeState[R]) -> list[Refusal]:
        return repairable((*stand.refused, *stand.denials()), stand.answer, self.name)

    async def _next_repair(self, stand: ExchangeState[R]) -> NextRound | None:
        """Ask for the refused and denied items anew, once, showing the records that they cite and nothing else."""
        told = () if stand.repairs else self._repairable(stand)
        if not told:
            return None
        items = items_of(stand.answer, self.name)
        numbers = [one.place for one in told if one.place is not None]
        cited = handles_in(items[number - 1] for number in numbers)
        read = (stand.items[number].assertion for number in numbers if number in stand.items)
        cited |= frozenset[str]().union(*(naming_handles(one, self.batch) for one in read if one is not None))
        request = await self.question(cited or None)
        asked = request and repair_question(request, self.context, told, items, self.name)
        return asked and NextRound(asked, RoundKind.REPAIR, at_most=self.repairs)


def unverified(value: R, written_by: str = "") -> Settled[R]:
    """Return what would be made of an item that nobody has read beside its evidence."""
    return Settled(value=value, verdict=EvidenceVerdict.UNVERIFIED, written_by=written_by, verified_by="", round=0)
