"""Tests transactions as a whole, and the small stores: documents, settings, imported items."""

import asyncio
import dataclasses
from typing import cast

from agentcore.domain.document import StoredDocument
from agentcore.domain.filters import EntryFilter
from agentcore.domain.records import RECORD_TYPES, Record, RecordKind, kind_of
from agentcore.domain.scope import Scope
from agentcore.errors import InvalidContentError, StaleVersionError
from agentcore.stores.storage import Origin, ReadView, Storage, UnitOfWork
from agentcore.testing.clock import ManualClock
from agentcore.testing.contracts.samples import (
    DAY,
    OTHER_SCOPE,
    SAMPLES,
    SCOPE,
    START,
    a_full_entry,
    a_turn,
    an_entry,
    expect_equal,
    expect_error,
    expect_some,
)


class _Interrupted(Exception):  # noqa: N818 - it stands for whatever may go wrong
    """What a caller's work raises."""


class TransactionContract:
    """What a storage owes as a whole."""

    async def test_what_the_work_returns_is_returned(self, storage: Storage) -> None:
        """From reads and writes alike."""
        expect_equal(await storage.write(SCOPE, lambda unit: unit.scope), SCOPE)
        expect_equal(await storage.read(SCOPE, lambda view: (view.scope, view.now)), (SCOPE, START))

    async def test_an_error_rolls_everything_back(self, storage: Storage) -> None:
        """Of every store; it reaches the caller as it was raised."""

        def write_and_fail(unit: UnitOfWork) -> None:
            _write_one_of_each(unit)
            raise _Interrupted

        await expect_error(_Interrupted, storage.write(SCOPE, write_and_fail))
        expect_equal(await _records(storage, SCOPE), [])
        state = await storage.read(SCOPE, lambda view: (view.revision, view.settings.get("a")))
        expect_equal(state, (0, None))
        expect_equal(await storage.write(SCOPE, lambda unit: unit.imports.known(["a"])), set())
        expect_equal(await storage.write(SCOPE, lambda unit: unit.leases.holder("a")), None)

    async def test_a_write_is_seen_by_the_next_read(self, storage: Storage) -> None:
        """And by the writer itself at once."""

        def add_and_look(unit: UnitOfWork) -> int:
            unit.entries.add([an_entry("a")])
            return unit.entries.count(EntryFilter())

        expect_equal(await storage.write(SCOPE, add_and_look), 1)
        expect_equal(await storage.read(SCOPE, lambda view: view.entries.count(EntryFilter())), 1)

    async def test_the_revision_grows_by_one_with_every_change_of_records(self, storage: Storage) -> None:
        """Whoever writes; what changes no record leaves it alone."""
        for number, origin in enumerate(Origin, start=1):
            entry = an_entry(origin.value)
            await storage.write(
                SCOPE,
                lambda unit, entry=entry: (unit.entries.add([entry]), unit.turns.add([a_turn(entry.id)])),
                origin=origin,
            )
            expect_equal(await storage.read(SCOPE, lambda view: view.revision), number)
        await storage.write(SCOPE, lambda unit: unit.settings.put("paused", "yes"))
        await storage.write(SCOPE, lambda unit: (unit.entries.delete(["none"]), unit.turns.delete(["none"])))
        await storage.write(SCOPE, lambda unit: unit.turns.mark_consumed(["none"], START))
        expect_equal(await storage.read(SCOPE, lambda view: view.revision), len(Origin))
        expect_equal(await storage.read(OTHER_SCOPE, lambda view: view.revision), 0)

    async def test_a_read_cannot_write(self, storage: Storage) -> None:
        """Not even for a caller who forgets the types."""

        def add(view: ReadView) -> None:
            cast("UnitOfWork", view).entries.add([an_entry("b")])

        await storage.write(SCOPE, lambda unit: unit.entries.add([an_entry("a")]))
        await expect_error(Exception, storage.read(SCOPE, add))
        expect_equal(await _records(storage, SCOPE), [an_entry("a")])
        await storage.write(SCOPE, lambda unit: unit.entries.add([an_entry("c")]))

    async def test_each_transaction_has_one_instant(self, storage: Storage, clock: ManualClock) -> None:
        """The clock's, at its begin."""
        clock.advance(DAY)
        expect_equal(await storage.read(SCOPE, lambda view: view.now), START + DAY)
        expect_equal(await storage.write(SCOPE, lambda unit: unit.now), START + DAY)

    async def test_scopes_never_meet(self, storage: Storage) -> None:
        """Equal ids are other records; a deletion stays at home."""
        neighbours = [
            OTHER_SCOPE,
            Scope("acme", "ana", "agent"),
            Scope("acm", "agent", "ana"),
            Scope("Acme", "agent", "ana"),
        ]
        await storage.write(SCOPE, _write_one_of_each)
        for scope in neighbours:
            expect_equal(await _records(storage, scope), [])
        await storage.write(OTHER_SCOPE, _write_one_of_each)
        await storage.write(OTHER_SCOPE, lambda unit: (unit.entries.delete(["a"]), unit.turns.delete(["a"])))
        expect_equal([kind_of(record) for record in await _records(storage, SCOPE)], list(RecordKind))

    async def test_scopes_that_hold_something_are_known(self, storage: Storage) -> None:
        """Sorted; a look at a scope does not make it one, nor does a write of nothing."""
        expect_equal(await storage.scopes(), [])
        await storage.read(SCOPE, lambda view: view.revision)
        await storage.write(SCOPE, lambda unit: unit.revision)
        expect_equal(await storage.scopes(), [])
        await storage.write(OTHER_SCOPE, lambda unit: unit.settings.put("paused", "yes"))
        await storage.write(SCOPE, lambda unit: unit.entries.add([an_entry("a")]))
        expect_equal(await storage.scopes(), [SCOPE, OTHER_SCOPE])

    async def test_every_record_is_streamed_by_kind_and_id(self, storage: Storage) -> None:
        """Retired ones too: an export leaves nothing out."""
        await storage.write(SCOPE, lambda unit: unit.entries.add([an_entry("b"), a_full_entry("c")]))
        await storage.write(SCOPE, _write_one_of_each)
        records = await _records(storage, SCOPE)
        wanted = [("entry", "a"), ("entry", "b"), ("entry", "c"), *((kind, "a") for kind in list(RECORD_TYPES)[1:])]
        expect_equal([(kind_of(record), record.id) for record in records], wanted)
        expect_equal(records[2], a_full_entry("c"))

    async def test_writes_started_together_all_happen(self, storage: Storage) -> None:
        """One after the other, each on what the one before left."""

        def count_up(unit: UnitOfWork) -> None:
            unit.settings.put("count", str(int(unit.settings.get("count") or "0") + 1))

        await asyncio.gather(*(storage.write(SCOPE, count_up) for _ in range(50)))
        expect_equal(await storage.read(SCOPE, lambda view: view.settings.get("count")), "50")

    async def test_a_snapshot_holds_everything_and_shares_nothing(self, storage: Storage) -> None:
        """What happens on either side afterwards stays there."""
        await storage.write(SCOPE, _write_one_of_each)
        before = await _records(storage, SCOPE)
        async with storage.snapshot(SCOPE) as copy:
            expect_equal(await _records(copy, SCOPE), before)
            expect_equal(await copy.read(SCOPE, lambda view: (view.revision, view.settings.get("a"))), (1, "a"))
            await copy.write(SCOPE, lambda unit: unit.entries.delete(["a"]))
            await storage.write(SCOPE, lambda unit: unit.entries.add([an_entry("b")]))
            expect_equal(len(await _records(copy, SCOPE)), len(before) - 1)
        expect_equal(len(await _records(storage, SCOPE)), len(before) + 1)


