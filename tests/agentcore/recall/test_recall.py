import asyncio
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from math import prod
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from agentcore.domain import Decay, Level, MemoryEntry, RecallFilter, Scope, Status, SubjectTime
from agentcore.errors import HostNotStartedError, InvalidOptionsError
from agentcore.recall import (
    Bm25Index,
    Explanation,
    Hit,
    Recall,
    RecallOptions,
    Tokenizer,
    admits,
    cut_passages,
    share_of_length,
)
from agentcore.stores import FeedPage, FeedPosition, IndexRow, UnitOfWork
from agentcore.stores.sql import SqlStorage
from agentcore.testing import ManualClock

NOON = datetime(2025, 6, 14, 12, tzinfo=UTC)
ANA = Scope("acme", "agent", "ana")
BEN = Scope("acme", "agent", "ben")


def entry(name: str, content: str, scope: Scope = ANA, **changes: Any) -> MemoryEntry:
    made = MemoryEntry(
        id=name, scope=scope, content=content, created_at=NOON, recorded_at=NOON, last_seen_at=NOON, importance=-1.0
    )
    return replace(made, **changes)


@asynccontextmanager
async def opened(path: Path | None = None, options: RecallOptions | None = None, clock: ManualClock | None = None):
    async with AsyncExitStack() as stack:
        storage = SqlStorage(path, clock=clock or ManualClock(NOON))
        await storage.start()
        stack.push_async_callback(storage.stop)
        recall = Recall(storage, options=options)
        await recall.start()
        stack.push_async_callback(recall.stop)
        yield storage, recall


async def add(storage: SqlStorage, *entries: MemoryEntry) -> None:
    await storage.write(entries[0].scope, lambda unit: unit.entries.add(entries))


async def change(storage: SqlStorage, name: str, **changes: Any) -> None:
    def work(unit: UnitOfWork) -> None:
        before = unit.entries.get(name)
        unit.entries.replace([(before, replace(before, **changes))])

    await storage.write(ANA, work)


async def retire(storage: SqlStorage, name: str, status: Status = Status.ARCHIVED) -> None:
    await change(storage, name, status=status, status_reason="merged", status_at=NOON)


async def found(recall: Recall, query: str, scope: Scope = ANA, **how: Any) -> list[str]:
    return [hit.entry.id for hit in await recall.search(scope, query, **how)]


async def keys_of(storage: SqlStorage) -> dict[str, int]:
    material = await storage.read(ANA, lambda view: view.entries.material(after=0, also=(), limit=10_000))
    return {item.id: item.key for item in material}


async def test_an_entry_is_found_by_a_word_it_shares_with_the_query():
    async with opened() as (storage, recall):
        await add(storage, entry("a", "Ana moved to Lisbon"), entry("b", "Ben plays chess"))
        (hit,) = await recall.search(ANA, "who lives in LISBON?")
        assert hit.entry.content == "Ana moved to Lisbon"
        assert hit.score > 0


async def test_category_and_tags_are_searched_with_the_text():
    async with opened() as (storage, recall):
        await add(storage, entry("a", "likes tea", category="people/ana", tags=("breakfast",)))
        assert await found(recall, "Ana") == ["a"]
        assert await found(recall, "breakfast") == ["a"]


@pytest.mark.parametrize("query", ["", "   ", "?!", "zeppelin", "\u200b"])
async def test_a_query_that_holds_no_known_word_finds_nothing(query: str):
    async with opened() as (storage, recall):
        await add(storage, entry("a", "Ana moved to Lisbon"))
        assert await found(recall, query) == []


async def test_an_unknown_scope_finds_nothing():
    async with opened() as (_, recall):
        assert await found(recall, "Ana") == []


@pytest.mark.parametrize("k", [0, -3])
async def test_asking_for_no_hits_is_refused(k: int):
    async with opened() as (_, recall):
        with pytest.raises(InvalidOptionsError, match=f"k = {k} is not possible: give 1 or more"):
            await recall.search(ANA, "Ana", k=k)


async def test_recall_is_refused_before_start_and_after_stop():
    async with opened() as (storage, opened_recall):
        recall = Recall(storage)
        with pytest.raises(HostNotStartedError, match="recall is not open"):
            await recall.search(ANA, "Ana")
        await opened_recall.stop()
        with pytest.raises(HostNotStartedError):
            await opened_recall.search(ANA, "Ana")


