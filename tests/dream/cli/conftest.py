"""A command line per test, on a data directory of its own; folders that many tests begin with are made once."""

import io
import shutil
import sys
from contextlib import redirect_stdout
from pathlib import Path

import pytest
from commandline import EXAMPLES, CommandLine, copies_file

from dream.interfaces.cli import main


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    for name in ("AGENTCORE_DATA", "AGENTCORE_BUSY_TIMEOUT", "AGENTCORE_MODEL", "AGENTCORE_DREAM_MODEL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    return CommandLine(capsys, tmp_path / "data")


def _made(folder: Path, *commands: tuple[object, ...]) -> Path:
    for command in commands:
        with redirect_stdout(io.TextIOWrapper(io.BytesIO())):
            assert main(["--data", str(folder), *map(str, command)]) == 0, sys.stderr
    return folder


@pytest.fixture(scope="session")
def filled_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo's memory, before any dream."""
    imports = [("import", EXAMPLES / name) for name in ("MEMORY.md", "memory.jsonl")]
    return _made(tmp_path_factory.mktemp("filled") / "data", *imports)


@pytest.fixture(scope="session")
def dreamt_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two copies of a text, folded by one run."""
    folder = tmp_path_factory.mktemp("dreamt")
    return _made(folder / "data", ("import", copies_file(folder)), ("run",))


@pytest.fixture
def filled(cli: CommandLine, filled_folder: Path) -> CommandLine:
    """A command line on 181 entries that no dream has seen."""
    shutil.copytree(filled_folder, cli.data)
    return cli


@pytest.fixture
def dreamt(cli: CommandLine, dreamt_folder: Path) -> CommandLine:
    """A command line on a memory after its first dream, which folded `newer` into `older`."""
    shutil.copytree(dreamt_folder, cli.data)
    return cli
