"""A hand to bring files to a scope, and to read back what they became."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from agentcore.domain import EntryFilter, MemoryEntry, Scope, Turn
from agentcore.testing import ManualClock, SequentialIds
from dream.interfaces.exchange import ImportReport, export_scope, import_file

NOW = datetime(2025, 10, 12, 20, tzinfo=UTC)


@dataclass
class Desk:
    """Imports files into one scope and reads back what they became."""

    storage: Any
    folder: Path
    clock: ManualClock = field(default_factory=lambda: ManualClock(NOW))
    ids: SequentialIds = field(default_factory=SequentialIds)
    scope: Scope = field(default_factory=Scope.default)

    def file(self, name: str, content: str | bytes) -> Path:
        path = self.folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def lines(self, name: str, *objects: Any) -> Path:
        return self.file(name, b"".join(orjson.dumps(one) + b"\n" for one in objects))

    async def bring(self, path: Path, **options: Any) -> ImportReport:
        return await import_file(self.storage, self.scope, path, clock=self.clock, ids=self.ids, **options)

    async def dump(self) -> bytes:
        lines: list[bytes] = []
        await export_scope(self.storage, self.scope, lines.append)
        return b"".join(lines)

    async def entries(self) -> list[MemoryEntry]:
        everything = EntryFilter(statuses=frozenset())
        found = await self.storage.read(self.scope, lambda view: view.entries.select(everything))
        return sorted(found, key=lambda entry: entry.id)

    async def contents(self) -> list[str]:
        return [entry.content for entry in await self.entries()]

    async def session(self, session_id: str) -> list[Turn]:
        return await self.storage.read(self.scope, lambda view: view.turns.session(session_id))
