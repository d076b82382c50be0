"""Takes in executions of wisps."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Required, TypedDict, Unpack

from agentcore.domain.scope import Scope
from agentcore.domain.signals import FailureCategory, WispRun
from agentcore.hosting.checks import (
    clean_count,
    clean_instant,
    clean_member,
    clean_name,
    clean_text,
    optional_name,
    optional_text,
    refuse_missing,
    refuse_unknown,
)
from agentcore.hosting.options import WispOptions
from agentcore.ids import IdFactory
from agentcore.stores.storage import Storage, UnitOfWork


class WispReport(TypedDict, total=False):
    """What is said of a wisp run; the first seven are required."""

    wisp_id: Required[str]
    """The wisp that ran."""
    description: Required[str]
    """What it was for; failures are grouped by it."""
    definition_hash: Required[str]
    """Hash of its serialised steps."""
    succeeded: Required[bool]
    """Whether it ran to the end."""
    step_count: Required[int]
    """Steps it had, 0 or more."""
    steps_completed: Required[int]
    """Steps it finished, 0 or more."""
    duration_ms: Required[int]
    """How long it took, milliseconds."""
    occurred_at: datetime | None
    """When it ran, aware; None is now."""
    shape_hash: str | None
    """The hash with literals collapsed."""
    failed_step_id: str | None
    """The step that failed."""
    failure_category: FailureCategory | str | None
    """Why it failed."""
    error_message: str | None
    """What the step said."""
    failed_tool_name: str | None
    """The tool that the step called."""
    session_id: str | None
    """The conversation that spawned it."""
    retry_of: str | None
    """Id of the run it repeats."""
    batch_id: str | None
    """The batch it was spawned in."""
    definition_body: str | None
    """Its serialised steps; kept of successful runs that the options find short enough."""


class WispLog:
    """One scope's wisp runs; keeps nothing itself, so it may be made anew at any time.

    Args:
        scope: Whose runs they are.
        storage: Where they are kept.
        ids: Names new rows.
        options: What is kept of them.
    """

    def __init__(self, scope: Scope, *, storage: Storage, ids: IdFactory, options: WispOptions | None = None) -> None:
        self._scope = scope
        self._storage = storage
        self._ids = ids
        self._options = options or WispOptions()

    @property
    def scope(self) -> Scope:
        """Whose runs they are."""
        return self._scope

    async def append(self, **report: Unpack[WispReport]) -> WispRun:
        """Log one execution of a wisp.

        Args:
            **report: What is said of it (see `WispReport`).

        Raises:
            InvalidContentError: something cannot be stored; nothing was.
        """
        refuse_unknown(report, WispReport.__annotations__)
        refuse_missing(report, WispReport.__required_keys__)
        fields = self._checked(report)
        occurred_at = clean_instant(report.get("occurred_at"))

        def work(unit: UnitOfWork) -> WispRun:
            run = WispRun(
                id=self._ids.new(),
                scope=self._scope,
                occurred_at=occurred_at or unit.now,
                recorded_at=unit.now,
                **fields,
            )
            unit.wisp_runs.append([run])
            return run

        return await self._storage.write(self._scope, work)

    async def newest(self, *, limit: int = 50, since: datetime | None = None) -> list[WispRun]:
        """Return the newest *limit* runs at or after *since*, the oldest of them first."""
        return await self._storage.read(self._scope, lambda view: view.wisp_runs.newest(limit=limit, since=since))

    async def count(self) -> int:
        """Count runs."""
        return await self._storage.read(self._scope, lambda view: view.wisp_runs.count())

    def _checked(self, report: Mapping[str, Any]) -> dict[str, Any]:
        names = ("shape_hash", "failed_step_id", "failed_tool_name", "session_id", "retry_of", "batch_id")
        category: str | None = report.get("failure_category")
        body: str | None = report.get("definition_body")
        succeeded = bool(report["succeeded"])
        keeps_body = succeeded and body is not None and len(body) <= self._options.max_definition
        return {
            "wisp_id": clean_name("wisp id", report["wisp_id"]),
            "description": clean_text("description", report["description"]),
            "definition_hash": clean_name("definition hash", report["definition_hash"]),
            "succeeded": succeeded,
            "step_count": clean_count("step count", report["step_count"]),
            "steps_completed": clean_count("count of completed steps", report["steps_completed"]),
            "duration_ms": clean_count("duration", report["duration_ms"]),
            "failure_category": None
            if category is None
            else clean_member(FailureCategory, "failure category", category),
            "error_message": optional_text("error message", report.get("error_message")),
            "definition_body": optional_text("definition", body) if keeps_body else None,
            **{name: optional_name(name.replace("_", " "), report.get(name)) for name in names},
        }
