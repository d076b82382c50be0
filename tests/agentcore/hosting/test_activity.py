"""Activity without a record, and switching off."""

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from agentcore import AgentHostBuilder, Scope
from agentcore.clock import SystemClock
from agentcore.errors import InvalidContentError, InvalidOptionsError, StorageUnavailableError
from agentcore.hosting import EVERY, ActivityRecorder
from agentcore.stores import Peer, SwitchLevel
from agentcore.stores.sql import SqlStorage
from agentcore.testing import ManualClock
from agentcore.testing.contracts import START

ANA = Scope("acme", "agent", "ana")


class RefusingStorage(SqlStorage):
    refuses = False
    writes = 0

    async def write(self, *args: Any, **kwargs: Any) -> Any:
        self.writes += 1
        if self.refuses:
            raise StorageUnavailableError(path="x", problem="is full", remedy="wait")
        return await super().write(*args, **kwargs)


@pytest.fixture
async def clock() -> ManualClock:
    return ManualClock(START)


@pytest.fixture
async def storage(clock: ManualClock) -> AsyncIterator[RefusingStorage]:
    storage = RefusingStorage(None, clock=clock)
    await storage.start()
    yield storage
    await storage.stop()


async def last(storage: SqlStorage, scope: Scope = ANA) -> datetime | None:
    return await storage.read(scope, lambda view: view.activity.last())


async def settled(clock: ManualClock) -> None:
    for _ in range(3):
        await clock.sleep(timedelta())
        await asyncio.sleep(0.01)


async def rows(storage: Any, sql: str) -> list[Any]:
    return await storage.read(ANA, lambda view: list(view.transaction.connection.exec_driver_sql(sql)))


async def test_a_storm_of_activity_is_one_write_within_the_fifth_of_a_second(
    storage: RefusingStorage, clock: ManualClock
):
    recorder = ActivityRecorder(storage=storage, clock=clock)
    await recorder.start()
    for _ in range(1_000):
        recorder.touch(ANA)
        recorder.touch(Scope("acme", "ben", "ben"))
    await settled(clock)
    assert (await last(storage), storage.writes) == (None, 0)
    clock.advance(EVERY)
    await settled(clock)
    assert (await last(storage), storage.writes) == (START, 1)
    assert await last(storage, Scope("acme", "whoever", "ben")) == START
    await recorder.stop()
    assert storage.writes == 1


async def test_a_clean_stop_loses_nothing(storage: RefusingStorage, clock: ManualClock):
    recorder = ActivityRecorder(storage=storage, clock=clock)
    await recorder.start()
    scopes = [Scope("acme", "agent", f"peer {number}") for number in range(2_500)]
    for scope in scopes:
        recorder.touch(scope)
    await recorder.stop()
    assert await rows(storage, "SELECT count(*) FROM peers WHERE changed_since IS NOT NULL") == [(len(scopes),)]
    assert await last(storage, scopes[-1]) == START


async def test_what_the_database_refuses_is_written_later_and_complained_of_once(
    storage: RefusingStorage, clock: ManualClock, caplog: pytest.LogCaptureFixture
):
    recorder = ActivityRecorder(storage=storage, clock=clock)
    await recorder.start()
    storage.refuses = True
    recorder.touch(ANA)
    for _ in range(3):
        await settled(clock)
        clock.advance(EVERY)
    await settled(clock)
    assert storage.writes >= 2
    assert [record.message for record in caplog.records] == ["activity_not_recorded"]
    storage.refuses = False
    await recorder.stop()
    assert await last(storage) == START


async def test_ten_thousand_records_in_a_second_are_all_there_a_fifth_of_a_second_later(tmp_path: Path):
    clock = SystemClock()
    storage = SqlStorage(tmp_path / "agentcore.db", clock=clock)
    await storage.start()
    recorder = ActivityRecorder(storage=storage, clock=clock)
    await recorder.start()
    scopes = [Scope("acme", "agent", f"peer {number}") for number in range(2_000)]
    for _ in range(5):
        for scope in scopes:
            recorder.touch(scope)
        await asyncio.sleep(0)
    before = clock.now()
    await asyncio.sleep(0.2 + 0.4)  # the second figure is for a busy machine
    ((count, newest),) = await rows(
        storage, "SELECT count(*), max(active_at) FROM peers WHERE changed_since IS NOT NULL"
    )
    assert count == len(scopes)
    assert newest <= before.timestamp() * 1e6
    await recorder.stop()
    await storage.stop()


async def test_switches_are_stored_and_the_narrowest_stays_when_others_change():
    async with AgentHostBuilder(None).with_conversation_log().build() as host:
        off = await host.configure("s1", learning=False)
        assert (off.level, off.session_id, off.dream, off.learning) == (SwitchLevel.SESSION, "s1", None, False)
        assert (await host.configure("s1", dream=True)).learning is False
        assert (await host.configure(ANA, dream=False)).level is SwitchLevel.SCOPE
        assert (await host.configure(workspace="acme", dream=True)).level is SwitchLevel.WORKSPACE
        standing = await host.storage.read(ANA, lambda view: [one.dream for one in view.switches.standing()])
        assert standing == [True, False]
        assert (await host.for_scope(ANA).configure(dream=None)).dream is None
        assert await host.storage.read(ANA, lambda view: len(view.switches.standing())) == 1
        assert await host.storage.scopes() == []


async def test_switching_marks_whom_it_concerns_as_changed():
    async with AgentHostBuilder(None).build() as host:
        await host.configure(ANA, dream=False)
        peers = "SELECT observed, active_at, changed_since IS NOT NULL FROM peers ORDER BY observed"
        assert await rows(host.storage, peers) == [("ana", None, 1)]


@pytest.mark.parametrize(
    ("where", "asked", "error"),
    [
        ("", {"dream": False}, InvalidContentError),
        (7, {"dream": False}, InvalidOptionsError),
        (None, {"dream": "off"}, InvalidOptionsError),
        (ANA, {"learning": False, "workspace": "acme"}, InvalidOptionsError),
    ],
)
async def test_what_cannot_be_switched_is_refused(where: Any, asked: Any, error: type[Exception]):
    async with AgentHostBuilder(None).build() as host:
        with pytest.raises(error):
            await host.configure(where, **asked)


def test_a_peer_is_whom_a_scope_observes():
    assert Peer.of(ANA) == Peer("acme", "ana")
