"""A dream whose process dies loses nothing, doubles nothing, and is gone on with."""

from pathlib import Path

import pytest

from tests.bench.kill import kill_often

KILLS = 50


@pytest.mark.parametrize("seed", [1, 2])
def test_whatever_instant_a_dream_is_killed_at_the_next_one_leaves_what_an_uninterrupted_one_leaves(
    tmp_path: Path, seed: int
):
    deaths = kill_often(KILLS // 2, seed, tmp_path)
    assert deaths.wrong == []
    assert deaths.met["killed"] >= KILLS // 4
