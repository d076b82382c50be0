"""Dream sessions, put together of runs, their calls and what they wrote."""

from collections.abc import Sequence

from agentcore.stores.storage import ReadView
from dream.domain.names import DREAM_LEASE
from dream.domain.report import RunReport
from dream.domain.session import DREAMS, DreamSession, session_key
from dream.domain.usage import UsageRow, summed
from dream.stores import DreamStores, dream_stores


def read_sessions(view: ReadView, *, prefix: str, limit: int) -> list[DreamSession]:
    """Return the newest dream sessions whose key begins with *prefix*, the newest first."""
    books = dream_stores(view)
    return _sessions(view, books, [run_id for run_id, _ in books.sessions.keys(prefix)[:limit]])


def read_session(view: ReadView, run_id: str) -> DreamSession | None:
    """Return the session that a run is; None if it is none, as an undo."""
    found = _sessions(view, dream_stores(view), [run_id])
    return found[0] if found else None


def _sessions(view: ReadView, books: DreamStores, run_ids: Sequence[str]) -> list[DreamSession]:
    usage, documents = books.sessions.usage(run_ids), books.sessions.documents(run_ids)
    is_held = view.leases.holder(DREAM_LEASE) is not None
    under_way = [run.run_id for run in books.runs.unfinished()][-1:] if is_held else []
    reports = [report for run_id in run_ids if (report := books.runs.report(run_id)) is not None]
    return [
        _session(
            report,
            usage.get(report.run_id, []),
            changes=report.changes if report.finished_at else books.sessions.changed(report.run_id),
            documents=documents.get(report.run_id, []),
            is_running=report.run_id in under_way,
        )
        for report in reports
        if report.kind in DREAMS
    ]


def _session(
    report: RunReport, usage: Sequence[UsageRow], *, changes: int, documents: Sequence[str], is_running: bool
) -> DreamSession:
    total = next(iter(summed(usage)), UsageRow())
    return DreamSession(
        session=session_key(report.scope, report.started_at),
        run_id=report.run_id,
        kind=report.kind,
        trigger=report.trigger,
        outcome=report.outcome if report.finished_at else None,
        is_running=is_running,
        started_at=report.started_at,
        finished_at=report.finished_at,
        models=tuple(sorted({row.model for row in usage if row.model})),
        calls=total.calls,
        failed=total.failed,
        input_tokens=total.input_tokens,
        output_tokens=total.output_tokens,
        changes=changes,
        purged=report.purged,
        documents=tuple(documents),
    )
