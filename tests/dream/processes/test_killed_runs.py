"""A process killed at a random point of its work: nothing is lost, nothing doubled, and doing it again completes it."""

import os
import random
from pathlib import Path

import pytest
from killing import Databases, ForkServer, Grave

from tests.postgres_server import Server

POINTS = 9
ON_POSTGRES = POINTS if os.environ.get("AGENTCORE_POSTGRES") == "all" else 3


@pytest.mark.parametrize("seed", range(5))
async def test_a_dream_killed_anywhere_is_completed_by_the_next(server: ForkServer, tmp_path: Path, seed: int):
    grave = Grave(server, tmp_path)
    deaths = [grave.kill_somewhere(random.Random(f"dream {seed} {point}")) for point in range(POINTS)]
    assert [death for death in deaths if death.faults] == []
    assert sum(death.was_killed for death in deaths) > POINTS / 2


@pytest.mark.parametrize("seed", range(2))
async def test_an_undo_killed_anywhere_is_completed_by_repeating_it(server: ForkServer, tmp_path: Path, seed: int):
    grave = Grave(server, tmp_path, work="undo")
    deaths = [grave.kill_somewhere(random.Random(f"undo {seed} {point}")) for point in range(POINTS)]
    assert [death for death in deaths if death.faults] == []
    assert sum(death.was_killed for death in deaths) > POINTS / 2


@pytest.mark.parametrize("work", ["dream", "undo"])
async def test_work_on_postgresql_killed_anywhere_is_completed_by_repeating_it(
    server: ForkServer, postgres_server: Server, worker_id: str, tmp_path: Path, work: str
):
    grave = Grave(server, tmp_path, work=work, databases=Databases(postgres_server, f"grave_{worker_id}"))
    deaths = [grave.kill_somewhere(random.Random(f"{work} on a server {point}")) for point in range(ON_POSTGRES)]
    assert [death for death in deaths if death.faults] == []
    assert sum(death.was_killed for death in deaths) > ON_POSTGRES / 2


def test_a_dream_that_is_killed_again_and_again_ends_as_if_it_had_not_been(server: ForkServer, tmp_path: Path):
    grave = Grave(server, tmp_path)
    faults, lives = grave.kill_repeatedly(random.Random(7))
    assert faults == []
    assert lives > 2
