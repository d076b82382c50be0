"""What a pass without a model may retire in a day, and write in a run."""

from dataclasses import replace
from typing import Any, ClassVar

from dreaming import DAY, NOW, World, codes, of_pass
from talking import MINUTE
from wishing import Wishful

from agentcore.domain import MemoryEntry, Status, Trust
from dream.domain import Change, ChangeSet, Proposal
from dream.options import ConsolidationOptions, DreamOptions


class Sweeping(Wishful):
    """Archives all it sees, and is not done before nothing is left."""

    name: ClassVar[str] = "sweeping"


def sweep(entries: list[MemoryEntry]) -> Proposal:
    gone = [replace(entry, status=Status.ARCHIVED, status_reason="swept", status_at=NOW) for entry in entries]
    sets = [
        ChangeSet(operation="sweep", changes=(Change(before=entry, after=after, reason="swept"),))
        for entry, after in zip(entries, gone, strict=True)
    ]
    return Proposal(change_sets=tuple(sets), looked_at=tuple(entry.id for entry in entries), done=not entries)


async def test_what_has_no_room_today_is_found_again_by_a_later_run(world: World):
    world.options = DreamOptions(consolidation=ConsolidationOptions(share_cap=0.0, share_cap_min=2))
    await world.add(*(f"note {place}" for place in range(5)))
    first = of_pass(await world.run_passes(Sweeping(sweep)), "sweeping")
    assert (first.accepted, codes(first), first.backlog) == (2, ["share_cap"] * 3, 3)
    world.clock.advance(DAY * 1.1)
    second = of_pass(await world.run_passes(Sweeping(sweep)), "sweeping")
    assert (second.accepted, codes(second)) == (2, ["share_cap"])
    world.clock.advance(DAY * 1.1)
    last = of_pass(await world.run_passes(Sweeping(sweep)), "sweeping")
    assert (last.accepted, codes(last), await world.active()) == (1, [], [])


async def test_room_comes_back_a_day_after_a_retirement_and_no_minute_earlier(world: World):
    world.options = DreamOptions(consolidation=ConsolidationOptions(share_cap=0.0, share_cap_min=2))
    await world.add(*(f"note {place}" for place in range(5)))

    async def accepted() -> int:
        return of_pass(await world.run_passes(Sweeping(sweep)), "sweeping").accepted

    assert await accepted() == 2
    world.clock.advance(DAY - MINUTE)
    assert await accepted() == 0
    world.clock.advance(MINUTE)
    assert await accepted() == 2


async def test_an_operation_that_alone_writes_more_than_a_run_may_is_made_as_long_as_any_room_is_left(world: World):
    def written(*sizes: int) -> Proposal:
        def noted(size: int) -> ChangeSet:
            new = [world.entry(f"note {number}", trust=Trust.INFERRED) for number in range(size)]
            changes = tuple(Change[Any](before=None, after=one, reason="a test wished it") for one in new)
            return ChangeSet(operation="note", changes=changes)

        return Proposal(change_sets=tuple(map(noted, sizes)))

    async def told(*sizes: int) -> tuple[int, list[str]]:
        report = of_pass(await world.run_passes(Wishful(lambda _: written(*sizes))), "wishful")
        return report.accepted, codes(report)

    world.options = DreamOptions(max_outputs=2)
    assert await told(3) == (3, [])
    assert await told(1, 3, 1) == (4, ["output_cap"])
    assert await told(2, 3) == (2, ["output_cap"])
    assert await told(1, 2) == (1, ["output_cap"])
