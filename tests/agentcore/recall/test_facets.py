"""Filters are judged by columns exactly as by the entries themselves, whatever came and went."""

from datetime import UTC, datetime, timedelta
from random import Random

import numpy as np
import pytest

from agentcore.domain import Confidence, Level, MemoryEntry, Pattern, RecallFilter, Scope, SubjectTime, to_micros
from agentcore.errors import InvalidInputError, InvalidOptionsError
from agentcore.hosting import MemoryOptions, recall_filter
from agentcore.recall import Facets, admits, facets as module
from agentcore.stores import FacetRow
from agentcore.testing.contracts.samples import of_level

NOON = datetime(2025, 6, 14, 12, tzinfo=UTC)
TIMES = (None, "2024", "2025-02; 1995..2003", "2020..?")
FILTERS = (
    RecallFilter(),
    RecallFilter(category="people"),
    RecallFilter(category="people/ana", level=Level.DERIVED),
    RecallFilter(tags=("a", "b")),
    RecallFilter(any_tags=("a", "z")),
    RecallFilter(tags=("b",), any_tags=("z",)),
    RecallFilter(created_after=NOON - timedelta(days=3), seen_before=NOON - timedelta(days=1)),
    RecallFilter(pattern=Pattern.PREFERENCE),
    RecallFilter(confidence=Confidence.LOW),
    RecallFilter(confidence=Confidence.HIGH),
    RecallFilter(created_before=NOON - timedelta(days=3), seen_after=NOON - timedelta(days=2)),
    RecallFilter(about=SubjectTime.parse("2001")),
    RecallFilter(about=SubjectTime.parse("2024-11..2025-01")),
)


def an_entry(key: int, random: Random) -> MemoryEntry:
    time = random.choice(TIMES)
    return MemoryEntry(
        id=str(key),
        scope=Scope.default(),
        content="tea",
        category=random.choice(["people", "people/ana", "peoples", "places"]),
        tags=tuple(tag for tag in "abz" if random.random() < 0.4),
        **of_level(random.choice(list(Level))),
        subject_time=None if time is None else SubjectTime.parse(time),
        created_at=NOON - timedelta(days=random.randrange(6)),
        recorded_at=NOON,
        last_seen_at=NOON - timedelta(days=random.randrange(4)),
    )


def row(key: int, one: MemoryEntry, *, live: bool = True) -> FacetRow:
    time = None if one.subject_time is None else str(one.subject_time)
    created, seen = to_micros(one.created_at), to_micros(one.last_seen_at)
    kind = {"pattern": one.pattern, "confidence": one.confidence}
    return FacetRow(key, one.category, one.tags, one.level, time, created, seen, live, **kind)


def test_columns_admit_what_the_entries_themselves_would(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "_WASTE", 5)
    random, facets, here = Random(7), Facets(), dict[int, MemoryEntry]()
    for step in range(300):
        key = random.randrange(60)
        if random.random() < 0.65:
            here[key] = an_entry(key, random)
            facets.take([row(key, here[key])])
        elif random.random() < 0.5:
            facets.drop([key, 999])
            here.pop(key, None)
        else:
            facets.take([row(key, an_entry(key, random), live=False)])
            here.pop(key, None)
        if step % 20 == 0:
            facets.tidy()
            keys = np.array(random.sample(range(70), 70))
            for where in FILTERS:
                wanted = [key in here and admits(where, here[key]) for key in keys.tolist()]
                assert facets.admitting(where)(keys).tolist() == wanted
                every = sorted(key for key, one in here.items() if admits(where, one))
                assert sorted(facets.admitting(where).keys().tolist()) == every
    assert 0 < facets.nbytes < 100_000
    facets.restart()
    assert not facets.admitting(RecallFilter())(np.array([1, 2])).any()


def test_places_of_the_departed_are_given_back(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "_WASTE", 5)
    random, facets = Random(7), Facets()
    facets.take(row(key, an_entry(key, random)) for key in range(100))
    facets.drop(range(90))
    before = facets.nbytes
    assert facets.tidy() is False
    assert facets.nbytes < before / 2
    assert facets.admitting(RecallFilter())(np.array([89, 90, 99])).tolist() == [False, True, True]


@pytest.mark.parametrize(
    ("conditions", "complaint"),
    [
        ({"level": "rumour"}, "explicit, derived, deductive, inductive"),
        ({"pattern": "rumour"}, "preference, behavior, personality, tendency, correlation"),
        ({"confidence": "rumour"}, "low, medium, high"),
        ({"about": "soon"}, "not a subject time"),
        ({"seen_after": datetime(2025, 1, 1)}, "time zone"),  # noqa: DTZ001 - the point
    ],
)
def test_conditions_that_cannot_be_read_are_refused(conditions: dict[str, object], complaint: str):
    with pytest.raises(InvalidInputError, match=complaint):
        recall_filter(conditions)


def test_an_unknown_condition_is_refused_by_name():
    with pytest.raises(TypeError, match="no argument 'mood'"):
        recall_filter({"mood": "good"})


@pytest.mark.parametrize("bad", [{"recency_weight": 1.0}, {"recency_half_life": timedelta(0)}, {"phrase_weight": -0.1}])
def test_weights_without_meaning_are_refused(bad: dict[str, object]):
    with pytest.raises(InvalidOptionsError):
        MemoryOptions(**bad)
