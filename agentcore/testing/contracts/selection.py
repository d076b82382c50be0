"""Entries: choosing them by a filter."""

from datetime import timedelta

from agentcore.domain.filters import EntryFilter
from agentcore.domain.memory import Level, Status
from agentcore.stores.storage import Storage
from agentcore.testing.contracts.expectations import expect_equal
from agentcore.testing.contracts.samples import DAY, SCOPE, START, an_entry


class SelectionContract:
    """What a store of entries owes to whoever lists them."""

    async def test_the_newest_seen_come_first(self, storage: Storage) -> None:
        """Ties go by id."""
        seen = {"d": START, "a": START - DAY, "b": START, "c": START + DAY}
        entries = [an_entry(entry_id, last_seen_at=at) for entry_id, at in seen.items()]
        await storage.write(SCOPE, lambda unit: unit.entries.add(entries))
        expect_equal(await _ids(storage, EntryFilter()), ["c", "b", "d", "a"])

    async def test_a_list_can_be_read_in_pages(self, storage: Storage) -> None:
        """Limit and offset cut the one order."""
        await storage.write(SCOPE, lambda unit: unit.entries.add([an_entry(entry_id) for entry_id in "dbaec"]))
        expect_equal(await _ids(storage, EntryFilter(), limit=2), ["a", "b"])
        expect_equal(await _ids(storage, EntryFilter(), limit=2, offset=2), ["c", "d"])
        expect_equal(await _ids(storage, EntryFilter(), offset=4), ["e"])
        expect_equal(await _ids(storage, EntryFilter(), limit=0), [])

    async def test_only_active_entries_are_listed_unless_told_otherwise(self, storage: Storage) -> None:
        """No status means every status."""
        entries = [an_entry(status.value, status=status) for status in Status]
        await storage.write(SCOPE, lambda unit: unit.entries.add(entries))
        expect_equal(await _ids(storage, EntryFilter()), ["active"])
        retired = frozenset({Status.ARCHIVED, Status.SUPERSEDED})
        expect_equal(await _ids(storage, EntryFilter(statuses=retired)), ["archived", "superseded"])
        expect_equal(await _ids(storage, EntryFilter(statuses=frozenset())), ["active", "archived", "superseded"])

    async def test_a_category_holds_what_is_below_it(self, storage: Storage) -> None:
        """A slash separates; case tells; signs that a database might read otherwise are letters."""
        categories = ["people", "people/ana", "people/ana/work", "peoples", "People", "people_x", "pe%le"]
        entries = [an_entry(str(number), category=category) for number, category in enumerate(categories)]
        await storage.write(SCOPE, lambda unit: unit.entries.add(entries))
        expect_equal(await _ids(storage, EntryFilter(category="people")), ["0", "1", "2"])
        expect_equal(await _ids(storage, EntryFilter(category="people/ana")), ["1", "2"])
        expect_equal(await _ids(storage, EntryFilter(category="pe%le")), ["6"])
        expect_equal(await _ids(storage, EntryFilter(category="people/")), [])

    async def test_tags_are_met_whole_and_together(self, storage: Storage) -> None:
        """A tag within a tag is another tag."""
        tags = {"a": ("home", "work"), "b": ("homework",), "c": ('ho"home"me',), "d": ("Home",), "e": ("home,", "x")}
        entries = [an_entry(entry_id, tags=tags[entry_id]) for entry_id in tags]
        await storage.write(SCOPE, lambda unit: unit.entries.add([*entries, an_entry("f")]))
        expect_equal(await _ids(storage, EntryFilter(tags=("home",))), ["a"])
        expect_equal(await _ids(storage, EntryFilter(tags=("work", "home"))), ["a"])
        expect_equal(await _ids(storage, EntryFilter(tags=("home", "x"))), [])
        expect_equal(await _ids(storage, EntryFilter(tags=('ho"home"me',))), ["c"])
        expect_equal(await _ids(storage, EntryFilter(tags=("home,",))), ["e"])

    async def test_levels_and_dates_narrow_a_list(self, storage: Storage) -> None:
        """`created_after` includes its instant, `created_before` does not."""
        entries = [an_entry(str(day), created_at=START + day * DAY) for day in range(4)]
        derived = an_entry("derived", level=Level.DERIVED, created_at=START + DAY)
        await storage.write(SCOPE, lambda unit: unit.entries.add([*entries, derived]))
        expect_equal(await _ids(storage, EntryFilter(level=Level.DERIVED)), ["derived"])
        window = EntryFilter(level=Level.EXPLICIT, created_after=START + DAY, created_before=START + 3 * DAY)
        expect_equal(await _ids(storage, window), ["1", "2"])
        just_after = EntryFilter(created_after=START + 3 * DAY + timedelta(microseconds=1))
        expect_equal(await _ids(storage, just_after), [])

    async def test_what_is_always_loaded_is_pinned_or_filed_so(self, storage: Storage) -> None:
        """Active entries alone, the newest of each kind, each once."""
        filed = {"a": "wishes", "b": "wishes/tea", "c": "wishesses", "d": "other"}
        entries = [an_entry(name, category=filed[name]) for name in filed]
        pinned = [an_entry(f"p{day}", pinned=True, last_seen_at=START - day * DAY) for day in range(4)]
        both = an_entry("both", category="wishes", pinned=True, last_seen_at=START - 9 * DAY)
        retired = an_entry("r", pinned=True, status=Status.ARCHIVED, status_reason="Old.", status_at=START)
        await storage.write(SCOPE, lambda unit: unit.entries.add([*entries, *pinned, both, retired]))

        async def always(*branches: str, limit: int = 9) -> list[str]:
            found = await storage.read(SCOPE, lambda view: view.entries.always(branches, limit=limit))
            return [entry.id for entry in found]

        expect_equal(await always(), ["both", "p0", "p1", "p2", "p3"])
        expect_equal(await always("wishes", "none"), ["a", "b", "both", "p0", "p1", "p2", "p3"])
        expect_equal(await always("wishes", limit=2), ["a", "b", "p0", "p1"])


async def _ids(storage: Storage, where: EntryFilter, *, limit: int | None = None, offset: int = 0) -> list[str]:
    """Return the ids of a list, having checked that the count agrees with it."""
    listed, everything, count = await storage.read(
        SCOPE,
        lambda view: (
            view.entries.select(where, limit=limit, offset=offset),
            view.entries.select(where),
            view.entries.count(where),
        ),
    )
    expect_equal(count, len(everything))
    return [entry.id for entry in listed]
