"""The command as a process: its streams, its signals, what it loads."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from commandline import ROOT, CommandLine, environment

_SLOW_DREAM = """
import asyncio, sys
from dream.passes.near_duplicates import NearDuplicates
from dream.interfaces.cli import main

async def propose(self, context):
    print("dreaming", flush=True)
    await asyncio.Event().wait()

NearDuplicates.propose = propose
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
        out, err = process.communicate(timeout=30)
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
