"""Entries: what fades, what is purged, what others were made of."""

import dataclasses
from datetime import datetime, timedelta
from typing import Any

from agentcore.domain.instants import to_micros
from agentcore.domain.memory import Level, MemoryEntry, SourceKind, SourceRef, Status
from agentcore.stores.storage import Origin, Storage
from agentcore.testing.contracts.expectations import expect_equal
from agentcore.testing.contracts.samples import DAY, SCOPE, START, an_entry

_FLOOR = 0.8
_REINFORCED = 5


class LifetimeContract:
    """What a store of entries owes to decay, retention and provenance."""

    async def test_what_was_retired_long_ago_can_be_purged(self, storage: Storage) -> None:
        """Longest retired first, strictly before the instant, whatever the reason was."""
        entries = [
            _retired("b", START - 2 * DAY),
            _retired("a", START - 2 * DAY, status=Status.SUPERSEDED, successor="x"),
            _retired("c", START - 3 * DAY),
            _retired("d", START),
            an_entry("active"),
        ]
        await storage.write(SCOPE, lambda unit: unit.entries.add(entries))
        expect_equal(await _purgeable(storage, START), ["c", "a", "b"])
        expect_equal(await _purgeable(storage, START, limit=1), ["c"])
        expect_equal(await _purgeable(storage, START + timedelta(microseconds=1)), ["c", "a", "b", "d"])

    async def test_protections_keep_what_was_retired(self, storage: Storage) -> None:
        """High base, many observations (absorbed ones too), a pin."""
        entries = [
            _retired("high", base=_FLOOR),
            _retired("often", own_count=_REINFORCED),
            _retired("absorbed", own_count=1, absorbed=(("x", 2), ("y", 2))),
            _retired("pinned", pinned=True),
            _retired("low", base=_FLOOR - 0.01, own_count=_REINFORCED - 1),
        ]
        await storage.write(SCOPE, lambda unit: unit.entries.add(entries))
        expect_equal(await _purgeable(storage, START), ["low"])

    async def test_the_source_of_a_live_merge_is_kept(self, storage: Storage) -> None:
        """A forget must be able to bring it back."""
        sources = tuple(SourceRef(kind, "a") for kind in (SourceKind.ENTRY, SourceKind.TURN))
        merge = an_entry("merge", "Ana likes tea.", level=Level.DERIVED, sources=sources[:1])
        about_a_turn = an_entry("fact", "Tea.", level=Level.DERIVED, sources=(SourceRef(SourceKind.TURN, "b"),))
        await storage.write(SCOPE, lambda unit: unit.entries.add([_retired("a"), _retired("b"), merge, about_a_turn]))
        expect_equal(await _purgeable(storage, START), ["b"])
        retired = dataclasses.replace(merge, status=Status.ARCHIVED, status_reason="x", status_at=START)
        await storage.write(SCOPE, lambda unit: unit.entries.replace([(merge, retired)]), origin=Origin.DREAM)
        expect_equal(await _purgeable(storage, START), ["a", "b"])

    async def test_the_next_retirement_is_the_earliest_without_protection(self, storage: Storage) -> None:
        """From it the date of the next purge follows."""
        expect_equal(await _next_retirement(storage), None)
        entries = [_retired("a", START), _retired("b", START - DAY), _retired("c", START - 2 * DAY, pinned=True)]
        await storage.write(SCOPE, lambda unit: unit.entries.add([*entries, an_entry("active")]))
        expect_equal(await _next_retirement(storage), START - DAY)

    async def test_importance_comes_in_columns(self, storage: Storage) -> None:
        """Active entries last seen before the instant; base and last sight stand side by side."""
        expect_equal(await _columns(storage, START), [])
        entries = [
            an_entry("a", base=1 / 3, last_seen_at=START - DAY),
            an_entry("b", base=1.0, last_seen_at=START - timedelta(microseconds=1)),
            an_entry("c", base=0.0, last_seen_at=START - 2 * DAY),
            an_entry("late", last_seen_at=START),
            _retired("retired", last_seen_at=START - DAY),
        ]
        await storage.write(SCOPE, lambda unit: unit.entries.add(entries))
        wanted = [(round(entry.base, 12), to_micros(entry.last_seen_at)) for entry in entries[:3]]
        expect_equal(await _columns(storage, START), sorted(wanted))

    async def test_what_was_made_of_a_record_is_found(self, storage: Storage) -> None:
        """In whatever state, by id; kind and id together name a source."""
        turn, entry = SourceRef(SourceKind.TURN, "s"), SourceRef(SourceKind.ENTRY, "s")
        entries = [
            an_entry("b", sources=(entry, turn)),
            _retired("a", sources=(entry,)),
            an_entry("c", sources=(turn,)),
            an_entry("d"),
        ]
        await storage.write(SCOPE, lambda unit: unit.entries.add(entries))
        expect_equal(await _derived_from(storage, "entry"), ["a", "b"])
        expect_equal(await _derived_from(storage, "turn"), ["b", "c"])
        expect_equal(await _derived_from(storage, "feedback"), [])

    async def test_sources_follow_a_rewrite_and_a_deletion(self, storage: Storage) -> None:
        """No trace of a source that is no longer named."""
        source = SourceRef(SourceKind.ENTRY, "s")
        before = an_entry("a", sources=(source,))
        after = dataclasses.replace(before, sources=(SourceRef(SourceKind.TURN, "s"),))
        await storage.write(SCOPE, lambda unit: unit.entries.add([before, an_entry("b", sources=(source,))]))
        await storage.write(SCOPE, lambda unit: unit.entries.replace([(before, after)]))
        expect_equal(await _derived_from(storage, "entry"), ["b"])
        expect_equal(await _derived_from(storage, "turn"), ["a"])
        await storage.write(SCOPE, lambda unit: unit.entries.delete(["a", "b"]))
        expect_equal(await _derived_from(storage, "turn") + await _derived_from(storage, "entry"), [])


def _retired(entry_id: str, at: datetime = START - DAY, **fields: Any) -> MemoryEntry:
    state: dict[str, Any] = {"status": Status.ARCHIVED, "status_reason": "Copy.", "status_at": at}
    return an_entry(entry_id, **(state | fields))


async def _purgeable(storage: Storage, before: datetime, limit: int = 99) -> list[str]:
    found = await storage.read(
        SCOPE,
        lambda view: view.entries.purgeable(archived_before=before, floor=_FLOOR, reinforced=_REINFORCED, limit=limit),
    )
    return [entry.id for entry in found]


async def _next_retirement(storage: Storage) -> datetime | None:
    return await storage.read(SCOPE, lambda view: view.entries.next_retirement(floor=_FLOOR, reinforced=_REINFORCED))


async def _columns(storage: Storage, before: datetime) -> list[tuple[float, int]]:
    bases, seen = await storage.read(SCOPE, lambda view: view.entries.importance_columns(last_seen_before=before))
    return sorted((round(float(base), 12), int(at)) for base, at in zip(bases, seen, strict=True))


async def _derived_from(storage: Storage, kind: str) -> list[str]:
    found = await storage.read(SCOPE, lambda view: view.entries.derived_from(kind, "s"))
    return [entry.id for entry in found]
