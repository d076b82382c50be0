"""Metadata and the column shapes that recur."""

from sqlalchemy import BigInteger, Column, ForeignKey, Integer, MetaData, String, Text

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    },
)

WHERE = "where"
"""In an index's info, the rows it covers: told to a dialect when tables are made, for naming one imports it whole."""

Key = BigInteger().with_variant(Integer, "sqlite")
"""SQLite makes only an INTEGER primary key the row id."""

RecordId = String(64).with_variant(String(64, collation="C"), "postgresql")
"""Ids sort by their bytes on every database."""

Name = Text().with_variant(Text(collation="C"), "postgresql")
"""A text that sorts by its bytes on every database."""


def row_key() -> Column[int]:
    """Return the surrogate key that indexes in memory refer to."""
    return Column("pk", Key, primary_key=True, autoincrement=True)


def scope_key(*, primary_key: bool = False) -> Column[int]:
    """Return the reference to the owning scope."""
    return Column("scope_id", Key, ForeignKey("scopes.pk"), nullable=False, primary_key=primary_key)


def record_id() -> Column[str]:
    """Return the public id."""
    return Column("id", RecordId, nullable=False)


def instant(name: str, *, nullable: bool = False) -> Column[int]:
    """Return an instant in microseconds since 1970, UTC."""
    return Column(name, BigInteger, nullable=nullable)
