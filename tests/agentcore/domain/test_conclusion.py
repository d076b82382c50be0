"""Conclusions: what counts as an occasion, and how sure a pattern is by them."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given, strategies as st

from agentcore.domain import Confidence, Level, Pattern, Premise
from agentcore.domain.conclusion import confidence_of, footing_of, occasions
from agentcore.errors import InvalidContentError
from agentcore.testing.contracts.samples import DAY, START, a_deduction, a_pattern, a_premise, an_entry

premises = st.lists(
    st.builds(
        lambda number, hours, session, against: Premise(
            str(number), "k", START + timedelta(hours=hours), session, against
        ),
        st.integers(0, 20),
        st.integers(0, 200),
        st.sampled_from(["", "s1", "s2", "s3"]),
        st.booleans(),
    ),
    max_size=14,
)


def on_days(*days: int, against: bool = False) -> list[Premise]:
    return [a_premise(f"{day}{against}", said_at=START + day * DAY, against=against) for day in days]


def test_two_things_said_in_one_session_on_one_day_are_one_occasion():
    both = [a_premise("a", session="s1"), a_premise("b", session="s1", said_at=START + timedelta(hours=23))]
    assert occasions(both) == 1
    assert occasions([both[0], a_premise("b", session="s2")]) == 2
    assert occasions([both[0], replace(both[1], said_at=START + DAY)]) == 2


def test_what_was_said_every_few_hours_is_an_occasion_a_day():
    assert occasions([a_premise(str(n), said_at=START + n * timedelta(hours=9)) for n in range(9)]) == 3


@pytest.mark.parametrize(
    ("pro", "contra", "wanted"),
    [(1, 0, None), (2, 0, "low"), (3, 0, "medium"), (4, 0, "medium"), (5, 0, "high"), (3, 1, "low"), (3, 2, None),
     (8, 3, "medium"), (8, 2, "high"), (9, 5, None), (6, 1, "high"), (5, 1, "medium")],
)  # fmt: skip
def test_confidence_counts_occasions_for_minus_against_and_asks_for_a_clear_majority(
    pro: int, contra: int, wanted: str | None
):
    found = confidence_of([*on_days(*range(pro)), *on_days(*range(50, 50 + contra), against=True)])
    assert found == (None if wanted is None else Confidence(wanted))


def test_one_premise_is_no_pattern_whatever_its_occasions():
    assert confidence_of([a_premise("a"), a_premise("a", session="s2")]) is None


_SURENESS = [None, Confidence.LOW, Confidence.MEDIUM, Confidence.HIGH]


@given(premises, st.data())
def test_taking_evidence_away_never_makes_a_pattern_surer(given_: Sequence[Premise], data: st.DataObject):
    ayes = [one for one in given_ if not one.against]
    left = [one for one in ayes if data.draw(st.booleans())]
    noes = [one for one in given_ if one.against]
    assert occasions(left) <= occasions(ayes)
    assert _SURENESS.index(confidence_of([*left, *noes])) <= _SURENESS.index(confidence_of(given_))


@given(st.permutations(on_days(0, 1, 5) + on_days(3, against=True)))
def test_order_changes_nothing(some: list[Premise]):
    assert confidence_of(some) is Confidence.LOW


def test_a_deduction_stands_on_all_its_premises_and_a_pattern_on_two_occasions():
    given_ = on_days(0, 2, 4)

    def without(*ids: str) -> Callable[[Premise], bool]:
        return lambda one: one.entry_id not in ids

    assert footing_of(given_, without(), is_pattern=False).stands
    lacking = footing_of(given_, without("2False"), is_pattern=False)
    assert (lacking.stands, lacking.missing) == (False, "2False")
    assert footing_of(given_, without("2False"), is_pattern=True).confidence is Confidence.LOW
    assert not footing_of(given_, without("2False", "0False"), is_pattern=True).stands


def test_conclusions_and_nothing_else_have_premises():
    a_deduction("a", "p")
    a_pattern("b", "p", "q")
    for level, fields in (
        (Level.DEDUCTIVE, {}),
        (Level.EXPLICIT, {"premises": (a_premise("p"),)}),
        (Level.INDUCTIVE, {"premises": (a_premise("p"),)}),
        (Level.DERIVED, {"pattern": Pattern.BEHAVIOR, "confidence": Confidence.LOW}),
    ):
        with pytest.raises(InvalidContentError):
            an_entry("c", level=level, **fields)
