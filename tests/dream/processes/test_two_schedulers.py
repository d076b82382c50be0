"""Two processes whose dreams start by themselves, on one file, by the real clock."""

import time
from pathlib import Path

from killing import ForkServer


def test_what_is_said_in_one_process_puts_the_pending_dream_of_the_other_off(server: ForkServer, tmp_path: Path):
    folder = tmp_path / "data"
    server.ask(folder=folder, work="fill", size=8)
    server.ask(folder=folder, work="chat", times=1, every=0, real_time=True)
    watcher = server.ask(folder=folder, work="watch", idle=1.2, seconds=8, real_time=True, wait=False)["pid"]
    # It is pending by now, and is put off three times.
    said = server.ask(folder=folder, work="chat", times=3, every=0.8, real_time=True)["said"]
    (run,) = server.ask(join=watcher)["runs"]
    print(f"began {run['started_at'] - said:.2f} s after the last turn in the other process, 1.2 s of silence wanted")
    assert (run["outcome"], run["trigger"]) == ("completed", "threshold")
    assert run["started_at"] >= said + 1.2


def test_the_run_of_a_killed_process_is_taken_over_and_gone_on_with(server: ForkServer, tmp_path: Path):
    folder = tmp_path / "data"
    server.ask(folder=folder, work="fill", size=80)
    runner = server.ask(folder=folder, work="watch", idle=0, seconds=60, slowly=0.05, real_time=True, wait=False)["pid"]
    while not server.ask(folder=folder, work="look", real_time=True)["held"]:
        time.sleep(0.02)
    other = server.ask(folder=folder, work="watch", idle=0, seconds=10, real_time=True, wait=False)["pid"]
    time.sleep(0.5)
    server.ask(kill=runner)
    killed = time.time()
    (run,) = server.ask(join=other)["runs"]
    print(f"went on and ended {run['finished_at'] - killed:.2f} s after the kill; a lease lasts 3 s")
    assert (run["outcome"], run["resumed"], run["trigger"]) == ("completed", True, "threshold")
    assert run["started_at"] < killed < run["finished_at"]
    assert run["finished_at"] - killed < 3 + 2
    assert server.ask(folder=folder, work="dream", real_time=True)["outcome"] == "unchanged"
