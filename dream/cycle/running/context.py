"""Makes the contexts of passes: what they may see and use of one scope, all of it read-only."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from hashlib import blake2b
from typing import TYPE_CHECKING, TypeVar
from zoneinfo import ZoneInfo

from agentcore.domain.capability import Capability
from agentcore.domain.scope import Scope
from agentcore.hosting.parts import HostParts
from agentcore.recall.results import Neighbour
from agentcore.stores.storage import ReadView
from dream.domain.cluster import SettledCluster
from dream.domain.declaration import Reads
from dream.domain.log_standing import LogReading, LogStanding
from dream.domain.phases import PhaseStanding
from dream.domain.proposal import HistoryKind
from dream.domain.reasons import Refused
from dream.domain.recalls import RecallColumns
from dream.options import DreamOptions
from dream.passes import DreamContext, ModelContext, arranged
from dream.stores import dream_stores

if TYPE_CHECKING:
    from dream.guards.vocabulary import Vocabulary


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

        def stand(view: ReadView) -> tuple[int, frozenset[str]]:
            cursors = dream_stores(view).cursors
            return cursors.position(self.pass_name) or 0, frozenset(cursors.reopened(self.pass_name))

        cursor, reopened = await self.parts.storage.read(self.scope, stand)
        views = _Views(self.parts, self.scope, self.pass_name)
        return DreamContext(
            scope=self.scope,
            run_id=self.run_id,
            as_of=self.as_of,
            options=self.options,
            cursor=cursor,
            reopened=reopened,
            looked_at=looked_at,
            read=views.read,
            similar=views.similar,
            declined=views.withheld,
            count_history=views.count_history,
            read_log=self._read_log,
            recalls=self._recalls,
            promoted=views.promoted,
            phases=views.phases,
        )

    def _reserved(self) -> tuple[str, ...]:
        others = (slot.declaration for slot in arranged(self.options.passes))
        return tuple(found for one in others if one.name != self.pass_name for found in one.categories)

    async def _recalls(self, zone: ZoneInfo, *, since: datetime | None = None) -> RecallColumns:
        return await self.parts.storage.read(
            self.scope, lambda view: dream_stores(view).recalls.columns(zone, until=self.as_of, since=since)
        )

    async def _read_log(self) -> LogStanding:
        def look(view: ReadView) -> LogStanding:
            books = dream_stores(view)
            unread = {reader: books.cursors.reopened(reader) for reader in self.log_readers}
            readings = tuple(
                LogReading(
                    reader=reader,
                    position=books.cursors.position(reader) or 0,
                    unread=books.attempts.failed(reader, ids),
                )
                for reader, ids in unread.items()
            )
            return LogStanding(end=self.log_end, readings=readings)

        return await self.parts.storage.read(self.scope, look)

    async def with_model(
        self, looked_at: int, *, directives: Mapping[str, str], vocabulary: "Vocabulary"
    ) -> ModelContext:
        """Return the context of a pass that asks a model.

        Entries that it reviewed under other directives are to be looked at again: its cursor is back at 0 until it has
        packed under these.
        """
        plain = await self.plain(looked_at)
        views = _Views(self.parts, self.scope, self.pass_name)
        known = {field.name: getattr(plain, field.name) for field in fields(plain)}
        known["declined"] = views.declined
        if self.reads is Reads.ENTRIES and await views.reviewed_otherwise(directives_mark(directives)):
            known["cursor"] = 0
        return ModelContext(
            **known,
            alike=views.alike,
            count_documents=views.count_documents,
            directives=directives,
            marker=fence_marker(self.run_id),
            vocabulary=vocabulary,
            new_id=self.parts.ids.new,
            side_cursors=await views.side_cursors(),
            settled=views.settled,
            withheld=views.withheld,
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


@dataclass(frozen=True, slots=True)
class _Views:
    """The read-only functions a context hands to its pass."""

    parts: HostParts
    scope: Scope
    pass_name: str

    async def read(self, work: Callable[[ReadView], T]) -> T:
        return await self.parts.storage.read(self.scope, lambda view: work(view.learnable))

    async def similar(self, keys: Sequence[int], *, threshold: float, limit: int) -> Mapping[int, Sequence[Neighbour]]:
        return await self.parts.recall.similar(self.scope, keys, threshold=threshold, limit=limit)

    async def alike(self, keys: Sequence[int], *, threshold: float) -> Sequence[tuple[int, int, float]]:
        return await self.parts.recall.alike(self.scope, keys, threshold=threshold)

    async def declined(self, fingerprints: Collection[str]) -> Mapping[str, Refused]:
        if not fingerprints:
            return {}
        found = await self.read(lambda view: dream_stores(view).decisions.declined(fingerprints))
        return dict.fromkeys(found, Refused.UNDONE_BY_PERSON)

    async def withheld(self, fingerprints: Collection[str]) -> Mapping[str, Refused]:
        """Return besides what waits for a person: who asks no model would find it again at each step."""
        if not fingerprints:
            return {}
        marks = await self.read(lambda view: dream_stores(view).proposals.marks())
        waiting = set(fingerprints).intersection(mark for _, mark in marks if mark is not None)
        return {**dict.fromkeys(waiting, Refused.AWAITS_REVIEW), **await self.declined(fingerprints)}

    async def count_history(self, what: HistoryKind, before: datetime) -> int:
        def count(view: ReadView) -> int:
            expiry = dream_stores(view).expiry
            if what is HistoryKind.REFUSED:
                return dream_stores(view).refused_texts.count_expired(before)
            if what is HistoryKind.PROPOSALS:
                return dream_stores(view).proposals.count_expired(before)
            return expiry.count_expired(before) if what is HistoryKind.RUNS else expiry.count_feed(before)

        return await self.read(count)

    async def count_documents(self, texts: Sequence[str]) -> Mapping[str, int]:
        return await self.parts.recall.count_documents(self.scope, texts)

    async def reviewed_otherwise(self, directives_mark: str) -> bool:
        def look(view: ReadView) -> bool:
            return dream_stores(view).ledger.fingerprint(self.pass_name) not in {None, directives_mark}

        return await self.read(look)

    async def promoted(self) -> Mapping[str, datetime]:
        return await self.read(lambda view: dream_stores(view).promotions.known())

    async def phases(self) -> Mapping[str, PhaseStanding]:
        return await self.read(lambda view: dream_stores(view).phases.standing())

    async def settled(self) -> list[SettledCluster]:
        return await self.read(lambda view: dream_stores(view).clusters.all(self.pass_name))

    async def side_cursors(self) -> Mapping[str, int]:
        def positions(view: ReadView) -> dict[str, int]:
            cursors = dream_stores(view).cursors
            prefix = f"{self.pass_name}/"
            mine = [reader for reader in cursors.readers() if reader.startswith(prefix)]
            return {reader.removeprefix(prefix): cursors.position(reader) or 0 for reader in mine}

        return _Zeroes(await self.read(positions))


class _Zeroes(dict[str, int]):
    """Positions; 0 for a reader that never looked."""

    def __missing__(self, reader: str) -> int:
        return 0
