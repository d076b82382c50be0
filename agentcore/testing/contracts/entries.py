"""Entries: writing them, and reading them back one by one."""

import dataclasses
from datetime import timedelta

from agentcore.errors import InvalidContentError, StaleVersionError, UnknownRecordError
from agentcore.stores.storage import Storage, UnitOfWork
from agentcore.testing.clock import ManualClock
from agentcore.testing.contracts.expectations import expect_equal, expect_error, expect_some, expect_within
from agentcore.testing.contracts.samples import DAY, OTHER_SCOPE, SCOPE, START, a_full_entry, an_entry


class EntryContract:
    """What a store of entries owes to whoever writes one."""

    async def test_an_entry_comes_back_as_it_was_added(self, storage: Storage) -> None:
        """Every field survives."""
        full = a_full_entry("full")
        await storage.write(SCOPE, lambda unit: unit.entries.add([full, an_entry("plain")]))
        expect_equal(await storage.read(SCOPE, lambda view: view.entries.get("full")), full)
        expect_equal(await storage.read(SCOPE, lambda view: view.entries.get("plain")), an_entry("plain"))

    async def test_adding_nothing_changes_nothing(self, storage: Storage) -> None:
        """Empty calls are calls."""
        await storage.write(SCOPE, lambda unit: (unit.entries.add([]), unit.entries.replace([])))
        expect_equal(await storage.read(SCOPE, lambda view: view.revision), 0)

    async def test_what_does_not_exist_is_none(self, storage: Storage) -> None:
        """Missing records are no errors."""
        await storage.write(SCOPE, lambda unit: unit.entries.add([an_entry("b"), an_entry("a")]))
        expect_equal(await storage.read(SCOPE, lambda view: view.entries.get("c")), None)
        found = await storage.read(SCOPE, lambda view: view.entries.get_many(["c", "b", "a", "b"]))
        expect_equal([entry.id for entry in found], ["a", "b"])
        expect_equal(await storage.read(SCOPE, lambda view: view.entries.versions(["a", "c"])), {"a": 1})

    async def test_more_ids_than_a_statement_takes_are_found(self, storage: Storage) -> None:
        """No call is too long."""
        ids = [f"e{number:04}" for number in range(1_234)]
        await storage.write(SCOPE, lambda unit: unit.entries.add([an_entry(entry_id) for entry_id in ids]))
        found = await storage.read(SCOPE, lambda view: view.entries.get_many(ids[::-1]))
        expect_equal([entry.id for entry in found], ids)
        expect_equal(await storage.write(SCOPE, lambda unit: unit.entries.delete(ids)), 1_234)

    async def test_a_new_entry_has_version_one(self, storage: Storage) -> None:
        """Versions are the store's own."""
        await storage.write(SCOPE, lambda unit: unit.entries.add([an_entry("a", version=7)]))
        expect_equal(expect_some(await storage.read(SCOPE, lambda view: view.entries.get("a"))).version, 1)

    async def test_a_taken_entry_id_is_refused_with_all_that_came_along(self, storage: Storage) -> None:
        """An addition is whole or nothing, even for a caller who goes on after the error."""
        await storage.write(SCOPE, lambda unit: unit.entries.add([an_entry("a", "The first.")]))

        def add_again(unit: UnitOfWork) -> str:
            try:
                unit.entries.add([an_entry("b"), an_entry("a", "The second."), an_entry("c")])
            except StaleVersionError as error:
                unit.entries.add([an_entry("d")])
                return str(error)
            return ""

        message = await storage.write(SCOPE, add_again)
        expect_within("entry a", message)
        present = await storage.read(SCOPE, lambda view: view.entries.get_many("abcd"))
        expect_equal(present[0].content, "The first.")
        expect_equal([entry.id for entry in present], ["a", "d"])

    async def test_one_id_twice_in_a_call_is_refused(self, storage: Storage) -> None:
        """Neither of the two is the right one."""
        twice = [an_entry("a", "One."), an_entry("a", "Other.")]
        await expect_error(StaleVersionError, storage.write(SCOPE, lambda unit: unit.entries.add(twice)))
        expect_equal(await storage.read(SCOPE, lambda view: view.entries.get("a")), None)

    async def test_a_record_of_another_scope_is_refused(self, storage: Storage) -> None:
        """A unit of work is bound to one scope."""
        foreign = an_entry("a", scope=OTHER_SCOPE)
        await expect_error(InvalidContentError, storage.write(SCOPE, lambda unit: unit.entries.add([foreign])))
        await storage.write(SCOPE, lambda unit: unit.entries.add([an_entry("a")]))
        await expect_error(
            InvalidContentError,
            storage.write(SCOPE, lambda unit: unit.entries.replace([(an_entry("a"), foreign)])),
        )

    async def test_a_rewrite_raises_the_version_by_one(self, storage: Storage) -> None:
        """The version says how often a record was written."""
        before = a_full_entry("a")
        await storage.write(SCOPE, lambda unit: unit.entries.add([before]))
        after = dataclasses.replace(before, content="Ana moved to Porto.", sources=(), tags=("moved",), base=0.9)
        await storage.write(SCOPE, lambda unit: unit.entries.replace([(before, after)]))
        found = expect_some(await storage.read(SCOPE, lambda view: view.entries.get("a")))
        expect_equal((found, found.version), (after, 2))

    async def test_a_rewrite_of_an_old_version_is_refused_with_all_that_came_along(self, storage: Storage) -> None:
        """Optimistic versions: who comes second reads again."""
        a, b = an_entry("a"), an_entry("b")
        await storage.write(SCOPE, lambda unit: unit.entries.add([a, b]))
        first = dataclasses.replace(b, content="First.")
        await storage.write(SCOPE, lambda unit: unit.entries.replace([(b, first)]))
        second = [(a, dataclasses.replace(a, content="Second.")), (b, dataclasses.replace(b, content="Second."))]
        error = await expect_error(StaleVersionError, storage.write(SCOPE, lambda unit: unit.entries.replace(second)))
        expect_within("entry b", str(error))
        expect_equal(await storage.read(SCOPE, lambda view: view.entries.versions("ab")), {"a": 1, "b": 2})

    async def test_a_rewrite_of_what_is_gone_is_refused(self, storage: Storage) -> None:
        """A rewrite never brings a record back."""
        gone = an_entry("a")
        await expect_error(StaleVersionError, storage.write(SCOPE, lambda unit: unit.entries.replace([(gone, gone)])))

    async def test_one_record_twice_in_a_call_is_a_story_or_a_rivalry(self, storage: Storage) -> None:
        """What follows on the first change is written, what competes with it is refused."""
        before = an_entry("a")
        middle = dataclasses.replace(before, content="Middle.")
        end = dataclasses.replace(middle, content="End.")
        await storage.write(SCOPE, lambda unit: unit.entries.add([before]))
        rivals = [(before, middle), (before, end)]
        await expect_error(StaleVersionError, storage.write(SCOPE, lambda unit: unit.entries.replace(rivals)))
        await storage.write(SCOPE, lambda unit: unit.entries.replace([(before, middle), (middle, end)]))
        found = expect_some(await storage.read(SCOPE, lambda view: view.entries.get("a")))
        expect_equal((found.content, found.version), ("End.", 2))

    async def test_a_deleted_entry_is_gone(self, storage: Storage) -> None:
        """Deletion counts what was there."""
        await storage.write(SCOPE, lambda unit: unit.entries.add([a_full_entry("a"), an_entry("b")]))
        expect_equal(await storage.write(SCOPE, lambda unit: unit.entries.delete(["a", "c", "a"])), 1)
        expect_equal(await storage.read(SCOPE, lambda view: view.entries.versions("abc")), {"b": 1})

    async def test_an_id_may_be_used_again(self, storage: Storage) -> None:
        """An undo brings back what was deleted, at version one."""
        await storage.write(SCOPE, lambda unit: unit.entries.add([a_full_entry("a")]))
        await storage.write(SCOPE, lambda unit: unit.entries.delete(["a"]))
        await storage.write(SCOPE, lambda unit: unit.entries.add([a_full_entry("a")]))
        expect_equal(await storage.read(SCOPE, lambda view: view.entries.get("a")), a_full_entry("a"))

    async def test_importance_is_read_as_of_now(self, storage: Storage, clock: ManualClock) -> None:
        """The base stays; what a reader sees has faded by the view's decay."""
        await storage.write(SCOPE, lambda unit: unit.entries.add([an_entry("a", base=0.8)]))
        for days in (0, 60, 3_000):
            clock.set(START + days * DAY)
            found, wanted = await storage.read(
                SCOPE, lambda view: (view.entries.get("a"), view.decay.value(0.8, START, view.now))
            )
            expect_equal((expect_some(found).base, expect_some(found).importance), (0.8, wanted))

    async def test_an_id_is_found_by_how_it_begins(self, storage: Storage) -> None:
        """People quote ids by a prefix; case tells."""
        ids = ["4f00c2", "4f00c2aa", "4f11", "b%", "bx"]
        await storage.write(SCOPE, lambda unit: unit.entries.add([an_entry(entry_id) for entry_id in ids]))
        for prefix, wanted in (("4f1", "4f11"), ("4f00c2", "4f00c2"), ("4f00c2a", "4f00c2aa"), ("b%", "b%")):
            found = await storage.read(SCOPE, lambda view, prefix=prefix: view.entries.resolve(prefix))
            expect_equal(found, wanted)
        for prefix, words in (("4f", "several"), ("", "several"), ("zz", "none"), ("4F1", "none"), ("_x", "none")):
            error = await expect_error(
                UnknownRecordError, storage.read(SCOPE, lambda view, prefix=prefix: view.entries.resolve(prefix))
            )
            expect_within(words, str(error))

    async def test_instants_are_exact_to_the_microsecond(self, storage: Storage) -> None:
        """Nothing is rounded, from the first year to the last."""
        early, late = START.replace(year=1, microsecond=1), START.replace(year=9999, microsecond=999_999)
        entry = an_entry("a", created_at=early, recorded_at=late, last_seen_at=START + timedelta(microseconds=123))
        await storage.write(SCOPE, lambda unit: unit.entries.add([entry]))
        expect_equal(await storage.read(SCOPE, lambda view: view.entries.get("a")), entry)
