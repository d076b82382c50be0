"""Passes of the host's own that read turns: the log waits for them, and their cursors travel."""

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import orjson
import pytest
from dreaming import World, of_pass
from talking import answering, talk

from agentcore import AgentHostBuilder
from agentcore.domain.capability import Capability
from agentcore.errors import InvalidInputError
from agentcore.stores.storage import ReadView
from dream.domain.declaration import Reads
from dream.domain.proposal import Notes, Proposal, Work
from dream.interfaces.exchange.importer import import_file
from dream.options import OwnPasses
from dream.passes import DreamContext
from dream.passes.fact_mining import FactMining
from dream.passes.log_consumption import LogConsumption
from dream.stores import dream_stores

NO_FACTS = orjson.dumps({"facts": []}).decode()


class Deduction:
    """Tells what was said since it last looked, unless its model is down."""

    name: ClassVar[str] = "weather"
    requires: ClassVar[frozenset[Capability]] = frozenset({Capability.CONVERSATION})
    reads: ClassVar[Reads] = Reads.TURNS

    def __init__(self) -> None:
        self.is_down = False
        self.heard: list[str] = []

    async def has_work(self, _context: DreamContext) -> Work:
        return Work(1)

    async def propose(self, context: DreamContext) -> Proposal:
        if self.is_down:
            raise RuntimeError("model down")
        turns = await context.read(lambda view: [one for one in view.records() if hasattr(one, "session_id")])
        last = await context.read(lambda view: view.turns.last_position())
        self.heard = sorted(one.content for one in turns if getattr(one, "consumed_at", "") is None)
        return Proposal(cursor=last, notes={"heard": len(self.heard)})

    def conclude(self, notes: Sequence[Notes]) -> Notes:
        return notes[-1]


class Misdeclared(Deduction):
    reads = "turns"  # type: ignore[assignment]


def listening(world: World, own: Deduction) -> World:
    return answering(world, *(NO_FACTS,) * 9, passes=OwnPasses().insert_after("fact-mining", own))


async def test_the_log_waits_for_a_pass_of_the_hosts_own_that_failed(world: World):
    own = Deduction()
    heard = answering(world, *(NO_FACTS,) * 9)
    await talk(world, "I moved to Lisbon.")
    own.is_down = True
    failed = await heard.run_passes(FactMining(), own, LogConsumption())
    assert [one.outcome for one in failed.passes] == ["unchanged", "failed", "unchanged"]
    own.is_down = False
    mended = await heard.run_passes(FactMining(), own, LogConsumption())
    assert own.heard == ["I moved to Lisbon."]
    assert of_pass(mended, "log-consumption").notes["consumed"] == 1


async def test_a_run_and_its_undo_and_the_undo_of_that_leave_the_turns_of_an_own_pass_pending_as_they_were(
    world: World,
):
    own = Deduction()
    heard = listening(world, own)
    await talk(world, "I moved to Lisbon.")
    before = await world.export()
    run = await heard.dreams.run(passes=["weather"])
    after = await world.export()
    undone = await heard.dreams.undo(run.run_id)
    assert await world.export() == before
    await heard.dreams.undo(undone.run_id)
    assert await world.export() == after
    await talk(world, "I have a dog.", session="s2")
    assert len(await pending(world)) == 1


async def test_a_plan_moves_the_cursor_of_an_own_pass_past_turns(world: World):
    heard = listening(world, Deduction())
    await talk(world, "I moved to Lisbon.")
    plan = await heard.dreams.plan(passes=["weather"])
    await heard.dreams.run(plan=plan.plan_id)
    assert await pending(world) == []
    await talk(world, "I have a dog.", session="s2")
    assert len(await pending(world)) == 1


async def test_an_export_tells_another_scope_what_an_own_pass_reads(world: World, tmp_path: Path):
    heard = listening(world, Deduction())
    await talk(world, "I moved to Lisbon.")
    await heard.dreams.run(passes=["weather"])
    await talk(world, "I have a dog.", session="s2")
    path = tmp_path / "backup.jsonl"
    exported = await world.export()
    path.write_bytes(orjson.dumps({"format": "agentcore-dream/1", "scope": str(world.scope)}) + b"\n" + exported)
    other = world.elsewhere()
    await import_file(other.storage, other.scope, path, clock=other.clock, ids=other.ids)
    assert await other.export() == exported
    assert await pending(other) == await pending(world)


def test_a_pass_that_reads_what_nobody_knows_fails_the_build():
    with pytest.raises(InvalidInputError, match="`reads` must be one of"):
        AgentHostBuilder(None).with_dreaming(
            lambda options: options.replace(passes=OwnPasses().append(Misdeclared()))
        ).build()


async def pending(world: World) -> list[str]:
    def look(view: ReadView) -> list[str]:
        return dream_stores(view).cursors.pending("weather")

    return await world.storage.read(world.scope, look)
