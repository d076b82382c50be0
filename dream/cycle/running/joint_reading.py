"""Asks the first question of several passes at once, where they read the same new turns."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from agentcore.errors import StorageError
from agentcore.llm import extract_object
from agentcore.llm.chat import FinishReason
from dream.cycle.running.model_pass_run import first_of
from dream.domain.rounds import NextRound
from dream.passes.conversation.joint import KIND, JointReader, SharedReading, joint_question, parts_of
from dream.stores import dream_stores
from dream.stores.calls import SHARED, CallKey, StoredAnswer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agentcore.stores.storage import ReadView, UnitOfWork
    from dream.cycle.running.model_calls import ModelCalls
    from dream.cycle.running.model_pass_run import ModelPassRun
    from dream.domain.step import Batch
    from dream.passes import ModelContext

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class JointReading:
    """The first questions that passes of one run share; lives as long as the run.

    It packs for those that have the same new turns before them, asks once about each batch, and stores each part of the
    answer as the answer to its pass's own first question. From there every pass goes its own way: it asks alone for a
    part that cannot be read, and for whatever comes after the first question. So reports, budgets, undo and what a kill
    costs are those of the passes.

    Args:
        runs: The passes of the run that can share questions, in order.
    """

    runs: Sequence[ModelPassRun]

    async def prepare(self) -> None:
        """Pack and ask as far as that can be done together; what cannot is left to the passes."""
        try:
            await self._pack()
            await self._ask()
        except StorageError:
            raise
        except Exception:  # noqa: BLE001 - the boundary of what the passes share
            # Each of them asks alone then, and reports what it meets.
            _log.warning("New turns are read by each pass alone: the question that they share failed.", exc_info=True)

    async def _pack(self) -> None:
        ready = [one for one in self.runs if await one.is_to_pack()]
        shared = await SharedReading.of([(_reader(one), await one.context()) for one in ready])
        for one in ready:
            if one.name in shared.packings:
                await one.people.wait_until_idle()
                await one.pack_as(shared.packings[one.name])

    async def _ask(self) -> None:
        shared: dict[str, list[tuple[ModelPassRun, Batch]]] = {}
        for run in self.runs:
            for batch in run.unfinished:
                if batch.kind == KIND and not batch.waited and "." not in batch.number:
                    shared.setdefault(batch.number, []).append((run, batch))
        if not shared:
            return
        contexts = {one.name: await one.context() for one in self.runs if one.steps}
        asking = await next(iter(shared.values()))[0][0].asking()
        try:
            async with asyncio.TaskGroup() as group:
                for sharing in shared.values():
                    group.create_task(self._about(sharing, contexts, asking))
        except BaseExceptionGroup as failed:
            raise first_of(failed) from None

    async def _about(
        self, sharing: Sequence[tuple[ModelPassRun, Batch]], contexts: Mapping[str, ModelContext], asking: ModelCalls
    ) -> None:
        """Ask about one batch, unless a process of this run has split its answer already."""
        first, batch = sharing[0]
        keys = [CallKey(run_id=one.run_id, pass_name=one.name, batch_key=batch.number, round=1) for one, _ in sharing]

        def is_answered(view: ReadView) -> bool:
            return any(dream_stores(view).calls.find(key) is not None for key in keys)

        if await first.parts.storage.read(first.scope, is_answered):
            return
        asked = await joint_question([(_reader(one), contexts[one.name]) for one, _ in sharing], batch)
        if asked is None:
            return
        request, names = asked
        key = CallKey(run_id=first.run_id, pass_name=first.name, batch_key=batch.number + SHARED, round=1)
        answer = await asking.ask(key, NextRound(request), batch.record_ids)
        parts = _parts(answer, names)
        if parts:

            def split(unit: UnitOfWork) -> None:
                dream_stores(unit).calls.split(key, parts)

            await first.parts.storage.write(first.scope, split)


def _reader(run: ModelPassRun) -> JointReader:
    return cast("JointReader", run.model_pass)


def _parts(answer: object, names: Sequence[str]) -> dict[str, str]:
    """Return the parts that can be read; none of an answer that was cut off, or of what is no answer."""
    if not isinstance(answer, StoredAnswer) or answer.completion.finish_reason is not FinishReason.STOP:
        return {}
    found = extract_object(answer.completion.text)
    return parts_of(found, names) if isinstance(found, dict) else {}
