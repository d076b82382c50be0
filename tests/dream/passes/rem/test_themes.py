"""Themes and truths have the published figures, and grow with what they count."""

from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from dream.passes.rem import Recollection, themes_of, truths_of


def one(name: str, *concepts: str, relevance: float = 1.0, hits: int = 1, days: int = 1, told: bool = False):
    return Recollection(
        entry_id=name,
        text=f"the text of number {name}",
        concepts=concepts,
        relevance=relevance,
        hits=hits,
        days=days,
        is_told=told,
    )


@pytest.mark.parametrize(
    ("relevance", "hits", "days", "tags", "confidence"),
    [
        (1.0, 6, 3, 6, 1.0),
        (0.0, 0, 0, 0, 0.0),
        (0.8, 1, 1, 4, 0.5824),  # .36 + .25 x .35621 + .0667 + .0667
        (0.5, 3, 2, 3, 0.5864),  # .225 + .25 x .71241 + .1333 + .05
        (1.0, 100, 30, 8, 1.0),  # each part is full
    ],
)
def test_confidence_has_the_figures_of_the_formula(
    relevance: float, hits: int, days: int, tags: int, confidence: float
):
    concepts = [f"c{n}" for n in range(tags)]
    assert one("a", *concepts, relevance=relevance, hits=hits, days=days).confidence == pytest.approx(
        confidence, abs=5e-5
    )


def test_strength_is_twice_the_share_and_weak_themes_are_not_told():
    recalled = [one("a", "bees"), one("b", "bees"), one("c", "bees", "boat"), *(one(str(n)) for n in range(5))]
    assert [(theme.concepts, theme.strength) for theme in themes_of(recalled, least=0.75, limit=9)] == [
        (("bees",), 0.75)
    ]
    assert themes_of([*recalled, one("z")], least=0.75, limit=9) == ()
    assert themes_of(recalled, least=0.75, limit=0) == ()


def test_what_stands_in_the_same_entries_is_one_theme_and_the_stronger_come_first():
    recalled = [one("a", "bees", "honey", "ana"), one("b", "honey", "bees"), one("c", "ana"), one("d", "ana", "boat")]
    found = themes_of(recalled, least=0.0, limit=9)
    assert [(theme.concepts, theme.entry_ids, theme.strength) for theme in found] == [
        (("ana",), ("a", "c", "d"), 1.0),
        (("bees", "honey"), ("a", "b"), 1.0),
    ]
    assert themes_of(recalled, least=0.0, limit=1) == found[:1]


def test_a_theme_takes_an_entry_that_was_not_told_before():
    told = [replace(entry, is_told=True) for entry in (one("a", "bees"), one("b", "bees"))]
    assert themes_of(told, least=0.0, limit=9) == ()
    assert len(themes_of([*told, one("c", "bees")], least=0.0, limit=9)) == 1


def test_three_truths_at_most_are_told_none_twice_and_none_again():
    same = [replace(one(name, relevance=0.9), text="Ana keeps bees in Porto") for name in "ab"]
    found = truths_of([*same, *(one(name) for name in "cdef"), one("g", told=True), one("h", relevance=0.2)], limit=9)
    assert [each.entry_id for each in found] == ["c", "d", "e"]
    assert [each.entry_id for each in truths_of(same, limit=9)] == ["a"]
    assert truths_of([one("h", relevance=0.2)], limit=9) == ()
    assert len(truths_of([one(name) for name in "cdef"], limit=2)) == 2


_ENTRIES = st.builds(
    one,
    st.text("abcdef", min_size=1, max_size=3),
    *[st.sampled_from(["bees", "boat", "honey"])] * 2,
    relevance=st.floats(0, 1),
    hits=st.integers(1, 40),
    days=st.integers(1, 9),
    told=st.booleans(),
)


@given(entry=_ENTRIES, more=st.sampled_from(["relevance", "hits", "days", "concepts"]))
def test_nothing_that_is_counted_lowers_confidence(entry: Recollection, more: str):
    raised = {
        "relevance": min(1.0, entry.relevance + 0.1),
        "hits": entry.hits + 1,
        "days": entry.days + 1,
        "concepts": (*entry.concepts, "more"),
    }
    higher = replace(entry, **{more: raised[more]})
    assert 0 <= entry.confidence <= higher.confidence + 1e-12 <= 1 + 1e-9


@given(recalled=st.lists(_ENTRIES, max_size=8, unique_by=lambda entry: entry.entry_id), least=st.floats(0, 1))
def test_themes_hold_what_they_say(recalled: list[Recollection], least: float):
    known = {entry.entry_id: entry for entry in recalled}
    found = themes_of(recalled, least=least, limit=5)
    assert len(found) <= 5
    assert [theme.strength for theme in found] == sorted((theme.strength for theme in found), reverse=True)
    for theme in found:
        assert len(theme.entry_ids) >= 2
        assert theme.strength == min(1.0, 2 * len(theme.entry_ids) / len(recalled)) >= least
        assert not all(known[entry_id].is_told for entry_id in theme.entry_ids)
        assert all(set(theme.concepts) <= set(known[entry_id].concepts) for entry_id in theme.entry_ids)
