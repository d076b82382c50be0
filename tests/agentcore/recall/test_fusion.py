import numpy as np
from hypothesis import given, settings, strategies as st

from agentcore.recall import DenseIndex, Similarities, fuse, pack
from agentcore.stores import IndexRow

_numbers = st.lists(st.floats(-100, 100), min_size=3, max_size=3)


def _row(key: int, text: str, *, live: bool = True) -> IndexRow:
    return IndexRow(key, text, 0.5, 0, live)


@given(
    words=st.dictionaries(st.integers(1, 12), st.floats(0.01, 50), max_size=8),
    cosines=st.dictionaries(st.integers(1, 14), st.floats(-1, 1), max_size=8),
    weight=st.floats(0.01, 0.99),
)
def test_fused_scores_are_the_sum_of_two_min_max_scales(
    words: dict[int, float], cosines: dict[int, float], weight: float
):
    keys = list(range(1, 11))
    found = np.array(list(words), np.int64), np.array(list(words.values()), np.float64)
    near = sorted(cosines)
    similar = Similarities(np.array(near, np.int64), np.array([cosines[key] for key in near], np.float64))
    fused = fuse(np.array(keys), found, similar, weight)
    low, high = (min(cosines.values()), max(cosines.values())) if cosines else (0.0, 0.0)
    for place, key in enumerate(keys):
        wanted = (1 - weight) * words.get(key, 0.0) / max(words.values(), default=1.0)
        if key in cosines and high > low:
            wanted += weight * (cosines[key] - low) / (high - low)
        assert abs(fused.relevance[place] - wanted) < 1e-9
        assert np.isnan(fused.cosines[place]) == (key not in cosines)


def test_nothing_to_fuse_is_no_fault():
    none = np.array([], np.int64), np.array([], np.float64)
    assert len(fuse(none[0], none, Similarities(*none), 0.3).relevance) == 0
    assert fuse(np.array([4]), none, Similarities(*none), 0.3).relevance.tolist() == [0.0]


@settings(max_examples=60)
@given(
    steps=st.lists(st.tuples(st.sampled_from(["take", "drop", "retire"]), st.integers(1, 6), st.integers(1, 4))),
    vectors=st.fixed_dictionaries(dict.fromkeys(range(1, 5), _numbers)),
    query=_numbers,
)
def test_similarities_are_those_of_the_live_texts_alone(
    steps: list[tuple[str, int, int]], vectors: dict[int, list[float]], query: list[float]
):
    index, texts = DenseIndex(), dict[int, int]()
    index.expect(3)
    for step, key, text in steps:
        if step == "drop":
            index.drop([key])
        else:
            index.take([_row(key, f"text {text}", live=step == "take")])
        texts |= {key: text}
        if step != "take":
            del texts[key]
        wanted = index.unlooked(9)
        index.attach({digest: pack([vectors[texts[key]]])[0] for key, digest in wanted.items()})
    found = index.similarities(query)
    assert found.keys.tolist() == sorted(texts)
    for key, cosine in zip(found.keys.tolist(), found.cosines.tolist(), strict=True):
        one, other = np.array(vectors[texts[key]]), np.array(query)
        lengths = np.linalg.norm(one) * np.linalg.norm(other)
        assert lengths < 1e-100 or abs(cosine - one @ other / lengths) < 1e-5


def test_another_length_looks_for_every_vector_anew():
    index = DenseIndex()
    index.take([_row(1, "tea"), _row(2, "tea"), _row(3, "coffee")])
    index.expect(2)
    tea = index.unlooked(1)[1]
    index.attach({tea: pack([[1.0, 0.0]])[0]})
    index.looked([1, 2, 3])
    assert (list(index.unlooked(9)), list(index.wanting(9))) == ([], [3])
    index.expect(3)
    index.attach({tea: pack([[1.0, 0.0]])[0]})
    assert list(index.unlooked(9)) == [1, 2, 3]
    assert index.similarities([1.0, 0.0, 0.0]).keys.tolist() == []