async def test_every_write_counts_in_the_next_query():
    async with opened() as (storage, recall):
        await add(storage, entry("a", "Ana lives in Porto"))
        assert await found(recall, "Lisbon") == []
        await change(storage, "a", content="Ana lives in Lisbon")
        assert await found(recall, "Lisbon") == ["a"]
        assert await found(recall, "Porto") == []


async def test_writes_of_another_process_count_in_the_next_query(tmp_path: Path):
    async with opened(tmp_path / "a.db") as (_, recall), opened(tmp_path / "a.db") as (other, _):
        assert await found(recall, "Lisbon") == []
        await add(other, entry("a", "Ana lives in Lisbon"))
        assert await found(recall, "Lisbon") == ["a"]
        await retire(other, "a")
        assert await found(recall, "Lisbon") == []


@pytest.mark.parametrize("status", [Status.ARCHIVED, Status.SUPERSEDED])
async def test_a_retired_entry_is_found_again_only_when_it_is_brought_back(status: Status):
    async with opened() as (storage, recall):
        await add(storage, entry("a", "Ana lives in Lisbon"))
        assert await found(recall, "Lisbon") == ["a"]
        await retire(storage, "a", status)
        assert await found(recall, "Lisbon") == []
        for statuses in ((), (status,), tuple(Status)):
            assert await found(recall, "Lisbon", where=RecallFilter(statuses=frozenset(statuses))) == []
        await change(storage, "a", status=Status.ACTIVE, status_reason=None, status_at=None)
        assert await found(recall, "Lisbon") == ["a"]


async def test_what_was_retired_before_the_first_query_is_never_found():
    async with opened() as (storage, recall):
        await add(storage, entry("a", "Ana lives in Lisbon"), entry("b", "Lisbon is sunny"))
        await retire(storage, "a")
        assert await found(recall, "Lisbon") == ["b"]


async def test_a_forgotten_entry_leaves_while_the_others_stay():
    async with opened() as (storage, recall):
        await add(storage, entry("a", "Ana lives in Lisbon"), entry("b", "Lisbon is sunny"))
        assert sorted(await found(recall, "Lisbon")) == ["a", "b"]
        await storage.write(ANA, lambda unit: unit.forget("a"))
        assert await found(recall, "Lisbon") == ["b"]
        await add(storage, entry("c", "Carla left Lisbon"))
        assert sorted(await found(recall, "Lisbon")) == ["b", "c"]


async def test_scopes_are_never_mixed():
    async with opened() as (storage, recall):
        await add(storage, entry("a", "Ana lives in Lisbon"))
        await add(storage, entry("a", "Ben lives in Lisbon", BEN))
        for scope, content in ((ANA, "Ana lives in Lisbon"), (BEN, "Ben lives in Lisbon")):
            (hit,) = await recall.search(scope, "Lisbon")
            assert (hit.entry.scope, hit.entry.content) == (scope, content)


async def test_no_more_indexes_stay_open_than_fit_and_each_answers_as_before():
    async with opened(options=RecallOptions(max_index_bytes=40_000)) as (storage, recall):
        scopes = [Scope("acme", "agent", f"user-{number}") for number in range(3)]
        for number, scope in enumerate(scopes):
            await add(storage, entry(f"e{number}", "they live in Lisbon", scope))
        for _ in range(2):
            for number, scope in enumerate(scopes):
                assert await found(recall, "Lisbon", scope) == [f"e{number}"]
        assert list(recall._entries._scopes) == scopes[1:]


async def test_of_two_equally_fitting_entries_the_more_important_comes_first_by_half_its_weight():
    async with opened() as (storage, recall):
        await add(storage, entry("low", "tea with lemon", base=0.2), entry("high", "tea with ginger", base=0.9))
        first, second = await recall.search(ANA, "tea")
        assert (first.entry.id, second.entry.id) == ("high", "low")
        assert first.score / second.score == pytest.approx((0.5 + 0.45) / (0.5 + 0.1))


async def test_importance_counts_as_of_now():
    clock = ManualClock(NOON)
    async with opened(clock=clock) as (storage, recall):
        fresh = {"base": 0.6, "last_seen_at": NOON + timedelta(days=300)}
        await add(storage, entry("old", "tea with lemon", base=0.9), entry("new", "tea with ginger", **fresh))
        assert await found(recall, "tea") == ["old", "new"]
        clock.advance(timedelta(days=300))
        first, second = await recall.search(ANA, "tea")
        assert (first.entry.id, second.entry.id) == ("new", "old")
        assert second.entry.importance == pytest.approx(0.1)
        assert first.score / second.score == pytest.approx((0.5 + 0.3) / (0.5 + 0.05))


