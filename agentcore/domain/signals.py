"""Defines the signals that hosts feed: feedback, wisp runs and tool calls."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from agentcore.domain.scope import Scope


class FeedbackKind(StrEnum):
    """What a feedback row says."""

    CORRECTION = "correction"
    TOOL_FAILURE = "tool_failure"
    SESSION_SUMMARY = "session_summary"
    THUMBS_UP = "thumbs_up"
    THUMBS_DOWN = "thumbs_down"
    WISP_CORRECTION = "wisp_correction"


class Rating(StrEnum):
    """How a session went."""

    POOR = "poor"
    FAIR = "fair"
    GOOD = "good"
    EXCELLENT = "excellent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Feedback:
    """One signal about the agent's work.

    Args:
        id: Unique within the scope.
        scope: Whose agent it is about.
        session_id: The conversation it came from.
        kind: What it says.
        summary: One line.
        detail: More, if there is more.
        rating: For session summaries.
        occurred_at: When it was given.
        recorded_at: When this store first held it.
    """

    id: str
    scope: Scope
    session_id: str
    kind: FeedbackKind
    summary: str
    detail: str | None = None
    rating: Rating | None = None
    occurred_at: datetime
    recorded_at: datetime


class FailureCategory(StrEnum):
    """Why a wisp run failed; structural and data failures can be learned from."""

    STRUCTURAL = "structural"
    EXTERNAL = "external"
    JUDGMENT = "judgment"
    DATA = "data"


@dataclass(frozen=True, slots=True, kw_only=True)
class WispRun:
    """One execution of a wisp, a small pipeline of steps that the harness runs for the agent.

    Args:
        id: Unique within the scope.
        scope: Whose run it is.
        wisp_id: The wisp that ran.
        description: What it was for; failures are grouped by it.
        definition_hash: Hash of its serialised steps.
        shape_hash: The same with literals collapsed.
        succeeded: Whether it ran to the end.
        step_count: Steps it had.
        steps_completed: Steps it finished.
        failed_step_id: The step that failed.
        failure_category: Why it failed.
        error_message: What the step said.
        failed_tool_name: The tool that the step called.
        duration_ms: How long it took, milliseconds.
        session_id: The conversation that spawned it.
        retry_of: Id of the run it repeats.
        batch_id: The batch it was spawned in.
        definition_body: Its serialised steps, of successful runs under a size cap.
        occurred_at: When it ran.
        recorded_at: When this store first held it.
    """

    id: str
    scope: Scope
    wisp_id: str
    description: str
    definition_hash: str
    shape_hash: str | None = None
    succeeded: bool
    step_count: int
    steps_completed: int
    failed_step_id: str | None = None
    failure_category: FailureCategory | None = None
    error_message: str | None = None
    failed_tool_name: str | None = None
    duration_ms: int
    session_id: str | None = None
    retry_of: str | None = None
    batch_id: str | None = None
    definition_body: str | None = None
    occurred_at: datetime
    recorded_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One call of a tool by the agent.

    Args:
        id: Unique within the scope.
        scope: Whose agent called.
        session_id: The conversation it was made in.
        tool_name: The tool.
        succeeded: Whether it did what it was called for.
        arguments: What it was called with, in short.
        error_message: What it said when it failed.
        duration_ms: How long it took, milliseconds.
        occurred_at: When it was made.
        recorded_at: When this store first held it.
    """

    id: str
    scope: Scope
    session_id: str
    tool_name: str
    succeeded: bool
    arguments: str | None = None
    error_message: str | None = None
    duration_ms: int | None = None
    occurred_at: datetime
    recorded_at: datetime


class Purpose(StrEnum):
    """Why something is recalled."""

    NEED = "need"
    """A turn needs it: what is found counts as used."""
    PREVIEW = "preview"
    """Somebody looks: a person at a prompt, a test, a dream. Nothing is recorded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallHit:
    """One entry that a need recalled.

    Args:
        entry_id: Which entry.
        query: Hash of the normalised query; equal questions have equal hashes.
        score: What it scored; comparable within one answer only.
        rank: Its place in the answer, from 1.
        recalled_at: When.
        session_id: The conversation that needed it, if it is known.
    """

    entry_id: str
    query: str
    score: float
    rank: int
    recalled_at: datetime
    session_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallUse:
    """How often needs have recalled an entry.

    Args:
        entry_id: Which entry.
        hits: How often.
        queries: By how many distinct queries.
        days: On how many distinct days, UTC.
        mean_score: What it scored on average.
        best_rank: Its best place in an answer, from 1.
        first_at: When first.
        last_at: When last.
    """

    entry_id: str
    hits: int
    queries: int
    days: int
    mean_score: float
    best_rank: int
    first_at: datetime
    last_at: datetime
