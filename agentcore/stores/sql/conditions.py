"""Conditions that recur, written so that every database reads them alike and uses its indexes."""

from typing import Any

import orjson
from sqlalchemy import ColumnElement, String, and_, func, literal_column, or_, true

from agentcore.domain.memory import Status

# The literal, not a parameter: a partial index serves only a condition that the planner can read.
_ACTIVE = literal_column(f"'{Status.ACTIVE.value}'", String)


def is_active(status: ColumnElement[Any]) -> ColumnElement[bool]:
    """Tell whether the record is current."""
    return status == _ACTIVE


def is_retired(status: ColumnElement[Any]) -> ColumnElement[bool]:
    """Tell whether the record left the active state."""
    return status != _ACTIVE


def is_pinned(pinned: ColumnElement[Any]) -> ColumnElement[bool]:
    """Tell whether dreams leave the record alone; the words of the partial index, for the same reason as above."""
    return pinned.op("IS", is_comparison=True)(literal_column("TRUE"))


def starts_with(column: ColumnElement[Any], prefix: str) -> ColumnElement[bool]:
    """Tell whether a text sorted by its bytes starts with *prefix*; unlike LIKE it tells case and uses an index."""
    if not prefix:
        return true()
    exact = func.substr(column, 1, len(prefix)) == prefix
    last = ord(prefix[-1])
    return and_(column >= prefix, column < prefix[:-1] + chr(last + 1), exact) if last < 0xD7FF else exact


def has_element(column: ColumnElement[Any], text: str) -> ColumnElement[bool]:
    """Tell whether a column that holds a JSON list of texts has *text* in it."""
    element = orjson.dumps(text).decode()
    return or_(contains(column, f"[{element}"), contains(column, f",{element}"))


def contains(column: ColumnElement[Any], text: str) -> ColumnElement[bool]:
    """Tell whether *text* occurs in the column, letter by letter; unlike LIKE it tells case."""
    return func.replace(column, text, "") != column
