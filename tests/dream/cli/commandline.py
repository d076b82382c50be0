"""The command line, called as a person calls it, but in this process."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest

from dream.interfaces.cli import main

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "docs" / "examples"


@dataclass(frozen=True)
class Told:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        return orjson.loads(self.out)

    @property
    def complaint(self) -> str:
        """The one line on stderr of a command that refused, with nothing on stdout."""
        assert self.out == ""
        assert self.err.count("\n") == 1, self.err
        assert "Traceback" not in self.err
        return self.err.strip()


class CommandLine:
    """The command `dream` on a data directory of its own."""

    def __init__(self, capture: pytest.CaptureFixture[str], data: Path) -> None:
        self._capture = capture
        self.data = data

    @property
    def database(self) -> Path:
        return self.data / "agentcore.db"

    def make_folder(self) -> None:
        """Make the data directory, with nothing in it."""
        self.data.mkdir(parents=True)

    def bare(self, *arguments: object) -> Told:
        """Run the command with exactly these arguments."""
        self._capture.readouterr()
        code = main([str(argument) for argument in arguments])
        out, err = self._capture.readouterr()
        return Told(int(code), out, err)

    def __call__(self, *arguments: object) -> Told:
        """Run the command on the data directory."""
        return self.bare("--data", self.data, *arguments)

    def good(self, *arguments: object) -> str:
        """Run what must succeed without a remark; return what it printed."""
        told = self(*arguments)
        assert (told.code, told.err) == (0, ""), told
        return told.out

    def json(self, *arguments: object) -> Any:
        """Run what must succeed; return its document."""
        return orjson.loads(self.good("--json", *arguments))

    def exported(self, *options: str) -> str:
        return self.good(*options, "export")

    def known(self, *texts: str) -> list[str]:
        """Remember texts, each in a category of its own so that equal ones are not reinforced; return their ids."""
        return [self.json("remember", text, "--category", f"c{place}")["id"] for place, text in enumerate(texts)]

    def process(self, *arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
        """Run the command as a process of its own."""
        command = [sys.executable, "-m", "dream", "--data", str(self.data), *map(str, arguments)]
        return subprocess.run(
            command, cwd=ROOT, env=environment(), text=True, check=False, **{"capture_output": True, **options}
        )


def copies_file(folder: Path) -> Path:
    """Write two equal texts, of which the first is the older."""
    path = folder / "copies.jsonl"
    path.write_text(
        '{"content":"Ana likes tea.","created_at":"2025-01-01T00:00:00Z","tags":["a"]}\n'
        '{"content":"ana likes tea","created_at":"2025-02-01T00:00:00Z","tags":["b"]}\n',
    )
    return path


def environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AGENTCORE_")}
    return kept | {"PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"}
