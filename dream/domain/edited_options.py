"""Defines what an admin changed of the options of a scope: the values, and who set them when."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final, cast

import orjson

from agentcore.domain.temporal import to_text
from agentcore.errors import StaleVersionError, UnknownRecordError

Value = tuple[object, ...]
"""What is said of an option: one value, or nothing."""
_KEPT: Final = 50
"""Edits that are remembered, and can be undone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionEdit:
    """One option that was set, changed, or left to the file again.

    Args:
        number: Its place among the edits of the scope.
        at: When.
        actor: Who asked for it.
        path: The option, as in `schedule.trigger.every`.
        before: What was said of it; empty where nothing was.
        after: What is said of it now; empty where nothing is.
    """

    number: int
    at: datetime
    actor: str
    path: str
    before: Value
    after: Value

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values; a value stands in a list, which is empty where nothing was said."""
        told = {"number": self.number, "at": to_text(self.at), "actor": self.actor, "option": self.path}
        return {**told, "before": list(self.before), "after": list(self.after)}


@dataclass(frozen=True, slots=True, kw_only=True)
class EditedOptions:
    """What was edited in one scope; immutable.

    Args:
        values: Plain values by path.
        edits: The latest edits, the oldest first.
    """

    values: Mapping[str, object] = field(default_factory=dict[str, object])
    edits: tuple[OptionEdit, ...] = ()

    @property
    def version(self) -> int:
        """The number of the last edit; 0 before the first."""
        return self.edits[-1].number if self.edits else 0

    def last_on(self, path: str = "") -> str:
        """Return who edited an option last, or anything at all, as it is said in a sentence; empty if nobody did."""
        found = [one.actor for one in self.edits if path in {"", one.path}]
        return f", which {found[-1]} edited last," if found else ""

    def with_edits(self, wanted: Mapping[str, Value], *, at: datetime, actor: str) -> EditedOptions:
        """Return the same after these options were said, or are left to others where the value is empty."""
        values, edits = dict(self.values), list(self.edits)
        for path, after in wanted.items():
            before: Value = (values.pop(path),) if path in values else ()
            if after:
                values[path] = after[0]
            if before != after:
                number = (edits[-1].number if edits else 0) + 1
                edits.append(OptionEdit(number=number, at=at, actor=actor, path=path, before=before, after=after))
        return replace(self, values=values, edits=tuple(edits[-_KEPT:]))

    def undone(self, number: int, *, at: datetime, actor: str) -> EditedOptions:
        """Return the same after one edit was taken back, which is an edit too.

        Raises:
            UnknownRecordError: there is no such edit, or it is too long ago.
            StaleVersionError: the option was edited since.
        """
        found = next((one for one in self.edits if one.number == number), None)
        if found is None:
            raise UnknownRecordError(kind="edit", value=str(number))
        now: Value = (self.values[found.path],) if found.path in self.values else ()
        if now != found.after:
            raise StaleVersionError(kind="option", record_id=found.path)
        return self.with_edits({found.path: found.before}, at=at, actor=actor)

    def to_texts(self) -> tuple[str, str]:
        """Return the texts that are stored: the values, and the edits."""
        edits = [one.to_json() for one in self.edits]
        return orjson.dumps(dict(self.values)).decode(), orjson.dumps(edits).decode()

    @classmethod
    def of(cls, values: str | None, edits: str | None) -> EditedOptions:
        """Read what `to_texts` gave."""
        rows: list[dict[str, Any]] = [] if edits is None else orjson.loads(edits)
        return cls(values=read_values(values), edits=tuple(map(_edit, rows)))


def read_values(text: str | None) -> dict[str, object]:
    """Return the values of a stored text, by path."""
    return {} if text is None else cast("dict[str, object]", orjson.loads(text))


def nested(values: Iterable[tuple[str, object]]) -> dict[str, Any]:
    """Return values by path, section by section.

    Example:
        >>> nested([("schedule.zone", "UTC"), ("lease", 60)])
        {'lease': 60, 'schedule': {'zone': 'UTC'}}
    """
    found: dict[str, Any] = {}
    for path, value in sorted(values):
        *sections, name = path.split(".")
        inner = found
        for section in sections:
            below = inner.get(section)
            inner[section] = dict(cast("dict[str, Any]", below)) if isinstance(below, dict) else {}
            inner = inner[section]
        inner[name] = value
    return found


def _edit(row: Mapping[str, Any]) -> OptionEdit:
    return OptionEdit(
        number=row["number"],
        at=datetime.fromisoformat(row["at"]),
        actor=row["actor"],
        path=row["option"],
        before=tuple(row["before"]),
        after=tuple(row["after"]),
    )
