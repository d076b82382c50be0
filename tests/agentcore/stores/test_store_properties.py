"""Laws of the store under random histories: scopes never meet, a follower misses nothing, a failure leaves no trace."""

import asyncio
import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import count
from typing import Any

import pytest
from hypothesis import given, strategies as st

from agentcore.domain import EntryFilter, Level, RecallHit, RecordKind, Scope, SourceKind, SourceRef, Status, fold_key
from agentcore.errors import StaleVersionError
from agentcore.stores import FeedPosition, Origin, ReadView, UnitOfWork
from agentcore.stores.sql import SqlStorage
from agentcore.testing import ManualClock
from agentcore.testing.contracts.feed import FeedReader
from agentcore.testing.contracts.samples import (
    SCOPE,
    START,
    a_feedback,
    a_skill,
    a_skill_use,
    a_tool_call,
    a_turn,
    a_wisp_run,
    an_entry,
)

_IDS = st.sampled_from("abcd")
_numbers = count()


@pytest.fixture(scope="module")
def shared() -> Iterator[SqlStorage]:
    """One storage for all examples, each of which has scopes of its own: opening one takes longer than a history."""
    storage = SqlStorage(None, clock=ManualClock(START))
    asyncio.run(storage.start())
    yield storage
    asyncio.run(storage.stop())


def a_new_scope() -> Scope:
    return Scope("acme", f"agent-{next(_numbers)}", "ana")


@dataclass(frozen=True)
class Step:
    """A transaction of a random history."""

    verb: str
    entry_id: str
    text: str
    origin: Origin
    fails: bool = False


class InterruptedStepError(Exception):
    """What rolls a step back."""


steps = st.builds(
    Step,
    verb=st.sampled_from(["add", "rewrite", "retire", "delete", "forget"]),
    entry_id=_IDS,
    text=st.sampled_from(["tea", "Tea.", "milk", "bread"]),
    origin=st.sampled_from(list(Origin)),
    fails=st.booleans(),
)


def take(unit: UnitOfWork, step: Step) -> None:
    """Do what the step says where it is possible."""
    before = unit.entries.get(step.entry_id)
    if step.verb == "add" and before is None:
        unit.entries.add([an_entry(step.entry_id, step.text, scope=unit.scope)])
    elif before is not None and step.verb == "rewrite":
        unit.entries.replace([(before, dataclasses.replace(before, content=step.text))])
    elif before is not None and step.verb == "retire":
        state: dict[str, Any] = {"status": Status.ARCHIVED, "status_reason": "x", "status_at": START}
        unit.entries.replace([(before, dataclasses.replace(before, **state))])
    elif step.verb == "delete":
        unit.entries.delete([step.entry_id])
    elif before is not None and step.verb == "forget":
        unit.forget(step.entry_id)
    if step.fails:
        raise InterruptedStepError


async def run(storage: SqlStorage, scope: Scope, history: Sequence[Step]) -> None:
    for step in history:
        try:
            await storage.write(scope, lambda unit, step=step: take(unit, step), origin=step.origin)
        except InterruptedStepError:
            assert step.fails


def image(view: ReadView) -> tuple[object, ...]:
    """Return everything a reader can see of a scope."""
    return (
        list(view.records()),
        view.revision,
        view.entries.versions("abcd"),
        view.entries.last_position(),
        view.entries.material(after=0, also=("a", "b"), limit=99),
        view.entries.changes_since(FeedPosition(), limit=99),
        view.settings.get("name"),
    )


@given(st.lists(steps, max_size=8), st.lists(steps, max_size=8))
async def test_what_is_done_in_one_scope_shows_in_no_other(shared: SqlStorage, ours: list[Step], theirs: list[Step]):
    storage, scope = shared, a_new_scope()
    neighbour = Scope(scope.workspace, scope.observed, scope.observer)
    await run(storage, scope, ours)
    await storage.write(scope, lambda unit: unit.settings.put("name", "ours"))
    before = await storage.read(scope, image)
    await run(storage, neighbour, theirs)
    await storage.write(neighbour, lambda unit: unit.settings.put("name", "theirs"))
    assert await storage.read(scope, image) == before
    entries = await storage.read(neighbour, lambda view: view.entries.select(EntryFilter(statuses=frozenset())))
    assert {entry.scope for entry in entries} <= {neighbour}


