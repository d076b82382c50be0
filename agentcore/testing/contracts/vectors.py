"""What embedding models made of the texts of entries."""

from dataclasses import replace

from agentcore.domain.text import content_hash
from agentcore.stores.storage import Storage
from agentcore.stores.values import FeedPosition, TextVector
from agentcore.testing.contracts.expectations import expect_equal
from agentcore.testing.contracts.samples import OTHER_SCOPE, SCOPE, an_entry

_TEXTS = {"a": "Text a.", "b": "Text b.", "c": "Text c."}
_HASHES = {name: content_hash(text) for name, text in _TEXTS.items()}


class VectorContract:
    """What a store of vectors owes."""

    async def test_a_vector_is_kept_once_for_each_model_and_text(self, storage: Storage) -> None:
        """A later one takes the place of an earlier one; models and scopes do not meet."""
        keys = await _remember(storage, *_TEXTS)
        expect_equal(await _put(storage, "m", keys, a=b"\x01\x02\x03\x04", b=b"\x05\x06\x07\x08"), 2)
        expect_equal(await _put(storage, "m", keys, a=b"\x00\xff\x00\xff"), 1)
        expect_equal(await _put(storage, "n", keys, a=b"n"), 1)
        expect_equal(await _get(storage, "m"), {"a": b"\x00\xff\x00\xff", "b": b"\x05\x06\x07\x08"})
        expect_equal(await _get(storage, "n"), {"a": b"n"})
        expect_equal(await storage.read(SCOPE, lambda view: view.vectors.count()), 3)
        expect_equal(await storage.read(OTHER_SCOPE, lambda view: view.vectors.get("m", list(_HASHES.values()))), {})

    async def test_a_vector_changes_no_record(self, storage: Storage) -> None:
        """Neither revision nor feed nor records tell of it."""
        keys = await _remember(storage, "a")
        before = await storage.read(SCOPE, lambda view: (view.revision, list(view.records())))
        await _put(storage, "m", keys, a=b"1")
        expect_equal(await storage.read(SCOPE, lambda view: (view.revision, list(view.records()))), before)

    async def test_vectors_go_with_their_text(self, storage: Storage) -> None:
        """Deleted, forgotten or replaced by another: no model's vector of it stays."""
        keys = await _remember(storage, *_TEXTS)
        for model in ("m", "n"):
            await _put(storage, model, keys, a=b"1", b=b"2", c=b"3")
        await storage.write(SCOPE, lambda unit: unit.entries.delete(["a"]))
        expect_equal(sorted(await _get(storage, "m")), ["b", "c"])
        await storage.write(SCOPE, lambda unit: unit.forget("b"))
        (entry,) = await storage.read(SCOPE, lambda view: view.entries.get_many(["c"]))
        reinforced = replace(entry, own_count=entry.own_count + 1)
        await storage.write(SCOPE, lambda unit: unit.entries.replace([(entry, reinforced)]))
        expect_equal(sorted(await _get(storage, "n")), ["c"])
        (entry,) = await storage.read(SCOPE, lambda view: view.entries.get_many(["c"]))
        await storage.write(SCOPE, lambda unit: unit.entries.replace([(entry, replace(entry, content="Another."))]))
        expect_equal(await storage.read(SCOPE, lambda view: view.vectors.count()), 0)

    async def test_a_vector_that_comes_too_late_is_left_out(self, storage: Storage) -> None:
        """Its entry is gone, or says something else by now."""
        keys = await _remember(storage, *_TEXTS)
        await storage.write(SCOPE, lambda unit: unit.forget("a"))
        (entry,) = await storage.read(SCOPE, lambda view: view.entries.get_many(["b"]))
        await storage.write(SCOPE, lambda unit: unit.entries.replace([(entry, replace(entry, content="Another."))]))
        expect_equal(await _put(storage, "m", keys, a=b"1", b=b"2", c=b"3"), 1)
        expect_equal(await _get(storage, "m"), {"c": b"3"})


async def _remember(storage: Storage, *names: str) -> dict[str, int]:
    """Add entries; return the store's key of each."""
    await storage.write(SCOPE, lambda unit: unit.entries.add([an_entry(name, _TEXTS[name]) for name in names]))
    page = await storage.read(SCOPE, lambda view: view.entries.changes_since(FeedPosition(), limit=9))
    keys = [row.key for row in page.rows]
    found = await storage.read(SCOPE, lambda view: view.entries.by_keys(keys))
    return {entry.id: key for key, entry in found.items()}


async def _put(storage: Storage, model: str, keys: dict[str, int], **vectors: bytes) -> int:
    made = [TextVector(keys[name], _HASHES[name], vector) for name, vector in vectors.items()]
    return await storage.write(SCOPE, lambda unit: unit.vectors.put(model, made))


async def _get(storage: Storage, model: str) -> dict[str, bytes]:
    found = await storage.read(SCOPE, lambda view: view.vectors.get(model, list(_HASHES.values())))
    return {name: found[digest] for name, digest in _HASHES.items() if digest in found}
