"""The pass of the how-to, brought by an installed package: its name works wherever that of a built-in pass does."""

import re
import sys
from pathlib import Path

import orjson
import pytest
from commandline import ROOT, CommandLine

PAGE = ROOT / "docs" / "how-to" / "write-your-own-pass.md"
JOINS = """
def extend(passes):
    return passes.insert_after("exact-fold", ScratchSweep())
"""
NAME = "scratch-sweep"


@pytest.fixture
def sweeping(cli: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    """A command line beside a package that holds the page's example and one function, and nothing else."""
    example = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)[0]
    (tmp_path / "sweeping.py").write_text(example + JOINS, "utf-8")
    info = tmp_path / "sweeping-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: sweeping\nVersion: 1.0\n", "utf-8")
    (info / "entry_points.txt").write_text(f"[dream.passes]\n{NAME} = sweeping:extend\n", "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "sweeping", raising=False)
    return cli


def noted(cli: CommandLine, content: str) -> None:
    """Import a scratch note of long ago."""
    path = cli.data.parent / "notes.jsonl"
    path.write_bytes(orjson.dumps({"content": content, "category": "scratch", "created_at": "2025-01-01T00:00:00Z"}))
    cli.good("import", path)


def test_the_example_is_run_planned_proposed_undone_and_told_of_by_its_name(sweeping: CommandLine):
    noted(sweeping, "Try the blue one")
    assert [row["pass"] for row in sweeping.json("plan", "--pass", NAME)["changes_planned"]] == [NAME]
    report = sweeping.json("run", "--pass", NAME)
    (done,) = (one for one in report["passes"] if one["name"] == NAME)
    assert (done["accepted"], done["notes"]) == (1, {"swept": 1})
    assert f"sweep ({NAME})" in sweeping.good("diff", report["run_id"])
    assert NAME in sweeping.json("status")["last_steps"]
    assert sweeping.json("undo", report["run_id"], "--pass", NAME)["changes"] == 1
    assert sweeping.json("run", "--pass", NAME)["changes"] == 0
    noted(sweeping, "Call back on Monday")
    sweeping.good("run", "--propose", "--pass", NAME)
    assert sweeping.json("status")["proposals"] == {NAME: 1}
    assert f"{NAME} 1" in sweeping.good("status")
    assert sweeping.json("review", "approve", "--pass", NAME)["changes"] == 1
    assert NAME in sweeping.good("run", "--pass", "exact-fold")
