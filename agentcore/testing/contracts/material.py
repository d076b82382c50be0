"""Entries: what is new to the passes of a dream."""

import dataclasses

from agentcore.domain.memory import Level, MemoryEntry, SourceKind, SourceRef, Status
from agentcore.domain.subject_time import SubjectTime
from agentcore.domain.text import fold_key
from agentcore.stores.storage import Origin, Storage
from agentcore.testing.contracts.samples import DAY, SCOPE, START, an_entry, expect_equal, of_level


class MaterialContract:
    """What a store of entries owes to a pass that works its way through what is new."""

    async def test_what_hosts_and_imports_add_is_material_in_its_order(self, storage: Storage) -> None:
        """The order of arrival, not of ids or dates."""
        await storage.write(SCOPE, lambda unit: unit.entries.add([an_entry("c"), an_entry("a")]))
        await storage.write(SCOPE, lambda unit: unit.entries.add([an_entry("b")]), origin=Origin.IMPORT)
        expect_equal(await _material(storage), ["c", "a", "b"])
        positions = await storage.read(
            SCOPE, lambda view: [item.position for item in view.entries.material(after=0, also=(), limit=9)]
        )
        expect_equal(positions, sorted(set(positions)))
        expect_equal(await storage.read(SCOPE, lambda view: view.entries.last_position()), positions[-1])

    async def test_what_a_dream_or_an_undo_writes_is_no_material(self, storage: Storage) -> None:
        """A dream never feeds itself, whatever it writes."""
        premises = [an_entry("p"), an_entry("q")]
        await storage.write(SCOPE, lambda unit: unit.entries.add(premises), origin=Origin.DREAM)
        for number, origin in enumerate((Origin.DREAM, Origin.UNDO)):
            for level in Level:
                entry = an_entry(f"{number}{level.value}", **of_level(level))
                await storage.write(SCOPE, lambda unit, entry=entry: unit.entries.add([entry]), origin=origin)
                changed = dataclasses.replace(entry, content="Another text.", category="other")
                await _replace(storage, entry, changed, origin)
        expect_equal(await _material(storage), [])
        expect_equal(await storage.read(SCOPE, lambda view: view.entries.last_position()), 0)

    async def test_what_a_dream_takes_down_from_turns_is_material(self, storage: Storage) -> None:
        """People said it; only the writing down was the dream's."""
        said = an_entry("said", sources=(SourceRef(SourceKind.TURN, "t"),))
        made = an_entry("made", sources=(SourceRef(SourceKind.ENTRY, "e"), SourceRef(SourceKind.TURN, "t")))
        guessed = an_entry("guessed", level=Level.DERIVED, sources=(SourceRef(SourceKind.TURN, "t"),))
        new = [made, said, guessed]
        await storage.write(SCOPE, lambda unit: unit.entries.add(new), origin=Origin.DREAM)
        expect_equal(await _material(storage), ["said"])

    async def test_what_people_rewrite_is_material_again(self, storage: Storage) -> None:
        """Text, category, subject time and a return to the active state are what passes judge."""
        before = an_entry("a", status=Status.ARCHIVED, status_reason="Old.", status_at=START)
        await storage.write(SCOPE, lambda unit: unit.entries.add([before, an_entry("b")]))
        changes = (
            {"status": Status.ACTIVE, "status_reason": None, "status_at": None},
            {"content": "Ana likes black tea."},
            {"category": "people/ana"},
            {"subject_time": SubjectTime.parse("2024")},
        )
        for change in changes:
            seen = await storage.read(SCOPE, lambda view: view.entries.last_position())
            after = dataclasses.replace(before, **change, version=before.version + 1)
            await _replace(storage, before, after, Origin.HOST)
            expect_equal(await _material(storage, after=seen), ["a"])
            before = after

    async def test_reinforcement_is_no_new_material(self, storage: Storage) -> None:
        """Statistics move; there is nothing new to judge."""
        before = an_entry("a")
        await storage.write(SCOPE, lambda unit: unit.entries.add([before]))
        seen = await storage.read(SCOPE, lambda view: view.entries.last_position())
        after = dataclasses.replace(before, own_count=2, last_seen_at=START + DAY, base=0.9, tags=("x",), pinned=True)
        await _replace(storage, before, after, Origin.HOST)
        expect_equal(await _material(storage, after=seen), [])

    async def test_a_dreams_rewrite_leaves_material_where_it_was(self, storage: Storage) -> None:
        """What another pass has not yet seen stays in its queue."""
        before = an_entry("a")
        await storage.write(SCOPE, lambda unit: unit.entries.add([before, an_entry("b")]))
        await _replace(storage, before, dataclasses.replace(before, content="Tea."), Origin.DREAM)
        expect_equal(await _material(storage), ["a", "b"])

    async def test_retired_entries_are_no_material(self, storage: Storage) -> None:
        """Their place stays: brought back by an undo they are where they were."""
        before = an_entry("a")
        after = dataclasses.replace(before, status=Status.ARCHIVED, status_reason="Copy.", status_at=START)
        await storage.write(SCOPE, lambda unit: unit.entries.add([before, an_entry("b")]))
        await _replace(storage, before, after, Origin.DREAM)
        expect_equal(await _material(storage), ["b"])
        await _replace(storage, dataclasses.replace(after, version=2), before, Origin.UNDO)
        expect_equal(await _material(storage), ["a", "b"])

    async def test_reopened_ids_join_from_behind_the_cursor(self, storage: Storage) -> None:
        """They come first, by their own place; unknown and retired ones do not come."""
        await storage.write(SCOPE, lambda unit: unit.entries.add([an_entry(entry_id) for entry_id in "abcd"]))
        derived = [an_entry("m", level=Level.DERIVED), an_entry("n", status=Status.ARCHIVED, status_at=START)]
        await storage.write(SCOPE, lambda unit: unit.entries.add(derived), origin=Origin.DREAM)
        cursor = await storage.read(SCOPE, lambda view: view.entries.material(after=0, also=(), limit=2)[-1].position)
        also = ("b", "m", "n", "d", "unknown")
        expect_equal(await _material(storage, after=cursor, also=also), ["m", "b", "c", "d"])
        expect_equal(await _material(storage, after=cursor, also=also, limit=3), ["m", "b", "c"])

    async def test_equal_texts_are_found_oldest_first(self, storage: Storage) -> None:
        """Equal by the normalised form, active ones only."""
        entries = [
            an_entry("young", "Tea is  hot", created_at=START),
            an_entry("old", "tea is hot.", created_at=START - DAY),
            an_entry("other", "Tea is cold."),
            an_entry("gone", "Tea is hot", status=Status.ARCHIVED, status_at=START),
        ]
        await storage.write(SCOPE, lambda unit: unit.entries.add(entries))
        keys = [fold_key("tea is hot"), fold_key("nobody said this")]
        found = await storage.read(SCOPE, lambda view: view.entries.with_fold_keys(keys))
        expect_equal([entry.id for entry in found], ["old", "young"])

    async def test_texts_that_are_not_alone_are_found_in_the_order_of_arrival(self, storage: Storage) -> None:
        """Any active twin counts, also one outside the window."""
        texts = {"a": "Tea.", "b": "Milk.", "c": "tea", "d": "Bread.", "e": "milk", "f": "Salt.", "g": "Salt."}
        entries = [an_entry(entry_id, text) for entry_id, text in texts.items()]
        await storage.write(SCOPE, lambda unit: unit.entries.add(entries))
        retired = dataclasses.replace(entries[-1], status=Status.ARCHIVED, status_reason="x", status_at=START)
        await _replace(storage, entries[-1], retired, Origin.DREAM)
        position = {
            item.id: item.position
            for item in await storage.read(SCOPE, lambda view: view.entries.material(after=0, also=(), limit=9))
        }
        expect_equal(await _repeated(storage, upto=position["f"]), ["a", "b", "c", "e"])
        expect_equal(await _repeated(storage, upto=position["f"], limit=2), ["a", "b"])
        expect_equal(await _repeated(storage, after=position["a"], upto=position["d"]), ["b", "c"])
        also = ("a", "d", "unknown")
        expect_equal(await _repeated(storage, after=position["c"], upto=position["e"], also=also), ["a", "e"])

    async def test_a_repeated_text_comes_with_its_key(self, storage: Storage) -> None:
        """The key leads to the twins."""
        await storage.write(SCOPE, lambda unit: unit.entries.add([an_entry("a", "Tea."), an_entry("b", "tea")]))
        upto = await storage.read(SCOPE, lambda view: view.entries.last_position())
        found = await storage.read(SCOPE, lambda view: view.entries.repeated(after=0, upto=upto, also=(), limit=9))
        expect_equal({item.fold_key for item in found}, {fold_key("Tea.")})


async def _replace(storage: Storage, before: MemoryEntry, after: MemoryEntry, origin: Origin) -> None:
    await storage.write(SCOPE, lambda unit: unit.entries.replace([(before, after)]), origin=origin)


async def _material(storage: Storage, *, after: int = 0, also: tuple[str, ...] = (), limit: int = 99) -> list[str]:
    """Return the ids of the material, having checked that the count agrees with it."""
    found, count = await storage.read(
        SCOPE,
        lambda view: (
            view.entries.material(after=after, also=also, limit=limit),
            view.entries.count_material(after=after, also=also),
        ),
    )
    expect_equal(len(found), min(count, limit))
    keys = await storage.read(SCOPE, lambda view: view.entries.by_keys([item.key for item in found]))
    expect_equal([keys[item.key].id for item in found], [item.id for item in found])
    return [item.id for item in found]


async def _repeated(
    storage: Storage, *, after: int = 0, upto: int, also: tuple[str, ...] = (), limit: int = 99
) -> list[str]:
    found = await storage.read(
        SCOPE, lambda view: view.entries.repeated(after=after, upto=upto, also=also, limit=limit)
    )
    return [item.id for item in found]
