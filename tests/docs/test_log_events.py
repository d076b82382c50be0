"""The page of log events names every event that the code logs, and no other."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

_ROOT = Path(__file__).parents[2]
_EVENT = re.compile(r"[a-z]+(?:_[a-z]+)+")


def _logged() -> Iterator[str]:
    for path in (*(_ROOT / "agentcore").rglob("*.py"), *(_ROOT / "dream").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("_log."):
                message = next(one.value for one in node.args if isinstance(one, ast.Constant))
                event = _EVENT.match(str(message))
                assert event is not None, f"{path}: {message}"
                yield event[0]


def test_every_event_has_a_row_and_every_row_an_event():
    page = (_ROOT / "docs" / "reference" / "log-events.md").read_text("utf-8")
    named = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]
    assert {name for cell in named for name in re.findall(r"`(\w+)`", cell)} == set(_logged())
