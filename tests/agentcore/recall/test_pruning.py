from collections.abc import Sequence
from math import inf

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.typing import NDArray

from agentcore.recall import Bm25Index, QueryCost, Weighting

WHOLE = QueryCost(prune_from=inf, vector=inf)
"""Everything is read and noted: nothing is ever passed over."""
WAYS = (
    QueryCost(prune_from=0, prune_to=inf, most_read=inf, lookup=0),
    QueryCost(prune_from=0),
    QueryCost(prune_from=0, most_read=inf, lookup=1),
    QueryCost(prune_from=inf, vector=-inf),
)
"""Always pruned; pruned and mostly given up while reading; given up before looking up, if at all; one long vector."""

actions = st.sampled_from(["update", "update", "update", "remove", "tidy"])
steps = st.lists(st.tuples(actions, st.integers(0, 30), st.lists(st.sampled_from("abcdefgh"), max_size=6)), max_size=60)
queries = st.lists(st.sampled_from("abcdefghz"), max_size=6)
forms = st.sampled_from([(Weighting.LUCENE, None, None), (Weighting.LUCENE, 0.0, 0.0), (Weighting.OKAPI, None, None)])


def several(weighting: Weighting, k1: float | None = None, b: float | None = None) -> tuple[Bm25Index, ...]:
    """An exhaustive index, then one for each way, with the same settings and one column."""
    return tuple(Bm25Index(weighting=weighting, k1=k1, b=b, columns=1, cost=cost) for cost in (WHOLE, *WAYS))


def factors(_: object, columns: NDArray[np.float64]) -> NDArray[np.float64]:
    return columns[0]


def same_answers(whole: Bm25Index, others: Sequence[Bm25Index], query: Sequence[str], k: int) -> bool:
    """Whether all give, of the same documents, the same keys and, to the last bit, scores, with factors or not."""
    asked = ({}, {"factors": factors, "most": 1.0}, {"factors": factors})
    answers: list[list[list[list[float]]]] = []
    for index in (whole, *others):
        index.postings.lists = whole.postings.lists
        answers.append([[part.tolist() for part in index.top(query, k, **how)] for how in asked])
    return all(one == answers[0] for one in answers) and answers[0][1] == answers[0][2]


@given(steps, queries, st.integers(1, 12), forms)
def test_pruning_changes_no_answer_whatever_happened_to_the_documents(
    history: list[tuple[str, int, list[str]]],
    query: list[str],
    k: int,
    form: tuple[Weighting, float | None, float | None],
) -> None:
    whole, *others = several(*form)
    for action, key, tokens in history:
        if action == "remove":
            whole.remove(key)
        elif action == "tidy":
            whole.postings.compact_further()
        else:
            whole.update(key, tokens, ((key % 5) / 4,))
    assert same_answers(whole, others, query, k)


@pytest.mark.parametrize("weighting", Weighting)
@pytest.mark.parametrize("b", [0.0, 0.25, 0.75])
def test_pruning_changes_no_answer_among_thousands_of_documents(weighting: Weighting, b: float) -> None:
    rng = np.random.default_rng(11)
    shares = 1.0 / np.arange(1, 401) ** 1.1
    shares /= shares.sum()
    documents = [[f"t{term}" for term in rng.choice(400, size=rng.integers(1, 25), p=shares)] for _ in range(4_000)]
    importance = rng.random((4_000, 1)).round(1)
    whole, *others = several(weighting, 1.2, b)
    whole.update_many(range(4_000), documents, importance.tolist())
    for key in range(0, 4_000, 7):
        whole.remove(key)
    for size in (1, 2, 3, 4, 6, 9) * 6:
        query = [f"t{term}" for term in rng.choice(400, size=size, p=shares)]
        assert same_answers(whole, others, query, int(rng.choice([1, 3, 10, 100, 5_000])))


@pytest.mark.parametrize("weighting", Weighting)
def test_a_narrow_filter_has_few_documents_scored_and_changes_no_answer(weighting: Weighting) -> None:
    rng = np.random.default_rng(5)
    documents = [[f"t{term}" for term in rng.integers(0, 20, size=rng.integers(0, 12))] for _ in range(3_000)]
    whole, narrow, *_ = several(weighting, 1.2, 0.25)
    for index in (narrow, whole):
        index.update_many(range(3_000), documents, rng.random((3_000, 1)).tolist())
    admitted = [*range(0, 3_000, 150), 4_000]
    for index in (narrow, whole):
        index.remove(300)
    looked_at: list[int] = []

    def filtered(keys: NDArray[np.int64], _: object) -> NDArray[np.float64]:
        looked_at.append(len(keys))
        return np.isin(keys, admitted) * (1.0 + keys % 3)

    for size in (1, 2, 5, 9):
        query = [f"t{term}" for term in rng.integers(0, 22, size=size)]
        looked_at.clear()
        found = [one.tolist() for one in narrow.top(query, 7, filtered, 3.0, among=lambda: np.array(admitted))]
        assert sum(looked_at) < len(admitted)
        assert found == [one.tolist() for one in whole.top(query, 7, filtered, 3.0)]
        assert sum(looked_at) > 100


def test_hopeless_documents_are_not_scored() -> None:
    index = Bm25Index(cost=WAYS[0])
    index.update_many(range(5_000), [["common", *(["rare"] if key % 100 == 0 else [])] for key in range(5_000)])
    looked_at: list[int] = []

    def counted(keys: NDArray[np.int64], _: object) -> NDArray[np.float64]:
        looked_at.append(len(keys))
        return np.ones(len(keys))

    keys, _ = index.top(["common", "rare"], 3, factors=counted, most=1.0)
    assert keys.tolist() == [0, 100, 200]
    assert sum(looked_at) < 300


def test_a_document_added_later_can_win_with_more_repetitions_than_any_before() -> None:
    whole, *others = several(Weighting.LUCENE)
    whole.update_many(range(500), [["a", "b", f"c{key}"] for key in range(500)], [(1.0,)] * 500)
    assert same_answers(whole, others, ["a", "c3"], 1)
    whole.add(900, ["a"] * 40, (1.0,))
    assert same_answers(whole, others, ["a", "c3"], 2)
    assert same_answers(whole, others, ["a"], 1)
    assert whole.top(["a"], 1)[0].tolist() == [900]
