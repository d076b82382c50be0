"""Reads how a scope stands: counts, last dream, pause, lease, alarm, and the next dream."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentcore.domain.filters import EntryFilter
from agentcore.domain.memory import Status
from agentcore.domain.temporal import to_text
from dream.domain.report import find_alarm
from dream.domain.storage_names import DREAM_LEASE, PAUSED_SETTING
from dream.stores import dream_stores

if TYPE_CHECKING:
    from datetime import datetime

    from agentcore.stores.storage import ReadView
    from agentcore.stores.values import Lease
    from dream.cycle.scheduling.status import ScheduleStatus
    from dream.domain.report import Alarm, RunReport
    from dream.stores.waiting import WaitingCount


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeStatus:
    """How a scope stands.

    Args:
        entries: Entries by state.
        turns: Turns in the log.
        unread_turns: Turns that no cycle has consumed.
        skills: Active skills.
        revision: The scope's revision.
        backlog: How many items each pass has to look at now; 0 for a pass that cannot tell.
        proposals: How many proposals of each pass wait for a person.
        questions: How many questions wait for a person.
        waits: What the exchanges of each pass with the model wait for, how many and since when.
        last_steps: When each pass last took a step.
        last_dream_at: When the newest finished dream ended.
        last_run: The newest finished dream, by a plan or without one.
        interrupted: Id of a dream that was interrupted and waits to be resumed.
        paused: Whether a person paused the dreams; one that is under way then stops at its next step.
        lease: Who is dreaming now.
        alarm: What is wrong with the newest dreams, if they came to nothing again and again.
        schedule: When it dreams next, and what it waits for, as `explain` tells it.
    """

    entries: dict[str, int]
    turns: int
    unread_turns: int
    skills: int
    revision: int
    backlog: dict[str, int]
    proposals: dict[str, int]
    questions: int
    waits: tuple[WaitingCount, ...]
    last_steps: dict[str, datetime]
    last_dream_at: datetime | None
    last_run: RunReport | None
    interrupted: str | None
    paused: bool
    lease: Lease | None
    alarm: Alarm | None
    schedule: ScheduleStatus

    def to_json(self) -> dict[str, Any]:
        """Return the document that `dream status --json` prints."""
        lease = None if self.lease is None else {"pid": self.lease.pid, "host": self.lease.host}
        return {
            "entries": self.entries,
            "turns": self.turns,
            "unread_turns": self.unread_turns,
            "skills": self.skills,
            "revision": self.revision,
            "backlog": self.backlog,
            "proposals": self.proposals,
            "questions": self.questions,
            "waits": [{"pass": one.pass_name, **one.to_json()} for one in self.waits],
            "last_steps": {name: to_text(instant) for name, instant in self.last_steps.items()},
            "last_dream_at": None if self.last_dream_at is None else to_text(self.last_dream_at),
            "last_run": None if self.last_run is None else self.last_run.to_json(),
            "interrupted": self.interrupted,
            "paused": self.paused,
            "dreaming": lease,
            "alarm": None if self.alarm is None else self.alarm.to_json(),
            "schedule": self.schedule.to_json(),
        }


def read_scope_status(view: ReadView, schedule: ScheduleStatus, alarm_after: int) -> ScopeStatus:
    """Return how the view's scope stands, the next dream as *schedule* says."""
    books = dream_stores(view)
    counts = {state.value: view.entries.count(EntryFilter(statuses=frozenset({state}))) for state in Status}
    interrupted = books.runs.unfinished()
    last_run = books.runs.last_dream()
    lease = view.leases.holder(DREAM_LEASE)
    return ScopeStatus(
        entries=counts,
        turns=view.turns.count(),
        unread_turns=view.turns.count_unread(),
        skills=len(view.skills.catalogue()),
        revision=view.revision,
        backlog=schedule.backlog,
        proposals=books.proposals.counts(),
        questions=len(view.questions.waiting()),
        waits=tuple(books.waiting.counts()),
        last_steps={name: entry.completed_at for name, entry in sorted(books.ledger.entries().items())},
        last_dream_at=None if last_run is None else last_run.finished_at,
        last_run=last_run,
        interrupted=interrupted[-1].run_id if interrupted and lease is None else None,
        paused=bool(view.settings.get(PAUSED_SETTING)),
        lease=lease,
        alarm=find_alarm(books.history.dreams(), alarm_after),
        schedule=schedule,
    )
