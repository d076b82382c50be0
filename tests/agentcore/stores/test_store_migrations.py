"""The schema: what Alembic builds step by step is what a new database gets at once."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, inspect
from sqlalchemy.exc import OperationalError

from agentcore.domain import Scope
from agentcore.errors import StorageInUseError
from agentcore.stores.sql import migrate, sqlite_engine
from agentcore.stores.sql.schema import KNOWN_REVISIONS, REVISION, metadata
from agentcore.stores.sql.stored_prompts import StoredPrompts
from agentcore.testing.contracts.samples import SCOPE, an_entry

_MIGRATIONS = Path(migrate.__file__).parent / "migrations"


def upgrade(engine: Engine) -> None:
    with engine.begin() as connection:
        migrate.upgrade(connection)


_FIRST = Path(__file__).parent / "data" / "schema_0009.sql"
"""Made by the nine migrations that led to this schema, which are one now."""


def described(engine: Engine) -> dict[str, dict[str, Any]]:
    seen = inspect(engine)
    return {
        table: {
            "columns": [{**column, "type": str(column["type"])} for column in seen.get_columns(table)],
            "primary key": seen.get_pk_constraint(table),
            "foreign keys": seen.get_foreign_keys(table),
            "uniques": sorted(seen.get_unique_constraints(table), key=str),
            "indexes": [
                {**index, "dialect_options": {key: str(value) for key, value in index["dialect_options"].items()}}
                for index in seen.get_indexes(table)
            ],
            "options": seen.get_table_options(table),
        }
        for table in sorted(seen.get_table_names())
    }


def statements(engine: Engine) -> set[str]:
    with engine.connect() as connection:
        rows = connection.exec_driver_sql("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL").scalars()
        return {" ".join(sql.split()).replace("( ", "(").replace(" )", ")") for sql in rows}


def test_migrating_from_nothing_gives_exactly_the_schema_of_a_new_database():
    new, migrated = sqlite_engine(None, writes=True), sqlite_engine(None, writes=True)
    migrate.migrate(new, path="new")
    upgrade(migrated)
    assert described(migrated) == described(new)
    assert statements(migrated) == statements(new)
    assert set(described(new)) == {*metadata.tables, "alembic_version"}


def test_every_revision_is_known_in_its_order():
    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS))
    scripts = ScriptDirectory.from_config(config)
    assert [script.revision for script in reversed(list(scripts.walk_revisions()))] == list(KNOWN_REVISIONS)
    assert scripts.get_current_head() == REVISION


def test_the_first_migration_gives_exactly_the_schema_that_nine_migrations_gave():
    once, now = sqlite_engine(None, writes=True), sqlite_engine(None, writes=True)
    with once.begin() as connection:
        for statement in _FIRST.read_text("utf-8").splitlines():
            connection.exec_driver_sql(statement)
    upgrade_to(now, "0009")
    assert described(now) == described(once)
    assert statements(now) == statements(once)


@pytest.mark.parametrize("revision", KNOWN_REVISIONS)
async def test_a_database_of_a_known_revision_is_brought_up_to_date_with_what_it_holds(
    revision: str, path: Path, open_storage: Any
):
    path.parent.mkdir()
    old = sqlite_engine(path, writes=True)
    upgrade_to(old, revision)
    with old.begin() as connection:
        connection.exec_driver_sql("INSERT INTO scopes VALUES (1, 'acme', 'agent', 'ana', 7, 0, 0)")
    old.dispose()
    storage = await open_storage(path)
    assert await storage.read(Scope("acme", "agent", "ana"), lambda view: view.revision) == 7
    await storage.write(SCOPE, lambda unit: unit.entries.add([an_entry("a")]))
    new = sqlite_engine(None, writes=True)
    migrate.migrate(new, path="new")
    opened = sqlite_engine(path, writes=False)
    assert described(opened) == described(new)
    opened.dispose()
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("SELECT version_num FROM alembic_version").fetchall() == [(REVISION,)]


def test_changes_that_waited_for_room_wait_on_as_exchanges(path: Path):
    path.parent.mkdir()
    old = sqlite_engine(path, writes=True)
    upgrade_to(old, "0014")
    with old.begin() as connection:
        connection.exec_driver_sql("INSERT INTO scopes VALUES (1, 'acme', 'agent', 'ana', 7, 0, 0)")
        for key in (3, 4):
            connection.exec_driver_sql(
                f"INSERT INTO deferred VALUES ({key}, 1, 'run', 'folding', '{{\"a\": {key}}}', 50)"
            )
    upgrade(old)
    with old.connect() as connection:
        rows = connection.exec_driver_sql(
            "SELECT id, reason, since, runs, batch, rounds, changes FROM waiting_exchanges"
        )
        assert [tuple(row) for row in rows] == [
            (f"deferred-{key}", "share_cap", 50, 0, None, "[]", f'[{{"a": {key}}}]') for key in (3, 4)
        ]
    old.dispose()


async def test_prompts_of_before_are_compressed_and_read_as_they_were(path: Path, open_storage: Any):
    path.parent.mkdir()
    old = sqlite_engine(path, writes=True)
    upgrade_to(old, "0024")
    with old.begin() as connection:
        connection.exec_driver_sql("INSERT INTO scopes VALUES (1, 'acme', 'agent', 'ana', 7, 0, 0)")
        for key, request in ((3, '[["system","Find facts."],["user","[t1] \\"Ana\\": Hi."]]'), (4, None)):
            connection.exec_driver_sql(
                "INSERT INTO model_calls (pk, scope_id, run_id, pass_name, batch_key, attempt, record_ids, request,"
                " finish_reason, model, input_tokens, output_tokens, answered_at)"
                " VALUES (?, 1, 'run', 'fact-mining', ?, 1, '[]', ?, 'stop', 'm', 7, 7, 50)",
                (key, str(key), request),
            )
    old.dispose()
    storage = await open_storage(path)
    told = await storage.read(Scope("acme", "agent", "ana"), lambda view: [*StoredPrompts(view.transaction).all()])
    assert told == [(3, [("system", "Find facts."), ("user", '[t1] "Ana": Hi.')])]


def upgrade_to(engine: Engine, revision: str) -> None:
    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS))
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, revision)


def test_a_migration_that_fails_leaves_the_database_as_it_was():
    engine = sqlite_engine(None, writes=True)
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE turns (pk INTEGER)")
    before = statements(engine)
    with pytest.raises(OperationalError, match="table turns already exists"):
        upgrade(engine)
    assert statements(engine) == before


def test_a_folder_with_a_percent_sign_can_hold_the_migrations(tmp_path: Path, monkeypatch: Any):
    odd = tmp_path / "100%(home)s"
    odd.symlink_to(_MIGRATIONS.parent)
    monkeypatch.setattr(migrate, "__file__", str(odd / "migrate.py"))
    engine = sqlite_engine(None, writes=True)
    upgrade(engine)
    assert "entries" in described(engine)


def test_alembic_is_imported_only_for_a_migration(path: Path):
    code = f"""
