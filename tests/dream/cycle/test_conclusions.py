"""Conclusions in runs: what the host changes of them stands in the journal, and people are told what to restore."""

from dataclasses import replace

import pytest
from concluding import Concluding, concluded, premise_of
from dreaming import World
from wishing import Wishful

from agentcore.domain import MemoryEntry, Status
from agentcore.errors import InvalidContentError
from dream.domain import Change, ChangeSet, Proposal


async def moved(world: World) -> tuple[MemoryEntry, MemoryEntry]:
    """A premise, and what was concluded from it."""
    (premise,) = await world.add("Ana was born in Porto")
    conclusion = concluded(world, "Ana was born in Portugal", [premise_of(premise)])
    await world.run_passes(Concluding([conclusion]))
    return premise, await world.get(conclusion)


def retiring(world: World, entry: MemoryEntry) -> Wishful:
    gone = replace(entry, status=Status.ARCHIVED, status_reason="Old.", status_at=world.clock.now())
    changes = (Change[MemoryEntry](before=entry, after=gone, reason="Old."),)
    return Wishful(lambda _: Proposal(change_sets=(ChangeSet(operation="drop", changes=changes),)))


async def test_a_run_tells_in_its_journal_what_became_of_conclusions(world: World):
    premise, conclusion = await moved(world)
    run = await world.run_passes(retiring(world, premise))
    told = [(row.operation, row.record_id, row.reason) for row in await world.dreams.diff(run.run_id)]
    assert told == [("drop", premise.id, "Old."), ("uphold", conclusion.id, f"premise_gone: {premise.id}")]
    assert (await world.get(conclusion)).lost_premises
    await world.dreams.undo(run.run_id)
    assert await world.get(conclusion) == conclusion


async def test_a_conclusion_whose_premise_is_gone_is_restored_by_restoring_the_premise(world: World):
    premise, conclusion = await moved(world)
    await world.change(premise, status=Status.ARCHIVED, status_reason="Old.", status_at=world.clock.now())
    with pytest.raises(InvalidContentError, match=f"rests on {premise.id}, which is gone; restore that first"):
        await world.dreams.restore(conclusion.id)
    restored = await world.dreams.restore(premise.id)
    assert (await world.get(conclusion)).is_active
    rows = await world.dreams.diff(restored.run_id)
    assert [(row.operation, row.reason) for row in rows][1:] == [("uphold", "its premises are back")]
