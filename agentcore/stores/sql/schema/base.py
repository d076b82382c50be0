"""Metadata and the column shapes that recur."""

from sqlalchemy import BigInteger, Column, ForeignKey, Integer, MetaData, String

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    },
)

Key = BigInteger().with_variant(Integer, "sqlite")
"""SQLite makes only an INTEGER primary key the row id."""


def row_key() -> Column[int]:
    """Return the surrogate key that indexes in memory refer to."""
    return Column("pk", Key, primary_key=True, autoincrement=True)


def scope_key(*, primary_key: bool = False) -> Column[int]:
    """Return the reference to the owning scope."""
    return Column("scope_id", Key, ForeignKey("scopes.pk"), nullable=False, primary_key=primary_key)


def record_id() -> Column[str]:
    """Return the public id."""
    return Column("id", String(64), nullable=False)


def instant(name: str, *, nullable: bool = False) -> Column[int]:
    """Return an instant in microseconds since 1970, UTC."""
    return Column(name, BigInteger, nullable=nullable)
