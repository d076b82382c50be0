"""Tests entries: written and read, chosen by a filter, faded, purged, made of others."""

import dataclasses
from datetime import datetime, timedelta
from typing import Any

from agentcore.domain.conclusion import Confidence, Pattern
from agentcore.domain.filters import EntryFilter
from agentcore.domain.memory import Level, MemoryEntry, SourceKind, SourceRef, Status
from agentcore.domain.subject_time import PartialDate
from agentcore.domain.temporal import to_micros
from agentcore.errors import InvalidContentError, StaleVersionError, UnknownRecordError
from agentcore.stores.storage import Origin, Storage, UnitOfWork
from agentcore.testing.clock import ManualClock
from agentcore.testing.contracts.samples import (
    DAY,
    OTHER_SCOPE,
    SCOPE,
    START,
    a_deduction,
    a_full_entry,
    a_pattern,
    an_entry,
    expect_equal,
    expect_error,
    expect_some,
    expect_within,
)


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

    async def test_conclusions_keep_their_premises_and_are_found_by_level_pattern_and_confidence(
        self, storage: Storage
    ) -> None:
        """A pattern is as sure as it was stored."""
        premises = [an_entry(name) for name in "pqr"]
        habit = a_pattern("habit", "p", "q", "r", pattern=Pattern.BEHAVIOR)
        taste, follows = a_pattern("taste", "p", "q"), a_deduction("follows", "p")
        await storage.write(SCOPE, lambda unit: unit.entries.add([*premises, habit, taste, follows]))
        found = await storage.read(SCOPE, lambda view: view.entries.get_many(["habit", "taste", "follows"]))
        expect_equal(found, [follows, habit, taste])
        expect_equal(await _ids(storage, EntryFilter(level=Level.INDUCTIVE)), ["habit", "taste"])
        expect_equal(await _ids(storage, EntryFilter(level=Level.DEDUCTIVE)), ["follows"])
        expect_equal(await _ids(storage, EntryFilter(pattern=Pattern.BEHAVIOR)), ["habit"])
        expect_equal(await _ids(storage, EntryFilter(confidence=Confidence.LOW)), ["taste"])

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
        """High base, many observations (absorbed ones too), a pin, the end of a validity."""
        entries = [
            _retired("high", base=_FLOOR),
            _retired("often", own_count=_REINFORCED),
            _retired("absorbed", own_count=1, absorbed=(("x", 2), ("y", 2))),
            _retired("pinned", pinned=True),
            _retired("held", status=Status.SUPERSEDED, valid_until=PartialDate.parse("2024-03")),
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
