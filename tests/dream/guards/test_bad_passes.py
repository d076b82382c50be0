"""What a pass that misbehaves can do: nothing but be reported."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from dreaming import DAY, NOW, World, codes
from wishing import Wish, Wishful, Zealous, nothing

from agentcore.domain import MemoryEntry, RecordKind, Skill, SkillUse, Status, Trust, Turn
from dream.domain import (
    Change,
    ChangeSet,
    HistoryKind,
    Outcome,
    PassOutcome,
    PassReport,
    Proposal,
    PurgeHistory,
    PurgeRecords,
    PurgeSignals,
)


def change(before: Any, after: Any, reason: str = "because it wishes so") -> ChangeSet:
    return ChangeSet(operation="wish", changes=(Change(before=before, after=after, reason=reason),))


def together(*pairs: tuple[Any, Any]) -> ChangeSet:
    changes = tuple(Change(before=before, after=after, reason="because") for before, after in pairs)
    return ChangeSet(operation="wish", changes=changes)


def skill(world: World, name: str = "mail") -> Skill:
    return Skill(id=name, scope=world.scope, name=name, summary="s", content="c", created_at=NOW)


async def granted(world: World, wish: Wish) -> PassReport:
    report = await world.run_passes(Wishful(wish))
    return report.passes[0]


async def test_a_reasonable_wish_is_granted(world: World):
    (entry,) = await world.add("Ana likes tea")
    done = await granted(world, lambda found: Proposal(change_sets=(change(found[0], replace(found[0], tags=("x",))),)))
    assert (done.outcome, done.accepted) == (PassOutcome.APPLIED, 1)
    assert (await world.get(entry)).tags == ("x",)


@pytest.mark.parametrize(
    ("wish", "code"),
    [
        (lambda one: change(one, None), "destroys"),
        (lambda one: change(one, replace(one, trust=Trust.CONFIRMED)), "trust_raised"),
        (lambda one: change(one, replace(one, base=1.0)), "importance_raised"),
        (lambda one: change(one, replace(one, last_seen_at=NOW + DAY)), "importance_raised"),
        (lambda one: change(one, replace(one, own_count=9)), "reinforcement_raised"),
        (lambda one: change(one, replace(one, content="x"), reason=" "), "no_reason"),
        (lambda one: change(one, replace(one, status=Status.ARCHIVED)), "no_reason"),
        (lambda one: change(one, replace(one, category="active-plans")), "protected_category"),
        (lambda one: change(one, replace(one, id="another")), "mismatched"),
        (lambda one: change(replace(one, content="forged"), replace(one, content="y")), "stale_source"),
        (lambda one: change(replace(one, version=9), replace(one, content="y")), "stale_source"),
        (lambda one: change(replace(one, id="nobody"), replace(one, id="nobody", content="y")), "stale_source"),
        (lambda one: change(None, replace(one, content="y")), "stale_source"),
    ],
)
async def test_a_wish_against_the_laws_changesnothing_and_is_reported(
    world: World, wish: Callable[[MemoryEntry], ChangeSet], code: str
):
    await world.add("Ana likes tea", "Ben likes rye")
    before, revision = await world.export(), await world.revision()
    done = await granted(world, lambda found: Proposal(change_sets=(wish(found[0]),)))
    assert (codes(done), done.accepted) == ([code], 0)
    assert (await world.export(), await world.revision()) == (before, revision)
    assert await world.journal() == []


async def test_an_entry_cannot_be_replaced_by_a_skill(world: World):
    await world.add("Ana likes tea")
    before = await world.export()
    wish = skill(world)
    done = await granted(world, lambda found: Proposal(change_sets=(change(found[0], wish),)))
    assert codes(done) == ["mismatched"]
    assert await world.export() == before


async def test_of_two_operations_on_one_record_the_later_is_refused(world: World):
    tea, rye = await world.add("Ana likes tea", "Ben likes rye")

    def wish(found: Sequence[MemoryEntry]) -> Proposal:
        first, second = found
        one = change(first, replace(first, tags=("one",)))
        other = together((first, replace(first, tags=("other",))), (second, replace(second, tags=("other",))))
        return Proposal(change_sets=(one, other))

    done = await granted(world, wish)
    assert (done.accepted, codes(done)) == (1, ["stale_source"])
    assert (await world.get(tea)).tags == ("one",)
    assert (await world.get(rye)).tags == ()


async def test_no_pass_but_retention_may_purge(world: World):
    retired = {"status": Status.ARCHIVED, "status_reason": "old", "status_at": NOW - 200 * DAY}
    await world.add("Ana likes tea")
    await world.add("old", **retired)
    at = NOW - 200 * DAY
    turn = Turn(id="t", scope=world.scope, session_id="s", role="user", content="hi", occurred_at=at, recorded_at=at)
    await world.write(lambda unit: unit.turns.add([turn]))
    before = await world.export()
    done = await granted(
        world,
        lambda found: Proposal(
            purges=(
                PurgeRecords(RecordKind.ENTRY, tuple(found), "tidy"),
                PurgeRecords(RecordKind.TURN, (turn,), "tidy"),
                PurgeSignals(RecordKind.FEEDBACK, NOW, 0, 99, "tidy"),
                PurgeHistory(HistoryKind.RUNS, NOW + DAY, 99, "tidy"),
            )
        ),
    )
    assert (codes(done), done.purged) == (["destroys"], 0)
    assert await world.export() == before


async def test_not_even_retention_purges_what_is_active_recent_or_protected(world: World):
    old = {"status": Status.ARCHIVED, "status_reason": "old", "status_at": NOW - 200 * DAY}
    await world.add("active")
    doomed, *others = await world.add(
        world.entry("old", **old),
        world.entry("recent", **(old | {"status_at": NOW - DAY})),
        world.entry("pinned", pinned=True, **old),
        world.entry("important", base=0.9, **old),
        world.entry("often", own_count=7, **old),
    )
    (active,) = await world.active()
    forged = replace(active, **old)
    records = (doomed, *others, forged)
    done = await world.run_passes(Zealous(lambda _: Proposal(purges=(PurgeRecords(RecordKind.ENTRY, records, "x"),))))
    assert (done.passes[0].purged, codes(done.passes[0])) == (1, ["destroys"] * 5)
    assert {entry.content for entry in await world.entries()} == {"active", "recent", "pinned", "important", "often"}


async def test_a_record_purged_or_changed_meanwhile_is_left_to_the_next_run(world: World):
    old = {"status": Status.ARCHIVED, "status_reason": "old", "status_at": NOW - 200 * DAY}
    first, second = await world.add(world.entry("one", **old), world.entry("two", **old))
    await world.change(first, tags=("touched",))
    purge = PurgeRecords(RecordKind.ENTRY, (first, second), "x")
    done = await world.run_passes(Zealous(lambda _: Proposal(purges=(purge,))))
    assert (done.passes[0].purged, codes(done.passes[0])) == (1, ["stale_source"])


async def test_records_that_no_dream_changes_fail_the_pass_andnothing_else(world: World):
    use = SkillUse(id="u", scope=world.scope, skill_name="mail", session_id="s", occurred_at=NOW, recorded_at=NOW)
    await world.add("Ana likes tea")
    before = await world.export()
    done = await granted(world, lambda _: Proposal(change_sets=(change(None, use),)))
    assert done.outcome is PassOutcome.FAILED
    assert await world.export() == before


async def test_a_record_of_another_scope_cannot_be_written(world: World):
    other = world.elsewhere()
    (theirs,) = await other.add("Ben likes rye")
    before, untouched = await world.export(), await other.export()
    new = replace(world.entry("Cem likes figs"), scope=other.scope)
    for wish in (change(theirs, replace(theirs, content="mine now")), change(None, new)):
        done = await granted(world, lambda _, wish=wish: Proposal(change_sets=(wish,)))
        assert done.accepted == 0
    assert (await world.export(), await other.export()) == (before, untouched)


async def test_a_name_that_is_taken_is_refused(world: World):
    await world.write(lambda unit: unit.skills.add(skill(world)))
    rival = replace(skill(world, "other"), name="mail")
    report = await world.run_passes(Wishful(lambda _: Proposal(change_sets=(change(None, rival),))), Zealous(nothing))
    assert codes(report.passes[0]) == ["name_taken"]
    assert [one.outcome for one in report.passes] == [PassOutcome.UNCHANGED, PassOutcome.UNCHANGED]
    assert (await world.dreams.status()).interrupted is None


async def test_a_pass_that_never_comes_to_an_end_is_stopped(world: World):
    endless = Wishful(lambda _: Proposal(done=False))
    report = await world.run_passes(endless, Zealous(nothing))
    assert report.passes[0].outcome is PassOutcome.FAILED
    assert "got nowhere in 10 steps" in str(report.passes[0].reason)
    assert report.outcome is Outcome.PARTIAL
    assert len(endless.asked) == 10


async def test_a_person_who_writes_between_proposal_and_commit_is_not_overwritten(world: World):
    tea, rye = await world.add("Ana likes tea", "Ben likes rye")

    async def interfere() -> None:
        await world.change(tea, content="Ana likes green tea")

    def wish(found: Sequence[MemoryEntry]) -> Proposal:
        return Proposal(change_sets=tuple(change(one, replace(one, tags=("x",))) for one in found))

    report = await world.run_passes(Wishful(wish, interfere))
    assert (report.changes, codes(report.passes[0])) == (1, ["stale_source"])
    assert (await world.get(tea)).content == "Ana likes green tea"
    assert (await world.get(tea)).tags == ()
    assert (await world.get(rye)).tags == ("x",)


async def test_an_entry_that_appeared_meanwhile_under_the_id_of_a_new_one_stays(world: World):
    new = world.entry("the dream's", id="same")

    async def interfere() -> None:
        await world.add(world.entry("the person's", id="same"))

    report = await world.run_passes(Wishful(lambda _: Proposal(change_sets=(change(None, new),)), interfere))
    assert codes(report.passes[0]) == ["stale_source"]
    assert (await world.get("same")).content == "the person's"


async def test_a_refused_pass_is_asked_again_and_still_changesnothing(world: World):
    await world.add("Ana likes tea", created_at=NOW - timedelta(days=1))
    before = await world.export()
    for _ in range(3):
        assert codes(await granted(world, lambda found: Proposal(change_sets=(change(found[0], None),)))) == [
            "destroys"
        ]
    assert await world.export() == before
