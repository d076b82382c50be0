"""What goes wrong with PostgreSQL is one sentence that says what to do, and leaves nothing half-written."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentcore import AgentHostBuilder
from agentcore.domain.filters import EntryFilter
from agentcore.errors import InvalidOptionsError, StorageError, StorageTooNewError, StorageUnavailableError
from agentcore.stores.sql.database_copy import copy_everything
from agentcore.stores.sql.forget_key import KEY_SIZE, KEY_VARIABLE
from agentcore.stores.values import Origin
from agentcore.testing.contracts.samples import SCOPE, an_entry
from tests.postgres_server import Server

SECRET = "open-sesame"


async def said_of(open_storage: Any, url: str) -> str:
    with pytest.raises(StorageError) as refused:
        await open_storage(url)
    sentence = str(refused.value)
    assert SECRET not in sentence
    assert sentence.count("\n") == 0
    return sentence


async def test_a_wrong_password_is_said_so_and_not_shown(postgres_server: Server, new_postgres: Any, open_storage: Any):
    name = new_postgres().partition("@/")[2].partition("?")[0]
    with postgres_server.connect() as connection:
        connection.execute("DROP ROLE IF EXISTS guarded")
        connection.execute("CREATE ROLE guarded LOGIN PASSWORD 'right'")
    told = await said_of(open_storage, postgres_server.url(name, "guarded", SECRET))
    assert "refuses the password: check user and password in its URL." in told
    denied = await said_of(open_storage, postgres_server.url(name, "guarded", "right"))
    assert "does not allow this user to do this: grant it the rights" in denied
    with postgres_server.connect() as connection:
        connection.execute("DROP ROLE guarded")


async def test_a_database_that_is_not_there_and_a_server_that_is_not_are_said_so(
    postgres_server: Server, open_storage: Any, tmp_path: Path
):
    assert "does not exist: create it" in await said_of(open_storage, postgres_server.url("nowhere"))
    away = f"postgresql+psycopg://ana:{SECRET}@/memory?host={tmp_path}"
    assert "is out of reach: check that the server runs" in await said_of(open_storage, away)


@pytest.mark.parametrize("url", ["mysql://ana:open-sesame@db/x", "postgresql://db", "no url", f"//ana:{SECRET}@x"])
def test_what_is_no_url_of_postgresql_is_refused_when_the_host_is_built(url: str, tmp_path: Path):
    with pytest.raises(InvalidOptionsError, match="give a URL such as") as refused:
        AgentHostBuilder(tmp_path, database=url).with_memory().build()
    assert SECRET not in str(refused.value)


async def test_a_schema_of_a_later_version_is_refused_and_left_alone(
    postgres_server: Server, new_postgres: Callable[[], str], open_storage: Any
):
    url = new_postgres()
    await (await open_storage(url)).stop()
    with postgres_server.connect(url.partition("@/")[2].partition("?")[0]) as connection:
        connection.execute("UPDATE agentcore.alembic_version SET version_num = '9999'")
    with pytest.raises(StorageTooNewError, match="upgrade agentcore-dream"):
        await open_storage(url)


async def test_a_lost_connection_is_taken_up_again_and_nothing_is_half_written(
    postgres_server: Server, postgres_url: str, open_storage: Any
):
    storage = await open_storage(postgres_url)
    await storage.write(SCOPE, lambda unit: unit.entries.add([an_entry("before")]))
    tries: list[int] = []

    def write_while_it_is_cut(unit: Any) -> None:
        unit.entries.add([an_entry("after")])
        tries.append(len(tries))
        if len(tries) == 1:
            cut(postgres_server, postgres_url)

    await storage.write(SCOPE, write_while_it_is_cut)
    assert len(tries) == 2
    cut(postgres_server, postgres_url)
    found = await storage.read(SCOPE, lambda view: (view.entries.count(EntryFilter()), view.revision))
    assert found == (2, 2)


async def test_a_copy_goes_there_and_back_whole_and_into_nothing_that_holds_something(
    new_postgres: Callable[[], str], open_storage: Any, path: Path, tmp_path: Path
):
    first = await open_storage(path)
    await first.write(SCOPE, lambda unit: unit.entries.add([an_entry(str(one)) for one in range(300)]))
    await first.write(SCOPE, lambda unit: unit.settings.put("a", "b"))
    await first.stop()
    url, back = new_postgres(), tmp_path / "back" / "agentcore.db"
    assert await asyncio.to_thread(copy_everything, path, url) == await asyncio.to_thread(copy_everything, url, back)
    with pytest.raises(StorageUnavailableError, match="holds something already"):
        await asyncio.to_thread(copy_everything, path, url)
    records = []
    for place in (path, url, back):
        storage = await open_storage(place)
        records.append(await storage.read(SCOPE, lambda view: (list(view.records()), view.settings.get("a"))))
        await storage.write(SCOPE, lambda unit: unit.entries.add([an_entry("new")]))
    assert records[0] == records[1] == records[2]


async def test_a_forget_makes_the_folder_of_its_key(postgres_url: str, tmp_path: Path):
    folder = tmp_path / "new"
    async with AgentHostBuilder(folder, database=postgres_url).with_memory().build() as host:
        text = "Ana keeps the spare key of her summer house below the third flower pot on the left of the green door"
        entry = await host.memory.remember(text)
        await host.memory.forget(entry.id)
    assert (folder / "forget.key").stat().st_mode & 0o777 == 0o600


LONG = "Ana keeps the spare key of her summer house below the third flower pot on the left of the green door {}"


async def forget_one(url: str, number: int) -> None:
    async with AgentHostBuilder(None, database=url).with_memory().build() as host:
        entry = await host.memory.remember(LONG.format(number))
        await host.memory.forget(entry.id)


async def test_a_host_with_another_key_than_the_database_knows_is_told_so_and_forgets_nothing_by_it(
    postgres_url: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv(KEY_VARIABLE, "ab" * KEY_SIZE)
    await forget_one(postgres_url, 1)
    await forget_one(postgres_url, 2)
    assert "forget_key_differs" not in caplog.text
    monkeypatch.setenv(KEY_VARIABLE, "cd" * KEY_SIZE)
    with pytest.raises(InvalidOptionsError, match="give this host the one that the others have") as refused:
        await forget_one(postgres_url, 3)
    assert "cd" * KEY_SIZE not in str(refused.value)
    assert "forget_key_differs" in caplog.text
    async with AgentHostBuilder(None, database=postgres_url).with_memory().build() as host:
        assert await host.memory.count() == 1
        await host.storage.write(SCOPE, lambda unit: unit.tombstones.claim_key(replace=True))
    await forget_one(postgres_url, 4)
    monkeypatch.setenv(KEY_VARIABLE, "ab" * KEY_SIZE)
    with pytest.raises(InvalidOptionsError):
        await forget_one(postgres_url, 5)


async def test_a_host_without_a_kept_key_says_that_nobody_else_will_recognise_what_it_forgets(
    postgres_url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    async with AgentHostBuilder(None, database=postgres_url).with_memory().build():
        pass
    assert [one.levelname for one in caplog.records if one.message.startswith("forget_key_not_kept")] == ["WARNING"]
    caplog.clear()
    async with AgentHostBuilder(tmp_path, database=postgres_url).with_memory().build():
        pass
    monkeypatch.setenv(KEY_VARIABLE, "ab" * KEY_SIZE)
    async with AgentHostBuilder(None, database=postgres_url).with_memory().build():
        pass
    assert "forget_key_not_kept" not in caplog.text


def cut(server: Server, url: str) -> None:
    """Cut every connection of this test's database; other tests have their own."""
    with server.connect(url.partition("@/")[2].partition("?")[0]) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND application_name = 'agentcore'"
        )


