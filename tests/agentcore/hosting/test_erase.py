"""An erased scope holds nothing, its neighbours everything; a kill in between is made up for."""

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from agentcore import AgentHostBuilder
from agentcore.domain import Scope
from agentcore.errors import InvalidOptionsError
from agentcore.stores.sql.schema import metadata
from agentcore.testing import ManualClock
from tests.bench.erase_one import changed_by_erasing_one

ANA, BEN, OTHER = Scope("acme", "agent", "ana"), Scope("acme", "agent", "ben"), Scope("acme", "helper", "ana")
SECRET = "The code of Ana's front door is 4711-4711"


def host(folder: Path | None, clock: ManualClock) -> Any:
    return (
        AgentHostBuilder(folder, clock=clock)
        .with_memory()
        .with_conversation_log()
        .with_skills()
        .with_feedback()
        .with_tool_calls()
        .build()
    )


async def fill(running: Any, scope: Scope) -> None:
    here = running.for_scope(scope)
    for number in range(30):
        await here.memory.remember(f"{SECRET} number {number}")
        await here.conversation.append(session_id="s1", role="user", content=f"{SECRET}, I say {number}")
    await here.feedback.append(session_id="s1", kind="correction", summary=SECRET)
    await here.off_limits.add("my front door")
    await here.configure(dream=False)
    await here.memory.recall("front door")


async def rows_of(running: Any, scope: Scope) -> dict[str, int]:
    """How many rows each table holds of a scope."""

    def count(view: Any) -> dict[str, int]:
        connection, scope_id = view.transaction.connection, view.transaction.scope_id
        names = {"workspace": scope.workspace, "observer": scope.observer, "observed": scope.observed}
        found: dict[str, int] = {}
        for table in metadata.sorted_tables:
            if "scope_id" in table.c:
                mine = table.c.scope_id == scope_id
            elif set(names) <= set(table.c.keys()):
                mine = table.c.workspace == scope.workspace
                mine &= (table.c.observer == scope.observer) & (table.c.observed == scope.observed)
            else:
                continue
            found[table.name] = connection.execute(select(func.count()).select_from(table).where(mine)).scalar_one()
        return {name: rows for name, rows in found.items() if rows}

    return await running.storage.read(scope, count)


async def test_an_erased_scope_has_no_row_in_any_table_and_the_others_have_theirs(clock: ManualClock, tmp_path: Path):
    async with host(tmp_path / "data", clock) as running:
        for scope in (ANA, BEN, OTHER):
            await fill(running, scope)
        kept = await rows_of(running, BEN)
        certificate = await running.erase(ANA)
        assert set(await rows_of(running, ANA)) == {"scopes", "erasures"}
        assert await rows_of(running, BEN) == kept
        assert await running.storage.scopes() == [BEN, OTHER]
        assert certificate.removed["entries"] == 30
        assert certificate.removed["turns"] == 30
        assert await running.for_scope(ANA).memory.recall("front door") == []
        assert len(await running.for_scope(BEN).memory.recall("front door")) == 10
    everything = b"".join(one.read_bytes() for one in (tmp_path / "data").rglob("*") if one.is_file())
    assert everything.count(b"number 29") == 2 * everything.count(b"number 29") // 2


async def test_all_scopes_about_a_peer_are_erased_and_what_others_heard_of_them_is_told(clock: ManualClock):
    async with host(None, clock) as running:
        for scope in (ANA, BEN, OTHER):
            await fill(running, scope)
        await running.for_scope(BEN).conversation.append(session_id="s", role="user", content="Hello", speaker="Ana")
        preview = await running.erase(workspace="acme", observed="ana", preview=True)
        assert len(await running.storage.scopes()) == 3
        done = await running.erase(workspace="acme", observed="ana")
        assert [str(one.scope) for one in done.erasures] == [str(ANA), str(OTHER)]
        assert (done.removed, done.speaks_of) == (preview.removed, ((BEN, 1),))
        assert await running.storage.scopes() == [BEN]
        assert any("1 turns of the peer in acme/agent/ben" in place for place in done.beyond_reach())


async def test_a_scope_can_be_used_again_and_whoever_follows_it_begins_anew(clock: ManualClock):
    async with host(None, clock) as running:
        await fill(running, ANA)
        here = running.for_scope(ANA)
        assert await here.memory.recall("front door")
        await running.erase(ANA)
        await here.memory.remember("Ana plays the cello.")
        assert [hit.entry.content for hit in await here.memory.recall("cello front door")] == ["Ana plays the cello."]
        assert await running.storage.scopes() == [ANA]


async def test_an_erasure_that_was_cut_short_is_finished_by_the_next_host(clock: ManualClock, tmp_path: Path):
    async with host(tmp_path, clock) as running:
        await fill(running, ANA)
        await running.storage.write(ANA, lambda unit: unit.erasure.begin())
        await running.storage.write(ANA, lambda unit: unit.entries.delete(["none"]))
    async with host(tmp_path, clock) as running:
        assert set(await rows_of(running, ANA)) == {"scopes", "erasures"}
        (done,) = await running.storage.erasures()
        assert done.finished_at is not None


@pytest.mark.parametrize("meant", [{}, {"scope": ANA, "workspace": "acme"}])
async def test_what_is_meant_has_to_be_named_once(clock: ManualClock, meant: dict[str, Any]):
    async with host(None, clock) as running:
        with pytest.raises(InvalidOptionsError, match="name one scope"):
            await running.erase(**meant)


async def test_of_many_scopes_the_erasure_of_one_changes_no_export_of_another(tmp_path: Path):
    left, differing, _ = await changed_by_erasing_one(tmp_path / "data", 40)
    assert (left, differing) == (0, 0)
