"""Finds and makes the keys of scopes."""

from sqlalchemy import Connection, bindparam, insert, select

from agentcore.domain.scope import Scope
from agentcore.stores.sql.schema import scopes

IS_NAMED = (
    (scopes.c.workspace == bindparam("workspace"))
    & (scopes.c.observer == bindparam("observer"))
    & (scopes.c.observed == bindparam("observed"))
)
_SCOPE_KEY = select(scopes.c.pk).where(IS_NAMED)
_NEW_SCOPE = insert(scopes).returning(scopes.c.pk)


def scope_key(connection: Connection, scope: Scope) -> int | None:
    """Return the key of a scope, or None if nothing was ever written to it."""
    return connection.execute(_SCOPE_KEY, parts_of(scope)).scalar()


def make_scope(connection: Connection, scope: Scope) -> int:
    """Make a scope that is not there; return its key."""
    return connection.execute(_NEW_SCOPE, parts_of(scope)).scalar_one()


def parts_of(scope: Scope) -> dict[str, str]:
    """Return a scope by the columns that name it."""
    return {"workspace": scope.workspace, "observer": scope.observer, "observed": scope.observed}