async def test_the_planner_has_statistics_after_an_import_and_after_a_copy(
    postgres_server: Server, new_postgres: Callable[[], str], open_storage: Any, path: Path
):
    first = await open_storage(path)
    many = [an_entry(str(one), content=f"Fact {one} about bees.") for one in range(1_500)]
    await first.write(SCOPE, lambda unit: unit.entries.add(many))
    await first.stop()
    copied, imported = new_postgres(), new_postgres()
    await asyncio.to_thread(copy_everything, path, copied)
    storage = await open_storage(imported)
    for start in range(0, len(many), 500):
        some = many[start : start + 500]
        await storage.write(SCOPE, lambda unit, some=some: unit.entries.add(some), origin=Origin.IMPORT)
    await storage.stop()
    for url in (copied, imported):
        assert known_to_the_planner(postgres_server, url, "entries") >= 1_000


async def test_upkeep_that_the_user_may_not_do_is_told(
    postgres_server: Server, new_postgres: Callable[[], str], open_storage: Any, caplog: pytest.LogCaptureFixture
):
    url = new_postgres()
    await (await open_storage(url)).stop()
    name = url.partition("@/")[2].partition("?")[0]
    with postgres_server.connect(name) as connection:
        connection.execute("CREATE ROLE mere LOGIN; GRANT USAGE ON SCHEMA agentcore TO mere")
        connection.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA agentcore TO mere")
        connection.execute("GRANT USAGE ON ALL SEQUENCES IN SCHEMA agentcore TO mere")
    storage = await open_storage(postgres_server.url(name, "mere"))
    await storage.write(SCOPE, lambda unit: unit.entries.add([an_entry("e")]))
    await storage.write(SCOPE, lambda unit: unit.forget("e"))
    await storage.stop()
    with postgres_server.connect(name) as connection:
        connection.execute("DROP OWNED BY mere; DROP ROLE mere")
    assert "upkeep_refused" in caplog.text
    assert "have their owner run VACUUM on the schema agentcore" in caplog.text


