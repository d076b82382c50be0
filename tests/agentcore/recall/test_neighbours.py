import math
import random
from itertools import combinations

import pytest
from hypothesis import given, strategies as st

from agentcore.errors import InvalidOptionsError
from agentcore.recall import Bm25Index, Neighbour, QueryCost, Tokenizer, alike, clusters, similar

# A few terms are in nearly every document, most in few: without both there is nothing to leave out.
terms = st.one_of(st.sampled_from("ab"), st.sampled_from("abcdefghijkl"))
corpora = st.lists(st.lists(terms, max_size=8), min_size=1, max_size=14)
thresholds = st.one_of(st.sampled_from([0.25, 0.5, 0.6, 0.75, 1.0]), st.floats(0.01, 1.0))


def indexed(documents: list[list[str]], removed: set[int] | None = None, read: int = 0) -> Bm25Index:
    index = Bm25Index(cost=QueryCost(neighbours=read))
    for key, tokens in enumerate(documents):
        index.add(key, tokens)
    for key in removed or set():
        index.remove(key)
    return index


def likeness(live: dict[int, set[str]], one: int, other: int) -> float:
    """Weighted Jaccard similarity, spelled out."""

    def weight(held: set[str]) -> float:
        frequencies = [sum(term in tokens for tokens in live.values()) for term in held]
        return math.fsum(math.log(1 + (len(live) - df + 0.5) / (df + 0.5)) for df in frequencies)

    union = weight(live[one] | live[other])
    return weight(live[one] & live[other]) / union if union else 0.0


@given(corpora, st.sets(st.integers(1, 13), max_size=4), thresholds, st.sampled_from([0, 9, 16_000]))
def test_neighbours_are_those_of_comparing_with_every_document(
    documents: list[list[str]], removed: set[int], threshold: float, read: int
) -> None:
    index = indexed(documents, removed, read)
    live = {key: set(tokens) for key, tokens in enumerate(documents) if key not in removed}
    found = {neighbour.key: neighbour.similarity for neighbour in similar(index, 0, threshold, limit=100)}
    for other in live.keys() - {0}:
        expected = likeness(live, 0, other)
        if other in found:
            assert math.isclose(found[other], expected, abs_tol=1e-9)
            assert expected >= threshold - 1e-9
        else:
            assert expected < threshold + 1e-9
    assert found.keys() <= live.keys() - {0}


filed = st.lists(st.tuples(st.lists(terms, max_size=6), st.lists(terms, max_size=4)), min_size=2, max_size=14)


@given(filed, thresholds, st.sampled_from(["one by one", "at once", "compacted", "compacted meanwhile"]))
def test_what_a_text_is_filed_under_is_found_and_makes_it_no_likelier(
    documents: list[tuple[list[str], list[str]]], threshold: float, how: str
) -> None:
    index = Bm25Index()
    whole, besides = [text + filing for text, filing in documents], [len(filing) for _, filing in documents]
    if how == "compacted meanwhile":
        index.add(99, ["a"])
        index.remove(99)
        index.postings.compact_further()
    if how == "at once":
        index.update_many(range(len(documents)), whole, besides=besides)
    else:
        for key, (tokens, beside) in enumerate(zip(whole, besides, strict=True)):
            index.add(key, tokens, beside=beside)
    if how == "compacted":
        index.add(99, ["z", "b"], beside=1)
        index.remove(99)
    while how.startswith("compacted") and index.postings.dead:
        index.compact()
    held = [set(tokens) for tokens in whole]
    assert [set(index.terms_of(key)) for key in range(len(held))] == held
    frequencies = {term: sum(term in tokens for tokens in held) for tokens in held for term in tokens}
    weights = {term: math.log(1 + (len(held) - df + 0.5) / (df + 0.5)) for term, df in frequencies.items()}
    texts = [set(text) for text, _ in documents]
    found = {one.key: one.similarity for one in similar(index, 0, threshold, limit=100, text_alone=True)}
    for other in range(1, len(texts)):
        either = math.fsum(weights[term] for term in texts[0] | texts[other])
        expected = math.fsum(weights[term] for term in texts[0] & texts[other]) / either if either else 0.0
        if abs(expected - threshold) > 1e-9:
            assert (other in found) == (expected > threshold)
        assert math.isclose(found.get(other, expected), expected, abs_tol=1e-9)


