"""How candidates are put into calls."""

from hypothesis import given, strategies as st

from dream.passes.memory_consolidation import AlikePair, Bounds, beside, fill, gather, linked

IDS = [f"r{place:02}" for place in range(14)]

weights = st.dictionaries(st.sampled_from(IDS), st.integers(1, 9), min_size=1)
pairs = st.lists(
    st.builds(AlikePair.of, st.sampled_from(IDS), st.sampled_from(IDS), st.floats(0.1, 1)).filter(
        lambda pair: pair.one != pair.other
    ),
    max_size=30,
)
bounds = st.builds(Bounds, entries=st.integers(1, 8), tokens=st.integers(9, 30))


@given(weights, pairs, bounds)
def test_every_record_is_in_one_group_and_no_group_is_too_large(
    weights: dict[str, int], pairs: list[AlikePair], bounds: Bounds
):
    groups = gather(weights, pairs, bounds)
    assert sorted(one for group in groups for one in group) == sorted(weights)
    assert all(bounds.hold(len(group), sum(weights[one] for one in group)) for group in groups)


@given(weights, pairs, bounds)
def test_calls_hold_whole_groups_and_no_call_is_too_large(
    weights: dict[str, int], pairs: list[AlikePair], bounds: Bounds
):
    groups = gather(weights, pairs, bounds)
    calls = fill(groups, weights, bounds)
    assert sorted(one for call in calls for one in call) == sorted(weights)
    assert all(bounds.hold(len(call), sum(weights[one] for one in call)) for call in calls)
    home = {one: number for number, call in enumerate(calls) for one in call}
    assert all(len({home[one] for one in group}) == 1 for group in groups)


@given(weights, pairs, bounds)
def test_who_stands_beside_a_call_is_no_member_of_it_and_fits(
    weights: dict[str, int], pairs: list[AlikePair], bounds: Bounds
):
    calls = fill(gather(weights, pairs, bounds), weights, bounds)
    for call, guests in zip(calls, beside(calls, pairs, weights, bounds), strict=True):
        assert set(call).isdisjoint(guests)
        assert len(set(guests)) == len(guests)
        shown = [*call, *guests]
        assert bounds.hold(len(shown), sum(weights[one] for one in shown))


@given(weights, pairs, bounds, st.randoms())
def test_the_order_of_the_pairs_changes_nothing(
    weights: dict[str, int], pairs: list[AlikePair], bounds: Bounds, chance: object
):
    shuffled = list(pairs)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    assert gather(weights, shuffled, bounds) == gather(weights, pairs, bounds)


@given(weights, pairs)
def test_with_room_enough_groups_are_what_hangs_together(weights: dict[str, int], pairs: list[AlikePair]):
    groups = gather(weights, pairs, Bounds(entries=99, tokens=999))
    home = {one: group for group in groups for one in group}
    assert all(home[pair.one] == home[pair.other] for pair in pairs if {pair.one, pair.other} <= weights.keys())
    assert linked(list(weights), pairs) == sorted(tuple(sorted(group)) for group in groups if len(group) > 1)


def test_a_group_that_is_too_large_is_cut_where_it_is_least_alike():
    # In the order of ids the cut would fall between the twins b and c.
    chain = [AlikePair.of("a", "b", 0.3), AlikePair.of("b", "c", 0.9), AlikePair.of("c", "d", 0.2)]
    assert gather(dict.fromkeys("abcd", 1), chain, Bounds(entries=2, tokens=9)) == [("a",), ("b", "c"), ("d",)]


def test_five_duplicates_in_groups_of_two_leave_four_with_a_twin():
    alike = [AlikePair.of(one, other, 0.9) for one in "abcde" for other in "abcde" if one < other]
    groups = gather(dict.fromkeys("abcde", 1), alike, Bounds(entries=2, tokens=9))
    assert sorted(map(len, groups)) == [1, 2, 2]