async def test_a_forget_without_the_right_to_delete_is_refused_and_leaves_all_as_it_was(
    postgres_server: Server, new_postgres: Callable[[], str], open_storage: Any
):
    url = new_postgres()
    owner = await open_storage(url)
    await owner.write(SCOPE, lambda unit: unit.entries.add([an_entry("e")]))
    name = url.partition("@/")[2].partition("?")[0]
    with postgres_server.connect(name) as connection:
        connection.execute("CREATE ROLE careful LOGIN; GRANT USAGE ON SCHEMA agentcore TO careful")
        connection.execute("GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA agentcore TO careful")
    storage = await open_storage(postgres_server.url(name, "careful"))
    before = await owner.read(SCOPE, lambda view: (list(view.records()), view.revision))
    with pytest.raises(StorageUnavailableError, match="does not allow this user to do this: grant it the rights"):
        await storage.write(SCOPE, lambda unit: unit.forget("e"))
    assert await owner.read(SCOPE, lambda view: (list(view.records()), view.revision)) == before
    await storage.stop()
    with postgres_server.connect(name) as connection:
        connection.execute("DROP OWNED BY careful; DROP ROLE careful")


def known_to_the_planner(server: Server, url: str, table: str) -> float:
    """Return how many rows of a table the planner reckons with, where it knows of its columns at all."""
    with server.connect(url.partition("@/")[2].partition("?")[0]) as connection:
        columns = connection.execute(
            "SELECT count(*) FROM pg_stats WHERE schemaname = 'agentcore' AND tablename = %s", [table]
        ).fetchone()
        rows = connection.execute(
            "SELECT reltuples FROM pg_class WHERE oid = CAST(%s AS regclass)", [f"agentcore.{table}"]
        ).fetchone()
    return rows[0] if columns[0] else 0
