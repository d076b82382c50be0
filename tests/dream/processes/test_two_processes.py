"""Two processes on one scope."""

import time
from pathlib import Path
from statistics import median
from typing import Any

from killing import Answer, ForkServer


def filled(server: ForkServer, folder: Path, **task: Any) -> Path:
    server.ask(folder=folder, work="fill", **task)
    return folder


async def test_of_two_started_at_once_one_dreams_and_the_other_tells_who(server: ForkServer, tmp_path: Path):
    folder = filled(server, tmp_path / "data")
    at = time.time() + 0.3
    pids = [
        server.ask(folder=folder, work="dream", hold=1.0, at=at, wait=False)["pid"],
        server.ask(folder=folder, work="dream", hold=1.0, at=at, wait=False)["pid"],
    ]
    one, other = sorted((server.ask(join=pid) for pid in pids), key=lambda answer: answer["outcome"])
    assert (one["outcome"], other["outcome"]) == ("completed", "deferred")
    assert one["changes"] > 0
    assert other["reason"].startswith(f"lease_held by process {one['pid']} on ")
    assert server.ask(folder=folder, work="dream")["outcome"] == "unchanged"


async def test_the_lease_of_a_killed_process_is_free_at_once(server: ForkServer, tmp_path: Path):
    folder = filled(server, tmp_path / "data")
    holder = server.ask(folder=folder, work="dream", hold=30, wait=False)["pid"]
    assert defers(server, folder)["reason"].startswith(f"lease_held by process {holder} on ")
    server.ask(kill=holder)
    began = time.perf_counter()
    report = server.ask(folder=folder, work="dream")
    assert (report["outcome"], report["resumed"]) == ("completed", True)
    assert time.perf_counter() - began < 30  # far below the minute that a lease lasts


async def test_what_a_person_says_during_a_dream_is_neither_delayed_nor_lost(server: ForkServer, tmp_path: Path):
    size, times = 1_200, 60
    folder = filled(server, tmp_path / "data", size=size)
    at = time.time() + 0.3
    text = "Fact 3 about place3"
    dreamer = server.ask(folder=folder, work="dream", step_size=60, at=at, wait=False)["pid"]
    person = server.ask(folder=folder, work="remember", times=times, text=text, at=at, wait=False)["pid"]
    took = server.ask(join=person)["milliseconds"]
    report = server.ask(join=dreamer)
    print(f"remember beside a dream: p50 {median(took):.1f} ms, max {max(took):.1f} ms")
    assert report["outcome"] == "completed"
    assert max(took) < 5_000  # SQLite's writers wait for each other for ten seconds; a step takes far less
    # A refused step is done by the next run; then everything said stands, once.
    server.ask(folder=folder, work="dream")
    counted = server.ask(folder=folder, work="count", text=text)
    assert counted["reinforcements"] == 4 + times // 2
    assert counted["total"] == size + times
    assert counted["active"] == size // 4 + times // 2


def defers(server: ForkServer, folder: Path) -> Answer:
    """The report of the first run that finds the lease held."""
    for _ in range(100):
        if server.ask(folder=folder, work="look")["held"]:
            return server.ask(folder=folder, work="dream")
    raise AssertionError("nobody took the lease")
