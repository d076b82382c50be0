"""A forget or an erasure that is killed has happened wholly or not at all."""

from tests.bench.forget_kills import kills


def test_a_killed_forget_or_erasure_is_whole_or_nothing():
    assert kills(4, seed=2).total() == 4
