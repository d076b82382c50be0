"""What a host leaves in the database of its options, for commands and hosts that go by them."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, cast

import orjson
from pydantic_core import to_jsonable_python

from agentcore.errors import HostNotStartedError, StorageError
from agentcore.hosting.option_layers import Values, changed
from agentcore.hosting.options import Options

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from agentcore.ids import IdFactory
    from agentcore.stores.sql.hosts import HostRecord
    from agentcore.stores.storage import Storage, UnitOfWork

VERSION: Final = 1
"""Of the form in which options are left."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftLevel:
    """What the code of a host says of the dreams of some scopes.

    Args:
        pattern: Which scopes.
        values: What it says, section by section.
        preset: The preset that these start from; None for that of wider levels.
        replaces_mappings: Whether a mapping takes the place of a wider one.
    """

    pattern: str
    values: Values
    preset: str | None = None
    replaces_mappings: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOptions:
    """What the code of a host says beside the settings file and the environment; plain values throughout.

    Args:
        parts: Of memory and the other parts, by their sections.
        dreaming: Of the dreams of all scopes.
        scopes: Of those of some scopes.
        only_code: What others cannot follow, because it is a function or an object of code: its options, by path.
        record: The host that left it; None before it is left.
        version: Of the form; a greater one is of a later version of the program.
    """

    parts: Mapping[str, Values] = field(default_factory=dict[str, Values])
    dreaming: Values = field(default_factory=dict[str, Any])
    scopes: Sequence[LeftLevel] = ()
    only_code: Sequence[str] = ()
    record: HostRecord | None = None
    version: int = VERSION

    @property
    def is_empty(self) -> bool:
        """Whether the code says nothing of options that the file and the environment do not; clients are no options."""
        only_code = [name for name in self.only_code if not name.startswith("with_")]
        return not (self.parts or self.dreaming or self.scopes or only_code)

    @property
    def is_readable(self) -> bool:
        """Whether this version of the program can follow it."""
        return self.version <= VERSION

    def with_part(self, section: str, before: Options, after: Options) -> LeftOptions:
        """Return it with what code made of the options of a part."""
        values, only_code = plain(changed(before, after), section)
        parts = {**self.parts, **({section: values} if values else {})}
        return replace(self, parts=parts, only_code=(*self.only_code, *only_code))

    def to_text(self) -> str:
        """Return the text that is stored."""
        scopes = [
            {"pattern": one.pattern, "values": one.values, "preset": one.preset, "whole": one.replaces_mappings}
            for one in self.scopes
        ]
        document = {
            "version": self.version,
            "parts": self.parts,
            "dreaming": self.dreaming,
            "scopes": scopes,
            "only_code": self.only_code,
        }
        return orjson.dumps(document, option=orjson.OPT_SORT_KEYS).decode()

    @classmethod
    def of(cls, record: HostRecord) -> LeftOptions:
        """Read what a host left; of a later version of the program nothing but that number is believed."""
        document: Mapping[str, Any] = orjson.loads(record.options)
        if document["version"] > VERSION:
            return cls(record=record, version=document["version"])
        return cls(
            parts=document["parts"],
            dreaming=document["dreaming"],
            scopes=tuple(
                LeftLevel(
                    pattern=one["pattern"],
                    values=one["values"],
                    preset=one["preset"],
                    replaces_mappings=one["whole"],
                )
                for one in document["scopes"]
            ),
            only_code=tuple(document["only_code"]),
            record=record,
        )


def plain(values: Values, path: str) -> tuple[Values, list[str]]:
    """Return values as JSON has them, and the paths of those that only code can give.

    Example:
        >>> from datetime import timedelta
        >>> plain({"window": 3, "count_tokens": len, "every": timedelta(hours=4)}, "context")
        ({'window': 3, 'every': 'PT4H'}, ['context.count_tokens'])
    """
    found, only_code = Values(), list[str]()
    for name, value in values.items():
        where = f"{path}.{name}"
        if name in _OF_CODE or (callable(value) and not isinstance(value, Options)):
            only_code.append(where)
        elif isinstance(value, dict):
            nested, inner = plain(cast("Values", value), where)
            only_code += inner
            if nested or not inner:
                found[name] = nested
        else:
            found[name] = value.model_dump(mode="json") if isinstance(value, Options) else to_jsonable_python(value)
    return found, only_code


_OF_CODE: Final = frozenset({"passes", "verifier"})
"""Options whose values are objects of the host's code."""


def left_in(database: Path | str) -> LeftOptions | None:
    """Return what the host left that started last on a database; None if none did."""
    from agentcore.stores.sql.hosts import hosts_of  # noqa: PLC0415 - the database takes a while

    newest = hosts_of(database)
    return LeftOptions.of(newest[0]) if newest else None


class OptionsLeft:
    """Writes down what the host's code says of options when it starts; lives as long as the host.

    Args:
        storage: Where.
        ids: Names the host.
        options: What its code says.
    """

    def __init__(self, storage: Storage, *, ids: IdFactory, options: LeftOptions) -> None:
        self._storage = storage
        self._holder = ids.new()
        self._text = options.to_text()

    async def start(self) -> None:
        """Write it, and warn of a living host whose code says otherwise."""

        def begin(unit: UnitOfWork) -> list[HostRecord]:
            unit.hosts.start(self._holder, self._text)
            return [one for one in unit.hosts.newest() if one.is_alive and one.options != self._text]

        try:
            others = await self._storage.write(None, begin)
        except StorageError:
            _log.debug("host_not_noted", exc_info=True)  # such as where nothing can be written
            return
        for other in others:
            told = {"host": other.host, "pid": other.pid, "started_at": other.started_at.isoformat()}
            _log.warning("hosts_differ host=%s pid=%s started_at=%s", *told.values(), extra=told)

    async def stop(self) -> None:
        """Note that the host has stopped; what it said stays for commands."""
        try:
            await self._storage.write(None, lambda unit: unit.hosts.stop(self._holder))
        except (StorageError, HostNotStartedError):
            _log.debug("host_not_noted", exc_info=True)
