import math
import tracemalloc
from collections import Counter
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Protocol, TypeAlias, cast

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.typing import NDArray

from agentcore.errors import InvalidOptionsError
from agentcore.recall import Bm25Index, QueryCost, SparseSums, Weighting, best


class Oracle(Protocol):
    def get_scores(self, query: list[str], /) -> NDArray[np.float64]: ...


rank_bm25 = cast("Callable[[list[list[str]]], Oracle]", import_module("rank_bm25").BM25Okapi)

Step: TypeAlias = tuple[str, int, list[str]]

terms = st.sampled_from("abcdefgh")
documents = st.lists(terms, max_size=8)
actions = st.sampled_from(["update", "update", "many", "remove", "compact", "tidy", "tidy"])
steps = st.lists(st.tuples(actions, st.integers(0, 9), documents), max_size=40)
queries = st.lists(st.sampled_from("abcdefghz"), max_size=6)


def play(index: Bm25Index, history: Sequence[Step], live: dict[int, list[str]] | None = None) -> dict[int, list[str]]:
    """Apply a history and return the documents it leaves."""
    live = {} if live is None else live
    for action, key, tokens in history:
        if action == "compact":
            index.compact()
        elif action == "tidy":
            index.postings.compact_further()
        elif action == "remove":
            assert index.remove(key) == (live.pop(key, None) is not None)
        elif action == "many":
            some = {key: tokens, key + 1: tokens[::-1] + tokens[:1], key + 2: []}
            index.update_many([*some], [*some.values()])
            live |= some
        else:
            (index.update if key in live else index.add)(key, tokens)
            live[key] = tokens
    return live


def scored(index: Bm25Index, query: list[str]) -> dict[int, float]:
    keys, scores = index.score(query)
    found = dict(zip(keys.tolist(), scores.tolist(), strict=True))
    assert len(found) == len(keys)
    return found


def same(found: dict[int, float], expected: dict[int, float]) -> bool:
    return found.keys() == expected.keys() and all(
        math.isclose(found[key], expected[key], rel_tol=1e-9, abs_tol=1e-9) for key in expected
    )


def lucene(live: dict[int, list[str]], query: list[str], k1: float, b: float) -> dict[int, float]:
    """The formula, spelled out."""
    average = sum(map(len, live.values())) / max(len(live), 1)
    scores: dict[int, float] = {}
    for term in set(query):
        df = sum(term in tokens for tokens in live.values())
        idf = math.log(1 + (len(live) - df + 0.5) / (df + 0.5))
        for key, tokens in live.items():
            if tf := tokens.count(term):
                scores[key] = scores.get(key, 0.0) + idf * tf / (tf + k1 * (1 - b + b * len(tokens) / average))
    return scores


rounds = st.lists(st.tuples(steps, queries), max_size=4)


@settings(max_examples=200)
@given(rounds)
def test_okapi_scores_equal_rank_bm25_after_any_history(asked: list[tuple[list[Step], list[str]]]) -> None:
    index = Bm25Index(weighting=Weighting.OKAPI, cost=QueryCost(prune_from=0, most_read=math.inf, lookup=0))
    live: dict[int, list[str]] = {}
    for history, query in asked:
        play(index, history, live)
        expected: dict[int, float] = {}
        if any(live.values()):
            scores = rank_bm25(list(live.values())).get_scores(query).tolist()
            expected = dict(zip(live, scores, strict=True))
        holders = {key for key, tokens in live.items() if set(tokens) & set(query)}
        assert all(expected[key] == 0 for key in expected.keys() - holders)
        assert same(scored(index, query), {key: expected[key] for key in holders})
        best, _ = index.top(query, 5)
        assert best.tolist() == sorted(holders, key=lambda key: (-expected[key], key))[:5]


@given(
    steps,
    st.lists(queries, min_size=2, max_size=4),
    st.sampled_from([(1.2, 0.25), (0.9, 1.0), (0.0, 0.5), (2.0, 0.0)]),
)
def test_lucene_scores_equal_the_formula_after_any_history(
    history: list[Step], asked: list[list[str]], parameters: tuple[float, float]
) -> None:
    k1, b = parameters
    index = Bm25Index(k1=k1, b=b)
    live = play(index, history)
    for query in asked:
        assert same(scored(index, query), lucene(live, query, k1, b))


@given(steps, queries)
def test_scores_do_not_remember_how_the_documents_came(history: list[Step], query: list[str]) -> None:
    index, fresh = Bm25Index(), Bm25Index()
    for key, tokens in sorted(play(index, history).items(), reverse=True):
        fresh.add(key, tokens)
    assert scored(index, query) == scored(fresh, query[::-1])


@given(rounds)
def test_every_query_between_two_changes_sees_all_changes(asked: list[tuple[list[Step], list[str]]]) -> None:
    index = Bm25Index()
    live: dict[int, list[str]] = {}
    for history, query in asked:
        play(index, history, live)
        assert same(scored(index, query), lucene(live, query, 1.2, 0.25))