async def test_without_importance_weight_only_the_words_count():
    async with opened(options=RecallOptions(importance_weight=0.0)) as (storage, recall):
        await add(storage, entry("low", "tea with lemon", base=0.0), entry("high", "tea with ginger", base=1.0))
        first, second = await recall.search(ANA, "tea")
        assert [first.entry.id, second.entry.id] == ["low", "high"]
        assert first.score == second.score


async def test_equal_scores_stand_in_the_order_of_arrival_and_k_cuts_them():
    async with opened() as (storage, recall):
        names = [f"e{number:02}" for number in range(12)]
        await add(storage, *(entry(name, "tea") for name in names))
        assert await found(recall, "tea", k=50) == names
        assert await found(recall, "tea", k=5) == names[:5]
        assert await found(recall, "tea") == names[:10]


WORDS = ["tea", "coffee", "lisbon", "porto", "ana", "ben", "train", "music"]
CATEGORIES = ["people", "people/ana", "people/anabel", "places/lisbon", "general"]

entries = st.lists(
    st.builds(
        dict,
        content=st.one_of(
            st.lists(st.sampled_from(WORDS), min_size=1, max_size=6),
            st.lists(st.sampled_from([*WORDS, "ben.", "music\n"]), min_size=1, max_size=40),
        ).map(lambda words: " ".join(words).strip()),
        category=st.sampled_from(CATEGORIES),
        tags=st.sets(st.sampled_from(["x", "y"])).map(lambda tags: tuple(sorted(tags))),
        base=st.floats(0, 1).map(lambda value: round(value, 3)),
        level=st.sampled_from([Level.EXPLICIT, Level.DERIVED]),
        status=st.sampled_from([Status.ACTIVE] * 4 + [Status.ARCHIVED]),
        last_seen_at=st.integers(0, 400).map(lambda days: NOON - timedelta(days=days)),
        created_at=st.integers(0, 9).map(lambda days: NOON - timedelta(days=days)),
        subject_time=st.sampled_from([None, SubjectTime.parse("2024"), SubjectTime.parse("2025-02; 1995..2003")]),
    ),
    min_size=1,
    max_size=25,
)
filters = st.one_of(
    st.none(),
    st.builds(
        RecallFilter,
        category=st.sampled_from([None, *CATEGORIES]),
        tags=st.sampled_from([(), ("x",), ("x", "y")]),
        level=st.sampled_from([None, *Level]),
        created_after=st.sampled_from([None, NOON - timedelta(days=4)]),
        created_before=st.sampled_from([None, NOON - timedelta(days=2)]),
        any_tags=st.sampled_from([(), ("x", "z")]),
        seen_after=st.sampled_from([None, NOON - timedelta(days=200)]),
        seen_before=st.sampled_from([None, NOON - timedelta(days=20)]),
        about=st.sampled_from([None, SubjectTime.parse("2001"), SubjectTime.parse("2024-05..2025-02-03")]),
    ),
)
weights = st.sampled_from(
    [
        RecallOptions(),
        RecallOptions(recency_weight=0.4, phrase_weight=0.5, importance_weight=0.2, passage_tokens=16),
        RecallOptions(phrase_weight=3.0, passage_tokens=20, length_weight=1.0, b=0.75, k1=2.0),
    ]
)
queries = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join)


def factor(options: RecallOptions, query: str, one: MemoryEntry) -> float:
    importance = Decay().value(one.base, one.last_seen_at, NOON)
    recency = 2 ** -((NOON - one.last_seen_at) / options.recency_half_life)
    pairs, held = (set(pairwise(Tokenizer().tokens(text))) for text in (query, one.content))
    phrase = len(pairs & held) / len(pairs) if pairs else 0.0
    shares = ((options.importance_weight, importance), (options.recency_weight, recency))
    length = share_of_length(one.content, passage_tokens=options.passage_tokens, weight=options.length_weight)
    worth = prod(1 - weight + weight * share for weight, share in shares)
    return worth * length * (1 + options.phrase_weight * phrase)


