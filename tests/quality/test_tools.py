"""Linter, formatter, type checker and import contracts, as tests, so that one command says whether all is well."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
_SCRIPTS = Path(sysconfig.get_path("scripts"))

_TOOLS = {
    "the linter finds nothing": (_SCRIPTS / "ruff", "check", "--no-cache", "."),
    "the formatter would change nothing": (_SCRIPTS / "ruff", "format", "--no-cache", "--diff", "--quiet", "."),
    # Left to itself, pyright looks for an interpreter of its own and misses what is installed beside the project.
    "the strict type checker finds nothing": (_SCRIPTS / "pyright", "--pythonpath", sys.executable),
    "no module imports upwards": (_SCRIPTS / "lint-imports", "--no-cache", "--no-logo"),
}


@pytest.mark.parametrize("command", _TOOLS.values(), ids=_TOOLS.keys())
def test_a_tool_has_nothing_to_say(command: tuple[str | Path, ...]):
    # The checks are of these files alone: no tool may go and ask for a newer version of itself.
    environment = os.environ | {"PYRIGHT_PYTHON_IGNORE_WARNINGS": "1", "NO_COLOR": "1"}
    done = subprocess.run(
        command, cwd=_ROOT, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
