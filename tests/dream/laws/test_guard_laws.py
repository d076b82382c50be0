"""Laws 1, 4, 7 and 10 against passes that propose anything."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from dreaming import NOW, World
from hypothesis import given, strategies as st
from memories import Spec, fill, laboratory, memories
from wishing import Wishful

from agentcore.domain import MemoryEntry, Scope, Skill, Status, Trust
from dream.domain import Change, ChangeSet, Proposal

Twist = Callable[[MemoryEntry], tuple[Any, Any, str]]
LATER = timedelta(microseconds=1)


def rewrite(**fields: Any) -> Twist:
    return lambda entry: (entry, replace(entry, **fields), "a test wants it")


def a_skill(entry: MemoryEntry) -> Skill:
    return Skill(id=entry.id, scope=entry.scope, name="n", summary="s", content="c", created_at=NOW)


LAWFUL: tuple[Twist, ...] = (
    rewrite(content="Ana likes mint tea"),
    rewrite(tags=("new",)),
    rewrite(base=0.0),
    rewrite(trust=Trust.UNTRUSTED),
    lambda entry: (entry, replace(entry, status=Status.ARCHIVED, status_reason="stale", status_at=NOW), "stale"),
    lambda entry: (None, replace(entry, id=f"new-{entry.id}", own_count=1, absorbed=(), base=0.0), "derived"),
)
UNLAWFUL: tuple[Twist, ...] = (
    lambda entry: (entry, None, "tidy"),
    lambda entry: (entry, replace(entry, content="x"), "  "),
    lambda entry: (entry, replace(entry, status=Status.ARCHIVED, status_reason=None), "tidy"),
    lambda entry: (entry, replace(entry, id=f"{entry.id}-other"), "moved"),
    lambda entry: (entry, replace(entry, scope=Scope("an", "other", "scope")), "moved"),
    lambda entry: (replace(entry, content="forged"), replace(entry, content="x"), "forged"),
    lambda entry: (replace(entry, version=entry.version + 1), replace(entry, content="x"), "forged"),
    lambda entry: (None, entry, "again"),
    lambda entry: (
        entry,
        Skill(id=entry.id, scope=entry.scope, name="n", summary="s", content="c", created_at=NOW),
        "x",
    ),
    lambda entry: (entry, replace(entry, last_seen_at=NOW + LATER), "fresh again"),
    lambda entry: (entry, replace(entry, own_count=entry.own_count + 1), "seen again"),
    lambda entry: (entry, replace(entry, absorbed=(("nobody", 1),)), "seen by nobody"),
    rewrite(category="active-plans/theirs"),
)

picks = st.lists(st.tuples(st.integers(0, 8), st.sampled_from(LAWFUL)), max_size=3)
evil = st.tuples(st.integers(0, 8), st.sampled_from(UNLAWFUL))


def change_set(entries: Sequence[MemoryEntry], picked: Sequence[tuple[int, Twist]]) -> ChangeSet:
    made = [twist(entries[place % len(entries)]) for place, twist in picked]
    changes = tuple(Change(before=before, after=after, reason=reason) for before, after, reason in made)
    return ChangeSet(operation="test", changes=changes)


@laboratory(0.5)
@given(memory=memories, good=picks, bad=evil, at=st.integers(0, 3))
async def test_an_operation_with_one_unlawful_change_changes_nothing(
    world: World, memory: list[Spec], good: list[tuple[int, Twist]], bad: tuple[int, Twist], at: int
):
    one = world.elsewhere()
    await fill(one, [replace(spec, status=Status.ACTIVE) for spec in memory])
    before, revision = await one.export(), await one.revision()
    picked = [*good[:at], bad, *good[at:]]
    report = await one.run_passes(Wishful(lambda found: Proposal(change_sets=(change_set(found, picked),))))
    assert (report.changes, await one.journal()) == (0, [])
    assert (await one.export(), await one.revision()) == (before, revision)
    assert report.passes[0].refused or report.passes[0].outcome.value == "failed"


@laboratory(0.5)
@given(memory=memories, sets=st.lists(st.lists(st.tuples(st.integers(0, 8), st.sampled_from(LAWFUL + UNLAWFUL)),
       min_size=1, max_size=3), max_size=4))  # fmt: skip
async def test_whatever_is_proposed_nothing_is_destroyed_raised_or_beyond_undo(
    world: World, memory: list[Spec], sets: list[list[tuple[int, Twist]]]
):
    one = world.elsewhere()
    await fill(one, [replace(spec, status=Status.ACTIVE) for spec in memory])
    stored = {entry.id: entry for entry in await one.entries()}
    before = await one.export()
    report = await one.run_passes(
        Wishful(lambda found: Proposal(change_sets=tuple(change_set(found, picked) for picked in sets)))
    )
    highest = max(entry.base for entry in stored.values())
    now = {entry.id: entry for entry in await one.entries()}
    assert stored.keys() <= now.keys()
    for entry_id, entry in now.items():
        origin = stored.get(entry_id)
        assert entry.base <= highest
        assert entry.is_active or entry.status_reason
        if origin is not None:
            assert entry.trust <= origin.trust
            assert entry.reinforcement_count <= origin.reinforcement_count
            assert not origin.pinned or (entry.pinned and entry.is_active)
            assert not origin.category.startswith("active-plans") or entry == origin
    if report.changes:
        await one.dreams.undo(report.run_id)
    assert await one.export() == before
