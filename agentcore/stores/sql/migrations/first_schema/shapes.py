"""The column shapes that recur in migrations."""

from typing import Any

import sqlalchemy as sa
from alembic import op

ROW_KEY = sa.BigInteger().with_variant(sa.Integer, "sqlite")
ID = sa.String(64).with_variant(sa.String(64, collation="C"), "postgresql")
NAME = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
ACTIVE = "status = 'active'"
RETIRED = "status <> 'active'"

ColumnType = Any
"""A type of SQLAlchemy, or its class."""


def columns(column_type: ColumnType, *names: str, nullable: bool = False) -> list[sa.Column[Any]]:
    """Return columns of one type, in this order."""
    return [sa.Column(name, column_type, nullable=nullable) for name in names]


def row_key(table: str) -> list[sa.schema.SchemaItem]:
    """Return the surrogate key."""
    return [sa.Column("pk", ROW_KEY, autoincrement=True, nullable=False), key(table, "pk")]


def scope(table: str) -> sa.Column[Any]:
    """Return the reference to the owning scope."""
    owner = sa.ForeignKey("scopes.pk", name=f"fk_{table}_scope_id")
    return sa.Column("scope_id", ROW_KEY, owner, nullable=False)


def record(table: str) -> list[sa.schema.SchemaItem]:
    """Return what every record begins with: surrogate key, scope and public id."""
    return [*row_key(table), scope(table), *columns(ID, "id"), unique(table, "scope_id", "id")]


def state(successor: ColumnType) -> list[sa.Column[Any]]:
    """Return whether a record is current, and why not."""
    return [
        *columns(sa.String(16), "status"),
        *columns(sa.Text, "status_reason", nullable=True),
        *columns(successor, "successor", nullable=True),
        *columns(sa.BigInteger, "status_at", nullable=True),
    ]


def counters() -> list[sa.Column[Any]]:
    """Return version, revision and place in the order of arrival."""
    return [*columns(sa.Integer, "version"), *columns(sa.BigInteger, "revision", "position")]


def key(table: str, *names: str) -> sa.PrimaryKeyConstraint:
    """Return the primary key."""
    return sa.PrimaryKeyConstraint(*names, name=f"pk_{table}")


def unique(table: str, *names: str) -> sa.UniqueConstraint:
    """Return a unique constraint."""
    return sa.UniqueConstraint(*names, name=f"uq_{table}_{'_'.join(names)}")


def create_partial_index(name: str, table: str, names: list[str], condition: str, *, unique: bool = False) -> None:
    """Create an index of the rows that meet *condition*."""
    where = sa.text(condition)
    op.create_index(name, table, names, unique=unique, sqlite_where=where, postgresql_where=where)


def create_signal_indexes(table: str) -> None:
    """Create the two indexes of a table of signals."""
    op.create_index(f"ix_{table}_occurred", table, ["scope_id", "occurred_at"])
    op.create_index(f"ix_{table}_recorded", table, ["scope_id", "recorded_at"])
