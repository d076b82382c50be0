"""The change feed: whoever follows it holds what the store holds."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from agentcore.domain.conversation import Turn
from agentcore.domain.filters import EntryFilter
from agentcore.domain.memory import Level, MemoryEntry, Status
from agentcore.domain.scope import Scope
from agentcore.domain.subject_time import SubjectTime
from agentcore.domain.temporal import to_micros
from agentcore.domain.validity import revived, superseded
from agentcore.stores.storage import Origin, ReadView, Storage
from agentcore.stores.values import FacetRow, FeedPage, FeedPosition, IndexRow
from agentcore.testing.contracts.samples import DAY, SCOPE, START, a_skill, a_turn, an_entry, expect_equal

R = TypeVar("R")

_BEGINNING = FeedPosition()


class FeedReader:
    """What a recall index does: takes over page after page of *limit* rows."""

    def __init__(self, storage: Storage, limit: int, scope: Scope = SCOPE) -> None:
        self._storage = storage
        self._limit = limit
        self._scope = scope
        self.position = FeedPosition()
        self.rows: dict[int, IndexRow] = {}

    async def step(self) -> FeedPage[IndexRow]:
        """Take over one page."""
        page = await self._storage.read(
            self._scope, lambda view: view.entries.changes_since(self.position, limit=self._limit)
        )
        if page.rebuild:
            self.rows.clear()
        for key in page.removed:
            self.rows.pop(key, None)
        for row in page.rows:
            if row.live:
                self.rows[row.key] = row
            else:
                self.rows.pop(row.key, None)
        self.position = page.position
        return page

    async def catch_up(self) -> list[str]:
        """Follow to the end; return the first word of every text held, sorted."""
        while (await self.step()).more:
            pass
        return sorted(row.text.split()[0] for row in self.rows.values())


class FeedContract:
    """What a storage owes to an index in memory."""

    async def test_pages_of_any_size_bring_the_same(self, storage: Storage) -> None:
        """A page's end may fall anywhere, also between entries of one transaction."""
        for words in (["a"], ["b", "c", "d"], ["e", "f"]):
            await _add(storage, words)
        await _retire(storage, "d")
        for limit in range(1, 9):
            expect_equal(await FeedReader(storage, limit).catch_up(), ["a", "b", "c", "e", "f"])

    async def test_an_empty_scope_has_an_empty_feed(self, storage: Storage) -> None:
        """And whoever saw it empty hears of what comes."""
        follower = FeedReader(storage, 9)
        expect_equal(await follower.catch_up(), [])
        await _add(storage, ["a"])
        expect_equal(await follower.catch_up(), ["a"])

    async def test_at_the_end_there_is_nothing_until_something_changes(self, storage: Storage) -> None:
        """Settings and leases are no records."""
        await _add(storage, ["a"])
        follower = FeedReader(storage, 9)
        await follower.catch_up()
        await storage.write(SCOPE, lambda unit: unit.settings.put("paused", "yes"))
        page = await follower.step()
        expect_equal((list(page.rows), list(page.removed), page.more, page.rebuild), ([], [], False, False))

    async def test_every_kind_of_change_reaches_a_follower(self, storage: Storage) -> None:
        """Added, rewritten, retired, brought back, deleted: by whomever."""
        await _add(storage, ["a", "b", "c"])
        follower = FeedReader(storage, 2)
        await follower.catch_up()
        for origin in Origin:
            word = f"of-{origin.value}"
            await storage.write(SCOPE, lambda unit, word=word: unit.entries.add([_worded(word)]), origin=origin)
        await _retire(storage, "a")
        await storage.write(SCOPE, lambda unit: unit.entries.delete(["b"]))
        wanted = ["c", *sorted(f"of-{origin.value}" for origin in Origin)]
        expect_equal(await follower.catch_up(), wanted)
        retired = (await _get(storage, ["a"]))[0]
        back = dataclasses.replace(retired, content="again", status=Status.ACTIVE, status_reason=None, status_at=None)
        await storage.write(SCOPE, lambda unit: unit.entries.replace([(retired, back)]), origin=Origin.UNDO)
        expect_equal(await follower.catch_up(), sorted([*wanted, "again"]))

    async def test_former_entries_are_told_of_with_the_time_in_which_they_held(self, storage: Storage) -> None:
        """To who asks for them, and so is since when their heirs hold; bringing one back takes that away again."""
        told = {"created_at": START - 400 * DAY}
        moved = an_entry("b", "Ana moved.", subject_time=SubjectTime.parse("2025-03"))
        await storage.write(SCOPE, lambda unit: unit.entries.add([an_entry("a", "Ana stays.", **told), moved]))
        (before,) = await _get(storage, ["a"])
        gone = superseded(before, by=moved, reason="She moved.", at=START)
        expect_equal(await _times(storage), {None, "2025-03"})
        await storage.write(SCOPE, lambda unit: unit.entries.replace([(before, gone)]), origin=Origin.DREAM)
        expect_equal(await _times(storage), {"2024-05-10..2025-03", "2025-03; 2025-03..?"})
        page = await storage.read(SCOPE, lambda view: view.entries.changes_since(FeedPosition(), limit=9))
        former = await storage.read(
            SCOPE, lambda view: view.entries.changes_since(FeedPosition(), limit=9, with_former=True)
        )
        expect_equal((len(page.rows), [row.live for row in former.rows]), (1, [True, True]))
        (stored,) = await _get(storage, ["a"])
        await storage.write(SCOPE, lambda unit: unit.entries.replace([(stored, revived(stored))]), origin=Origin.UNDO)
        expect_equal(await _times(storage), {None, "2025-03"})

    async def test_who_follows_hears_of_an_heir_when_it_takes_a_place(self, storage: Storage) -> None:
        """Though nothing about itself has changed."""
        await storage.write(
            SCOPE, lambda unit: unit.entries.add([an_entry("a"), an_entry("b", created_at=START + DAY)])
        )
        follower = FeedReader(storage, 9)
        await follower.catch_up()
        before, heir = await _get(storage, ["a", "b"])
        gone = superseded(before, by=heir, reason="Later.", at=START)
        await storage.write(SCOPE, lambda unit: unit.entries.replace([(before, gone)]), origin=Origin.DREAM)
        page = await follower.step()
        expect_equal([row.live for row in page.rows], [False, True])
        expect_equal((await _get(storage, ["b"]))[0].version, heir.version)

    async def test_an_entry_changed_twice_comes_once_as_it_is_now(self, storage: Storage) -> None:
        """The feed tells states, not stories."""
        await _add(storage, ["a"])
        follower = FeedReader(storage, 9)
        await follower.catch_up()
        for base in (0.6, 0.7):
            (before,) = await _get(storage, ["a"])
            after = dataclasses.replace(before, base=base, last_seen_at=START + DAY)
            await storage.write(SCOPE, lambda unit, pair=(before, after): unit.entries.replace([pair]))
        page = await follower.step()
        expect_equal([(row.base, row.live) for row in page.rows], [(0.7, True)])

    async def test_a_deleted_key_is_given_to_nobody_else(self, storage: Storage) -> None:
        """Else a late follower would drop the newcomer for the departed."""
        await _add(storage, ["a", "b"])
        follower = FeedReader(storage, 9)
        await follower.catch_up()
        held = set(follower.rows)
        await storage.write(SCOPE, lambda unit: unit.entries.delete(["b"]))
        await _add(storage, ["c"])
        expect_equal(await follower.catch_up(), ["a", "c"])
        expect_equal(len(held | set(follower.rows)), 3)

    async def test_a_record_deleted_and_added_again_stays(self, storage: Storage) -> None:
        """In one transaction or in two, whatever the page's size."""
        await _add(storage, ["a", "b"])
        followers = [FeedReader(storage, limit) for limit in (1, 2, 9)]
        for follower in followers:
            await follower.catch_up()
        await storage.write(SCOPE, lambda unit: (unit.entries.delete(["b"]), unit.entries.add([_worded("b")])))
        await storage.write(SCOPE, lambda unit: unit.entries.delete(["a"]))
        await _add(storage, ["a"])
        for follower in followers:
            expect_equal(await follower.catch_up(), ["a", "b"])

    async def test_a_slow_follower_misses_nothing_that_happens_meanwhile(self, storage: Storage) -> None:
        """Changes before and behind its position, between any two of its pages."""
        await _add(storage, list("abcdefgh"))
        for start in range(8):
            follower = FeedReader(storage, 1)
            for _ in range(start):
                await follower.step()
            for word in "bg":
                (before,) = await _get(storage, [word])
                after = dataclasses.replace(before, base=0.1 * start)
                await storage.write(SCOPE, lambda unit, pair=(before, after): unit.entries.replace([pair]))
            await storage.write(SCOPE, lambda unit: unit.entries.delete(["c", "h"]))
            await _add(storage, ["h", f"new{start}"])
            wanted = await storage.read(SCOPE, lambda view: view.entries.select(EntryFilter()))
            expect_equal(await follower.catch_up(), sorted(entry.content for entry in wanted))
            await _add(storage, ["c"])

    async def test_a_position_from_another_database_starts_again(self, storage: Storage) -> None:
        """An index must not trust what a restored backup has never seen."""
        await _add(storage, ["a"])
        follower = FeedReader(storage, 9)
        follower.position = FeedPosition(99, 1)
        page = await follower.step()
        expect_equal((page.rebuild, page.position), (True, FeedPosition()))

    async def test_a_row_holds_what_an_index_needs(self, storage: Storage) -> None:
        """The text is content and filing; the key leads to the entry."""
        entry = an_entry("a", "Tea.", category="people/ana-maria", tags=("hot", "drink"), base=0.25)
        await storage.write(SCOPE, lambda unit: unit.entries.add([entry]))
        page = await FeedReader(storage, 9).step()
        (row,) = page.rows
        expect_equal(row.text.split(), ["Tea.", "people", "ana", "maria", "hot", "drink"])
        expect_equal((row.base, row.live), (0.25, True))
        found = await storage.read(SCOPE, lambda view: view.entries.by_keys([row.key, row.key + 1]))
        expect_equal(found, {row.key: entry})

    async def test_facets_come_page_by_page_as_the_rows_do(self, storage: Storage) -> None:
        """With what filters ask of them."""
        tagged = an_entry("a", category="people/ana", tags=("hot", "drink"), subject_time=SubjectTime.parse("2024"))
        await storage.write(SCOPE, lambda unit: unit.entries.add([tagged, an_entry("b")]))
        await _retire(storage, "b")
        (page, facets) = await storage.read(
            SCOPE,
            lambda view: (
                view.entries.changes_since(FeedPosition(), limit=9),
                view.entries.facets_since(FeedPosition(), limit=9),
            ),
        )
        expect_equal((facets.position, facets.removed), (page.position, page.removed))
        (row,) = facets.rows
        wanted = FacetRow(
            page.rows[0].key,
            "people/ana",
            tagged.tags,
            Level.EXPLICIT,
            "2024",
            to_micros(tagged.created_at),
            to_micros(tagged.last_seen_at),
            live=True,
        )
        expect_equal(row, wanted)

    async def test_turns_are_followed_like_entries(self, storage: Storage) -> None:
        """Said, marked as read, dropped; what the host's machinery wrote was never said."""
        await storage.write(SCOPE, lambda unit: unit.turns.add([_said("a"), _said("b"), _said("c")]))
        page = await _page(storage, lambda view, at: view.turns.changes_since(at, limit=9))
        expect_equal(
            [(row.heading, row.content, row.live) for row in page.rows],
            [("[14 June 2025] Ana: ", word, True) for word in "abc"],
        )
        hidden = [_said("prompt", role="system"), _said("made", generated=True)]
        await storage.write(SCOPE, lambda unit: unit.turns.add([_said("d"), *hidden]))
        await storage.write(SCOPE, lambda unit: (unit.turns.delete(["b", "d"]), unit.turns.mark_consumed(["a"], START)))
        later = await _page(storage, lambda view, at: view.turns.changes_since(at, limit=9), page.position)
        keys = await storage.read(SCOPE, lambda view: view.turns.keys_of(["a", "b", "c", "none"]))
        expect_equal(sorted(keys), ["a", "c"])
        expect_equal({row.key for row in later.rows if row.live}, {keys["a"]})
        expect_equal(len(later.removed), 2)
        expect_equal(
            set(later.removed) & {row.key for row in page.rows}, {row.key for row in page.rows} - set(keys.values())
        )
        found = await storage.read(SCOPE, lambda view: view.turns.by_keys([*keys.values(), *later.removed]))
        expect_equal({key: turn.id for key, turn in found.items()}, {key: name for name, key in keys.items()})
        fresh = await _page(storage, lambda view, at: view.turns.changes_since(at, limit=9))
        expect_equal(sorted(row.key for row in fresh.rows), sorted(keys.values()))

    async def test_skills_are_followed_like_entries(self, storage: Storage) -> None:
        """Saved, rewritten, retired, deleted."""
        for name in ("a", "b"):
            await storage.write(SCOPE, lambda unit, name=name: unit.skills.add(a_skill(name, name=f"mcp/{name}")))
        page = await _page(storage, lambda view, at: view.skills.changes_since(at, limit=9))
        expect_equal([(row.name, row.live) for row in page.rows], [("mcp/a", True), ("mcp/b", True)])
        first, second = (row.key for row in page.rows)
        skills = await storage.read(SCOPE, lambda view: view.skills.by_keys([first, second]))
        expect_equal({key: skill.id for key, skill in skills.items()}, {first: "a", second: "b"})
        retired = dataclasses.replace(skills[first], status=Status.ARCHIVED, status_reason="Old.", status_at=START)
        await storage.write(SCOPE, lambda unit: unit.skills.replace(skills[first], retired))
        await storage.write(SCOPE, lambda unit: unit.skills.delete(["b"]))
        later = await _page(storage, lambda view, at: view.skills.changes_since(at, limit=9), page.position)
        expect_equal(([(row.key, row.live) for row in later.rows], list(later.removed)), ([(first, False)], [second]))