@given(st.lists(st.tuples(steps, st.integers(0, 3)), max_size=15), st.integers(1, 3))
async def test_a_follower_holds_what_the_store_holds(shared: SqlStorage, history: list[tuple[Step, int]], limit: int):
    """However many pages it reads between any two transactions."""
    storage, scope = shared, a_new_scope()
    follower = FeedReader(storage, limit, scope)
    for step, pages in history:
        await run(storage, scope, [step])
        for _ in range(pages):
            await follower.step()
    held = await follower.catch_up()
    active = await storage.read(scope, lambda view: view.entries.select(EntryFilter()))
    assert held == sorted(entry.content for entry in active)


@given(st.lists(steps, max_size=8))
async def test_versions_only_grow_and_a_failure_leaves_no_trace(shared: SqlStorage, history: list[Step]):
    storage, scope = shared, a_new_scope()
    for step in history:
        before = await storage.read(scope, image) if step.fails else None
        versions = await storage.read(scope, lambda view: view.entries.versions("abcd"))
        await run(storage, scope, [step])
        if step.fails:
            assert await storage.read(scope, image) == before
        after = await storage.read(scope, lambda view: view.entries.versions("abcd"))
        assert all(after[entry_id] >= versions[entry_id] for entry_id in set(after) & set(versions))


@given(st.lists(st.tuples(_IDS, st.integers(1, 4), st.sampled_from(["one", "two"])), max_size=8))
async def test_a_rewrite_is_taken_exactly_when_its_version_is_the_stored_one(
    shared: SqlStorage, tries: list[tuple[str, int, str]]
):
    storage, scope = shared, a_new_scope()
    entries = [an_entry(entry_id, scope=scope) for entry_id in "abc"]
    await storage.write(scope, lambda unit: unit.entries.add(entries))
    stored = {entry.id: entry for entry in entries}
    for entry_id, version, text in tries:
        before = an_entry(entry_id, scope=scope, version=version)
        after = dataclasses.replace(before, content=text)
        known = stored.get(entry_id)
        try:
            await storage.write(scope, lambda unit, pair=(before, after): unit.entries.replace([pair]))
        except StaleVersionError:
            assert known is None or known.version != version
        else:
            assert known is not None
            assert known.version == version
            stored[entry_id] = dataclasses.replace(after, version=version + 1)
    found = await storage.read(scope, lambda view: view.entries.get_many("abcd"))
    assert [(entry, entry.version) for entry in found] == [(entry, entry.version) for entry in stored.values()]


LONG = "A secret: Ana, Ben, Carla, Dora, Emil, Franz, Greta, Hugo and Ines meet in Porto."
"""Long enough for its hash to be kept."""


async def test_no_store_method_shows_another_scopes_records(storage: SqlStorage):
    """Every read of every store, asked from a scope that has nothing."""
    await storage.write(SCOPE, fill)
    await storage.write(SCOPE, lambda unit: unit.forget("forgotten"))
    empty = Scope("acme", "agent", "zoe")
    found = await storage.read(empty, everything_readable)
    assert found == await storage.read(Scope("never", "heard", "of"), everything_readable)
    assert [name for name, value in found.items() if value] == []
    assert [name for name, value in (await storage.read(SCOPE, everything_readable)).items() if not value] == []


