"""The demo, told from beginning to end."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from agentcore.domain.capability import Capability
from agentcore.domain.instants import to_text
from agentcore.domain.memory import MemoryEntry
from dream.cycle.history import Status, entry_json
from dream.domain.journal import JournalRow
from dream.domain.report import RunReport
from dream.interfaces.cli.render.changes import change_set_lines
from dream.interfaces.cli.render.clusters import cluster_lines
from dream.interfaces.cli.render.exchange import amounts
from dream.interfaces.cli.render.line import Line, Lines, Tone, paragraph, table
from dream.interfaces.cli.render.reports import passes_lines
from dream.interfaces.cli.render.text import counted, encodable, when
from dream.interfaces.cli.session import Session
from dream.interfaces.exchange.report import ImportReport

_SHOWN_SETS = 2
_SHOWN_CLUSTERS = 3

_WAITING = (
    "No model is configured, and no pass of this version asks one. So the wordings above stay as they are, listed for "
    "you to judge, and what only a model can do waits: merging them, settling contradictions (65 or 72 euros an hour), "
    "and learning facts, skills and preferences from the conversation."
)


@dataclass(frozen=True, slots=True)
class Look:
    """The memory at one instant: how it stands, and what it answers."""

    status: Status
    answers: Sequence[MemoryEntry]

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {"status": self.status.to_json(), "answers": [entry_json(entry) for entry in self.answers]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Demonstration:
    """What the demo did.

    Args:
        folder: Where it left the memory.
        as_of: The instant the dream judged by.
        question: What was asked before and after.
        capabilities: What the host had.
        imports: What came in, file by file.
        before: The memory before the dream.
        report: What the dream did.
        rows: Its journal.
        clustered: The entries of the clusters it found, by id.
        after: The memory after the dream.
    """

    folder: Path
    as_of: datetime
    question: str
    capabilities: frozenset[Capability]
    imports: Sequence[ImportReport]
    before: Look
    report: RunReport
    rows: Sequence[JournalRow]
    clustered: Mapping[str, MemoryEntry]
    after: Look

    def to_json(self) -> dict[str, Any]:
        """Return the document that `dream demo --json` prints."""
        return {
            "data": encodable(str(self.folder)),
            "as_of": to_text(self.as_of),
            "question": self.question,
            "imports": [{**report.document(), "path": encodable(report.path)} for report in self.imports],
            "before": self.before.to_json(),
            "report": self.report.to_json(),
            "diff": [row.to_json() for row in self.rows],
            "after": self.after.to_json(),
        }


def demonstration_lines(session: Session, shown: Demonstration) -> Lines:
    """Yield the demo: what came in, before, the dream with its diff, after, and what to do next."""
    yield from _arrival(session, shown)
    yield from _look("Before", shown.before, shown.question, session.screen.width)
    yield from _dream(session, shown)
    yield from _look("After", shown.after, shown.question, session.screen.width)
    yield from _onwards(session, shown)


def _arrival(session: Session, shown: Demonstration) -> Lines:
    width = session.screen.width
    yield Line("Six weeks in the memory of an architect's assistant (invented), copied to")
    yield Line(f"  {shown.folder}")
    rows = [(f"  {Path(report.path).name}", amounts(report.added) or "nothing new") for report in shown.imports]
    yield from table(rows, width)
    yield Line()


def _look(title: str, look: Look, question: str, width: int) -> Lines:
    counts = ", ".join(f"{count:,} {state}" for state, count in look.status.entries.items())
    yield Line(f"{title}: {counts} entries", Tone.TITLE)
    yield Line(f'  asked "{question}" it recalls')
    for entry in look.answers:
        seen = f"  (seen {counted(entry.reinforcement_count, 'time')})"
        yield from paragraph(f"{entry.content}{seen}", width, first="    - ", rest="      ")
    yield Line()


def _dream(session: Session, shown: Demonstration) -> Lines:
    width, report = session.screen.width, shown.report
    title = f"The dream, as of {when(shown.as_of)}, just after the conversation's end"
    yield from paragraph(f"{title}: {report.outcome.value}", width, tone=Tone.TITLE)
    yield from passes_lines(report, width)
    yield Line()
    yield Line("What it changed", Tone.TITLE)
    yield from change_set_lines(shown.rows, width, limit=_SHOWN_SETS)
    yield Line()
    more = f"see {session.command('--json', 'show', report.run_id)}"
    yield from cluster_lines(report, shown.clustered, width, more=more, limit=_SHOWN_CLUSTERS)
    if Capability.LLM not in shown.capabilities:
        yield from paragraph(_WAITING, width, tone=Tone.WARNING)
    yield Line()


def _onwards(session: Session, shown: Demonstration) -> Lines:
    run_id = shown.report.run_id
    survivor = next((row.record_id for row in shown.rows if row.after is not None), None)
    steps = [
        ("every change", session.command("diff", run_id)),
        *([("why one is as it is", session.command("why", survivor))] if survivor else []),
        ("take it all back", session.command("undo", run_id)),
        ("dream again, in its time", session.command("run", "--now", to_text(shown.as_of)[:10])),
        ("throw the demo away", shlex.join(("rm", "-r", str(shown.folder)))),
    ]
    yield Line("What next", Tone.TITLE)
    for what, command in steps:
        yield Line(f"  {what}:")
        yield Line(f"    {command}")
