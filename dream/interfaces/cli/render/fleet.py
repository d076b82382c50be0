"""Shows how a fleet stands: tenants, workers, and what holds dreams back."""

from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from agentcore.domain.temporal import to_text
from dream.interfaces.cli.render.text import Line, Lines, Tone, paragraph, table

if TYPE_CHECKING:
    from dream.cycle.fleet.fleet_status import FleetStatus
    from dream.interfaces.cli.session import CommandSession

_SILENCE: Final = timedelta(seconds=30)


def fleet_json(found: "FleetStatus") -> dict[str, Any]:
    """Return plain JSON values."""
    return {
        "at": to_text(found.at),
        "due": found.due,
        "offered": found.offered,
        "running": found.running,
        "overdue_seconds": None if found.overdue is None else [one.total_seconds() for one in found.overdue],
        "tenants": [
            {
                "workspace": one.workspace,
                "due": one.due,
                "offered": one.offered,
                "oldest_due_at": None if one.oldest_due_at is None else to_text(one.oldest_due_at),
            }
            for one in found.tenants
        ],
        "workers": [
            {
                "id": one.holder,
                "host": one.host,
                "pid": one.pid,
                "started_at": to_text(one.started_at),
                "seen_at": to_text(one.seen_at),
                "is_stopping": one.stopping_at is not None,
                "at_once": one.at_once,
                "running": one.under_way,
                "handled": one.handled,
            }
            for one in found.workers
        ],
        "models": {
            "paused": {model: to_text(until) for model, until in found.pauses.items()},
            "tokens": dict(found.tokens),
        },
        "held_back_by": found.held_back_by(_SILENCE),
    }


def fleet_lines(session: "CommandSession", found: "FleetStatus") -> Lines:
    """Yield the same for people."""
    width = session.screen.width
    yield Line(f"{found.due:,} due, {found.offered:,} offered, {found.running:,} running", Tone.TITLE)
    if found.overdue is not None:
        half, most = (f"{one.total_seconds():,.0f} s" for one in found.overdue)
        yield from paragraph(f"What is due waits {half} (median), {most} (99 of 100).", width)
    if found.tenants:
        tenants = [
            (one.workspace, f"{one.due:,}", f"{one.offered:,}", _age(found, one.oldest_due_at)) for one in found.tenants
        ]
        yield from table([("workspace", "due", "offered", "oldest due"), *tenants], width)
    if found.workers:
        workers = [
            (
                f"{one.host}:{one.pid}{' (stopping)' if one.stopping_at else ''}",
                f"{one.under_way:,} of {one.at_once:,}",
                f"{one.handled:,}",
                _age(found, one.seen_at),
            )
            for one in found.workers
        ]
        yield from table([("worker", "running", "handled", "seen"), *workers], width)
    for sentence in found.held_back_by(_SILENCE):
        yield from paragraph(sentence, width, tone=Tone.WARNING)


def _age(found: "FleetStatus", at: Any) -> str:
    return "" if at is None else f"{max(0.0, (found.at - at).total_seconds()):,.0f} s ago"
