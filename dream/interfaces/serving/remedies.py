"""Says to clients what they can call, where a sentence of the library names a command of the command line."""

import re
from collections.abc import Mapping
from typing import Any, Final

_COMMAND: Final = re.compile(r"`dream ([^`]+)`")
_SOMEBODY: Final = "whoever runs the server"
_NEWEST: Final = "the resource `dream://runs/newest`"

TOOLS: Final[Mapping[str, str]] = {
    "runs": _NEWEST,
    "sessions": _NEWEST,
    "plan": "the tool `plan`",
    "show": "the tool `show_run`",
    "diff": "the tool `show_run`",
    "undo": "the tool `undo_run`",
    "review list": "the tool `review`",
    "questions": "the tool `questions`",
    "schedule": "the tool `schedule_dream`",
}
"""What an agent calls over MCP, by the command that does the same."""
ROUTES: Final[Mapping[str, str]] = {
    "runs": "`GET /runs`",
    "sessions": "`GET /runs`",
    "plan": "`POST /plans`",
    "show": "`GET /runs/{run_id}`",
    "diff": "`GET /runs/{run_id}/changes`",
    "undo": "`POST /runs/{run_id}/undo`",
    "review list": "`GET /proposals`",
    "questions": "`GET /questions`",
    "schedule": "`POST /schedule`",
    "explain": "`GET /schedule`",
    "resume": "`POST /schedule/resume`",
}
"""What a client calls over REST, by the command that does the same."""


def reworded(text: str, calls: Mapping[str, str]) -> str:
    """Return *text* with what a client can call in the place of each command; where it can call nothing, a person can.

    Example:
        >>> reworded("It fits none: `dream questions` shows them.", TOOLS)
        'It fits none: the tool `questions` shows them.'
        >>> reworded("paused: `dream resume` lifts it", TOOLS)
        'paused: whoever runs the server lifts it'
    """
    return _COMMAND.sub(lambda found: _called(found[1], calls), text)


def report_reworded(document: Mapping[str, Any], calls: Mapping[str, str]) -> dict[str, Any]:
    """Return the report of a run with the sentence of its reason reworded."""
    reason = document.get("reason")
    return {**document, "reason": reworded(reason, calls)} if isinstance(reason, str) else {**document}


def _called(command: str, calls: Mapping[str, str]) -> str:
    words = command.split()
    named = (calls.get(" ".join(words[:size])) for size in (2, 1))
    return next((call for call in named if call), _SOMEBODY)
