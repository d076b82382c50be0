"""Makes the contexts of passes: what they may see and use of one scope, all of it read-only."""

from __future__ import annotations

from dataclasses import dataclass, fields
from hashlib import blake2b
from typing import TYPE_CHECKING, TypeVar

from agentcore.domain.capability import Capability
from dream.domain.declaration import Reads
from dream.passes import DreamContext, ModelContext, arranged
from dream.passes.protocol import ScopeRecall
from dream.stores import dream_stores, pass_view

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from agentcore.domain.scope import Scope
    from agentcore.hosting.parts import HostParts
    from agentcore.stores.storage import ReadView
    from dream.guards.names import Vocabulary
    from dream.options import DreamOptions
    from dream.passes.protocol import PassView


T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextFactory:
    """Makes the contexts of one pass of one run; lives as long as it.

    Args:
        parts: What the host offers.
        scope: Whose memory.
        options: The host's options.
        pass_name: The pass.
        run_id: The run.
        as_of: The instant it judges by.
        reads: What the pass's cursor counts.
        log_readers: Enabled passes that read the conversation log.
        log_end: Position of the newest turn when the run began.
    """

    parts: HostParts
    scope: Scope
    options: DreamOptions
    pass_name: str
    run_id: str
    as_of: datetime
    reads: Reads = Reads.ENTRIES
    log_readers: tuple[str, ...] = ()
    log_end: int = 0

    async def plain(self, looked_at: int) -> DreamContext:
        """Return the context of a step, after *looked_at* items of the run."""

        def stand(view: PassView) -> tuple[int, frozenset[str]]:
            cursors = view.books.cursors
            return cursors.position(self.pass_name) or 0, frozenset(cursors.reopened(self.pass_name))

        cursor, reopened = await self._read(stand)
        return DreamContext(
            scope=self.scope,
            run_id=self.run_id,
            pass_name=self.pass_name,
            as_of=self.as_of,
            options=self.options,
            cursor=cursor,
            reopened=reopened,
            looked_at=looked_at,
            log_readers=self.log_readers,
            log_end=self.log_end,
            read=self._read,
            recall=ScopeRecall(self.parts.recall, self.scope),
        )

    async def _read(self, work: Callable[[PassView], T]) -> T:
        return await self.parts.storage.read(self.scope, lambda view: work(pass_view(view)))

    def _reserved(self) -> tuple[str, ...]:
        others = (slot.declaration for slot in arranged(self.options.passes))
        return tuple(found for one in others if one.name != self.pass_name for found in one.categories)

    async def with_model(
        self, looked_at: int, *, directives: Mapping[str, str], vocabulary: Vocabulary
    ) -> ModelContext:
        """Return the context of a pass that asks a model.

        Entries that it reviewed under other directives are to be looked at again: its cursor is back at 0 until it has
        packed under these.
        """
        plain = await self.plain(looked_at)
        known = {field.name: getattr(plain, field.name) for field in fields(plain)}
        mark = directives_mark(directives)

        def look(view: ReadView) -> tuple[Mapping[str, int], str | None]:
            books = dream_stores(view)
            return books.cursors.side_positions(self.pass_name), books.ledger.fingerprint(self.pass_name)

        side_cursors, reviewed_under = await self.parts.storage.read(self.scope, look)
        if self.reads is Reads.ENTRIES and reviewed_under not in {None, mark}:
            known["cursor"] = 0
        return ModelContext(
            **known,
            directives=directives,
            marker=fence_marker(self.run_id),
            vocabulary=vocabulary,
            new_id=self.parts.ids.new,
            side_cursors=side_cursors,
            has_model=Capability.LLM in self.parts.capabilities,
            reserved=self._reserved(),
        )


def directives_mark(directives: Mapping[str, str]) -> str:
    """Return what tells the texts that a pass judges by from any others."""
    return blake2b("\x1f".join(directives.values()).encode(), digest_size=16).hexdigest()


def fence_marker(run_id: str) -> str:
    """Return what fences data in a run's prompts: as random as the run's id, which no record could know.

    Example:
        >>> len(fence_marker("4f00c2"))
        16
    """
    return blake2b(run_id.encode(), digest_size=8, person=b"fence").hexdigest()
