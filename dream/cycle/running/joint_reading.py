"""Asks what several exchanges of a run can ask together: their first question, and their second readings."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, cast

import orjson

from agentcore.errors import StorageError
from agentcore.llm import extract_object
from agentcore.llm.chat import FinishReason
from dream.cycle.running.model_pass_run import first_of as first_error_of
from dream.domain.rounds import AskedRound, NextRound, Round, RoundKind
from dream.passes.conversation.joint import KIND, JointReader, SharedReading, joint_question, parts_of
from dream.passes.second_reading import VerificationCall, first_of, readings_by_handle
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

_log = logging.getLogger(__name__)
_READ_AS = 2
"""The number of the first second reading of an exchange: what is read for several is read as that."""


@dataclass(frozen=True, slots=True)
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

    def key(self, number: int) -> CallKey:
        """Return what the answer of a round is found by."""
        return CallKey(run_id=self.run.run_id, pass_name=self.run.name, batch_key=self.batch.number, round=number)

    def answered(self, view: ReadView) -> list[Round]:
        """Return the rounds that are answered, up to one that cannot be used."""
        rounds: list[Round] = []
        while (stored := dream_stores(view).calls.find(self.key(len(rounds) + 1))) is not None:
            answer = _object(stored)
            if answer is None:
                break
            rounds.append(Round(answer, stored.asked, stored.completion.model))
        return rounds


@dataclass(frozen=True, slots=True)
class JointReading:
    """What the exchanges of one run ask together; lives as long as the run.

    It packs for the passes that have the same new turns before them, asks once about each batch, and stores each part
    of the answer as the answer to its pass's own first question; then it has what they wrote read a second time, as
    many statements at once as a call holds, whichever exchange they are of. From there every pass goes its own way: it
    asks alone for what cannot be read, and for whatever comes after. So reports, budgets, undo and what a kill costs
    are those of the passes.

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
                await self._verify(sharing, asking)
        except StorageError:
            raise
        except Exception:  # noqa: BLE001 - the boundary of what the passes share
            # Each of them asks alone then, and reports what it meets.
            _log.warning("New turns are read by each pass alone: what they share failed.", exc_info=True)

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
        await self._split(key, {keys[name]: (text, AskedRound()) for name, text in parts.items()})

    async def _verify(self, sharing: Sequence[_Sharer], asking: ModelCalls) -> None:
        """Have what the first answers say read a second time, in calls that know of no exchange."""
        asked: list[tuple[_Sharer, int, Assertion]] = []
        proven: list[Assertion] = []
        rounds: dict[CallKey, list[Round]] = {}
        for one in sharing:
            found = await one.run.parts.storage.read(one.run.scope, one.answered)
            if found:
                rounds[one.key(1)] = found
                undecided, sure = await one.reader.exchange(one.context, one.batch).undecided(found[:1])
                asked += [(one, number, assertion) for number, assertion in undecided.items()]
                proven += sure
        calls: list[list[tuple[_Sharer, int, Assertion]]] = []
        left = asked
        while left:
            chosen = first_of(list(enumerate(one for _, _, one in left)), tokens=_room(left[0][0]))
            calls.append(left[: len(chosen)])
            left = left[len(chosen) :]
        # An exchange's own rounds are numbered in the order of the calls.
        numbers: dict[CallKey, int] = {}
        work: list[Coroutine[Any, Any, None]] = []
        for call in calls:
            taking: dict[CallKey, tuple[_Sharer, list[int]]] = {}
            for one, number, _ in call:
                taking.setdefault(one.key(1), (one, []))[1].append(number)
            keys: dict[CallKey, tuple[_Sharer, list[int]]] = {}
            for first, (one, about) in taking.items():
                numbers[first] = numbers.get(first, 1) + 1
                keys[one.key(numbers[first])] = (one, about)
            if all(len(rounds[one.key(1)]) < key.round for key, (one, _) in keys.items()):
                work.append(self._read(call, keys, proven, asking))
        await _together(work)

    async def _read(
        self,
        statements: Sequence[tuple[_Sharer, int, Assertion]],
        keys: Mapping[CallKey, tuple[_Sharer, list[int]]],
        proven: Sequence[Assertion],
        asking: ModelCalls,
    ) -> None:
        """Have statements read by one call, and store what it says of each with its exchange."""
        first = statements[0][0]
        call = VerificationCall.of([(place, one) for place, (_, _, one) in enumerate(statements)], _READ_AS, proven)
        handles = {assertion: handle for handle, assertion in call.handled}
        told = "\x1f".join(handles[one] for _, _, one in statements)
        key = CallKey(
            run_id=first.run.run_id,
            pass_name=first.run.name,
            batch_key=blake2b(told.encode(), digest_size=8).hexdigest() + SHARED,
            round=_READ_AS,
        )
        request = NextRound(call.request(first.context), RoundKind.VERIFICATION)
        records = [one for sharer, _ in keys.values() for one in sharer.batch.record_ids]
        answer = _object(await asking.ask(key, request, list(dict.fromkeys(records))))
        if answer is None or call.read(answer) is None:
            return  # the passes ask again, in another order
        said = readings_by_handle(answer)
        parts: dict[CallKey, tuple[str, AskedRound]] = {}
        for own, (sharer, about) in keys.items():
            mine = [(number, one) for which, number, one in statements if which is sharer and number in about]
            # An exchange reads its part as a call of its own.
            own_call = VerificationCall(_READ_AS, tuple(mine))
            items = [{**item, "id": name} for name, one in own_call.handled for item in said.get(handles[one], ())]
            asked = AskedRound(RoundKind.VERIFICATION, (), tuple(about), _READ_AS)
            parts[own] = (orjson.dumps({"readings": items}).decode(), asked)
        await self._split(key, parts)

    async def _split(self, key: CallKey, parts: Mapping[CallKey, tuple[str, AskedRound]]) -> None:
        def split(unit: UnitOfWork) -> None:
            dream_stores(unit).calls.split(key, parts)

        if parts:
            first = self.runs[0]
            await first.parts.storage.write(first.scope, split)


def _reader(run: ModelPassRun) -> JointReader:
    return cast("JointReader", run.model_pass)


def _room(one: _Sharer) -> int:
    return one.context.options.model.prompt_tokens


def _object(answer: object) -> Answer | None:
    """Return the one object of a whole answer; None for what was cut off, or is no answer."""
    if not isinstance(answer, StoredAnswer) or answer.completion.finish_reason is not FinishReason.STOP:
        return None
    found = extract_object(answer.completion.text)
    return found if isinstance(found, dict) else None


async def _together(work: Sequence[Coroutine[Any, Any, None]]) -> None:
    """Do all of it side by side; the first error ends the rest."""
    try:
        async with asyncio.TaskGroup() as group:
            for one in work:
                group.create_task(one)
    except BaseExceptionGroup as failed:
        raise first_error_of(failed) from None
