"""Keeps the statements of a transaction within its scope by PostgreSQL's row-level security, where a role is given."""

import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, Table, text
from sqlalchemy.exc import DBAPIError

from agentcore.domain.scope import Scope
from agentcore.errors import StorageUnavailableError
from agentcore.stores.sql.bulk import BOUND
from agentcore.stores.sql.engines.postgres import SCHEMA
from agentcore.stores.sql.schema import (
    access_tokens,
    busy_holders,
    fan_outs,
    fleet_workers,
    forget_keys,
    hosts,
    known_copies,
    metadata,
    model_rates,
    schedule_terms,
    scopes,
)

ROLE_VARIABLE: Final = "AGENTCORE_DATABASE_ROLE"
"""Names the role that transactions on a scope take on; without it no policies are made."""

OPEN_TABLES: Final = frozenset(
    {access_tokens, busy_holders, fleet_workers, forget_keys, hosts, known_copies, model_rates, schedule_terms}
)
"""Tables that hold no memory: who works on the database, who may ask, and what is common to all scopes."""

_OF_SCOPE: Final = "NULLIF(current_setting('agentcore.scope', true), '')::bigint"
_OF_WORKSPACE: Final = "current_setting('agentcore.workspace', true)"
_POLICY: Final = "of_scope"

_ENTER: Final = text(
    "SELECT set_config('agentcore.scope', :key, true), set_config('agentcore.workspace', :workspace, true),"
    " set_config('role', :role, true)"
)
_CHANGE_ROLE: Final = text("SELECT set_config('role', :role, true)")
_ROLE: Final = text(
    "SELECT rolsuper OR rolbypassrls, pg_has_role(session_user, oid, 'MEMBER') FROM pg_roles WHERE rolname = :role"
)
_FOUND: Final = text(
    "SELECT tablename FROM pg_policies WHERE schemaname = :schema AND policyname = :policy"
    " AND has_table_privilege(:role, format('%I.%I', schemaname, tablename), 'INSERT')"
)


def role_for_scopes() -> str | None:
    """Return the role that the environment names."""
    return os.environ.get(ROLE_VARIABLE) or None


@dataclass(frozen=True, slots=True)
class ScopeBounds:
    """Keeps one transaction within a scope; lives as long as it.

    Args:
        connection: The transaction, begun as the user of the URL.
        role: What it goes on as.
    """

    connection: Connection
    role: str

    def enter(self, scope: Scope, scope_id: int) -> None:
        """Let no statement from now on reach beyond the scope."""
        given = {"key": str(scope_id), "workspace": scope.workspace, "role": self.role}
        self.connection.execute(_ENTER, given)
        self.connection.info[BOUND] = True

    @contextmanager
    def left(self) -> Generator[None]:
        """Let the statements of the block reach beyond it."""
        self.connection.execute(_CHANGE_ROLE, {"role": "none"})
        try:
            yield
        except BaseException:
            with suppress(DBAPIError):  # where the transaction is broken off, its role ends with it
                self.connection.execute(_CHANGE_ROLE, {"role": self.role})
            raise
        self.connection.execute(_CHANGE_ROLE, {"role": self.role})


def secure_rows(connection: Connection, role: str, name: str) -> None:
    """Make the policies that are missing, and let the role use the tables.

    Raises:
        StorageUnavailableError: there is no such role, or it would not be held back.
    """
    found = connection.execute(_ROLE, {"role": role}).one_or_none()
    if found is None or found[0] or not found[1]:
        problem = f"has no role {role!r} that its user may take on and that policies hold back"
        remedy = f"as docs/how-to/use-postgresql.md says, or leave {ROLE_VARIABLE} out"
        raise StorageUnavailableError(path=name, problem=problem, remedy=f"make one {remedy}")
    known = {"schema": SCHEMA, "policy": _POLICY, "role": role}
    there = set(connection.execute(_FOUND, known).scalars())
    guarded = [table for table in metadata.sorted_tables if table not in OPEN_TABLES]
    if there >= {table.name for table in guarded}:
        return
    quoted = connection.dialect.identifier_preparer.quote(role)
    for words in (
        f"GRANT USAGE ON SCHEMA {SCHEMA} TO {quoted}",
        f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {SCHEMA} TO {quoted}",
        f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA {SCHEMA} TO {quoted}",
    ):
        connection.exec_driver_sql(words)
    for table in guarded:
        connection.exec_driver_sql(f"DROP POLICY IF EXISTS {_POLICY} ON {SCHEMA}.{table.name}")
        connection.exec_driver_sql(f"CREATE POLICY {_POLICY} ON {SCHEMA}.{table.name} USING ({_condition(table)})")
        connection.exec_driver_sql(f"ALTER TABLE {SCHEMA}.{table.name} ENABLE ROW LEVEL SECURITY")


def _condition(table: Table) -> str:
    """Return which rows of a table a transaction sees, and may write."""
    # Who follows whom is noted by the one who speaks; scopes of a workspace know each other by name.
    if table in {fan_outs, scopes} or "scope_id" not in table.c:
        return f"workspace = {_OF_WORKSPACE}"
    return f"scope_id = {_OF_SCOPE}"