def fill(unit: UnitOfWork) -> None:
    late: dict[str, Any] = {"recorded_at": START - timedelta(days=9)}
    retired: dict[str, Any] = {"status": Status.ARCHIVED, "status_reason": "x", "status_at": START}
    made: dict[str, Any] = {"level": Level.DERIVED, "sources": (SourceRef(SourceKind.ENTRY, "a"),)}
    unit.entries.add([an_entry("a", **late), an_entry("b"), an_entry("r", "Old.", **retired), an_entry("d", **made)])
    unit.entries.add([an_entry("forgotten", LONG)])
    unit.turns.add([a_turn("a", **late), a_turn("b")])
    unit.skills.add(a_skill("a"))
    unit.skill_uses.append([a_skill_use("a", **late)])
    unit.feedback.append([a_feedback("a", **late)])
    unit.wisp_runs.append([a_wisp_run("a", **late)])
    unit.tool_calls.append([a_tool_call("a", **late)])
    unit.recall_hits.append([RecallHit(entry_id="a", query="q", score=1.0, rank=1, recalled_at=START)])
    unit.settings.put("a", "a")
    unit.imports.record({"a": (RecordKind.ENTRY, "a")})
    unit.leases.acquire("a", holder="a", duration=timedelta(days=1))


def everything_readable(view: ReadView) -> dict[str, object]:
    entries, turns, skills = view.entries, view.turns, view.skills
    keys = [row.key for row in entries.changes_since(FeedPosition(), limit=9).rows]
    fold_keys = [fold_key(an_entry("a").content), fold_key(LONG)]
    signals = {
        f"{name} {question}": answer
        for name, store in (
            ("uses", view.skill_uses),
            ("feedback", view.feedback),
            ("wisps", view.wisp_runs),
            ("calls", view.tool_calls),
        )
        for question, answer in (
            ("newest", store.newest(limit=9)),
            ("count", store.count()),
            ("expired", store.count_expired(recorded_before=START, keep=0)),
        )
    }
    return signals | {
        "get": entries.get("a"),
        "get_many": entries.get_many("abrd"),
        "versions": entries.versions("abrd"),
        "by_keys": entries.by_keys(keys or range(1, 20)),
        "select": entries.select(EntryFilter(statuses=frozenset())),
        "count": entries.count(EntryFilter()),
        "fold": entries.with_fold_keys(fold_keys),
        "repeated": entries.repeated(after=0, upto=99, also=("d",), limit=9),
        "material": entries.material(after=0, also=("d",), limit=9),
        "count_material": entries.count_material(after=0, also=("d",)),
        "position": entries.last_position(),
        "feed": entries.changes_since(FeedPosition(), limit=9).rows,
        "facets": entries.facets_since(FeedPosition(), limit=9).rows,
        "always": entries.always(("general",), limit=9),
        "columns": entries.importance_columns(last_seen_before=START + timedelta(1))[0].tolist(),
        "purgeable": entries.purgeable(archived_before=START + timedelta(1), floor=0.9, reinforced=9, limit=9),
        "retirement": entries.next_retirement(floor=0.9, reinforced=9),
        "derived": entries.derived_from("entry", "a"),
        "turn": turns.get("a"),
        "turns": turns.get_many("ab"),
        "turn feed": turns.changes_since(FeedPosition(), limit=9).rows,
        "turn keys": turns.keys_of("ab"),
        "turns by key": turns.by_keys(range(1, 20)),
        "session": turns.session("s1"),
        "turn count": turns.count(),
        "unread": turns.count_unread(),
        "expired": turns.expired(recorded_before=START, limit=9),
        "surplus": turns.surplus(keep=1, limit=9),
        "oldest": turns.oldest_recorded(),
        "skill": skills.get("a"),
        "named": skills.named("mail/send"),
        "catalogue": skills.catalogue(),
        "skill feed": skills.changes_since(FeedPosition(), limit=9).rows,
        "skills by key": skills.by_keys(range(1, 20)),
        "recalled": view.recall_hits.uses(),
        "recalls": view.recall_hits.count(),
        "setting": view.settings.get("a"),
        "forgotten": view.forgotten.contains(fold_keys),
        "tombstones": view.tombstones.all(),
        "records": list(view.records()),
        "revision": view.revision,
    }
