"""Documents of the workspace."""

import dataclasses

from agentcore.domain.document import StoredDocument
from agentcore.errors import InvalidContentError, StaleVersionError
from agentcore.stores.storage import Storage
from agentcore.testing.contracts.expectations import expect_equal, expect_error, expect_some
from agentcore.testing.contracts.samples import DAY, OTHER_SCOPE, SCOPE, START

_MEMORY = StoredDocument(
    id="MEMORY.md", scope=SCOPE, content="\ufeff# Memory\r\n\r\n- Ana\n", updated_at=START, own=("a", "b")
)
_DREAMS = StoredDocument(id="DREAMS.md", scope=SCOPE, content="", updated_at=START)

_GONE = True


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
        expect_equal(await storage.write(SCOPE, lambda unit: unit.documents.delete("MEMORY.md")), _GONE)
        expect_equal(await storage.write(SCOPE, lambda unit: unit.documents.delete("MEMORY.md")), not _GONE)
        expect_equal(await storage.read(SCOPE, lambda view: view.documents.all()), [])

    async def test_a_document_of_another_scope_is_refused(self, storage: Storage) -> None:
        """Nothing is written."""
        await expect_error(InvalidContentError, storage.write(OTHER_SCOPE, lambda unit: unit.documents.add(_MEMORY)))
