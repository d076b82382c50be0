"""Measuring in processes of their own: nothing imported, cached or allocated before."""

import os
import subprocess
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import orjson

_ROOT = Path(__file__).parents[2]
# An installed program has its bytecode beside it; a shell that forbids writing any would have it compiled each time.
_ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def run(*arguments: object, within: float | None = None) -> bytes:
    """Run Python with these arguments and return what it wrote to stdout.

    Args:
        arguments: What follows `python`.
        within: Seconds after which it is ended; None to wait however long it takes.

    Raises:
        RuntimeError: it failed; what it wrote to stderr stands in the message.
        TimeoutError: it took longer.
    """
    command = [sys.executable, *map(str, arguments)]
    try:
        done = subprocess.run(command, cwd=_ROOT, env=_ENVIRONMENT, capture_output=True, check=False, timeout=within)
    except subprocess.TimeoutExpired as expired:
        raise TimeoutError(f"{' '.join(command)} took longer than {within:.0f} s") from expired
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr.decode()}")
    return done.stdout


def fresh(module: str, *arguments: object, within: float | None = None) -> dict[str, Any]:
    """Run `python -m tests.bench.MODULE ARGUMENTS` and return the JSON document it ends with; errors as for `run`."""
    printed = run("-m", f"tests.bench.{module}", *arguments, within=within)
    answered: dict[str, Any] = orjson.loads(printed.splitlines()[-1])
    return answered


def answer(measuring: Coroutine[Any, Any, dict[str, Any]]) -> None:
    """Run a measurement to its end and print what `fresh` returns."""
    import asyncio  # noqa: PLC0415 - a parent process never needs it

    print(orjson.dumps(asyncio.run(measuring)).decode())
