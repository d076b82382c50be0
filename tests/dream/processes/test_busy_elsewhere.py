"""A dream in one process, and a person served by another."""

import time
from pathlib import Path
from statistics import quantiles

import pytest
from killing import Answer, ForkServer

_NOTICED = 1.0
_SLACK = 0.25  # for a step that has begun, and for a machine that does other things


def dreaming(server: ForkServer, folder: Path) -> int:
    """A process that has begun a run of some seconds, a step about every thirty milliseconds."""
    server.ask(folder=folder, work="fill", size=200)
    task = {"work": "dream_slowly", "step_size": 2, "pause": 0.01, "real_time": True, "wait": False}
    return int(server.ask(folder=folder, **task)["pid"])


def within(answer: Answer, start: float, end: float) -> list[float]:
    return [step for step in answer["steps"] if start < step < end]


def test_a_run_waits_within_a_second_for_a_person_served_elsewhere_and_goes_on_after(
    server: ForkServer, tmp_path: Path
):
    folder = tmp_path / "data"
    dreamer = dreaming(server, folder)
    time.sleep(0.5)
    served = server.ask(folder=folder, work="serve", seconds=2, real_time=True)
    answer = server.ask(join=dreamer)
    began, ended = served["began"], served["ended"]
    assert answer["outcome"] == "completed"
    assert len(within(answer, 0, began)) > 5
    assert within(answer, began + _NOTICED + _SLACK, ended) == []
    after = within(answer, ended, float("inf"))
    assert len(after) > 5
    noticed = max(within(answer, 0, ended)) - began
    print(f"noticed a turn elsewhere after {noticed * 1_000:.0f} ms, its end after {(after[0] - ended) * 1_000:.0f} ms")


def test_a_run_that_begins_while_a_person_is_served_elsewhere_takes_no_step_before_it_ends(
    server: ForkServer, tmp_path: Path
):
    folder = tmp_path / "data"
    server.ask(folder=folder, work="fill")
    person = server.ask(folder=folder, work="serve", seconds=2, real_time=True, wait=False)["pid"]
    time.sleep(0.5)
    answer = server.ask(folder=folder, work="dream_slowly", pause=0.01, real_time=True)
    served = server.ask(join=person)
    # It takes the lease and opens its run; nothing more.
    assert len(within(answer, 0, served["ended"])) == 3
    assert answer["changes"] > 0


def test_a_run_goes_on_when_the_process_that_served_a_person_is_killed(server: ForkServer, tmp_path: Path):
    folder = tmp_path / "data"
    dreamer = dreaming(server, folder)
    person = server.ask(folder=folder, work="serve", seconds=60, real_time=True, wait=False)["pid"]
    time.sleep(1.5)
    server.ask(kill=person)
    killed = time.time()
    answer = server.ask(join=dreamer)
    assert answer["outcome"] == "completed"
    assert within(answer, killed - 0.5, killed) == []
    after = within(answer, killed, float("inf"))
    assert len(after) > 5
    assert after[0] - killed < _NOTICED + _SLACK  # far below the half minute that an announcement lasts
    print(f"went on {(after[0] - killed) * 1_000:.0f} ms after the kill")


@pytest.mark.parametrize("times", [1_000])
def test_a_storm_of_turns_costs_hardly_a_write_and_no_turn_waits(server: ForkServer, tmp_path: Path, times: int):
    answer = server.ask(folder=tmp_path / "data", work="storm", times=times, real_time=True)
    took = quantiles(answer["milliseconds"], n=100)
    print(f"entering a turn: p50 {took[49] * 1_000:.0f} us, p99 {took[98] * 1_000:.0f} us; {answer['writes']} writes")
    assert answer["writes"] <= 2 + answer["seconds"] / 10
    assert took[49] < 1
