"""Asks the strict type checker about code as a user of the packages would write it."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import orjson

_ROOT = Path(__file__).parents[2]


def refused_lines(codes: Mapping[str, str], folder: Path) -> dict[str, dict[int, str]]:
    """Return for each code the lines, counted from 0, that pyright refuses in strict mode, each with what it says.

    One call asks about all of them: to start the checker takes longer than to check.
    """
    names = {folder / f"snippet_{number}.py": name for number, name in enumerate(codes)}
    for snippet, name in names.items():
        snippet.write_text(f"# pyright: strict, reportUnusedImport=false\n{codes[name]}")
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "--outputjson", *map(str, names)]
    environment = os.environ | {"PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"}
    done = subprocess.run(command, cwd=_ROOT, env=environment, capture_output=True, check=False)
    found: dict[str, dict[int, str]] = {name: {} for name in codes}
    for one in orjson.loads(done.stdout)["generalDiagnostics"]:
        if one["severity"] == "error":
            found[names[Path(one["file"])]][one["range"]["start"]["line"] - 1] = one["message"]
    return found


def marked_lines(code: str) -> set[int]:
    """Return the lines, counted from 0, that end with the mark `# refused`."""
    return {number for number, line in enumerate(code.splitlines()) if line.endswith("# refused")}