import asyncio, sys
from datetime import UTC, datetime
from pathlib import Path
from agentcore.stores.sql.sql_storage import SqlStorage
from agentcore.testing.clock import ManualClock

async def create_then_open():
    for _ in range(2):
        storage = SqlStorage(Path({str(path)!r}), clock=ManualClock(datetime(2025, 1, 1, tzinfo=UTC)))
        await storage.start()
        await storage.stop()

asyncio.run(create_then_open())
print(sorted({{"alembic", "numpy"}} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_each_schema_is_written_out_by_itself():
    """Else a later change of the tables would alter what upgrading an old database does."""
    sources = [*_MIGRATIONS.glob("versions/*.py"), *_MIGRATIONS.glob("*_schema/*.py")]
    assert [path.name for path in sources if "sql.schema" in _imports(path)] == []


def _imports(path: Path) -> str:
    return "\n".join(line for line in path.read_text("utf-8").splitlines() if line.startswith(("import ", "from ")))


def test_what_was_forgotten_before_there_were_tombstones_gets_its_own(path: Path):
    """Where the journal names it; an entry that is still there lost a former wording alone."""
    path.parent.mkdir()
    old = sqlite_engine(path, writes=True)
    upgrade_to(old, "0025")
    added = "INSERT INTO journal (scope_id, run_id, step, pass_name, number, operation, record_kind, record_id, reason"
    with old.begin() as connection:
        connection.exec_driver_sql("INSERT INTO scopes VALUES (1, 'acme', 'agent', 'ana', 7, 0, 0)")
        for number, (kind, name, at, scrubbed) in enumerate(
            [("entry", "gone", 50, 1), ("entry", "gone", 60, 1), ("entry", "undone", 70, 0), ("document", "M", 80, 1)]
        ):
            values = f"(1, 'run', 1, 'fold', {number}, 'fold', '{kind}', '{name}', '', {at}, {scrubbed})"
            connection.exec_driver_sql(f"{added}, recorded_at, scrubbed) VALUES {values}")
    upgrade(old)
    with old.connect() as connection:
        rows = connection.exec_driver_sql("SELECT kind, record_id, whole, forgotten_at FROM tombstones")
        assert [tuple(row) for row in rows] == [("entry", "gone", 1, 60)]
    old.dispose()


def test_a_schema_is_not_upgraded_under_a_process_that_works_with_it(path: Path):
    path.parent.mkdir()
    old = sqlite_engine(path, writes=True)
    upgrade_to(old, KNOWN_REVISIONS[-2])
    old.dispose()
    with closing(sqlite3.connect(path)) as other:
        other.execute("PRAGMA journal_mode = WAL")
        other.execute("SELECT * FROM scopes").fetchall()
        new = sqlite_engine(path, writes=True)
        with pytest.raises(StorageInUseError, match="is in use by another process, and this version would upgrade"):
            migrate.migrate(new, path="new", patience=timedelta())
    migrate.migrate(new, path="new")
    assert migrate.is_current(new, "new")
    new.dispose()
