"""Databases of every published version are opened by this one, with all that they hold."""

import sqlite3
from contextlib import closing
from pathlib import Path

import orjson
import pytest

from agentcore import AgentHostBuilder
from agentcore.domain.scope import Scope
from agentcore.stores.sql import FILE_NAME
from dream.interfaces.exchange.export import export_scope

_PUBLISHED = sorted((Path(__file__).parent / "published").glob("*.sql"))


@pytest.mark.parametrize("dump", _PUBLISHED, ids=lambda path: path.stem)
async def test_a_database_of_a_published_version_is_opened_with_all_it_holds(dump: Path, tmp_path: Path):
    folder = _loaded(dump, tmp_path / "data")
    builder = AgentHostBuilder(folder).with_memory().with_conversation_log().with_feedback().with_skills()
    async with builder.with_dreaming(in_background=False).build() as host:
        lines: list[bytes] = []
        await export_scope(host.storage, Scope.default(), lines.append)
        then = _records(_exported(dump))
        now = _records(b"".join(lines))
        # A later version may say more of a record, never less.
        assert now.keys() == then.keys()
        assert all(record.items() <= now[name].items() for name, record in then.items())
        (ben,) = await host.for_scope("acme/agent/ben").memory.list()
        assert ben.content == "Ben likes coffee"
        assert [hit.entry.content for hit in await host.memory.recall("which tea", k=1)] == ["Ana likes green tea"]
        assert [token.name for token in await host.tokens.list()] == ["laptop"]
        assert len(await host.desk.questions()) == 1
        (run,) = [one for one in await host.dreams.runs() if one.kind == "dream"]
        assert (await host.dreams.undo(run.run_id)).outcome in {"completed", "unchanged"}


def _loaded(dump: Path, folder: Path) -> Path:
    folder.mkdir()
    with closing(sqlite3.connect(folder / FILE_NAME)) as database:
        database.executescript(dump.read_text(encoding="utf-8"))
    return folder


def _exported(dump: Path) -> bytes:
    return dump.with_suffix(".jsonl").read_bytes()


def _records(exported: bytes) -> dict[tuple[str, str], dict[str, object]]:
    found = [orjson.loads(line) for line in exported.splitlines()]
    return {(one["kind"], one["id"]): one for one in found if "kind" in one and "id" in one}


def test_there_is_a_database_of_a_published_version():
    assert _PUBLISHED
