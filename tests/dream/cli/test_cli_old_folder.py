"""A data folder of the oldest schema that is still opened; it was filled by the version of that schema."""

import sqlite3
from contextlib import closing
from datetime import UTC, datetime

import pytest
from commandline import ROOT, CommandLine

from agentcore import AgentHostBuilder
from agentcore.stores.sql.schema import REVISION
from agentcore.testing import ManualClock
from dream import DreamOptions

_DATA = ROOT / "tests" / "agentcore" / "stores" / "data"
_DAY_AFTER = datetime(2025, 6, 14, 14, tzinfo=UTC)


@pytest.fixture
def old(cli: CommandLine) -> CommandLine:
    cli.data.mkdir(exist_ok=True)
    with closing(sqlite3.connect(cli.database)) as database:
        for name in ("schema_0009.sql", "filled_0009.sql"):
            database.executescript((_DATA / name).read_text("utf-8"))
    return cli


def revision(cli: CommandLine) -> str:
    with closing(sqlite3.connect(cli.database)) as database:
        return database.execute("SELECT version_num FROM alembic_version").fetchone()[0]


def test_an_old_folder_holds_records_in_every_table(old: CommandLine):
    with closing(sqlite3.connect(old.database)) as database:
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        counts = {name: database.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in tables}
    assert counts.pop("sqlite_sequence") == 1
    assert [name for name, count in counts.items() if not count] == []


def test_an_old_folder_is_migrated_and_exports_the_same_bytes(old: CommandLine):
    assert revision(old) == "0009"
    exported = old.exported() + old.exported("--scope", "home/agent/ana")
    assert exported == (_DATA / "filled_0009.jsonl").read_text("utf-8")
    assert revision(old) == REVISION


async def test_an_old_folder_dreams_and_what_waited_in_it_can_be_approved(old: CommandLine):
    builder = AgentHostBuilder(old.data, clock=ManualClock(_DAY_AFTER)).with_memory().with_conversation_log()
    async with builder.with_dreaming(DreamOptions(), in_background=False).build() as host:
        assert (await host.dreams.run()).outcome == "completed"
        before = {entry.content for entry in await host.memory.list()}
        assert "bo repairs roofs" in before
        [waiting] = await host.dreams.proposals()
        await host.dreams.approve([waiting.proposal_id])
        assert before - {entry.content for entry in await host.memory.list()} == {"bo repairs roofs"}