@given(steps, queries, st.integers(-1, 12), st.sampled_from(Weighting))
def test_top_is_the_head_of_all_scores_ties_by_key(
    history: list[Step], query: list[str], k: int, weighting: Weighting
) -> None:
    index = Bm25Index(weighting=weighting)
    play(index, history)
    keys, scores = index.top(query, k)
    ranked = sorted(scored(index, query).items(), key=lambda item: (-item[1], item[0]))
    assert list(zip(keys.tolist(), scores.tolist(), strict=True)) == ranked[: max(k, 0)]


@given(
    steps,
    queries,
    st.integers(1, 5),
    st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=10, max_size=10),
)
def test_factors_weigh_and_leave_out(history: list[Step], query: list[str], k: int, weights: list[float]) -> None:
    index = Bm25Index(columns=1)
    for action, key, tokens in history:
        if action == "remove":
            index.remove(key)
        elif action == "compact":
            index.compact()
        elif action == "tidy":
            index.postings.compact_further()
        else:
            index.update(key, tokens, (weights[key],))
    keys, scores = index.top(query, k, factors=lambda _, values: values[0])
    expected = {key: score * weights[key] for key, score in scored(index, query).items() if weights[key] > 0}
    ranked = sorted(expected.items(), key=lambda item: (-item[1], item[0]))
    assert list(zip(keys.tolist(), scores.tolist(), strict=True)) == ranked[:k]


@given(steps)
def test_terms_and_frequencies_are_those_of_the_live_documents(history: list[Step]) -> None:
    index = Bm25Index()
    live = play(index, history)
    assert len(index) == len(live)
    assert all(sorted(index.terms_of(key)) == sorted(set(tokens)) for key, tokens in live.items())
    held = Counter(term for tokens in live.values() for term in set(tokens))
    assert all(index.document_frequency(term) == held[term] for term in "abcdefghz")
    assert [key for key in range(12) if key in index] == sorted(live)


def test_okapis_floor_follows_a_removal() -> None:
    index = Bm25Index(weighting=Weighting.OKAPI)
    live = {key: ["all", f"t{key}", *(["some"] * (key % 3))] for key in range(6)}
    for key, tokens in live.items():
        index.add(key, tokens)
    for removed in (1, 2):
        index.score(["all"])
        index.remove(removed)
        del live[removed]
        expected = rank_bm25(list(live.values())).get_scores(["all"]).tolist()
        assert same(scored(index, ["all"]), dict(zip(live, expected, strict=True)))


def test_equal_scores_stand_by_ascending_key_however_many_there_are() -> None:
    index = Bm25Index()
    for key in range(50, 0, -1):
        index.add(key, ["a"])
    index.add(99, ["a", "a"])
    assert index.top(["a"], 4)[0].tolist() == [99, 1, 2, 3]


def test_the_order_of_a_querys_words_changes_no_bit() -> None:
    rng = np.random.default_rng(2)
    index = Bm25Index()
    for key in range(200):
        index.add(key, [f"t{number}" for number in rng.zipf(1.4, size=12) if number < 40])
    asked = [f"t{number}" for number in range(1, 7)]
    expected = scored(index, asked)
    assert all(scored(index, rng.permutation(asked).tolist()) == expected for _ in range(10))


def test_an_empty_index_finds_nothing() -> None:
    for weighting in Weighting:
        index = Bm25Index(weighting=weighting)
        assert scored(index, ["a"]) == {}
        index.add(1, [])
        assert len(index.top(["a"], 10)[0]) == 0
        assert len(index) == 1
        index.remove(1)
        assert index.compact() == 1


def test_lucene_counts_a_repeated_query_term_once_and_okapi_each_time() -> None:
    for weighting, times in ((Weighting.LUCENE, 1), (Weighting.OKAPI, 2)):
        index = Bm25Index(weighting=weighting)
        for key, tokens in enumerate([["a"], ["b"], ["c"]]):
            index.add(key, tokens)
        assert math.isclose(scored(index, ["a", "a"])[0], times * scored(index, ["a"])[0])


def test_a_term_of_every_document_still_tells_them_apart() -> None:
    index = Bm25Index()
    index.add(1, ["a", "a", "b"])
    index.add(2, ["a", "c", "d"])
    assert index.top(["a"], 2)[0].tolist() == [1, 2]


def test_large_keys_and_many_repetitions_are_exact() -> None:
    index = Bm25Index()
    largest = 2**63 - 1
    index.add(largest, ["a"] * 100_000 + ["b"])
    index.add(-5, ["b"])
    live = {largest: ["a"] * 100_000 + ["b"], -5: ["b"]}
    assert same(scored(index, ["a", "b"]), lucene(live, ["a", "b"], 1.2, 0.25))


def test_adding_a_known_key_is_refused_and_updating_an_unknown_one_adds_it() -> None:
    index = Bm25Index()
    index.update(1, ["a"])
    with pytest.raises(ValueError, match="use update"):
        index.add(1, ["b"])
    assert index.terms_of(1) == ["a"]


@pytest.mark.parametrize("key", [2**63, -(2**63) - 1])
def test_a_key_beyond_64_bits_changes_nothing(key: int) -> None:
    index = Bm25Index()
    index.add(1, ["a"])
    with pytest.raises(OverflowError):
        index.update(key, ["a"])
    index.add(2, ["b"])
    assert scored(index, ["a"]).keys() == {1}
    assert index.document_frequency("a") == 1


