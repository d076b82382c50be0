"""Settings, and the ledger of imports."""

from agentcore.domain.records import RecordKind
from agentcore.stores.storage import Storage
from agentcore.testing.contracts.expectations import expect_equal
from agentcore.testing.contracts.samples import OTHER_SCOPE, SCOPE


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

    async def test_an_item_recorded_twice_is_no_error(self, storage: Storage) -> None:
        """Importing again adds nothing."""
        for record_id in ("a", "b"):
            items = {"k1": (RecordKind.ENTRY, record_id), f"k{record_id}": (RecordKind.ENTRY, record_id)}
            await storage.write(SCOPE, lambda unit, items=items: unit.imports.record(items))
        known = await storage.write(SCOPE, lambda unit: unit.imports.known(["k1", "ka", "kb"]))
        expect_equal(known, {"k1", "ka", "kb"})
