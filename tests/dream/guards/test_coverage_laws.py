"""Laws of the coverage guard, on sentences put together at random."""

from random import Random

from hypothesis import given, settings, strategies as st

from dream.guards import builtin_vocabulary, coverage

_NAMES = ["Ana", "Rui", "Miso", "Kestrel", "Porto", "Malmö", "Halden", "Nadia"]
_DETAILS = [
    "Quillon",
    "17",
    "2031-03-04",
    "`make x`",
    "https://x.example/a",
    "a@b.example",
    "hal-07",
    "19:45",
    "ZQX",
    "€88",
]

_sentences = st.lists(
    st.builds(
        "{} {} {} on {} with {}.".format,
        st.sampled_from(_NAMES),
        st.sampled_from(["works", "does not work", "never eats", "waits", "pays 60 euros"]),
        st.sampled_from(["at home", "near the river", "in room 4B", "after lunch"]),
        st.sampled_from(["Monday", "1 May 2025", "2025-06-02", "12 March"]),
        st.sampled_from(_NAMES),
    ),
    min_size=1,
    max_size=5,
)


@settings(deadline=None)
@given(_sentences, st.randoms(use_true_random=False))
def test_the_sources_in_any_order_are_a_faithful_merge(sentences: list[str], random: Random):
    shuffled = random.sample(sentences, len(sentences))
    assert coverage(sentences, " ".join(shuffled), builtin_vocabulary()).faithful


@settings(deadline=None)
@given(_sentences, st.sampled_from(_DETAILS), st.integers(0, 4))
def test_any_single_detail_that_is_dropped_is_lost(sentences: list[str], detail: str, place: int):
    at = place % len(sentences)
    sources = [*sentences[:at], f"{sentences[at][:-1]} and {detail}.", *sentences[at + 1 :]]
    found = coverage(sources, " ".join(sentences), builtin_vocabulary())
    assert (len(found.lost), len(found.invented)) == (1, 0)


@settings(deadline=None)
@given(_sentences, st.sampled_from(_DETAILS), st.integers(0, 4))
def test_any_single_detail_that_is_added_is_invented(sentences: list[str], detail: str, place: int):
    at = place % len(sentences)
    merged = [*sentences[:at], f"{sentences[at][:-1]} and {detail}.", *sentences[at + 1 :]]
    found = coverage(sentences, " ".join(merged), builtin_vocabulary())
    assert (len(found.lost), len(found.invented)) == (0, 1)


@settings(deadline=None)
@given(_sentences, _sentences)
def test_asking_twice_or_repeating_a_source_changes_nothing(sources: list[str], merged: list[str]):
    text = " ".join(merged)
    once = coverage(sources, text, builtin_vocabulary())
    assert once == coverage(sources, text, builtin_vocabulary())
    assert once == coverage([*sources, *sources], text, builtin_vocabulary())


@settings(deadline=None)
@given(st.text(max_size=200))
def test_every_text_is_a_faithful_merge_of_itself(text: str):
    assert coverage([text], text, builtin_vocabulary()).faithful


@settings(deadline=None)
@given(st.text(max_size=120), st.text(max_size=120))
def test_what_one_text_loses_of_another_the_other_invents(one: str, other: str):
    there, back = coverage([one], other, builtin_vocabulary()), coverage([other], one, builtin_vocabulary())
    assert {item.key for item in there.lost} == {item.key for item in back.invented}
