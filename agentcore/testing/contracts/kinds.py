"""Tests what the store of every kind of record owes, by the table of kinds and one sample of each."""

from dataclasses import replace
from typing import Any

from agentcore.domain.records import RECORD_TYPES, Record, RecordKind, kind_of, version_of
from agentcore.errors import StaleVersionError
from agentcore.stores.storage import Storage
from agentcore.testing.contracts.samples import OTHER_SCOPE, SAMPLES, SCOPE, expect_equal, expect_error


class RecordKindContract:
    """What a storage owes to each kind of record alike."""

    async def test_a_sample_of_every_kind_is_at_hand(self) -> None:
        """A kind without one is not tested here."""
        expect_equal(list(SAMPLES), list(RECORD_TYPES))
        expect_equal([kind_of(make("a")) for make in SAMPLES.values()], list(RECORD_TYPES))

    async def test_records_of_every_kind_come_back_as_they_were_added(self, storage: Storage) -> None:
        """By id, in one stream, and in their own scope alone."""
        for kind in RECORD_TYPES:
            both = await _added(storage, kind, "b", "a")
            found = await storage.read(SCOPE, lambda view, kind=kind: view.of_kind(kind).get_many(["b", "none", "a"]))
            expect_equal(found, both)
            expect_equal(await _every(storage, kind), both)
            taken = await storage.read(SCOPE, lambda view, kind=kind: view.of_kind(kind).existing(["none", "a"]))
            expect_equal(taken, {"a"})
            elsewhere = await storage.read(OTHER_SCOPE, lambda view, kind=kind: list(view.of_kind(kind).every()))
            expect_equal(elsewhere, [])
        streamed = await storage.read(SCOPE, lambda view: [(kind_of(one), one.id) for one in view.records()])
        expect_equal(streamed, [(kind, name) for kind in RECORD_TYPES for name in ("a", "b")])

    async def test_an_id_of_any_kind_is_taken_once(self, storage: Storage) -> None:
        """And nothing of the second is kept."""
        for kind in RECORD_TYPES:
            both = await _added(storage, kind, "b", "a")
            await expect_error(StaleVersionError, _added(storage, kind, "c", "a"))
            expect_equal(await _every(storage, kind), both)

    async def test_records_of_every_kind_are_removed_for_good(self, storage: Storage) -> None:
        """Counting those that there were, and changing the scope."""
        for kind in RECORD_TYPES:
            await _added(storage, kind, "b", "a")
            before = await storage.read(SCOPE, lambda view: view.revision)
            gone = await storage.write(SCOPE, lambda unit, kind=kind: unit.of_kind(kind).delete(["a", "none"]))
            expect_equal(gone, 1)
            expect_equal([one.id for one in await _every(storage, kind)], ["b"])
            expect_equal(await storage.read(SCOPE, lambda view: view.revision), before + 1)

    async def test_what_dreams_add_and_change_is_written_over_under_versions(self, storage: Storage) -> None:
        """A change on what is no longer stored is refused; one that removes leaves nothing."""
        for kind in (kind for kind, of in RECORD_TYPES.items() if of.dreams_add and of.dreams_change):
            (before,) = await _added(storage, kind, "a")
            wanted: Record = replace(before, content="Something else.")
            await _apply(storage, kind, (before, wanted))
            (after,) = await _every(storage, kind)
            expect_equal((after, version_of(after)), (wanted, 2))
            await expect_error(StaleVersionError, _apply(storage, kind, (before, wanted)))
            await _apply(storage, kind, (after, None))
            expect_equal(await _every(storage, kind), [])


async def _added(storage: Storage, kind: RecordKind, *names: str) -> list[Any]:
    """Add a sample for each of *names*; return them sorted by id."""
    made = [SAMPLES[kind](name) for name in names]
    await storage.write(SCOPE, lambda unit: unit.of_kind(kind).apply([(None, one) for one in made]))
    return sorted(made, key=lambda one: one.id)


async def _every(storage: Storage, kind: RecordKind) -> list[Any]:
    return await storage.read(SCOPE, lambda view: list(view.of_kind(kind).every()))


async def _apply(storage: Storage, kind: RecordKind, *changes: tuple[Record | None, Record | None]) -> None:
    await storage.write(SCOPE, lambda unit: unit.of_kind(kind).apply(changes))