@given(corpora, thresholds)
def test_being_near_is_mutual_to_the_last_bit(documents: list[list[str]], threshold: float) -> None:
    index = indexed(documents)
    pairs = {
        (key, neighbour.key, neighbour.similarity)
        for key in range(len(documents))
        for neighbour in similar(index, key, threshold, limit=100)
    }
    assert pairs == {(other, key, value) for key, other, value in pairs}


def test_prefixes_miss_nobody_in_a_larger_corpus() -> None:
    rng = random.Random(4)
    words = [f"w{number}" for number in range(400)]
    shares = [1 / (number + 3) for number in range(400)]
    documents = [rng.choices(words, shares, k=rng.randint(3, 15)) for _ in range(400)]
    for number in range(0, 400, 5):
        copy = documents[rng.randrange(400)][:]
        copy[rng.randrange(len(copy))] = rng.choice(words)
        documents[number] = copy
    index = indexed(documents)
    live = {key: set(tokens) for key, tokens in enumerate(documents)}
    frequencies = {term: sum(term in held for held in live.values()) for term in words}
    weights = {term: math.log(1 + (400 - df + 0.5) / (df + 0.5)) for term, df in frequencies.items()}

    def weight(held: set[str]) -> float:
        return sum(weights[term] for term in held)

    for key in range(0, 400, 7):
        for threshold in (0.2, 0.5, 0.8):
            expected = {
                other
                for other in live.keys() - {key}
                if weight(live[key] & live[other]) >= threshold * weight(live[key] | live[other])
            }
            assert {neighbour.key for neighbour in similar(index, key, threshold, limit=400)} == expected


def test_neighbours_come_nearest_first_then_by_key_and_no_more_than_asked_for() -> None:
    index = indexed([["a", "b", "c"], ["a", "b", "x"], ["a", "b", "c"], ["a", "b", "y"], ["a", "b", "c"], ["z"]])
    near = similar(index, 0, threshold=0.05)
    assert [neighbour.key for neighbour in near] == [2, 4, 1, 3]
    assert near[0] == Neighbour(2, 1.0)
    assert similar(index, 0, threshold=0.05, limit=3) == near[:3]
    assert similar(index, 0, limit=0) == []


@pytest.mark.parametrize(
    ("shared", "own", "threshold"),
    [(2, 1, 0.5), (3, 1, 0.6), (6, 1, 0.75), (2, 3, 0.25), (1, 1, 1 / 3), (7, 2, 7 / 11)],
)
def test_a_pair_exactly_at_the_threshold_is_near(shared: int, own: int, threshold: float) -> None:
    common = [f"s{number}" for number in range(shared)]
    first, second = ([f"{side}{number}" for number in range(own)] for side in "ab")
    # Every term is held twice, so all weigh the same and the similarity is a plain fraction.
    index = indexed([[*common, *first], [*common, *second], first, second])
    assert Neighbour(1, threshold) in similar(index, 0, threshold)


def test_a_document_holding_exactly_the_asked_share_of_another_is_near() -> None:
    halves = [list(pair) for pair in combinations("abcd", 2)]
    index = indexed([list("abcd"), *halves])
    assert similar(index, 0) == [Neighbour(key, 0.5) for key in range(1, 7)]


def test_how_often_a_document_repeats_a_term_does_not_matter() -> None:
    index = indexed([["a", "b"], ["a", "a", "a", "b"]])
    assert similar(index, 0) == [Neighbour(1, 1.0)]


def test_a_document_without_terms_has_no_neighbours() -> None:
    index = indexed([[], [], ["a"]])
    assert similar(index, 0) == []
    assert similar(index, 2, threshold=0.01) == []


def test_the_dead_and_the_unknown_have_no_neighbours() -> None:
    index = indexed([["a"], ["a"]], {1})
    assert similar(index, 0) == []
    with pytest.raises(KeyError):
        similar(index, 1)


@pytest.mark.parametrize("threshold", [0.0, -0.5, 1.01, math.nan])
def test_an_impossible_threshold_is_refused(threshold: float) -> None:
    with pytest.raises(InvalidOptionsError, match="threshold"):
        similar(indexed([["a"]]), 0, threshold)


