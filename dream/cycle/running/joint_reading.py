"""Asks what several exchanges of a run can ask together: their first question, and their second readings."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, TypeVar, cast

import orjson

from agentcore.errors import StorageError
from agentcore.llm import extract_object
from agentcore.llm.chat import FinishReason
from dream.cycle.running.model_pass_run import first_of as first_error_of
from dream.domain.rounds import AskedRound, NextRound, Round, RoundKind
from dream.passes.conversation.joint import KIND, JointReader, SharedReading, joint_question, parts_of
from dream.passes.second_reading import VerificationCall, first_of
from dream.stores import dream_stores
from dream.stores.calls import SHARED, CallKey, StoredAnswer

if TYPE_CHECKING:
    from collections.abc import Coroutine, Mapping, Sequence

    from agentcore.stores.storage import ReadView, UnitOfWork
    from dream.cycle.running.model_calls import ModelCalls
    from dream.cycle.running.model_pass_run import ModelPassRun
    from dream.domain.rounds import Answer
    from dream.domain.step import Batch
    from dream.domain.verification import Assertion
    from dream.passes import ModelContext
    from dream.passes.verified_exchange import VerifiedExchange

T = TypeVar("T")

_log = logging.getLogger(__name__)
_FIRST_READING, _READING_OF_REPAIRS = 2, 3
"""What second readings for several exchanges are numbered as: of first answers, and of what was put right in them."""


@dataclass(frozen=True, slots=True, eq=False)
class _Sharer:
    """An exchange that shares what it asks.

    Args:
        run: Its pass's.
        batch: What it is about.
        context: What its pass sees.
    """

    run: ModelPassRun
    batch: Batch
    context: ModelContext

    @property
    def reader(self) -> JointReader:
        """Its pass."""
        return _reader(self.run)

    def exchange(self) -> VerifiedExchange[Any]:
        """Return what leads it."""
        return self.reader.exchange(self.context, self.batch)

    async def answered_now(self) -> list[Round]:
        """Return `answered` as of now."""
        return await self.run.parts.storage.read(self.run.scope, self.answered)

    def key(self, number: int) -> CallKey:
        """Return what the answer of a round is found by."""
        return CallKey(run_id=self.run.run_id, pass_name=self.run.name, batch_key=self.batch.number, round=number)

    def answered(self, view: ReadView) -> list[Round]:
        """Return the rounds that are answered; none if one of them cannot be used, which is left to the pass."""
        rounds: list[Round] = []
        while (stored := dream_stores(view).calls.find(self.key(len(rounds) + 1))) is not None:
            answer = _object(stored)
            if answer is None:
                return []
            rounds.append(Round(answer, stored.asked, stored.completion.model))
        return rounds


@dataclass(frozen=True, slots=True)
class _SharedStatement:
    """A statement that is to be read a second time, and the exchange that it is an item of."""

    sharer: _Sharer
    number: int
    assertion: Assertion


@dataclass(frozen=True, slots=True)
class JointReading:
    """What the exchanges of one run ask together; lives as long as the run.

    It packs for the passes that have the same new turns before them, asks once about each batch, and stores each part
    of the answer as the answer to its pass's own first question; then it has what they wrote read a second time, as
    many statements at once as a call holds, whichever exchange they are of, has refused items put right, and those
    read. From there every pass goes its own way: it asks alone for what cannot be read, and for whatever comes after.
    So reports, budgets, undo and what a kill costs are those of the passes.

    Args:
        runs: The passes of the run that can share questions, in order.
    """

    runs: Sequence[ModelPassRun]

    async def prepare(self) -> None:
        """Pack and ask as far as that can be done together; what cannot is left to the passes."""
        try:
            await self._pack()
            sharing = await self._sharing()
            if sharing:
                asking = await sharing[0].run.asking()
                await self._ask(sharing, asking)
                await self._verify(sharing, asking, _FIRST_READING)
                await self._repair(sharing, asking)
                await self._verify(sharing, asking, _READING_OF_REPAIRS)
        except StorageError:
            raise
        except Exception:  # noqa: BLE001 - the boundary of what the passes share
            # Each of them asks alone then, and reports what it meets.
            _log.warning("turns_read_apart", exc_info=True)

    async def _pack(self) -> None:
        ready = [one for one in self.runs if await one.is_to_pack()]
        shared = await SharedReading.of([(_reader(one), await one.context()) for one in ready])
        for one in ready:
            if one.name in shared.packings:
                await one.people.wait_until_idle()
                await one.pack_as(shared.packings[one.name])

    async def _sharing(self) -> list[_Sharer]:
        found: list[_Sharer] = []
        for run in self.runs:
            batches = [one for one in run.unfinished if one.kind == KIND and not one.waited and "." not in one.number]
            context = await run.context() if batches else None
            found += [_Sharer(run, batch, context) for batch in batches if context is not None]
        return found

    async def _ask(self, sharing: Sequence[_Sharer], asking: ModelCalls) -> None:
        by_batch: dict[str, list[_Sharer]] = {}
        for one in sharing:
            by_batch.setdefault(one.batch.number, []).append(one)
        await _together([self._about(those, asking) for those in by_batch.values()])

    async def _about(self, sharing: Sequence[_Sharer], asking: ModelCalls) -> None:
        """Ask about one batch, unless a process of this run has split its answer already."""
        first = sharing[0]
        batch = first.batch

        def is_answered(view: ReadView) -> bool:
            return any(dream_stores(view).calls.find(one.key(1)) is not None for one in sharing)

        if await first.run.parts.storage.read(first.run.scope, is_answered):
            return
        asked = await joint_question([(one.reader, one.context) for one in sharing], batch)
        if asked is None:
            return
        request, names = asked
        key = CallKey(run_id=first.run.run_id, pass_name=first.run.name, batch_key=batch.number + SHARED, round=1)
        answer = _object(await asking.ask(key, NextRound(request), batch.record_ids))
        parts = {} if answer is None else parts_of(answer, names)
        keys = {one.run.name: one.key(1) for one in sharing}
        await self._split({key: {keys[name]: (text, AskedRound()) for name, text in parts.items()}})

    async def _repair(self, sharing: Sequence[_Sharer], asking: ModelCalls) -> None:
        """Ask each exchange that was read for what is refused or denied in it; what is asked already is found."""
        work: list[Coroutine[Any, Any, object]] = []
        for one in sharing:
            rounds = await one.answered_now()
            asked = await one.exchange().next_repair(rounds) if rounds else None
            if asked is not None:
                work.append(asking.ask(one.key(len(rounds) + 1), asked, one.batch.record_ids))
        await _together(work)

    async def _verify(self, sharing: Sequence[_Sharer], asking: ModelCalls, read_as: int) -> None:
        """Have what the answers say read a second time, in calls that know of no exchange.

        All that was read is shared out at once: a process that goes on finds each answer whole, or nothing to do.
        """
        asked: list[_SharedStatement] = []
        proven: list[Assertion] = []
        # An exchange's own rounds are numbered in the order of the calls.
        numbers: Counter[_Sharer] = Counter()
        for one in sharing:
            rounds = await one.answered_now()
            if any(answered.asked.read_as == read_as for answered in rounds):
                return
            if rounds:
                undecided, sure = await one.exchange().undecided(rounds)
                asked += [_SharedStatement(one, number, assertion) for number, assertion in undecided.items()]
                proven += sure
                numbers[one] = len(rounds)
        calls: list[list[_SharedStatement]] = []
        # What rests on the same records is read by the same call, which shows each of them once.
        left = sorted(asked, key=lambda one: _said_first(one.assertion))
        while left:
            chosen = first_of([(place, one.assertion) for place, one in enumerate(left)], tokens=_room(left[0].sharer))
            calls.append(left[: len(chosen)])
            left = left[len(chosen) :]
        answered = await _together([self._read(call, proven, asking, read_as) for call in calls])
        split: dict[CallKey, dict[CallKey, tuple[str, AskedRound]]] = {}
        for found in answered:
            if found is not None:
                key, said = found
                numbers.update(said.keys())
                split[key] = {one.key(numbers[one]): part for one, part in said.items()}
        await self._split(split)

    async def _read(
        self, statements: Sequence[_SharedStatement], proven: Sequence[Assertion], asking: ModelCalls, read_as: int
    ) -> tuple[CallKey, dict[_Sharer, tuple[str, AskedRound]]] | None:
        """Have statements read by one call; return what it says to each exchange, None where it cannot be relied on."""
        first = statements[0].sharer
        call = VerificationCall.of([(place, one.assertion) for place, one in enumerate(statements)], read_as, proven)
        told = "\x1f".join(f"{one.sharer.run.name} {one.sharer.batch.number} {one.number}" for one in statements)
        key = CallKey(
            run_id=first.run.run_id,
            pass_name=first.run.name,
            batch_key=blake2b(told.encode(), digest_size=8).hexdigest() + SHARED,
            round=read_as,
        )
        request = NextRound(call.request(first.context), RoundKind.VERIFICATION)
        records = [one for asked in statements for one in asked.sharer.batch.record_ids]
        answer = _object(await asking.ask(key, request, list(dict.fromkeys(records))))
        if answer is None or call.read(answer) is None:
            return None  # the passes ask again, in another order
        said = call.parts(answer)
        parts: dict[_Sharer, tuple[str, AskedRound]] = {}
        for sharer in dict.fromkeys(one.sharer for one in statements):
            mine = [(one.number, one.assertion) for one in statements if one.sharer is sharer]
            # An exchange reads its part as a call of its own.
            own_call = VerificationCall(read_as, tuple(mine))
            items = [{**item, "id": name} for name, one in own_call.handled for item in said.get(one, ())]
            about = tuple(number for number, _ in mine)
            told_of = AskedRound(RoundKind.VERIFICATION, (), about, read_as)
            parts[sharer] = (orjson.dumps({"readings": items}).decode(), told_of)
        return key, parts

    async def _split(self, answers: Mapping[CallKey, Mapping[CallKey, tuple[str, AskedRound]]]) -> None:
        def split(unit: UnitOfWork) -> None:
            for key, parts in answers.items():
                dream_stores(unit).calls.split(key, parts)

        if any(answers.values()):
            first = self.runs[0]
            await first.parts.storage.write(first.scope, split)


def _reader(run: ModelPassRun) -> JointReader:
    return cast("JointReader", run.model_pass)


def _said_first(one: Assertion) -> float:
    """Return when the first thing was said that a statement rests on."""
    return min((line.said_at.timestamp() for line in one.evidence if line.said_at and not line.is_beside), default=0.0)


def _room(one: _Sharer) -> int:
    return one.context.options.model.prompt_tokens


def _object(answer: object) -> Answer | None:
    """Return the one object of a whole answer; None for what was cut off, or is no answer."""
    if not isinstance(answer, StoredAnswer) or answer.completion.finish_reason is not FinishReason.STOP:
        return None
    found = extract_object(answer.completion.text)
    return found if isinstance(found, dict) else None


async def _together(work: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """Return what all of it comes to, done side by side; the first error ends the rest."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one) for one in work]
        return [task.result() for task in tasks]
    except BaseExceptionGroup as failed:
        raise first_error_of(failed) from None