def expected(
    stored: list[MemoryEntry], query: str, where: RecallFilter | None, options: RecallOptions
) -> list[tuple[str, float]]:
    """Score each entry on its own, filter afterwards, sort in Python."""
    index, tokenizer = Bm25Index(k1=options.k1, b=options.b), Tokenizer()
    active = {number: one for number, one in enumerate(stored) if one.is_active}
    for number, one in active.items():
        filing = one.category.replace("/", " ").replace("-", " ")
        for place, (start, end) in enumerate(cut_passages(one.content, options.passage_tokens)):
            index.add(1_000 * number + place, tokenizer.tokens(" ".join([one.content[start:end], filing, *one.tags])))
    keys, scores = index.score(tokenizer.query_tokens(query))
    of_entry: dict[int, float] = {}
    for key, score in zip(keys.tolist(), scores.tolist(), strict=True):
        of_entry[key // 1_000] = max(score, of_entry.get(key // 1_000, 0.0))
    ranked = [
        (-score * factor(options, query, one), key, one)
        for key, score in of_entry.items()
        for one in [active[key]]
        if where is None or admits(where, one)
    ]
    ranked.sort(key=lambda place: (round(place[0], 12), place[1]))
    return [(one.id, -score) for score, _, one in ranked]


@settings(max_examples=40, deadline=None)
@given(rows=entries, query=queries, where=filters, k=st.integers(1, 12), options=weights)
def test_the_answer_equals_scoring_every_entry_by_itself_and_is_explained(
    rows: list[dict[str, Any]], query: str, where: RecallFilter | None, k: int, options: RecallOptions
):
    stored = [entry(f"e{number:02}", **row) for number, row in enumerate(rows)]

    async def ask() -> tuple[list[Hit], list[tuple[Hit, Explanation]]]:
        async with opened(options=options) as (storage, recall):
            await add(storage, *stored)
            hits = await recall.search(ANA, query, k=k, where=where)
            return hits, await recall.explain(ANA, query, k=k, where=where)

    hits, explained = asyncio.run(ask())
    assert [hit for hit, _ in explained] == hits
    assert [why.score for _, why in explained] == pytest.approx([hit.score for hit in hits])
    answer = expected(stored, query, where, options)
    assert [hit.score for hit in hits] == pytest.approx([score for _, score in answer[:k]])
    assert {hit.entry.id for hit in hits} <= {name for name, _ in answer}
    if all(abs(one[1] - other[1]) > 1e-9 for one, other in pairwise(answer)):
        assert [hit.entry.id for hit in hits] == [name for name, _ in answer[:k]]


@settings(max_examples=25, deadline=None)
@given(rows=entries, query=queries, order=st.randoms(use_true_random=False))
def test_an_index_that_followed_every_change_answers_like_one_built_afresh(
    rows: list[dict[str, Any]], query: str, order: Random
):
    async def ask() -> tuple[list[Hit], list[Hit]]:
        async with opened() as (storage, recall):
            fresh = recall.on(storage)
            await fresh.start()
            for number, row in enumerate(rows):
                await add(storage, entry(f"e{number:02}", **row))
                name = f"e{order.randint(0, number):02}"
                await change(storage, name, content=order.choice(WORDS), base=round(order.random(), 3))
                await recall.follow(ANA)
            answers = await recall.search(ANA, query, k=30), await fresh.search(ANA, query, k=30)
            await fresh.stop()
            return answers

    followed, built = asyncio.run(ask())
    assert followed == built


async def test_a_filter_finds_the_few_entries_it_admits_behind_many_better_ones():
    async with opened() as (storage, recall):
        many = [entry(f"m{number:03}", "tea tea tea", base=1.0) for number in range(300)]
        await add(storage, *many, entry("wanted", "tea for a guest", category="people/ana", base=0.1))
        assert await found(recall, "tea", where=RecallFilter(category="people"), k=3) == ["wanted"]
        assert await found(recall, "tea", where=RecallFilter(category="peop"), k=3) == []


async def test_neighbours_are_the_active_entries_that_say_nearly_the_same():
    async with opened() as (storage, recall):
        await add(
            storage,
            entry("a", "Ana moved to Lisbon in spring"),
            entry("b", "Ana moved to Lisbon in autumn"),
            entry("c", "Ana moved to Lisbon in winter"),
            entry("d", "Ben plays chess"),
        )
        await retire(storage, "c")
        keys = await keys_of(storage)
        near = await recall.similar(ANA, [keys["a"], keys["d"], 999], threshold=0.3, limit=5)
        assert {key: [one.key for one in neighbours] for key, neighbours in near.items()} == {
            keys["a"]: [keys["b"]],
            keys["d"]: [],
        }


async def test_neighbours_are_the_same_however_the_keys_are_asked():
    async with opened() as (storage, recall):
        await add(storage, *(entry(f"e{number:03}", f"tea with lemon and {number % 7} cups") for number in range(60)))
        keys = sorted((await keys_of(storage)).values())
        together = await recall.similar(ANA, keys, threshold=0.4, limit=100)
        apart = [await recall.similar(ANA, [key], threshold=0.4, limit=100) for key in reversed(keys)]
        assert together == {key: near for one in apart for key, near in one.items()}


async def test_a_query_goes_ahead_of_a_long_search_for_neighbours():
    async with opened() as (storage, recall):
        await add(storage, *(entry(f"e{number:04}", f"tea with lemon, cup {number}") for number in range(1500)))
        keys = sorted((await keys_of(storage)).values())
        await recall.follow(ANA)
        async with asyncio.TaskGroup() as group:
            search = group.create_task(recall.similar(ANA, keys * 20, threshold=0.3, limit=5))
            for _ in range(3):
                assert await found(recall, "lemon", k=1) == ["e0000"]
            assert not search.done()
            search.cancel()


async def test_a_query_cancelled_while_the_index_is_built_leaves_nothing_wrong_behind():
    async with opened() as (storage, recall):
        await add(storage, *(entry(f"e{number:04}", "tea with lemon") for number in range(900)))
        async with asyncio.TaskGroup() as group:
            query = group.create_task(recall.search(ANA, "tea"))
            for _ in range(10_000):
                await asyncio.sleep(0)
                held = recall._entries._scopes.get(ANA)
                if held is not None and held.index is not None and len(held.index):
                    break
            query.cancel()
        await retire(storage, "e0000")
        keys = await keys_of(storage)
        assert await found(recall, "tea", k=3) == ["e0001", "e0002", "e0003"]
        first = min(keys.values())
        near = await recall.similar(ANA, [first], threshold=0.9, limit=1000)
        assert len(near[first]) == 898


@dataclass
class Pages:
    """A storage whose change feed and entries a test writes down."""

    pages: list[FeedPage]
    stored: dict[int, MemoryEntry]
    revision: int = 1
    asked: list[FeedPosition] = field(default_factory=list)
    reads: int = 0
    before_read: Callable[["Pages"], None] = lambda _: None

    async def read(self, scope: Scope, work: Callable[[Any], Any]) -> Any:
        return self.read_here(scope, work)

    def read_here(self, scope: Scope, work: Callable[[Any], Any]) -> Any:
        self.reads += 1
        self.before_read(self)
        view = SimpleNamespace(scope=scope, now=NOON, decay=Decay(), revision=self.revision, entries=self)
        return work(view)

    def present(self, _: Scope) -> None:
        return None

    def changes_since(self, position: FeedPosition, *, limit: int) -> FeedPage:
        assert limit > 0
        self.asked.append(position)
        end = FeedPage(FeedPosition(self.revision, 2**63 - 1), (), (), more=False, rebuild=False)
        return self.pages.pop(0) if self.pages else end

    def by_keys(self, keys: Sequence[int]) -> dict[int, MemoryEntry]:
        return {key: self.stored[key] for key in keys if key in self.stored}


def rows(*texts: str, first: int = 1) -> tuple[IndexRow, ...]:
    return tuple(IndexRow(first + place, text, 0.5, 0, live=True) for place, text in enumerate(texts))


def page(*texts: str, revision: int = 1, more: bool = False, first: int = 1, **changes: Any) -> FeedPage:
    made = FeedPage(FeedPosition(revision, 2**63 - 1), rows(*texts, first=first), (), more=more, rebuild=False)
    return replace(made, **changes)


@asynccontextmanager
async def following(pages: Pages):
    recall = Recall(pages)  # type: ignore[arg-type]
    await recall.start()
    try:
        yield recall
    finally:
        await recall.stop()


async def test_a_feed_that_no_longer_reaches_back_is_read_from_the_beginning():
    stored = {1: entry("a", "tea"), 2: entry("b", "tea and milk")}
    again = page(rebuild=True, more=True, position=FeedPosition())
    pages = Pages([page("tea", "tea and milk"), again, page("tea", revision=9)], stored)
    async with following(pages) as recall:
        assert await found(recall, "tea") == ["a", "b"]
        pages.revision = 9
        assert await found(recall, "tea") == ["a"]
        assert pages.asked == [FeedPosition(), FeedPosition(1, 2**63 - 1), FeedPosition()]


async def test_the_feed_is_followed_page_after_page():
    stored = {1: entry("a", "tea"), 2: entry("b", "tea")}
    pages = Pages([page("tea", more=True), page("tea", first=2, revision=2)], stored, revision=2)
    async with following(pages) as recall:
        assert await found(recall, "tea") == ["a", "b"]


async def test_a_key_that_the_feed_tells_as_gone_before_it_tells_it_as_new_is_found():
    pages = Pages([page("tea"), page("coffee", removed=(1,), revision=2)], {1: entry("a", "coffee")})
    async with following(pages) as recall:
        await recall.follow(ANA)
        pages.revision = 2
        assert await found(recall, "coffee") == ["a"]
        assert await found(recall, "tea") == []


async def test_an_answer_that_a_writer_outran_is_sought_again():
    def add_between_ranking_and_fetching(pages: Pages) -> None:
        if pages.reads == 2:
            pages.revision = 2
            pages.pages.append(page("tea with honey", first=3, revision=2))

    stored = {1: entry("a", "tea"), 2: entry("b", "tea"), 3: entry("c", "tea with honey")}
    pages = Pages([page("tea", "tea")], stored, before_read=add_between_ranking_and_fetching)
    async with following(pages) as recall:
        assert sorted(await found(recall, "tea")) == ["a", "b", "c"]


async def test_a_query_after_a_write_takes_it_over_in_the_read_of_its_answer():
    stored = {1: entry("a", "tea"), 2: entry("b", "tea with milk")}
    pages = Pages([page("tea")], stored)
    async with following(pages) as recall:
        assert await found(recall, "tea") == ["a"]
        pages.revision, pages.reads = 2, 0
        pages.pages.append(page("tea with milk", first=2, revision=2))
        assert sorted(await found(recall, "tea")) == ["a", "b"]
        assert pages.reads == 1
        pages.pages.append(page(revision=3, removed=(1,)))
        pages.revision = 3
        assert await found(recall, "tea") == ["b"]
        assert pages.reads == 2


async def test_beside_a_writer_that_never_rests_recall_still_answers_without_what_is_gone():
    def write_again(pages: Pages) -> None:
        pages.revision += 1

    stored = {1: entry("a", "tea"), 2: entry("b", "tea", status=Status.ARCHIVED, status_reason="x", status_at=NOON)}
    pages = Pages([page("tea", "tea", "tea")], stored, before_read=write_again)
    async with following(pages) as recall:
        assert await found(recall, "tea") == ["a"]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"k1": -0.1}, "k1 = -0.1"),
        ({"k1": float("nan")}, "k1 = nan"),
        ({"b": 1.5}, "b = 1.5"),
        ({"importance_weight": 1.0}, "importance_weight = 1.0"),
        ({"max_index_bytes": 0}, "max_index_bytes = 0"),
        ({"snapshot_min_entries": 0}, "snapshot_min_entries = 0"),
    ],
)
def test_options_without_meaning_are_refused_by_name(options: Any, sentence: str):
    with pytest.raises(InvalidOptionsError, match=sentence):
        RecallOptions(**options)


