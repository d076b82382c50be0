"""Asks the strict type checker about code as a user of the packages would write it."""

import os
import subprocess
import sys
from pathlib import Path

import orjson

_ROOT = Path(__file__).parents[2]


def refused_lines(code: str, folder: Path) -> dict[int, str]:
    """Return the lines, counted from 0, that pyright refuses in strict mode, each with what it says."""
    snippet = folder / "snippet.py"
    snippet.write_text(f"# pyright: strict, reportUnusedImport=false\n{code}")
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "--outputjson", str(snippet)]
    environment = os.environ | {"PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"}
    done = subprocess.run(command, cwd=_ROOT, env=environment, capture_output=True, check=False)
    found = orjson.loads(done.stdout)["generalDiagnostics"]
    return {one["range"]["start"]["line"] - 1: one["message"] for one in found if one["severity"] == "error"}


def marked_lines(code: str) -> set[int]:
    """Return the lines, counted from 0, that end with the mark `# refused`."""
    return {number for number, line in enumerate(code.splitlines()) if line.endswith("# refused")}
