"""The house's walls that no tool knows: sizes, names, and what an import costs."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
_MODULES = sorted(path for package in ("agentcore", "dream") for path in (_ROOT / package).rglob("*.py"))
_VAGUE = {"utils", "util", "helpers", "helper", "common", "core", "manager", "misc"}
_MOST_LINES = 450
_LONGEST_FUNCTION = 40


def _code_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Count a function's lines without its docstring: explaining more must not cost a wall."""
    first = function.body[0]
    is_docstring = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    return _lines(function) - (_lines(first) if is_docstring else 0)


def _lines(node: ast.stmt) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def test_no_file_is_too_long_for_one_subject():
    lengths = {path: len(path.read_text("utf-8").splitlines()) for path in _MODULES}
    assert {str(path): length for path, length in lengths.items() if length > _MOST_LINES} == {}


def test_no_function_is_too_long_for_one_thought():
    functions = {
        f"{path}:{node.lineno} {node.name}": _code_lines(node)
        for path in _MODULES
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert {name: length for name, length in functions.items() if length > _LONGEST_FUNCTION} == {}


def test_every_module_is_named_after_what_is_in_it():
    names = {part for path in _MODULES for part in path.relative_to(_ROOT).with_suffix("").parts}
    assert names & _VAGUE == set()


@pytest.mark.parametrize(
    ("code", "absent"),
    [
        ("import agentcore", ("numpy", "pydantic", "sqlalchemy", "alembic", "openai", "dream")),
        ("from agentcore import AgentHostBuilder", ("numpy", "pydantic", "sqlalchemy", "alembic", "openai", "dream")),
        ("from agentcore import MemoryEntry, Scope", ("numpy", "pydantic", "sqlalchemy", "dream")),
        ("from agentcore import AgentHostBuilder as B; B(None).with_memory().build()", ("alembic", "openai", "dream")),
        ("import dream", ("numpy", "pydantic", "sqlalchemy", "agentcore")),
        (
            """
import asyncio
from agentcore import AgentHostBuilder
async def main():
    async with AgentHostBuilder(None).with_memory().with_dreaming().build():
        pass
asyncio.run(main())
""",
            (
                "numpy",
                "alembic",
                "openai",
                "croniter",
                "dream.guards",
                "dream.cycle.running.step_writer",
                "dream.passes.fact_mining",
            ),
        ),
    ],
)
def test_an_import_loads_only_what_it_needs(code: str, absent: tuple[str, ...]):
    ask = f"{code}\nimport sys; print(*sorted(set({absent!r}) & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", ask], cwd=_ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