async def test_of_a_long_entry_the_passage_that_matched_is_told():
    long = "The weather was fine and nothing happened. " * 12
    content = f"{long}Ana moved to Porto. {long}".strip()
    async with opened() as (storage, recall):
        await add(storage, entry("long", content), entry("short", "Ben likes tea"))
        (hit,) = await recall.search(ANA, "when did Ana move to Porto")
        assert "Ana moved to Porto." in hit.passage
        assert hit.span is not None
        assert hit.passage == content[hit.span.start : hit.span.end]
        assert len(hit.passage) <= 320
        (hit,) = await recall.search(ANA, "tea")
        assert hit.passage == "Ben likes tea"


async def test_long_entries_that_say_nearly_the_same_are_neighbours_wherever_they_are_cut():
    sentences = [f"Point {word} was decided on day{number}." for number, word in enumerate(WORDS * 4)]
    first, second = " ".join(sentences), " ".join([*sentences[5:], *sentences[:5]])
    async with opened() as (storage, recall):
        await add(storage, entry("a", first), entry("b", second), entry("c", sentences[3]))
        keys = await keys_of(storage)
        near = await recall.similar(ANA, list(keys.values()), threshold=0.9)
        assert [one.key for one in near[keys["a"]]] == [keys["b"]]
        assert [one.key for one in near[keys["b"]]] == [keys["a"]]
        assert near[keys["c"]] == []
        assert await recall.alike(ANA, list(keys.values()), threshold=0.9) == [(keys["a"], keys["b"], 1.0)]
