"""Answers for people: why an entry is as it is, and how a scope stands."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from agentcore.domain.conversation import Turn
from agentcore.domain.filters import EntryFilter
from agentcore.domain.instants import to_text
from agentcore.domain.memory import MemoryEntry, SourceKind, Status as EntryStatus
from agentcore.domain.records import to_image
from agentcore.stores.storage import ReadView
from agentcore.stores.values import Lease
from dream.cycle.scheduling.standing import Standing
from dream.domain.alarm import Alarm, find_alarm
from dream.domain.journal import JournalRow
from dream.domain.names import DREAM_LEASE, PAUSED_SETTING
from dream.domain.report import RunKind, RunReport
from dream.stores import dream_stores

_DEPTH = 32
"""Hops that provenance is followed; chains of merges stay far below."""


@dataclass(frozen=True, slots=True)
class History:
    """Why an entry is as it is.

    Args:
        entry_id: The entry.
        entry: As it is now; None if it was purged or forgotten.
        rows: What dreams and people did to it, oldest first.
        ancestors: Entries it was made of, nearest first, in whatever state.
        turns: The turns it goes back to, in the order they were said.
        descendants: Entries made of it.
    """

    entry_id: str
    entry: MemoryEntry | None
    rows: tuple[JournalRow, ...]
    ancestors: tuple[MemoryEntry, ...]
    turns: tuple[Turn, ...]
    descendants: tuple[MemoryEntry, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the document that `dream why --json` prints."""
        return {
            "id": self.entry_id,
            "entry": None if self.entry is None else entry_json(self.entry),
            "history": [{**row.to_json(), "run_id": row.run_id} for row in self.rows],
            "ancestors": [to_image(entry) for entry in self.ancestors],
            "turns": [to_image(turn) for turn in self.turns],
            "descendants": [to_image(entry) for entry in self.descendants],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """How a scope stands.

    Args:
        entries: Entries by state.
        turns: Turns in the log.
        unread_turns: Turns that no cycle has consumed.
        skills: Active skills.
        revision: The scope's revision.
        backlog: How many items each pass has to look at now; 0 for a pass that cannot tell.
        proposals: How many proposals of each pass wait for a person.
        last_steps: When each pass last took a step.
        last_dream_at: When the newest finished dream ended.
        last_run: The newest finished dream, by a plan or without one.
        interrupted: Id of a dream that was interrupted and waits to be resumed.
        paused: Whether a person paused the dreams.
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
    last_steps: dict[str, datetime]
    last_dream_at: datetime | None
    last_run: RunReport | None
    interrupted: str | None
    paused: bool
    lease: Lease | None
    alarm: Alarm | None
    schedule: Standing

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
            "last_steps": {name: to_text(instant) for name, instant in self.last_steps.items()},
            "last_dream_at": None if self.last_dream_at is None else to_text(self.last_dream_at),
            "last_run": None if self.last_run is None else self.last_run.to_json(),
            "interrupted": self.interrupted,
            "paused": self.paused,
            "dreaming": lease,
            "alarm": None if self.alarm is None else self.alarm.to_json(),
            "schedule": self.schedule.to_json(),
        }


def entry_json(entry: MemoryEntry) -> dict[str, Any]:
    """Return an entry as people's JSON shows it: its image with the importance as of now."""
    image = to_image(entry)
    return {**image, "importance": round(entry.importance, 6), "reinforcement_count": entry.reinforcement_count}


def read_history(view: ReadView, entry_id: str) -> History:
    """Return the history of the entry *entry_id*."""
    entry = view.entries.get(entry_id)
    ancestors = _ancestors(view, entry) if entry else []
    family = [entry, *ancestors] if entry else []
    turn_ids = {ref.id for member in family for ref in member.sources if ref.kind is SourceKind.TURN}
    turns = sorted(view.turns.get_many(turn_ids), key=lambda turn: (turn.occurred_at, turn.id))
    return History(
        entry_id=entry_id,
        entry=entry,
        rows=tuple(dream_stores(view).journal.of_record(entry_id)),
        ancestors=tuple(ancestors),
        turns=tuple(turns),
        descendants=tuple(view.entries.derived_from(SourceKind.ENTRY.value, entry_id)),
    )


def _ancestors(view: ReadView, entry: MemoryEntry) -> list[MemoryEntry]:
    found: dict[str, MemoryEntry] = {}
    front = [entry]
    for _ in range(_DEPTH):
        ids = {ref.id for member in front for ref in member.sources if ref.kind is SourceKind.ENTRY}
        ids |= {absorbed for member in front for absorbed, _ in member.absorbed}
        front = view.entries.get_many(ids - set(found) - {entry.id})
        if not front:
            break
        found.update({member.id: member for member in front})
    return list(found.values())


def read_status(view: ReadView, schedule: Standing, alarm_after: int) -> Status:
    """Return how the view's scope stands, the next dream as *schedule* says."""
    books = dream_stores(view)
    runs = books.runs.newest(limit=50)
    counts = {state.value: view.entries.count(EntryFilter(statuses=frozenset({state}))) for state in EntryStatus}
    interrupted = books.runs.unfinished()
    last_run = next((run for run in runs if run.kind in _DREAMS and run.finished_at), None)
    lease = view.leases.holder(DREAM_LEASE)
    return Status(
        entries=counts,
        turns=view.turns.count(),
        unread_turns=view.turns.count_unread(),
        skills=len(view.skills.catalogue()),
        revision=view.revision,
        backlog=schedule.backlog,
        proposals=books.proposals.counts(),
        last_steps={name: entry.completed_at for name, entry in sorted(books.ledger.entries().items())},
        last_dream_at=None if last_run is None else last_run.finished_at,
        last_run=last_run,
        interrupted=interrupted[-1].run_id if interrupted and lease is None else None,
        paused=bool(view.settings.get(PAUSED_SETTING)),
        lease=lease,
        alarm=find_alarm(books.history.dreams(), alarm_after),
        schedule=schedule,
    )


_DREAMS = frozenset({RunKind.DREAM, RunKind.PLAN})
