"""Measuring in processes of their own: nothing imported, cached or allocated before."""

import subprocess
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import orjson

_ROOT = Path(__file__).parents[2]


def fresh(module: str, *arguments: object) -> dict[str, Any]:
    """Run `python -m tests.bench.MODULE ARGUMENTS` and return the JSON document it ends with.

    Raises:
        RuntimeError: it failed; what it wrote to stderr stands in the message.
    """
    command = [sys.executable, "-m", f"tests.bench.{module}", *map(str, arguments)]
    done = subprocess.run(command, cwd=_ROOT, capture_output=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr.decode()}")
    answer: dict[str, Any] = orjson.loads(done.stdout.splitlines()[-1])
    return answer


def answer(measured: dict[str, Any]) -> None:
    """Print what `fresh` returns."""
    print(orjson.dumps(measured, option=orjson.OPT_SERIALIZE_NUMPY).decode())


def answer_of(measuring: Coroutine[Any, Any, dict[str, Any]]) -> None:
    """Run a measurement to its end and print what `fresh` returns."""
    import asyncio  # noqa: PLC0415 - a parent process never needs it

    answer(asyncio.run(measuring))
