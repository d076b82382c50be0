"""A server that goes away: what was not committed is done again, what was is not, and what lasts is told."""

import asyncio
import re
from collections.abc import Iterator
from datetime import timedelta
from time import perf_counter
from typing import Any

import pytest

from agentcore.domain.filters import EntryFilter
from agentcore.errors import StorageUnavailableError, StorageUnreachableError
from agentcore.testing.contracts.samples import SCOPE, an_entry
from tests.postgres_server import Server
from tests.postgres_wire import Wire, wire


@pytest.fixture
def lines(postgres_server: Server) -> Iterator[Wire]:
    with wire(postgres_server.folder / ".s.PGSQL.5432") as opened:
        yield opened


def named(url: str) -> str:
    return url.partition("@/")[2].partition("?")[0]


async def added(storage: Any, entry_id: str) -> int:
    """Add an entry; return how often that was tried."""
    tries: list[int] = []

    def work(unit: Any) -> None:
        tries.append(1)
        unit.entries.add([an_entry(entry_id)])

    await storage.write(SCOPE, work)
    return len(tries)


async def counted(storage: Any) -> int:
    return await storage.read(SCOPE, lambda view: view.entries.count(EntryFilter()))


async def test_a_server_that_restarts_is_waited_for_and_one_that_stays_away_is_told(
    own_server: Server, open_storage: Any
):
    url = own_server.database("memory")
    storage = await open_storage(url)
    hasty = await open_storage(url, busy_timeout=timedelta(seconds=0.2))
    for _ in range(2):
        assert (await added(storage, f"before {_}"), await counted(hasty)) == (1, _ + 1)
    await asyncio.to_thread(own_server.stop)
    work = [asyncio.create_task(added(storage, f"while {_}")) for _ in range(6)]
    for _ in range(2):
        began = perf_counter()
        with pytest.raises(StorageUnreachableError, match="is out of reach: check that the server runs"):
            await counted(hasty)
    assert perf_counter() - began < 0.1  # it was waited for once
    await asyncio.to_thread(own_server.start)
    await asyncio.gather(*work)
    assert await counted(storage) == await counted(hasty) == 8


@pytest.mark.parametrize(("is_heard", "tries"), [(True, 1), (False, 2)])
async def test_what_was_lost_while_it_committed_is_asked_for_and_done_once(
    postgres_url: str, lines: Wire, open_storage: Any, *, is_heard: bool, tries: int
):
    storage = await open_storage(lines.url(named(postgres_url)))
    assert await added(storage, "before") == 1
    cuts: list[bytes] = []

    def cut_commit(said: bytes) -> bytes | None:
        if b"COMMIT\x00" not in said or cuts:
            return said
        cuts.append(said)
        if is_heard:
            lines.answered = lambda _: cut_answer()
        return said if is_heard else None

    def cut_answer() -> None:
        lines.answered = lambda said: said

    lines.asked = cut_commit
    assert await added(storage, "after") == tries
    assert len(cuts) == 1
    found = await storage.read(SCOPE, lambda view: (view.entries.count(EntryFilter()), view.revision))
    assert found == (2, 2)


@pytest.mark.parametrize("is_pooled", [True, False])
async def test_statements_are_prepared_only_where_no_pooler_shares_the_connection(
    postgres_url: str, lines: Wire, open_storage: Any, *, is_pooled: bool
):
    prepared: list[bytes] = []

    def note(said: bytes) -> bytes:
        prepared.extend(re.findall(rb"(?<!\")_pg3_\d+", said))  # in quotes it is a savepoint
        return said

    lines.asked = note
    if is_pooled:
        lines.answered = of_pooler
    storage = await open_storage(lines.url(named(postgres_url)))
    for number in range(8):
        assert await added(storage, f"e{number}") == 1
    assert bool(prepared) is not is_pooled


async def test_a_server_that_is_too_old_is_refused_by_its_version(postgres_url: str, lines: Wire, open_storage: Any):
    lines.answered = older
    with pytest.raises(StorageUnavailableError, match=r"runs on PostgreSQL .*, which is too old: upgrade it to 14 or"):
        await open_storage(lines.url(named(postgres_url)))


def of_pooler(said: bytes) -> bytes:
    """Have a server name a process that it does not have, as a pooler does, which answers for it."""
    return re.sub(rb"(?<=K\x00\x00\x00\x0c)....", b"\x00\x00\x00\x01", said, flags=re.DOTALL)


def older(said: bytes) -> bytes:
    """Have a server say that it is a 13, where it gives its number: six digits after their length."""
    return re.sub(rb"(?<=\x00\x00\x00\x06)\d{6}", b"130018", said)