def _write_one_of_each(unit: UnitOfWork) -> None:
    for kind, make in SAMPLES.items():
        unit.of_kind(kind).apply([(None, dataclasses.replace(make("a"), scope=unit.scope))])
    unit.settings.put("a", "a")
    unit.imports.record({"a": (RecordKind.ENTRY, "a")})
    unit.leases.acquire("a", holder="a", duration=DAY)


async def _records(storage: Storage, scope: Scope) -> list[Record]:
    return await storage.read(scope, lambda view: list(view.records()))


_MEMORY = StoredDocument(
    id="MEMORY.md", scope=SCOPE, content="\ufeff# Memory\r\n\r\n- Ana\n", updated_at=START, own=("a", "b")
)
_DREAMS = StoredDocument(id="DREAMS.md", scope=SCOPE, content="", updated_at=START)


class DocumentContract:
    """What a store of documents owes."""

    async def test_a_document_comes_back_as_it_was_added(self, storage: Storage) -> None:
        """Every character survives; documents are known by name."""
        await storage.write(SCOPE, lambda unit: (unit.documents.add(_MEMORY), unit.documents.add(_DREAMS)))
        expect_equal(await storage.read(SCOPE, lambda view: view.documents.get("MEMORY.md")), _MEMORY)
        expect_equal(await storage.read(SCOPE, lambda view: view.documents.get("USER.md")), None)
        expect_equal(await storage.read(SCOPE, lambda view: view.documents.all()), [_DREAMS, _MEMORY])
        expect_equal(await storage.read(OTHER_SCOPE, lambda view: view.documents.all()), [])

    async def test_a_document_is_replaced_by_who_read_it_last(self, storage: Storage) -> None:
        """The version grows; who read an older one is refused."""
        await storage.write(SCOPE, lambda unit: unit.documents.add(_MEMORY))
        read = expect_some(await storage.read(SCOPE, lambda view: view.documents.get("MEMORY.md")))
        changed = dataclasses.replace(read, content="- Bo", updated_at=START + DAY)
        await storage.write(SCOPE, lambda unit: unit.documents.replace(read, changed))
        stored = expect_some(await storage.read(SCOPE, lambda view: view.documents.get("MEMORY.md")))
        expect_equal((stored, stored.version), (changed, read.version + 1))
        await expect_error(StaleVersionError, storage.write(SCOPE, lambda unit: unit.documents.replace(read, changed)))
        await expect_error(StaleVersionError, storage.write(SCOPE, lambda unit: unit.documents.add(_MEMORY)))

    async def test_a_deleted_document_is_gone(self, storage: Storage) -> None:
        """Deleting it twice says that there was none."""
        await storage.write(SCOPE, lambda unit: unit.documents.add(_MEMORY))
        expect_equal(await storage.write(SCOPE, lambda unit: unit.documents.delete(["MEMORY.md"])), 1)
        expect_equal(await storage.write(SCOPE, lambda unit: unit.documents.delete(["MEMORY.md"])), 0)
        expect_equal(await storage.read(SCOPE, lambda view: view.documents.all()), [])

    async def test_a_document_of_another_scope_is_refused(self, storage: Storage) -> None:
        """Nothing is written."""
        await expect_error(InvalidContentError, storage.write(OTHER_SCOPE, lambda unit: unit.documents.add(_MEMORY)))