def _said(word: str, **changes: Any) -> Turn:
    return dataclasses.replace(a_turn(word, content=word, speaker="Ana", occurred_at=START), **changes)


async def _page(
    storage: Storage, feed: Callable[[ReadView, FeedPosition], FeedPage[R]], position: FeedPosition = _BEGINNING
) -> FeedPage[R]:
    return await storage.read(SCOPE, lambda view: feed(view, position))


def _worded(word: str) -> MemoryEntry:
    return an_entry(word, word)


async def _add(storage: Storage, words: Sequence[str]) -> None:
    await storage.write(SCOPE, lambda unit: unit.entries.add([_worded(word) for word in words]))


async def _get(storage: Storage, ids: Sequence[str]) -> list[MemoryEntry]:
    return await storage.read(SCOPE, lambda view: view.entries.get_many(ids))


async def _retire(storage: Storage, entry_id: str) -> None:
    (before,) = await _get(storage, [entry_id])
    after = dataclasses.replace(before, status=Status.ARCHIVED, status_reason="Copy.", status_at=START)
    await storage.write(SCOPE, lambda unit: unit.entries.replace([(before, after)]), origin=Origin.DREAM)


async def _times(storage: Storage) -> set[str | None]:
    page = await storage.read(SCOPE, lambda view: view.entries.facets_since(_BEGINNING, limit=9, with_former=True))
    return {row.subject_time for row in page.rows if row.live}
