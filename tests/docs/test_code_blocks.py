"""What the documentation shows works as shown (the rules stand in `doc_pages`)."""

import ast
import asyncio
import inspect
import io
import shlex
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from doc_pages import ROOT, Block, Command, Ids, blocks, commands, page_name, pages

from dream.interfaces.cli import main
from tests.demo.serving import demo_server

_SHELLS = {"console", "bash"}
_RUN_BY_THE_SYSTEM = {"cat", "cmp", "cp", "head", "ls", "mkdir", "rm", "wc"}
_SCRIPTED_MODEL = ("python", "-m", "tests.demo")
_FOR_READERS_ONLY = {"cd", "git", "pip", "python"}


class _Reader:
    """Somebody who types what a page says; lives as long as the page."""

    def __init__(self, runner: asyncio.Runner, environment: pytest.MonkeyPatch, stack: ExitStack) -> None:
        self._runner = runner
        self._stack = stack
        self._served: str | None = None
        self._environment = environment
        self._names: dict[str, Any] = {"__name__": "__main__"}
        self._ids = Ids()
        self._printed = ""

    def read(self, block: Block) -> None:
        if block.file_name is not None:
            Path(block.file_name).write_text(block.text, "utf-8")
        elif "no-run" in block.tags:
            return
        elif block.language == "python":
            self._printed = self._execute(block)
        elif block.language in _SHELLS:
            for command in commands(block):
                self._type(command, block.exit_code)
        elif "output" in block.tags:
            self._expect(block.text, self._printed)

    def _execute(self, block: Block) -> str:
        # Empty lines in front make a traceback name the page's own line.
        source = "\n" * block.line + block.text
        code = compile(source, "page", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
        printed = io.StringIO()
        with redirect_stdout(printed):
            done = eval(code, self._names)
            if inspect.isawaitable(done):
                self._runner.run(done)
        return printed.getvalue()

    def _type(self, command: Command, exit_code: int) -> None:
        words, _, target = self._ids.actual(command.words).partition(" > ")
        name, *arguments = shlex.split(words)
        if name == "export":
            variable, value = arguments[0].split("=", 1)
            # The port that a page shows is another each time.
            is_served = variable == "OPENAI_BASE_URL" and self._served
            self._environment.setenv(variable, self._served if is_served else value)
        elif (name, *arguments) == _SCRIPTED_MODEL:
            self._served = self._stack.enter_context(demo_server()).base_url
        elif name == "dream":
            code, printed = _dream(arguments)
            assert code == exit_code, f"`{words}` ended with {code}: {printed}"
            if target:
                Path(target).write_text(printed, "utf-8")
            self._compare(command, printed)
        elif name in _RUN_BY_THE_SYSTEM:
            done = subprocess.run([name, *arguments], capture_output=True, text=True, check=False)
            assert done.returncode == exit_code, f"`{words}` ended with {done.returncode}: {done.stderr}"
            self._compare(command, done.stdout)
        else:
            assert name in _FOR_READERS_ONLY, f"nobody runs `{words}`"

    def _compare(self, command: Command, printed: str) -> None:
        if command.output is not None:
            self._expect(command.output, printed)

    def _expect(self, expected: str, printed: str) -> None:
        assert self._ids.match(expected, printed), f"the page says\n{expected}\nand this was printed\n{printed}"


def _dream(arguments: Sequence[str]) -> tuple[int, str]:
    written = io.BytesIO()
    stream = io.TextIOWrapper(written, encoding="utf-8")
    with redirect_stdout(stream), redirect_stderr(stream):
        code = main(arguments)
    stream.flush()
    return code, written.getvalue().decode()


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[_Reader]:
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    # A page asks the model that it names itself, never the reader's own.
    for name in ("AGENTCORE_DATA", "AGENTCORE_MODEL", "AGENTCORE_DREAM_MODEL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    desk = tmp_path / "desk"
    desk.mkdir()
    (desk / "docs").symlink_to(ROOT / "docs")
    monkeypatch.chdir(desk)
    with asyncio.Runner() as runner, ExitStack() as stack:
        yield _Reader(runner, monkeypatch, stack)


@pytest.mark.parametrize("page", pages(), ids=page_name)
def test_a_page_does_what_it_says(page: Path, reader: _Reader):
    for block in blocks(page):
        try:
            reader.read(block)
        except Exception as error:
            error.add_note(f"In the block at {page_name(page)}:{block.line}.")
            raise
