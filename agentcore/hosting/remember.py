"""Turns what is said into new entries, or reinforces the entries that already say it, several callers at once."""

import asyncio
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from itertools import islice
from typing import Final, TypeAlias, TypedDict

from agentcore.domain.memory import MemoryEntry, SourceRef, Trust
from agentcore.domain.scope import Scope
from agentcore.domain.subject_time import SubjectTime
from agentcore.domain.temporal import absorb, foldable
from agentcore.domain.text import clean_category, clean_tags, fold_key
from agentcore.errors import ForgottenSourceError, HostNotStartedError, StorageUnavailableError
from agentcore.hosting.checks import (
    clean_importance,
    clean_instant,
    clean_metadata,
    clean_sources,
    clean_subject_time,
    clean_trust,
    refuse_unknown,
)
from agentcore.hosting.lifecycle import BackgroundService, WorkerFailure
from agentcore.ids import IdFactory
from agentcore.stores.acting import Acting, acting, on_behalf
from agentcore.stores.storage import Storage, UnitOfWork


class MemoryFields(TypedDict, total=False):
    """What may be said beside a text; whatever is not takes the value in brackets."""

    category: str | None
    """Slash path such as `people/ana`, repaired where needed (`general`)."""
    tags: Iterable[str]
    """Any number of words (none)."""
    importance: float
    """From 0 to 1 (0.5)."""
    subject_time: SubjectTime | str | None
    """The time the text is about, such as `2025-05` or `1995..2003` (none)."""
    occurred_at: datetime | None
    """When it was said, aware (now)."""
    metadata: Mapping[str, str] | None
    """Pairs of text to keep with it (none)."""
    pinned: bool
    """Whether dreams leave it alone (False)."""
    trust: Trust
    """How far its origin is trusted (`Trust.STATED`)."""
    sources: Iterable[SourceRef]
    """Records it comes from (none)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """Checked particulars, ready for any number of texts; fields as in `MemoryEntry`."""

    category: str
    tags: tuple[str, ...]
    base: float
    subject_time: SubjectTime | None
    occurred_at: datetime | None
    metadata: Mapping[str, str]
    pinned: bool
    trust: Trust
    sources: tuple[SourceRef, ...]

    @classmethod
    def of(cls, said: MemoryFields) -> "Observation":
        """Check *said* and fill in what is not.

        Raises:
            InvalidInputError: something cannot be stored.
            TypeError: there is no such particular.

        Example:
            >>> Observation.of({"category": "people/ana"}).base
            0.5
        """
        refuse_unknown(said, MemoryFields.__annotations__)
        return cls(
            category=clean_category(said.get("category")),
            tags=clean_tags(said.get("tags", ())),
            base=clean_importance(said.get("importance", 0.5)),
            subject_time=clean_subject_time(said.get("subject_time")),
            occurred_at=clean_instant(said.get("occurred_at")),
            metadata=clean_metadata(said.get("metadata")),
            pinned=bool(said.get("pinned", False)),
            trust=clean_trust(said.get("trust", Trust.STATED)),
            sources=clean_sources(said.get("sources", ())),
        )

    def entry(self, content: str, *, scope: Scope, now: datetime, entry_id: str = "") -> MemoryEntry:
        """Return the entry that *content* makes if nobody knows it yet.

        Args:
            content: Checked text.
            scope: Whose memory it is.
            now: When it is stored; an observation dated later counts as seen now.
            entry_id: Its id; empty while it is not known whether it needs one.
        """
        created_at = self.occurred_at or now
        return MemoryEntry(
            id=entry_id,
            scope=scope,
            content=content,
            category=self.category,
            tags=self.tags,
            base=self.base,
            created_at=created_at,
            recorded_at=now,
            last_seen_at=min(created_at, now),
            subject_time=self.subject_time,
            metadata=dict(self.metadata),
            sources=self.sources,
            trust=self.trust,
            pinned=self.pinned,
        )


def reinforced(known: MemoryEntry, repeat: MemoryEntry) -> MemoryEntry:
    """Return *known* after the same was said again as *repeat* says it.

    It counts once more and was seen later; tags, metadata and sources are united; a more trusted repeat raises the
    trust. A less trusted one reinforces nothing and gives only its protections (see `temporal.absorb`): whoever
    repeats a page often enough would else decide what stays.
    """
    joined = absorb(known, [repeat])
    if repeat.trust < known.trust:
        return joined
    return replace(joined, own_count=known.own_count + 1, absorbed=known.absorbed, trust=repeat.trust)


Entries: TypeAlias = list[MemoryEntry]


class MemoryWriter:
    """Takes texts into one scope's memory; lives as long as one transaction.

    Args:
        unit: The transaction.
        ids: Names new entries.
    """

    def __init__(self, unit: UnitOfWork, ids: IdFactory) -> None:
        self._unit = unit
        self._ids = ids
        self._stored: dict[str, MemoryEntry] = {}
        self._current: dict[str, MemoryEntry] = {}
        self._same_text: dict[str, list[str]] = {}

    def take(self, said: Sequence[tuple[Observation, str]]) -> Entries:
        """Store checked texts, or reinforce what is known; return the entry of each, as it is now stored.

        Raises:
            ForgottenSourceError: one rests on what a person had forgotten.
        """
        forgotten = self._unit.tombstones.touched({source for observation, _ in said for source in observation.sources})
        if forgotten:
            raise ForgottenSourceError(source=str(min(forgotten)))
        keys = [fold_key(content) for _, content in said]
        for entry in self._unit.entries.with_fold_keys(set(keys)):
            self._stored[entry.id] = entry
            self._note(entry, fold_key(entry.content))
        taken = [self._take(observation, content, key) for (observation, content), key in zip(said, keys, strict=True)]
        self._write()
        stored = {entry.id: entry for entry in self._unit.entries.get_many(taken)}
        return [stored[entry_id] for entry_id in taken]

    def _take(self, observation: Observation, content: str, key: str) -> str:
        now, scope = self._unit.now, self._unit.scope
        repeat = observation.entry(content, scope=scope, now=now)
        for known in map(self._current.__getitem__, self._same_text.get(key, ())):
            if foldable(known, repeat):
                self._current[known.id] = reinforced(known, repeat)
                return known.id
        new = observation.entry(content, scope=scope, now=now, entry_id=self._ids.new())
        self._note(new, key)
        return new.id

    def _note(self, entry: MemoryEntry, key: str) -> None:
        self._current[entry.id] = entry
        self._same_text.setdefault(key, []).append(entry.id)

    def _write(self) -> None:
        stored = self._stored
        changed = [(before, self._current[before.id]) for before in stored.values()]
        self._unit.entries.replace([(before, after) for before, after in changed if before != after])
        self._unit.entries.add([entry for entry in self._current.values() if entry.id not in stored])


_TEXTS_IN_A_GROUP: Final = 250
"""Texts of several callers in one transaction, so that no other writer waits for long: about 50 ms."""


@dataclass(frozen=True, slots=True, eq=False)
class _PendingTexts:
    """What one caller wants to have remembered, and where it waits for the answer."""

    scope: Scope
    said: Sequence[tuple[Observation, str]]
    answer: "asyncio.Future[Entries]"
    asking: Acting

    def goes_with(self, other: "_PendingTexts") -> bool:
        """Whether both can be written in one transaction, which has one scope, one actor and no receipt."""
        mine, its = self.asking, other.asking
        is_plain = mine.within is its.within is mine.before is its.before is None
        return is_plain and self.scope == other.scope and mine.actor == its.actor


class MemoryWrites(BackgroundService):
    """Writes what several callers want to have remembered at once in one transaction; lives as long as the host.

    A transaction costs as much as a dozen of texts in it. Who comes first is written at once; what comes meanwhile
    waits for the next transaction, in the order in which it came. An answer is given when its transaction is committed.
    What refuses a transaction is asked of each caller alone, so that nobody gets an error of another's.

    Args:
        storage: Where memories are kept.
        ids: Names new entries.
    """

    def __init__(self, storage: Storage, *, ids: IdFactory) -> None:
        super().__init__(name="memory-writes", on_failure=WorkerFailure.STOP_HOST)
        self._storage = storage
        self._ids = ids
        self._waiting: deque[_PendingTexts] = deque()
        self._any = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._is_open = False

    async def take(self, scope: Scope, said: Sequence[tuple[Observation, str]]) -> Entries:
        """Remember checked texts and return their entries once they are committed.

        Cancelled before its turn nothing is written; after that it is waited for.
        """
        if not self._is_open:
            return await self._storage.write(scope, partial(self._taken, said=said))
        if self._idle.is_set():
            return await self._take_alone(scope, said)
        request = _PendingTexts(scope, said, asyncio.get_running_loop().create_future(), acting())
        self._waiting.append(request)
        try:
            return await asyncio.shield(request.answer)
        except asyncio.CancelledError:
            if request in self._waiting:
                self._waiting.remove(request)
                request.answer.cancel()
            while not request.answer.done():
                with suppress(asyncio.CancelledError):
                    await asyncio.wait((request.answer,))
            if not request.answer.cancelled():
                request.answer.exception()
            raise

    async def _take_alone(self, scope: Scope, said: Sequence[tuple[Observation, str]]) -> Entries:
        """Write what nobody else's is waiting beside, without the turns of the loop that a group takes."""
        self._idle.clear()
        try:
            return await self._storage.write(scope, partial(self._taken, said=said))
        finally:
            if self._waiting:
                self._any.set()
            else:
                self._idle.set()

    async def start(self) -> None:
        """Begin to take requests."""
        await super().start()
        self._is_open = True

    async def stop(self) -> None:
        """Write what waits; who comes later writes alone."""
        self._is_open = False
        await self._idle.wait()
        await super().stop()

    async def run(self) -> None:
        """Write group after group, until stopped."""
        try:
            while True:
                await self._any.wait()
                while self._waiting:
                    await self._write(self._next_group())
                self._any.clear()
                self._idle.set()
        finally:
            self._is_open = False
            while self._waiting:
                self._waiting.popleft().answer.set_exception(HostNotStartedError(service="memory"))
            self._idle.set()

    def _next_group(self) -> list[_PendingTexts]:
        """Take what waits of the scope that waits longest: as much as fits into a transaction, one request at least."""
        first = self._waiting.popleft()
        group, texts = [first], len(first.said)
        others: deque[_PendingTexts] = deque()
        while self._waiting:
            one = self._waiting.popleft()
            is_fit = first.goes_with(one)
            texts += len(one.said) if is_fit else 0
            if is_fit and texts <= _TEXTS_IN_A_GROUP:
                group.append(one)
            else:
                others.append(one)
        self._waiting = others
        return group

    async def _write(self, group: Sequence[_PendingTexts]) -> None:
        said = [one for request in group for one in request.said]
        try:
            with on_behalf(group[0].asking):
                stored = iter(await self._storage.write(group[0].scope, partial(self._taken, said=said)))
        except asyncio.CancelledError:
            for request in group:
                request.answer.cancel()
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, it belongs to who asked
            if len(group) == 1 or isinstance(error, StorageUnavailableError):
                for request in group:
                    request.answer.set_exception(error)
                return
            for request in group:
                await self._write([request])
        else:
            for request in group:
                request.answer.set_result(list(islice(stored, len(request.said))))

    def _taken(self, unit: UnitOfWork, *, said: Sequence[tuple[Observation, str]]) -> Entries:
        return MemoryWriter(unit, self._ids).take(said)