class LedgerContract:
    """What a storage owes beside its records."""

    async def test_a_setting_is_set_changed_and_removed(self, storage: Storage) -> None:
        """None is absence, an empty text is a value."""
        wanted: tuple[str | None, ...] = ("yes", "", 'no, "never"', None)
        expect_equal(await storage.read(SCOPE, lambda view: view.settings.get("paused")), None)
        for value in wanted:
            await storage.write(SCOPE, lambda unit, value=value: unit.settings.put("paused", value))
            expect_equal(await storage.read(SCOPE, lambda view: view.settings.get("paused")), value)
            expect_equal(await storage.read(OTHER_SCOPE, lambda view: view.settings.get("paused")), None)

    async def test_an_imported_item_is_known(self, storage: Storage) -> None:
        """In its own scope."""
        items = {"k1": (RecordKind.ENTRY, "a"), "k2": (RecordKind.TURN, "b")}
        await storage.write(SCOPE, lambda unit: unit.imports.record(items))
        keys = {"k1", "k2", "k3"}
        expect_equal(await storage.write(SCOPE, lambda unit: unit.imports.known(keys)), {"k1", "k2"})
        expect_equal(await storage.write(OTHER_SCOPE, lambda unit: unit.imports.known(keys)), set())
        became = {(RecordKind.ENTRY, "a"): ["k1"], (RecordKind.TURN, "b"): ["k2"]}
        expect_equal(await storage.read(SCOPE, lambda view: view.imports.keys_of(["a", "b", "c"])), became)
        expect_equal(await storage.read(OTHER_SCOPE, lambda view: view.imports.keys_of(["a"])), {})

    async def test_an_item_recorded_twice_is_no_error(self, storage: Storage) -> None:
        """Importing again adds nothing."""
        for record_id in ("a", "b"):
            items = {"k1": (RecordKind.ENTRY, record_id), f"k{record_id}": (RecordKind.ENTRY, record_id)}
            await storage.write(SCOPE, lambda unit, items=items: unit.imports.record(items))
        known = await storage.write(SCOPE, lambda unit: unit.imports.known(["k1", "ka", "kb"]))
        expect_equal(known, {"k1", "ka", "kb"})
