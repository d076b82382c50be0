"""Killed anywhere between database, files and repository, a promotion is made exactly once all the same."""

import random
import shutil
import subprocess
from pathlib import Path

import pytest
from killing import Answer, ForkServer

POINTS = 5


def state(folder: Path, answer: Answer) -> dict[str, object]:
    """What a person sees of a workspace, and what the store says of it."""
    workspace = folder / "workspace"
    log = subprocess.run(["git", "log", "--format=%s"], cwd=workspace, capture_output=True, text=True, check=False)
    status = subprocess.run(["git", "status", "--short"], cwd=workspace, capture_output=True, text=True, check=False)
    return {
        "files": {path.name: path.read_bytes() for path in sorted(workspace.iterdir()) if path.is_file()},
        "log": log.stdout,
        "status": status.stdout,
        "promoted": answer["promoted"],
        "waiting": answer["waiting"],
    }


@pytest.mark.parametrize("undone", [False, True])
def test_killed_anywhere_everything_is_promoted_or_taken_back_exactly_once(
    server: ForkServer, tmp_path: Path, *, undone: bool
):
    template, copy = tmp_path / "template", tmp_path / "copy"
    server.ask(folder=template, work="need")
    work = {"work": "promote", **({"undone": True} if undone else {})}
    if undone:
        server.ask(folder=template, work="promote")

    def fresh() -> Path:
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(template, copy)
        return copy

    whole = server.ask(folder=fresh(), **work)
    expected = state(copy, whole)
    assert (expected["promoted"], expected["waiting"], expected["status"]) == (4, 0, "")
    assert (b"Fact 0" in expected["files"]["MEMORY.md"]) is not undone  # type: ignore[index]
    chance, kills = random.Random(f"promote {undone}"), 0
    # What happens before the first change of the run is the subject of other tests.
    points = sorted(chance.sample(range(whole["statements"] // 3, whole["statements"] + 1), POINTS))
    for point in points:
        killed = server.ask(folder=fresh(), **work, statement=point)
        kills += killed["killed"]
        for lock in (copy / "workspace").glob(".git/**/*.lock"):
            lock.unlink()  # as git asks a person to
        again = server.ask(folder=copy, **work) if killed["killed"] else killed
        assert state(copy, again) == expected, point
    assert kills >= POINTS - 1
