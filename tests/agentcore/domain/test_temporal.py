"""Temporal merge: distinct counts, sticky marks, and laws that hold in any order and grouping."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest
from hypothesis import given, strategies as st

from agentcore.domain import (
    Level,
    MemoryEntry,
    Scope,
    SourceKind,
    SourceRef,
    Status,
    SubjectTime,
    Temporal,
    Trust,
    absorb,
    foldable,
    merge_observations,
    merged_fields,
)
from agentcore.errors import InvalidContentError

START = datetime(2025, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)
MARK = "requires_user_permission"


def entry(entry_id: str = "a", day: int = 0, **fields: Any) -> MemoryEntry:
    start = START + day * DAY
    values: dict[str, Any] = {"created_at": start, "recorded_at": start, "last_seen_at": start, **fields}
    return MemoryEntry(id=entry_id, scope=Scope.default(), content="Ana likes tea", **values)


def about(text: str | None) -> SubjectTime | None:
    return None if text is None else SubjectTime.parse(text)


_IDS = st.sampled_from("abcdefg")
_INSTANTS = st.integers(0, 500).map(lambda days: START + days * DAY)
_OBSERVATIONS = st.dictionaries(_IDS, st.integers(1, 9), max_size=5).map(lambda counts: tuple(sorted(counts.items())))
_SUBJECTS = st.sampled_from([None, "2019", "2019-06", "2019-07", "2020", "1995..2003", "2001..?", "?..2003"]).map(about)
_METADATA = st.dictionaries(st.sampled_from(["color", "place", MARK]), st.sampled_from(["true", "false", "x"]))
parts = st.builds(
    Temporal,
    created_at=_INSTANTS,
    last_seen_at=_INSTANTS,
    base=st.floats(0, 1),
    observations=_OBSERVATIONS,
    subject_time=_SUBJECTS,
)


@st.composite
def entries(draw: st.DrawFn, ids: st.SearchStrategy[str] = _IDS, trust: Trust | None = None) -> MemoryEntry:
    entry_id = draw(ids)
    return entry(
        entry_id,
        created_at=draw(_INSTANTS),
        last_seen_at=draw(_INSTANTS),
        base=draw(st.floats(0, 1)),
        own_count=draw(st.integers(1, 9)),
        absorbed=tuple(pair for pair in draw(_OBSERVATIONS) if pair[0] != entry_id),
        subject_time=draw(_SUBJECTS),
        tags=tuple(sorted(draw(st.sets(st.sampled_from(["home", "work", "travel"]))))),
        metadata=draw(_METADATA),
        trust=draw(st.sampled_from(Trust)) if trust is None else trust,
        pinned=draw(st.booleans()),
        sources=tuple(sorted(SourceRef(SourceKind.TURN, one) for one in draw(st.sets(_IDS, max_size=2)))),
    )


copies = st.lists(entries(), max_size=5, unique_by=lambda one: one.id)
peers = st.lists(entries(trust=Trust.STATED), max_size=5, unique_by=lambda one: one.id)


# --- observations -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given_counts", "expected"),
    [
        ([], ()),
        ([[("b", 2), ("a", 1)]], (("a", 1), ("b", 2))),
        ([[("a", 1)], [("a", 1)]], (("a", 1),)),
        ([[("a", 1)], [("a", 4)], [("a", 3)]], (("a", 4),)),
        ([[("a", 0)]], ()),
    ],
)
def test_one_source_is_counted_once_with_its_largest_count(
    given_counts: list[list[tuple[str, int]]], expected: tuple[tuple[str, int], ...]
) -> None:
    assert merge_observations(given_counts) == expected


@given(_OBSERVATIONS, _OBSERVATIONS, _OBSERVATIONS)
def test_joining_observations_is_associative_commutative_and_idempotent(
    one: tuple[tuple[str, int], ...], two: tuple[tuple[str, int], ...], three: tuple[tuple[str, int], ...]
) -> None:
    flat = merge_observations([one, two, three])
    assert merge_observations([merge_observations([one, two]), three]) == flat
    assert merge_observations([one, merge_observations([two, three])]) == flat
    assert merge_observations([three, one, two]) == flat
    assert merge_observations([one, one]) == one


@given(parts, parts, parts)
def test_temporal_merge_is_associative_commutative_and_idempotent(
    one: Temporal, two: Temporal, three: Temporal
) -> None:
    flat = Temporal.merge([one, two, three])
    assert Temporal.merge([Temporal.merge([one, two]), three]) == flat
    assert Temporal.merge([one, Temporal.merge([two, three])]) == flat
    assert Temporal.merge([three, one, two]) == flat
    assert Temporal.merge([one, one]) == one
    assert Temporal.merge([flat, two]) == flat


# --- absorbing copies ---------------------------------------------------------------------------------------


def test_a_survivor_takes_the_widest_of_dates_and_the_largest_of_numbers() -> None:
    survivor = entry("a", 5, base=0.4, own_count=2, last_seen_at=START + 6 * DAY)
    result = absorb(survivor, [entry("b", 1, base=0.7, own_count=3), entry("c", 9, base=0.2)])
    assert result.created_at == START + 1 * DAY
    assert result.last_seen_at == START + 9 * DAY
    assert result.base == result.importance == 0.7
    assert (result.own_count, result.absorbed) == (2, (("b", 3), ("c", 1)))
    assert result.reinforcement_count == 6


def test_a_survivor_keeps_what_makes_it_itself() -> None:
    survivor = entry("a", 5, category="people/ana", updated_at=START, version=7, trust=Trust.INFERRED)
    copy = entry("b", 1, category="People/Ana", updated_at=START + DAY, version=9, trust=Trust.CONFIRMED)
    result = absorb(survivor, [replace(copy, content="ana likes TEA.")])
    for name in (
        "id",
        "scope",
        "content",
        "category",
        "level",
        "trust",
        "status",
        "version",
        "updated_at",
        "recorded_at",
    ):
        assert getattr(result, name) == getattr(survivor, name)


def test_a_source_reached_through_two_merges_is_counted_once() -> None:
    shared = ("s", 4)
    result = absorb(entry("a"), [entry("b", absorbed=(shared,)), entry("c", absorbed=(shared, ("t", 1)))])
    assert result.absorbed == (("b", 1), ("c", 1), ("s", 4), ("t", 1))


def test_a_copy_that_once_absorbed_the_survivor_does_not_count_it_twice() -> None:
    result = absorb(entry("a", own_count=2), [entry("b", absorbed=(("a", 5),))])
    assert (result.own_count, result.absorbed) == (5, (("b", 1),))


def test_tags_and_sources_are_united_and_a_pin_holds() -> None:
    turns = [SourceRef(SourceKind.TURN, one) for one in "xy"]
    survivor = entry("a", tags=("tea",), sources=(turns[1],))
    copy = entry("b", tags=("ana", "tea"), sources=(turns[0], SourceRef(SourceKind.ENTRY, "a")), pinned=True)
    result = absorb(survivor, [copy])
    assert result.tags == ("ana", "tea")
    assert result.sources == tuple(sorted(turns))
    assert result.pinned


def test_missing_metadata_comes_from_the_oldest_copy_and_the_survivor_wins() -> None:
    survivor = entry("a", metadata={"color": "red"})
    older = entry("b", 1, metadata={"color": "blue", "place": "Lisbon"})
    newer = entry("c", 2, metadata={"place": "Porto", "mood": "calm"})
    expected = {"color": "red", "place": "Lisbon", "mood": "calm"}
    assert absorb(survivor, [newer, older]).metadata == expected
    assert absorb(survivor, [older, newer]).metadata == expected


@pytest.mark.parametrize(
    ("own", "copied", "expected"),
    [
        ({}, {MARK: "true"}, "true"),
        ({MARK: "false"}, {MARK: "true"}, "true"),
        ({MARK: "false"}, {MARK: "Yes"}, "true"),
        ({MARK: "TRUE"}, {MARK: "false"}, "TRUE"),
        ({MARK: "true"}, {}, "true"),
        ({MARK: "false"}, {}, "false"),
        ({}, {}, None),
    ],
)
def test_a_permission_mark_is_sticky(own: dict[str, str], copied: dict[str, str], expected: str | None) -> None:
    result = absorb(entry("a", metadata=own), [entry("b", metadata=copied)])
    assert result.metadata.get(MARK) == expected


def test_a_less_trusted_copy_adds_nothing_but_its_protections() -> None:
    survivor = entry("a", 5, base=0.4, trust=Trust.STATED, tags=("tea",), metadata={"color": "red"})
    stranger = entry(
        "b",
        1,
        base=0.9,
        own_count=50,
        last_seen_at=START + 99 * DAY,
        trust=Trust.UNTRUSTED,
        tags=("spam",),
        metadata={"place": "nowhere", MARK: "true"},
        subject_time=about("2031"),
        sources=(SourceRef(SourceKind.TURN, "x"),),
        absorbed=(("c", 3),),
        pinned=True,
    )
    assert absorb(survivor, [stranger]) == replace(survivor, pinned=True, metadata={"color": "red", MARK: "true"})


@pytest.mark.parametrize(
    ("own", "copied", "expected"),
    [
        (None, None, None),
        (None, "2019", "2019"),
        ("2019", "2019-06", "2019-06"),
        ("1995..2003", "1990..2000", "1990..2003"),
        ("2019", "1995..2003", "2019; 1995..2003"),
    ],
)
def test_subject_times_are_merged(own: str | None, copied: str | None, expected: str | None) -> None:
    result = absorb(entry("a", subject_time=about(own)), [entry("b", subject_time=about(copied))])
    assert result.subject_time == about(expected)


def test_absorbing_nothing_or_itself_changes_nothing() -> None:
    survivor = entry("a", own_count=3, absorbed=(("b", 2),), metadata={MARK: "yes"})
    assert absorb(survivor, []) == survivor
    assert absorb(survivor, [survivor]) == survivor


@given(entries(), copies, st.randoms(use_true_random=False))
def test_the_order_of_copies_changes_nothing(
    survivor: MemoryEntry, given_copies: list[MemoryEntry], random: Random
) -> None:
    shuffled = list(given_copies)
    random.shuffle(shuffled)
    assert absorb(survivor, shuffled) == absorb(survivor, given_copies)


@given(entries(), copies)
def test_absorbing_again_changes_nothing(survivor: MemoryEntry, given_copies: list[MemoryEntry]) -> None:
    once = absorb(survivor, given_copies)
    assert absorb(once, given_copies) == once
    assert absorb(survivor, [*given_copies, *given_copies]) == once


@given(entries(), copies)
def test_a_survivor_never_lists_itself_and_never_loses(survivor: MemoryEntry, given_copies: list[MemoryEntry]) -> None:
    result = absorb(survivor, given_copies)
    assert survivor.id not in dict(result.absorbed)
    assert result.reinforcement_count >= survivor.reinforcement_count
    assert result.trust == survivor.trust
    assert {**result.metadata, **survivor.metadata}.keys() == result.metadata.keys()


def _arithmetic(one: MemoryEntry) -> tuple[object, ...]:
    required = one.metadata.get(MARK) not in {None, "false"}
    return Temporal.of(one), one.tags, one.pinned, one.sources, required


@given(entries(ids=st.just("survivor"), trust=Trust.STATED), peers, st.integers(0, 5))
def test_one_fold_or_several_give_the_same_numbers(survivor: MemoryEntry, group: list[MemoryEntry], cut: int) -> None:
    at_once = absorb(survivor, group)
    in_steps = absorb(absorb(survivor, group[cut:]), group[:cut])
    nested = absorb(survivor, [absorb(group[0], group[1:])]) if group else survivor
    assert _arithmetic(in_steps) == _arithmetic(at_once)
    assert _arithmetic(nested) == _arithmetic(at_once)


# --- merging into a new entry -------------------------------------------------------------------------------


def test_a_merge_takes_over_what_its_sources_have() -> None:
    one = entry("a", 3, base=0.3, own_count=2, trust=Trust.CONFIRMED, tags=("x",), metadata={"k": "new"})
    two = entry(
        "b",
        1,
        base=0.6,
        absorbed=(("c", 4),),
        trust=Trust.INFERRED,
        tags=("y",),
        metadata={"k": "old", MARK: "true"},
    )
    fields = merged_fields([one, two])
    assert (fields.created_at, fields.last_seen_at) == (START + 1 * DAY, START + 3 * DAY)
    assert (fields.base, fields.trust, fields.pinned) == (0.6, Trust.INFERRED, False)
    assert fields.absorbed == (("a", 2), ("b", 1), ("c", 4))
    assert (fields.tags, fields.metadata) == (("x", "y"), {"k": "old", MARK: "true"})
    assert [str(source) for source in fields.sources] == ["entry:a", "entry:b"]


def test_a_merge_of_nothing_is_refused() -> None:
    with pytest.raises(InvalidContentError, match="names no source"):
        merged_fields([])


@given(
    st.lists(entries(), min_size=1, max_size=5, unique_by=lambda one: one.id),
    st.randoms(use_true_random=False),
)
def test_the_order_and_repetition_of_sources_change_nothing(sources: list[MemoryEntry], random: Random) -> None:
    shuffled = [*sources, *sources]
    random.shuffle(shuffled)
    assert merged_fields(shuffled) == merged_fields(sources)


@given(st.lists(entries(), min_size=1, max_size=5, unique_by=lambda one: one.id))
def test_trust_never_rises_and_permission_is_never_lost(sources: list[MemoryEntry]) -> None:
    fields = merged_fields(sources)
    assert all(fields.trust <= source.trust for source in sources)
    if any(source.metadata.get(MARK) == "true" for source in sources):
        assert fields.metadata[MARK] not in {"false", ""}


# --- what may be folded -------------------------------------------------------------------------------------


def test_the_same_text_in_another_form_may_be_folded() -> None:
    assert foldable(entry("a"), replace(entry("b"), content=" ANA likes  tea."))


@pytest.mark.parametrize(
    "change",
    [
        {"id": "a"},
        {"content": "Ana likes tea?"},
        {"category": "people"},
        {"level": Level.DERIVED},
        {"status": Status.ARCHIVED},
        {"status": Status.SUPERSEDED},
        {"subject_time": about("2020")},
        {"scope": Scope("other", "agent", "agent")},
    ],
)
def test_entries_that_differ_in_what_matters_are_not_folded(change: dict[str, Any]) -> None:
    one, other = entry("a", subject_time=about("2019")), entry("b")
    assert foldable(one, other)
    assert not foldable(one, replace(other, **change))
    assert not foldable(replace(other, **change), one)


@pytest.mark.parametrize(
    ("category", "protected", "expected"),
    [
        ("active-plans", ["active-plans"], False),
        ("active-plans/q3", ["active-plans"], False),
        ("Active-Plans/q3", ["active-plans/"], False),
        ("active-plans-old", ["active-plans"], True),
        ("people/active-plans", ["active-plans"], True),
        ("people", (), True),
    ],
)
def test_protected_categories_are_left_alone(category: str, protected: list[str], *, expected: bool) -> None:
    one, other = entry("a", category=category), entry("b", category=category.upper())
    assert foldable(one, other, protected) is expected


@given(entries(), entries())
def test_foldability_is_symmetric(one: MemoryEntry, other: MemoryEntry) -> None:
    assert foldable(one, other) == foldable(other, one)