def test_paraphrase_and_contradiction_are_both_candidates() -> None:
    tokenizer = Tokenizer()
    texts = [
        "Ana moved to Lisbon in May 2025 for a new job",
        "In May 2025, Ana was moving to Lisbon for her new job",
        "Ana moved to Porto in May 2025 for a new job",
        "Ben likes to cook pasta on Sundays",
    ]
    index = indexed([tokenizer.tokens(text) for text in texts])
    assert {neighbour.key for neighbour in similar(index, 0)} == {1, 2}


pair_lists = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=15)


@given(pair_lists, st.randoms(use_true_random=False))
def test_clusters_do_not_depend_on_the_order_of_pairs(pairs: list[tuple[int, int]], rng: random.Random) -> None:
    turned = [(other, one) if rng.random() < 0.5 else (one, other) for one, other in pairs]
    rng.shuffle(turned)
    assert clusters(turned) == clusters(pairs)


@given(pair_lists)
def test_linked_keys_share_a_cluster_and_no_key_is_in_two(pairs: list[tuple[int, int]]) -> None:
    found = clusters(pairs)
    home = {key: number for number, group in enumerate(found) for key in group}
    assert len(home) == sum(map(len, found))
    assert all(home[one] == home[other] for one, other in pairs if one != other)
    assert all(list(group) == sorted(group) and len(group) > 1 for group in found)
    assert found == sorted(found)


@given(pair_lists, st.integers(3, 6))
def test_large_clusters_are_cut_evenly(pairs: list[tuple[int, int]], max_size: int) -> None:
    cut = clusters(pairs, max_size=max_size)
    assert all(2 <= len(group) <= max_size for group in cut)
    assert sorted(key for group in cut for key in group) == sorted(key for group in clusters(pairs) for key in group)


def test_a_cluster_limit_below_two_is_refused() -> None:
    with pytest.raises(InvalidOptionsError, match="max_size"):
        clusters([(1, 2)], max_size=1)


@given(documents=corpora, threshold=thresholds)
def test_documents_are_alike_if_one_is_a_neighbour_of_the_other(documents: list[list[str]], threshold: float):
    index, keys = indexed(documents), range(len(documents))
    near = [
        (key, neighbour.key, neighbour.similarity)
        for key in keys
        for neighbour in similar(index, key, threshold, limit=len(documents))
        if key < neighbour.key
    ]
    assert alike(index, [*keys, 0], threshold) == sorted(near)
    assert alike(index, [], threshold) == []


@given(st.lists(st.lists(st.lists(terms, max_size=5), min_size=1, max_size=3), min_size=1, max_size=8), thresholds)
def test_records_in_parts_are_compared_whole_however_they_are_cut(records: list[list[list[str]]], threshold: float):
    index, documents = Bm25Index(), {}
    for record, parts in enumerate(records):
        for number, tokens in enumerate(parts):
            index.add(record << 20 | number, tokens)
            documents[record, number] = set(tokens)
    whole = {record: set[str]().union(*parts) for record, parts in enumerate(records)}

    def weight(terms_held: set[str]) -> float:
        frequencies = [sum(term in tokens for tokens in documents.values()) for term in terms_held]
        return math.fsum(math.log(1 + (len(documents) - df + 0.5) / (df + 0.5)) for df in frequencies)

    for one, held in whole.items():
        found = {near.key >> 20: near.similarity for near in similar(index, one << 20, threshold, limit=99, parts=True)}
        for other in whole.keys() - {one}:
            union = weight(held | whole[other])
            expected = weight(held & whole[other]) / union if union else 0.0
            assert (other in found) == (expected >= threshold) or math.isclose(expected, threshold, abs_tol=1e-9)
            assert math.isclose(found.get(other, expected), expected, abs_tol=1e-9)
        assert one not in found
    pairs = alike(index, [one << 20 for one in whole], threshold, parts=True)
    near = [
        (one << 20, found.key, found.similarity)
        for one in whole
        for found in similar(index, one << 20, threshold, limit=99, parts=True)
        if one << 20 < found.key
    ]
    assert [pair[:2] for pair in pairs] == sorted(pair[:2] for pair in near)