def test_a_failed_update_leaves_the_document_as_it_was() -> None:
    index = Bm25Index(columns=2)
    index.add(1, ["a"], (0.5, 1.0))
    with pytest.raises(ValueError, match="Give 2 values"):
        index.update(1, ["b"], (0.5,))
    assert index.terms_of(1) == ["a"]
    assert index.document_frequency("b") == 0


def test_values_can_change_without_indexing_anew() -> None:
    index = Bm25Index(columns=1)
    index.add(1, ["a"], (1.0,))
    index.add(2, ["a"], (0.5,))
    index.set_values(2, (2.0,))
    assert index.top(["a"], 1, factors=lambda _, values: values[0])[0].tolist() == [2]
    with pytest.raises(KeyError):
        index.set_values(3, (1.0,))


def test_a_factor_of_zero_leaves_a_document_out() -> None:
    index = Bm25Index()
    index.add(1, ["a"])
    index.add(2, ["a"])
    keys, _ = index.top(["a"], 5, factors=lambda keys, _: np.where(keys == 1, 0.0, 1.0))
    assert keys.tolist() == [2]


def test_unknown_keys_are_said_so() -> None:
    index = Bm25Index()
    assert not index.remove(1)
    assert 1 not in index
    with pytest.raises(KeyError):
        index.terms_of(1)


def test_results_are_copies_that_do_not_block_later_changes() -> None:
    index = Bm25Index(columns=1)
    index.add(1, ["a"], (1.0,))
    kept: list[object] = [index.score(["a"]), index.top(["a"], 1, factors=lambda _, values: values[0])]

    def broken(keys: NDArray[np.int64], values: NDArray[np.float64]) -> NDArray[np.float64]:
        raise ZeroDivisionError(keys, values)

    with pytest.raises(ZeroDivisionError) as caught:
        index.top(["a"], 1, factors=broken)
    index.add(2, ["a"], (1.0,))
    index.compact()
    assert caught.value.args[0].tolist() == [1]
    assert len(kept) == 2
    assert scored(index, ["a"]).keys() == {1, 2}


def test_compaction_is_asked_for_when_a_fifth_is_dead_and_frees_it() -> None:
    index = Bm25Index()
    for key in range(8_000):
        index.add(key, [f"t{key}", "all"])
    for key in range(1_500):
        index.remove(key)
    assert not index.needs_compaction
    for key in range(1_500, 2_000):
        index.remove(key)
    before = index.nbytes
    assert index.needs_compaction
    assert index.compact() == 2_000
    assert not index.needs_compaction
    assert index.nbytes < before * 0.85
    assert len(index.score(["all"])[0]) == 6_000


@pytest.mark.parametrize("shape", [(3_000, 12, 2_000), (500, 30, 5_000)])
def test_nbytes_is_near_what_the_index_takes(shape: tuple[int, int, int]) -> None:
    size, length, vocabulary = shape
    draws = np.random.default_rng(1).integers(vocabulary, size=(size, length)).tolist()
    tracemalloc.start()
    index = Bm25Index()
    for key, row in enumerate(draws):
        index.add(key, [f"term{pick}" for pick in row])
    taken = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert taken * 0.7 < index.nbytes < taken * 1.3


@pytest.mark.parametrize("options", [{"k1": -1.0}, {"k1": math.inf}, {"b": 1.5}, {"b": math.nan}])
def test_impossible_parameters_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(InvalidOptionsError, match="Option"):
        Bm25Index(k1=options.get("k1"), b=options.get("b"))


def test_an_interrupted_sum_leaves_no_trace() -> None:
    sums = SparseSums()
    sums.begin(10)
    sums.add(np.array([3, 4]), 1.0)
    sums.begin(5)
    sums.add(np.array([4]), 0.5)
    assert [part.tolist() for part in sums.drain()] == [[4], [0.5]]
    sums.begin(10)
    assert len(sums.drain()[0]) == 0


def test_places_named_repeatedly_are_summed_and_come_out_once() -> None:
    sums = SparseSums()
    sums.begin(10)
    sums.add_repeatedly(np.array([7, 3, 7, 5]), np.array([0.5, 2.0, 0.5, 0.25]))
    assert [part.tolist() for part in sums.drain_from(1.0)] == [[3, 7], [2.0, 1.0]]
    assert len(sums.drain()[0]) == 0
    assert sums.at(np.arange(10)).tolist() == [0.0] * 10


@pytest.mark.parametrize("digits", [0, 1, 9])
def test_the_best_of_thousands_are_the_first_of_all_in_order(digits: int):
    rng = np.random.default_rng(11)
    scores, keys = np.round(rng.gamma(2.0, 1.0, 20_000), digits), rng.permutation(20_000)
    order = np.lexsort((keys, -scores))
    for k in (1, 10, 300, 5_000, 30_000):
        found, reached = best(keys, scores, k)
        assert (found.tolist(), reached.tolist()) == (keys[order[:k]].tolist(), scores[order[:k]].tolist())
