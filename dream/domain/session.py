"""Shows a dream as a log of sessions does, beside the conversations and never among them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from agentcore.domain.temporal import to_text
from dream.domain.report import RunKind

if TYPE_CHECKING:
    from datetime import datetime

    from agentcore.domain.scope import Scope
    from dream.domain.report import Outcome
    from dream.domain.rounds import RoundKind

PREFIX: Final = "dream:"
"""How the key of every dream session begins."""
DREAMS: Final = frozenset({RunKind.DREAM, RunKind.PLAN})
"""The kinds of run that are dream sessions: an undo and a review are a person's doing."""


def session_key(scope: Scope, started_at: datetime) -> str:
    """Return the key of the dream of *scope* that began at *started_at*; it is computed and stored nowhere.

    Example:
        >>> from datetime import UTC, datetime
        >>> from agentcore.domain import Scope
        >>> session_key(Scope.default(), datetime(2025, 6, 14, 9, tzinfo=UTC))
        'dream:default/agent/agent:2025-06-14T09:00:00Z'
    """
    return f"{PREFIX}{scope}:{to_text(started_at)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DreamSession:
    """One dream: when it was, what it asked, and whether it wrote.

    Args:
        session: Its key, `dream:<scope>:<when it began>`.
        run_id: The run that it is.
        kind: What that was for: `dream`, or `plan` where it applied one.
        trigger: What started it; None if that was not kept.
        outcome: How it ended; None while it is under way or interrupted.
        is_running: Whether it is under way.
        started_at: When it began.
        finished_at: When it ended; None while it is under way or interrupted.
        models: The models that answered, as their servers name them.
        calls: Model calls, failed ones included.
        failed: Those that gave no answer.
        input_tokens: Tokens sent.
        output_tokens: Tokens received.
        changes: Records it changed, purges aside.
        purged: Records it removed for good.
        documents: Documents it wrote.
    """

    session: str
    run_id: str
    kind: RunKind
    trigger: str | None
    outcome: Outcome | None
    is_running: bool
    started_at: datetime
    finished_at: datetime | None
    models: tuple[str, ...]
    calls: int
    failed: int
    input_tokens: int
    output_tokens: int
    changes: int
    purged: int
    documents: tuple[str, ...]

    @property
    def wrote(self) -> bool:
        """Whether anything of the memory is another than before."""
        return bool(self.changes or self.purged or self.documents)

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "session": self.session,
            "run_id": self.run_id,
            "kind": self.kind.value,
            "trigger": self.trigger,
            "outcome": None if self.outcome is None else self.outcome.value,
            "is_running": self.is_running,
            "started_at": to_text(self.started_at),
            "finished_at": None if self.finished_at is None else to_text(self.finished_at),
            "models": list(self.models),
            "calls": self.calls,
            "failed": self.failed,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "wrote": self.wrote,
            "changes": self.changes,
            "purged": self.purged,
            "documents": list(self.documents),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall:
    """One request of a dream to a model.

    Args:
        pass_name: The pass that asked.
        batch: What it asked about: the number of the batch, with a letter or point for a part of it.
        attempt: The round of the exchange, from 1; None of a request that failed.
        model: The model that answered; empty if no request of the question was answered.
        input_tokens: Tokens sent.
        output_tokens: Tokens received.
        is_estimated: Whether the tokens are our estimate.
        ended: Why the answer ended, `stop` if it is whole; or what the request failed of.
        failed: Whether it gave no answer.
        at: When it was over.
        kind: Why the round was asked; None of a request that failed.
    """

    pass_name: str
    batch: str
    attempt: int | None
    model: str
    input_tokens: int
    output_tokens: int
    is_estimated: bool
    ended: str
    failed: bool
    at: datetime
    kind: RoundKind | None = None

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "pass": self.pass_name,
            "batch": self.batch,
            "attempt": self.attempt,
            "kind": self.kind,
            "model": self.model,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "is_estimated": self.is_estimated,
            "ended": self.ended,
            "failed": self.failed,
            "at": to_text(self.at),
        }
