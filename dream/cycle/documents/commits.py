"""Commits the files that a delivery wrote, and says what was added and removed."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

from agentcore.stores.sql import FORGET
from agentcore.workspace.differences import Difference
from agentcore.workspace.folder import DREAMS
from agentcore.workspace.git import Committed, WorkspaceGit
from dream.cycle.documents.files import FileOutcome
from dream.guards.secrets import secret_in

_LINES: Final = 20
_WIDTH: Final = 80


def commit(root: Path, outcomes: Sequence[FileOutcome], *, is_made: bool, at: datetime) -> str:
    """Commit what was written and return the commit's id, or why there is none.

    Args:
        root: The workspace.
        outcomes: What was written.
        is_made: Whether a workspace that is no repository becomes one.
        at: When.
    """
    git = WorkspaceGit(root)
    if is_made:
        git.init()
    told = sorted({name for outcome in outcomes for name in outcome.passes})
    # The diary only repeats what the others say.
    telling = [outcome for outcome in outcomes if outcome.document != DREAMS] or outcomes
    deltas = [(outcome, outcome.delta()) for outcome in telling]
    more = sum(len(delta.come) for _, delta in deltas)
    less = sum(len(delta.gone) for _, delta in deltas)
    lines = [line for outcome, delta in deltas for line in _lines(outcome, delta)]
    if len(lines) > _LINES:
        lines = [*lines[:_LINES], f"and {len(lines) - _LINES} more"]
    runs = sorted({outcome.run_id for outcome in outcomes if outcome.run_id})
    body = "\n".join([*lines, "", *(f"Run: {run_id}" for run_id in runs)])
    made = git.commit(
        [outcome.document for outcome in outcomes],
        subject=f"{', '.join(told)}: {more} more, {less} less",
        body=body,
        at=at,
    )
    return made.commit_id if isinstance(made, Committed) else made.value


def _lines(outcome: FileOutcome, delta: Difference) -> Iterator[str]:
    """Yield what came and went, a line for each item; what is forgotten or looks like a secret is not repeated."""
    is_forgotten = FORGET in outcome.passes
    for mark, items in (("+", delta.come), ("-", delta.gone)):
        for item in items:
            text = " ".join(item.text.split())
            is_told = not secret_in(text) and not (is_forgotten and mark == "-")
            yield f"{mark} {outcome.document}: {text[:_WIDTH] if is_told else '(left out)'}"
