"""A PostgreSQL that an earlier version filled is upgraded once, however many processes open it at the same time."""

import asyncio
import sys
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, text

import agentcore.stores.sql.migrate as migrations
from agentcore.stores.sql.engines.database_url import parsed_url
from agentcore.stores.sql.engines.postgres import SCHEMA, postgres_engine
from agentcore.stores.sql.schema import REVISION
from agentcore.stores.sql.stored_texts import said_key

EARLIER = "0029"
KNOWN = {
    "id": "'r1'",
    "scope_id": "1",
    "tags": "'[]'",
    "sources": "'[]'",
    "metadata": "'{}'",
    "absorbed": "'[]'",
    "level": "'explicit'",
    "status": "'active'",
    "role": "'user'",
    "content": "'Ana keeps bees.'",
}
OPENER = """
import asyncio, sys
from agentcore.clock import SystemClock
from agentcore.domain import Scope
from agentcore.domain.filters import EntryFilter
from agentcore.stores.sql import SqlStorage

async def main(url):
    storage = SqlStorage(url, clock=SystemClock())
    print("ready", flush=True)
    sys.stdin.readline()
    await storage.start()
    look = lambda view: (view.entries.count(EntryFilter()), [turn.content for turn in view.turns.every()])
    print(*await storage.read(Scope.default(), look))
    await storage.stop()

asyncio.run(main(sys.argv[1]))
"""


def filled(connection: Connection, table: str) -> str:
    """Return what inserts a row that has something in each column that must have something."""
    columns = connection.execute(
        text(
            "SELECT column_name, data_type FROM information_schema.columns WHERE table_schema = :schema"
            " AND table_name = :table AND is_nullable = 'NO' AND column_default IS NULL AND is_identity = 'NO'"
        ),
        {"schema": SCHEMA, "table": table},
    ).all()
    usual = {"boolean": "false", "text": "'x'", "character varying": "'x'"}
    values = [KNOWN.get(name, usual.get(kind, "1")) for name, kind in columns]
    return f"INSERT INTO {SCHEMA}.{table} ({', '.join(name for name, _ in columns)}) VALUES ({', '.join(values)})"


def make_as_then(url: str) -> None:
    """Make the schema as it was, by its migrations, and put something in it."""
    engine = postgres_engine(parsed_url(url), writes=True, connections=1)
    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent / "migrations"))
    with engine.begin() as connection:
        connection.execute(text(f"CREATE SCHEMA {SCHEMA}"))
        connection.execute(text(f"SET LOCAL search_path TO {SCHEMA}"))
        config.attributes["connection"] = connection
        command.upgrade(config, EARLIER)
        named = "(pk, workspace, observer, observed, revision)"
        connection.execute(text(f"INSERT INTO {SCHEMA}.scopes {named} VALUES (1, 'default', 'agent', 'agent', 1)"))
        for table in ("entries", "turns"):
            connection.execute(text(filled(connection, table)))
    engine.dispose()


async def test_a_database_of_an_earlier_schema_is_upgraded_once_by_two_processes_at_once(
    postgres_server: Any, new_postgres: Any
):
    url = new_postgres()
    await asyncio.to_thread(make_as_then, url)
    pipes = {"stdin": asyncio.subprocess.PIPE, "stdout": asyncio.subprocess.PIPE, "stderr": asyncio.subprocess.PIPE}
    openers = [await asyncio.create_subprocess_exec(sys.executable, "-c", OPENER, url, **pipes) for _ in range(2)]
    for one in openers:
        assert await one.stdout.readline() == b"ready\n"
    told = await asyncio.gather(*(one.communicate(b"go\n") for one in openers))
    assert [said.decode() for said, _ in told] == ["1 ['Ana keeps bees.']\n"] * 2, told
    with postgres_server.connect(url.partition("@/")[2].partition("?")[0]) as connection:
        found = connection.execute(f"SELECT version_num FROM {SCHEMA}.alembic_version").fetchall()
        keys = connection.execute(f"SELECT fold_key FROM {SCHEMA}.turns").fetchall()
    assert (found, keys) == ([(REVISION,)], [(said_key("Ana keeps bees."),)])
