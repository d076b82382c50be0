from collections import Counter

import numpy as np
from hypothesis import given, strategies as st

from agentcore.recall import first_places, numbered, runs

numbers = st.lists(st.integers(-3, 9) | st.integers(-(2**63), 2**63 - 1), max_size=30)


@given(numbers)
def test_distinct_numbers_come_in_order_with_how_often_they_stand_there(items: list[int]) -> None:
    distinct, counts = runs(np.array(sorted(items), dtype=np.int64))
    assert dict(zip(distinct.tolist(), counts.tolist(), strict=True)) == Counter(items)
    assert distinct.tolist() == sorted(set(items))


@given(numbers)
def test_each_item_knows_the_place_of_its_number_and_each_number_that_of_its_first_item(items: list[int]) -> None:
    distinct, places = numbered(np.array(items, dtype=np.int64))
    assert distinct.tolist() == sorted(set(items))
    assert distinct[places].tolist() == items
    assert first_places(np.array(items, dtype=np.int64)).tolist() == [items.index(one) for one in sorted(set(items))]
