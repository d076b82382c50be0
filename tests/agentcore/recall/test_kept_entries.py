import asyncio
import tempfile
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from hypothesis import given, settings, strategies as st

from agentcore.clock import SystemClock
from agentcore.domain import MemoryEntry, Scope, Status
from agentcore.recall import Hit, Recall
from agentcore.stores import UnitOfWork
from agentcore.stores.sql import SqlStorage
from agentcore.testing import ManualClock

NOON = datetime(2025, 6, 14, 12, tzinfo=UTC)
ANA = Scope("acme", "agent", "ana")
WORDS = ("tea", "rain", "bike", "oslo")
NAMES = tuple(f"e{number}" for number in range(5))

names = st.sampled_from(NAMES)
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("add"), names, texts),
        st.tuples(st.just("reword"), names, texts),
        st.tuples(st.just("tag"), names, texts),
        st.tuples(st.just("retire"), names, st.just("")),
        st.tuples(st.just("delete"), names, st.just("")),
        st.tuples(st.just("forget"), names, st.just("")),
        st.tuples(st.just("wait"), names, st.just("")),
        st.tuples(st.just("spoil"), names, st.just("")),
    ),
    min_size=3,
    max_size=25,
)


def made(name: str, content: str) -> MemoryEntry:
    return MemoryEntry(id=name, scope=ANA, content=content, created_at=NOON, recorded_at=NOON, last_seen_at=NOON)


def write(unit: UnitOfWork, step: str, name: str, text: str) -> None:
    known = unit.entries.get(name)
    if known is None:
        if step == "add":
            unit.entries.add([made(name, text)])
    elif step == "delete":
        unit.entries.delete([name])
    elif step == "forget":
        unit.forget(name)
    elif known.is_active:
        changes: dict[str, dict[str, Any]] = {
            "reword": {"content": text},
            "tag": {"tags": tuple(sorted(set(text.split()))), "metadata": {"said": text}},
            "retire": {"status": Status.ARCHIVED, "status_reason": "old", "status_at": NOON},
        }
        if step in changes:
            unit.entries.replace([(known, replace(known, **changes[step]))])


def spoil(answers: Sequence[list[Hit]]) -> None:
    """Do to entries what their type forbids and Python lets pass."""
    for hit in answers[-1] if answers else ():
        hit.entry.metadata["spoilt"] = "yes"  # pyright: ignore[reportIndexIssue]


async def live(folder: Path, done: Sequence[tuple[str, str, str]]) -> None:
    clock = ManualClock(NOON)
    async with AsyncExitStack() as stack:
        opened: list[SqlStorage] = []
        for _ in range(2):
            storage = SqlStorage(folder / "agentcore.db", clock=clock)
            await storage.start()
            stack.push_async_callback(storage.stop)
            opened.append(storage)
        first = [made(name, f"{word} and {other}") for name, word, other in zip(NAMES, WORDS, WORDS[1:], strict=False)]
        await opened[0].write(ANA, lambda unit: unit.entries.add(first))
        recall, answers = Recall(opened[0]), list[list[Hit]]()
        await recall.start()
        stack.push_async_callback(recall.stop)
        for number, (step, name, text) in enumerate(done):
            if step == "wait":
                clock.advance(timedelta(days=20))
            elif step == "spoil":
                spoil(answers)
            else:
                # Every other write is by somebody whom this recall does not know.
                await opened[number % 2].write(ANA, lambda unit: write(unit, step, name, text))  # noqa: B023 - awaited
            for word in WORDS:
                answers.append(await recall.search(ANA, word, k=3))
                await agrees(answers[-1], opened[1], word)


async def agrees(hits: list[Hit], storage: SqlStorage, word: str) -> None:
    fresh = Recall(storage)
    await fresh.start()
    try:
        expected = await fresh.search(ANA, word, k=3)
    finally:
        await fresh.stop()
    assert hits == expected
    told = [(hit.entry.version, hit.entry.importance, hit.entry.status) for hit in hits]
    assert told == [(hit.entry.version, hit.entry.importance, Status.ACTIVE) for hit in expected]


@settings(max_examples=25, deadline=None)
@given(steps)
def test_recall_gives_what_is_stored_whatever_it_kept_of_earlier_answers(done: list[tuple[str, str, str]]):
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(live(Path(folder), done))


async def test_a_loop_of_recalls_lets_the_event_loop_go_round(tmp_path: Path):
    async with AsyncExitStack() as stack:
        storage = SqlStorage(tmp_path / "agentcore.db", clock=SystemClock())
        await storage.start()
        stack.push_async_callback(storage.stop)
        recall = Recall(storage)
        await recall.start()
        stack.push_async_callback(recall.stop)
        await storage.write(ANA, lambda unit: unit.entries.add([made(name, "tea in Oslo") for name in NAMES]))
        await recall.search(ANA, "tea", k=3)
        rounds: list[int] = []
        ended = asyncio.Event()

        async def count() -> None:
            while not ended.is_set():
                rounds.append(1)
                await asyncio.sleep(0)

        async def ask() -> None:
            for _ in range(100):
                assert len(await recall.search(ANA, "tea", k=3)) == 3

        counting = asyncio.create_task(count())
        await asyncio.gather(*(ask() for _ in range(10)))
        ended.set()
        await counting
        assert len(rounds) >= 30
