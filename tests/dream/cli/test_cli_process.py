"""The command as a process: its streams, its signals, what it loads."""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from commandline import ROOT, CommandLine, environment

_SLOW_DREAM = """
import asyncio, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where the tests themselves run in the background
from dream.passes.near_duplicates import NearDuplicates
from dream.interfaces.cli import main

async def propose(self, context):
    print("dreaming", flush=True)
    await asyncio.Event().wait()

NearDuplicates.propose = propose
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored below a suite in the background of a shell
sys.exit(main(sys.argv[1:]))
"""


def test_the_module_is_the_command(dreamt: CommandLine):
    done = dreamt.process("--json", "memories")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == dreamt.good("--json", "memories")


def test_contents_in_any_script_survive_a_pipe_of_any_encoding(cli: CommandLine):
    cli.known("林美玲 café")
    latin = environment() | {"PYTHONIOENCODING": "latin-1"}
    command = [sys.executable, "-m", "dream", "--data", str(cli.data), "memories"]
    done = subprocess.run(command, cwd=ROOT, env=latin, capture_output=True, check=True)
    assert b"\\u6797" in done.stdout
    assert b"caf\xe9" in done.stdout
    assert "林美玲 café" in cli.process("--json", "memories").stdout


def test_a_reader_that_goes_away_is_no_trouble(cli: CommandLine):
    cli.good("demo")
    command = [sys.executable, "-m", "dream", "--data", str(cli.data), "export"]
    with subprocess.Popen(
        command, cwd=ROOT, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("command", ["export", "memories", "--json"])
def test_an_output_that_takes_nothing_is_told_once(dreamt: CommandLine, command: str):
    with Path("/dev/full").open("wb") as full:
        words = (command, "memories") if command == "--json" else (command,)
        done = dreamt.process(*words, capture_output=False, stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "standard output" in done.stderr


def test_an_interrupted_run_says_so_and_can_be_gone_on_with(filled: CommandLine):
    command = [sys.executable, "-c", _SLOW_DREAM, "--data", str(filled.data), "run"]
    with subprocess.Popen(
        command, cwd=ROOT, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == "dreaming\n"
        process.send_signal(signal.SIGINT)
        try:
            out, err = process.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    assert (process.returncode, out) == (130, "")
    assert err == "Interrupted: what was committed so far stands, run the command again to go on.\n"
    assert filled.json("status")["interrupted"]
    report = filled.json("run")
    assert report["resumed"]
    assert report["changes"] == 36


@pytest.mark.parametrize("arguments", [("--help",), ("--version",), ("no-such-command",)])
def test_what_needs_no_memory_loads_none(arguments: tuple[str, ...]):
    ask = (
        "import sys; from dream.interfaces.cli import main; main(sys.argv[1:]);"
        "print(*{'sqlalchemy', 'numpy', 'pydantic', 'dependency_injector'} & set(sys.modules), file=sys.stderr)"
    )
    command = [sys.executable, "-c", ask, *arguments]
    done = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1] == ""


def test_a_command_on_a_memory_loads_no_model_client_and_no_colours(dreamt: CommandLine):
    ask = (
        "import sys; from dream.interfaces.cli import main; main(sys.argv[1:]);"
        "print(*{'openai', 'rich', 'alembic', 'markdown_it'} & set(sys.modules), file=sys.stderr)"
    )
    command = [sys.executable, "-c", ask, "--data", str(dreamt.data), "status"]
    done = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True, check=True)
    assert done.stderr == "\n"


@pytest.mark.parametrize(
    ("command", "absent"),
    [
        (("status",), ("numpy", "agentcore.llm.settings")),
        (("memories",), ("numpy", "dream.passes", "dream.cycle", "dream.options", "agentcore.llm.settings")),
        (("recall", "x"), ("dream.passes", "dream.cycle", "dream.options", "agentcore.llm.settings")),
    ],
    ids=["status", "memories", "recall"],
)
def test_a_command_that_only_looks_imports_no_guard_and_no_pass_that_has_nothing_to_do(
    filled: CommandLine, command: tuple[str, ...], absent: tuple[str, ...]
):
    never = (
        "dream.guards",
        "dream.cycle.running.step_writer",
        "dream.cycle.running.pass_run",
        "dream.cycle.documents.delivery",
        "agentcore.hosting.context",
        "agentcore.workspace.document",
        "croniter",
        "dulwich",
    )
    asking = ("fact_mining", "memory_consolidation", "episodes", "preferences", "conversation", "promotion", "rem")
    unwanted = (*never, *absent, *(f"dream.passes.{name}" for name in asking))
    ask = (
        "import sys; from dream.interfaces.cli import main; main(sys.argv[1:]);"
        f"print(*[name for name in {unwanted!r} if name in sys.modules], file=sys.stderr)"
    )
    told = [sys.executable, "-c", ask, "--data", str(filled.data), *command]
    done = subprocess.run(told, cwd=ROOT, env=environment(), capture_output=True, text=True, check=True)
    assert done.stderr == "\n"


def test_building_a_host_that_is_told_nothing_makes_no_checks_of_options_ready():
    ask = (
        "import sys; from agentcore import AgentHostBuilder; from dream.options import DreamOptions;"
        "AgentHostBuilder(None).with_memory().with_skills().with_dreaming(in_background=False).build();"
        "print(DreamOptions.__pydantic_complete__, file=sys.stderr)"
    )
    told = [sys.executable, "-c", ask]
    done = subprocess.run(told, cwd=ROOT, env=environment(), capture_output=True, text=True, check=True)
    assert done.stderr == "False\n"


def _on_a_terminal(arguments: list[str]) -> tuple[int, bytes]:
    """Run the command with stdout and stderr on a terminal; return its code and all it printed."""
    ours, theirs = os.openpty()
    terminal = environment() | {"TERM": "xterm-256color", "COLUMNS": "80"}
    command = [sys.executable, "-m", "dream", *arguments]
    with subprocess.Popen(command, cwd=ROOT, env=terminal, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        printed = b""
        with suppress(OSError):  # how Linux says that the other side has closed
            while part := os.read(ours, 65_536):
                printed += part
    os.close(ours)
    return process.returncode, printed


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_a_terminal_gets_colours_but_no_commands_from_contents(cli: CommandLine):
    cli.known("wipe \x1b[2J [bold]it[/bold]")
    code, printed = _on_a_terminal(["--data", str(cli.data), "memories"])
    assert code == 0
    assert b"\x1b[1m" in printed
    assert b"\x1b[2J" not in printed
    assert b"wipe \\x1b[2J [bold]it[/bold]" in printed


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_a_long_import_shows_its_progress_on_a_terminal(cli: CommandLine, tmp_path: Path):
    path = tmp_path / "chat.jsonl"
    path.write_text("".join(f'{{"role":"user","content":"text {number}"}}\n' for number in range(2_500)))
    code, printed = _on_a_terminal(["--data", str(cli.data), "--json", "import", str(path)])
    assert code == 0
    assert b"Importing chat.jsonl" in printed
    assert b'"added":{"turn":2500}' in printed
