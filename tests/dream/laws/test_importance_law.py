"""Law 6: importance depends on calendar time and reinforcement alone."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from dreaming import World
from hypothesis import given, strategies as st
from memories import laboratory

from agentcore.recall import Recall
from dream.domain import Outcome

TEXTS = ("Ana likes tea", "Ben bakes rye", "Cem plays chess")
DAYS = (0.01, 3, 29.9, 30, 31, 75, 400)
BASES = (0.05, 0.1, 0.3, 0.5, 0.95)

happenings = st.lists(
    st.one_of(
        st.tuples(st.just("wait"), st.sampled_from(DAYS), st.none()),
        st.tuples(st.sampled_from(("remember", "copy", "copy-old")), st.sampled_from(TEXTS), st.sampled_from(BASES)),
        st.tuples(st.sampled_from(("dream", "dream", "restart", "undo", "rewrite")), st.integers(0, 9), st.none()),
    ),
    min_size=3,
    max_size=14,
)


def closed_form(base: float, seen: datetime, now: datetime) -> float:
    """The value that ruling 9 gives, spelled out once more."""
    faded_days = max(0.0, (now - seen).total_seconds() / 86_400 - 30.0)
    return base if base <= 0.10 else max(0.10, base * 0.5 ** (faded_days / 45.0))


class Diary:
    """What was observed of each text, and so what its importance has to be."""

    def __init__(self) -> None:
        self.seen: dict[str, list[tuple[float, datetime]]] = {}

    def note(self, text: str, base: float, at: datetime) -> None:
        self.seen.setdefault(text, []).append((base, at))

    def importance(self, text: str, now: datetime) -> float:
        bases, instants = zip(*self.seen[text], strict=True)
        return closed_form(max(bases), max(instants), now)


async def happen(world: World, diary: Diary, what: str, which: Any, base: float | None) -> World:
    now = world.clock.now()
    if what == "wait":
        world.clock.advance(timedelta(days=which))
    elif what == "dream":
        await world.dreams.run()
    elif what == "restart":
        recall = Recall(world.storage)
        await recall.start()
        return replace(world, recall=recall)
    elif what == "remember":
        await world.memory.remember(which, importance=base)
        diary.note(which, base or 0.0, now)
    elif what.startswith("copy"):
        seen = now - timedelta(days=90 if what == "copy-old" else 0)
        await world.add(world.entry(f"{which}.", created_at=seen, recorded_at=now, base=base))
        diary.note(which, base or 0.0, seen)
    else:
        await revise(world, what, which)
    return world


async def revise(world: World, what: str, which: int) -> None:
    runs = [run for run in await world.dreams.runs() if run.changes]
    active = await world.active()
    if what == "undo" and runs:
        # And back again, since copies that a person keeps apart share no reinforcement.
        undone = await world.dreams.undo(runs[which % len(runs)].run_id)
        await world.dreams.undo(undone.run_id)
    elif what == "rewrite" and active:
        await world.memory.update(active[which % len(active)].id, tags=[f"tag{which}"])


@laboratory(0.25)
@given(story=happenings)
async def test_after_any_story_the_importance_is_the_closed_form_of_what_was_observed(world: World, story: list[Any]):
    one, diary, opened = world.elsewhere(), Diary(), list[Recall]()
    for what, which, base in story:
        one = await happen(one, diary, what, which, base)
        if what == "restart":
            opened.append(one.recall)
        now = one.clock.now()
        for entry in await one.active():
            assert entry.importance == pytest.approx(closed_form(entry.base, entry.last_seen_at, now), abs=1e-12)
    await one.dreams.run()
    found = {entry.content.rstrip("."): entry for entry in await one.active()}
    assert len(found) == len(await one.active()) == len(diary.seen)
    for text, entry in found.items():
        assert entry.importance == pytest.approx(diary.importance(text, one.clock.now()), abs=1e-12)
    for recall in opened:
        await recall.stop()


@laboratory(0.2)
@given(cadence=st.lists(st.floats(0.1, 60), min_size=1, max_size=8))
async def test_how_often_dreams_run_changes_no_importance(world: World, cadence: list[float]):
    dreaming, resting = world.elsewhere(), world.elsewhere()
    for one in (dreaming, resting):
        await one.add(one.entry("Ana likes tea", id="a", base=0.95), one.entry("Ben bakes rye", id="b", base=0.2))
    for days in cadence:
        world.clock.advance(timedelta(days=days))
        assert (await dreaming.dreams.run()).outcome is not Outcome.FAILED
    values = [[entry.importance for entry in await one.entries()] for one in (dreaming, resting)]
    assert values[0] == values[1]
