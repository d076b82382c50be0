"""Clusters that were left as they are come back, ever more seldom, to be merged only."""

import orjson
import pytest
from consolidating import NOTHING, Shown, contents, dream, drop, lines, merge, save, supersede
from dreaming import DAY, NOW, World, codes
from talking import answering

from agentcore.domain import Status
from dream.domain import Refused, SettledCluster, Skip
from dream.options import ConsolidationOptions
from dream.passes.memory_consolidation import reopens_at
from dream.stores import dream_stores

TEA, GREEN, BOTH = "Ana likes tea.", "Ana likes green tea.", "Ana likes tea and green tea."


async def settled(world: World) -> list[SettledCluster]:
    return await world.storage.read(world.scope, lambda view: dream_stores(view).clusters.all("memory-consolidation"))


async def declined(world: World, times: int = 1) -> None:
    """Add a cluster and have it left alone so often."""
    await world.add(TEA, GREEN)
    await dream(world, NOTHING)
    for _ in range(times - 1):
        world.clock.advance(56 * DAY)
        await dream(world, NOTHING)


@pytest.mark.parametrize(("declines", "days"), [(1, 7), (2, 14), (3, 28), (4, 56), (5, 56), (500, 56)])
def test_the_wait_doubles_up_to_a_bound(declines: int, days: int):
    cluster = SettledCluster(fingerprint="f", record_ids=("a", "b"), declines=declines, declined_at=NOW)
    assert reopens_at(cluster, ConsolidationOptions()) == NOW + days * DAY


# What RockBot's tests of reopened clusters ask.


async def test_a_cluster_whose_time_has_come_is_shown_again_marked_merge_only(world: World):
    await declined(world)
    world.clock.advance(7 * DAY)
    _, requests = await dream(world, NOTHING)
    assert set(lines(requests[0])) == {TEA, GREEN}
    assert all(said.endswith(" merge-only") for said in lines(requests[0]).values())


async def test_before_its_time_no_call_is_made(world: World):
    await declined(world)
    world.clock.advance(7 * DAY - DAY / 100)
    report, requests = await dream(world)
    assert (requests, report.reason) == ([], Skip.NO_WORK)


@pytest.mark.parametrize("script", [drop(TEA), supersede(TEA, GREEN)])
async def test_nothing_of_it_can_be_thinned_out(world: World, script: object):
    await declined(world)
    world.clock.advance(7 * DAY)
    report, _ = await dream(world, script)
    assert codes(report) == [Refused.MERGE_ONLY]
    assert contents(await world.active()) == {TEA, GREEN}


async def test_nothing_of_it_gives_way_to_a_merge(world: World):
    await declined(world)
    world.clock.advance(7 * DAY)

    def answer(shown: Shown) -> dict[str, object]:
        gone = {"id": shown[TEA], "reason": "", "supersededBy": 0}
        return {"toDelete": [gone], "toSave": [save(shown, GREEN, GREEN)]}

    report, _ = await dream(world, answer)
    assert codes(report) == [Refused.MERGE_ONLY]


async def test_it_is_merge_only_in_the_run_after_one_that_did_not_get_to_it_too(world: World):
    await declined(world)
    world.clock.advance(7 * DAY)
    ids = [entry.id for entry in await world.active()]
    await world.write(lambda unit: dream_stores(unit).cursors.reopen("memory-consolidation", ids))
    report, _ = await dream(world, drop(TEA))
    assert (codes(report), report.backlog) == ([Refused.MERGE_ONLY], 0)
    assert (await dream(world))[0].reason == Skip.NO_WORK


async def test_a_merge_of_it_is_made_and_it_is_settled_no_longer(world: World):
    await declined(world)
    world.clock.advance(7 * DAY)
    await dream(world, merge(BOTH, TEA, GREEN))
    assert contents(await world.active()) == {BOTH}
    assert await settled(world) == []


async def test_leaving_it_again_counts(world: World):
    await declined(world, times=3)
    assert [cluster.declines for cluster in await settled(world)] == [3]
    report, requests = await dream(world)
    assert (requests, report.reason) == ([], Skip.NO_WORK)


async def test_a_cluster_that_a_new_entry_joined_is_a_new_one(world: World):
    await declined(world)
    first = await settled(world)
    await world.add("Ana likes black tea.")
    report, _ = await dream(world, NOTHING)
    (now,) = await settled(world)
    assert (len(now.record_ids), now.declines, report.notes["declined"]) == (3, 1, 1)
    assert now.fingerprint != first[0].fingerprint


async def test_what_is_alone_settles_in_no_cluster(world: World):
    await world.add(TEA, "Ben plays chess.")
    await dream(world, NOTHING)
    assert await settled(world) == []


async def test_the_longest_overdue_come_first_and_only_so_many(world: World):
    for place in range(3):
        await world.add(f"Topic{place} alpha{place} beta{place}", f"Topic{place} alpha{place} gamma{place}")
        await dream(world, NOTHING)
        world.clock.advance(DAY)
    world.clock.advance(30 * DAY)
    _, requests = await dream(world, NOTHING, reopen_clusters=2)
    assert {text.split()[0] for text in lines(requests[0])} == {"Topic0", "Topic1"}


async def test_a_cluster_that_is_no_more_is_forgotten(world: World):
    await declined(world)
    tea = next(entry for entry in await world.active() if entry.content == TEA)
    await world.change(tea, status=Status.ARCHIVED, status_reason="old", status_at=world.clock.now())
    world.clock.advance(7 * DAY)
    report, _ = await dream(world)
    assert report.reason == Skip.NO_WORK
    await world.add("Ben plays chess.")
    await dream(world, NOTHING)
    assert await settled(world) == []


async def test_a_cluster_with_a_changed_member_waits_for_that_members_review(world: World):
    await declined(world)
    tea = next(entry for entry in await world.active() if entry.content == TEA)
    world.clock.advance(7 * DAY)
    await world.change(tea, content="Ana likes tea a lot.")
    _, requests = await dream(world, NOTHING)
    assert [len(lines(request)) for request in requests] == [2]
    assert not any("merge-only" in said for said in lines(requests[0]).values())


async def test_a_refused_merge_leaves_its_cluster_settled_too(world: World):
    await world.add("Ana pays 12 euros for tea.", "Ana pays for green tea.")
    script = merge("Ana pays for tea.", "Ana pays 12 euros for tea.", "Ana pays for green tea.")
    await dream(world, script, denies=["Ana pays for tea."], repairs=0)
    assert [cluster.declines for cluster in await settled(world)] == [1]


async def test_a_plan_that_left_a_cluster_as_it_is_keeps_that_when_it_is_applied_and_its_undo_forgets_it(world: World):
    await world.add(TEA, GREEN)
    planning = answering(world, orjson.dumps({"toDelete": [], "toSave": []}).decode())
    plan = await planning.dreams.plan(passes=["memory-consolidation"])
    assert await settled(world) == []
    await planning.dreams.run(plan=plan.plan_id)
    assert [cluster.declines for cluster in await settled(world)] == [1]
    world.clock.advance(7 * DAY)
    _, requests = await dream(world, NOTHING)
    assert all(said.endswith(" merge-only") for said in lines(requests[0]).values())
    assert [cluster.declines for cluster in await settled(world)] == [2]
    other = world.elsewhere()
    await other.add(TEA, GREEN)
    again = answering(other, orjson.dumps({"toDelete": [], "toSave": []}).decode())
    applied = await again.dreams.run(plan=(await again.dreams.plan(passes=["memory-consolidation"])).plan_id)
    await again.dreams.undo(applied.run_id)
    assert await settled(other) == []
