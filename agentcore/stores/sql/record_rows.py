"""Between rows and the records whose columns are named like their fields (all but entries)."""

from collections.abc import Callable, Sequence
from dataclasses import MISSING, fields
from datetime import datetime
from enum import Enum, IntEnum, StrEnum
from typing import Any, Generic, TypeVar, cast

import orjson
from sqlalchemy import Table, select

from agentcore.domain.conversation import Turn
from agentcore.domain.document import StoredDocument
from agentcore.domain.instants import from_micros, to_micros
from agentcore.domain.memory import Status, Trust
from agentcore.domain.signals import FailureCategory, Feedback, FeedbackKind, Rating, ToolCall, WispRun
from agentcore.domain.skill import Skill, SkillUse
from agentcore.stores.sql.building import builder
from agentcore.stores.sql.faults import UNREADABLE, DamagedRowError
from agentcore.stores.sql.transaction import Transaction, encode, of_my_scope

R = TypeVar("R", Turn, Skill, SkillUse, Feedback, WispRun, ToolCall, StoredDocument)


def _texts(column: str) -> tuple[str, ...]:
    return tuple(orjson.loads(column))


def _members(kind: type[Enum]) -> Callable[[Any], Any]:
    # A table is asked in a tenth of the time in which an enumeration is.
    return {member.value: member for member in kind}.__getitem__


_READERS: dict[str, Any] = {
    "trust": _members(Trust),
    "status": _members(Status),
    "kind": _members(FeedbackKind),
    "rating": _members(Rating),
    "failure_category": _members(FailureCategory),
    "see_also": _texts,
    "own": _texts,
    "generated": bool,
    "succeeded": bool,
}


class RecordRows(Generic[R]):
    """The mapping between one record type and one table."""

    def __init__(self, record_type: type[R], table: Table) -> None:
        self.table = table
        self._build = builder(record_type)
        every = fields(record_type)
        self._fields = tuple(one.name for one in every if one.name != "scope")
        self._defaults = tuple(None if one.default is MISSING else one.default for one in every if one.name != "scope")
        self._place_of_scope = [one.name for one in every].index("scope")
        self.columns = tuple(table.c[name] for name in self._fields)
        self.mine = select(*self.columns).where(of_my_scope(table))
        self.by_id = self.mine.order_by(table.c.id)
        self._readers = tuple(_reader(name) for name in self._fields)

    def read(self, transaction: Transaction, row: Sequence[Any]) -> R:
        """Build the record of a row of `columns`."""
        try:
            values = [
                default if value is None else value if read is None else read(value)
                for read, default, value in zip(self._readers, self._defaults, row, strict=False)
            ]
            values.insert(self._place_of_scope, transaction.scope)
            return self._build(values)
        except UNREADABLE as error:
            raise DamagedRowError from error

    def write(self, transaction: Transaction, record: R) -> dict[str, Any]:
        """Return the columns of *record*, the scope's key included; InvalidContentError if it is of another scope."""
        transaction.require_mine(record.scope)
        values = {name: _to_column(getattr(record, name)) for name in self._fields}
        return values | {"scope_id": transaction.scope_id}


def _reader(name: str) -> Callable[[Any], Any] | None:
    """Return what makes the field of a column's value; None if it is the value."""
    return from_micros if name.endswith("_at") else _READERS.get(name)


def _to_column(value: Any) -> Any:
    if isinstance(value, datetime):
        return to_micros(value)
    if isinstance(value, tuple):
        return encode(cast("tuple[str, ...]", value))
    if isinstance(value, StrEnum):
        return value.value
    return int(value) if isinstance(value, IntEnum) else value
