"""Tells the demo from beginning to end."""

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from agentcore.domain.memory import MemoryEntry
from agentcore.domain.records import entry_json
from agentcore.domain.temporal import to_text
from dream.cycle.scope_status import ScopeStatus
from dream.domain.change import JournalRow
from dream.domain.forecast import PassForecast
from dream.domain.report import RunReport
from dream.domain.usage import EVERYTHING, UsageRow, summed
from dream.interfaces.cli.render.changes import change_set_lines, successors_of
from dream.interfaces.cli.render.clusters import cluster_lines
from dream.interfaces.cli.render.exchange import amounts
from dream.interfaces.cli.render.reports import asked_about, passes_lines, question_lines
from dream.interfaces.cli.render.text import Line, Lines, Tone, counted, encodable, paragraph, table, when
from dream.interfaces.cli.render.usage import forecast_lines, usage_lines
from dream.interfaces.cli.session import CommandSession
from dream.interfaces.exchange.import_report import ImportReport

_SHOWN_CLUSTERS = 3

_WAITING = (
    "No model was asked. So the wordings above stay as they are, listed for you to judge, and what only a model can do "
    "waits: learning facts from the conversation, merging wordings, and settling contradictions (65 or 72 euros an "
    "hour). Name a model in AGENTCORE_MODEL and its server in OPENAI_BASE_URL, and run the demo again."
)


@dataclass(frozen=True, slots=True)
class Look:
    """The memory at one instant: how it stands, and what it answers."""

    status: ScopeStatus
    answers: Sequence[MemoryEntry]

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {"status": self.status.to_json(), "answers": [entry_json(entry) for entry in self.answers]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """The demo before the dream.

    Args:
        folder: Where it leaves the memory.
        as_of: The instant the dream judges by.
        question: What is asked before and after.
        imports: What came in, file by file.
        before: The memory as it came.
        model: The model that will be asked; None if none is.
        forecast: What it will be asked, pass by pass.
        tokens_left: What may be spent today; None if there is no bound.
    """

    folder: Path
    as_of: datetime
    question: str
    imports: Sequence[ImportReport]
    before: Look
    model: str | None
    forecast: Sequence[PassForecast]
    tokens_left: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Demonstration:
    """What the demo did.

    Args:
        arrival: What it began with.
        report: What the dream did.
        rows: Its journal.
        usage: What the model cost, by day, pass and model.
        tokens_left: What may still be spent today; None if there is no bound.
        named: The entries that the report and the journal name, by id.
        after: The memory after the dream.
    """

    arrival: Arrival
    report: RunReport
    rows: Sequence[JournalRow]
    usage: Sequence[UsageRow]
    tokens_left: int | None
    named: Mapping[str, MemoryEntry]
    after: Look

    def to_json(self) -> dict[str, Any]:
        """Return the document that `dream demo --json` prints."""
        arrival = self.arrival
        return {
            "data": encodable(str(arrival.folder)),
            "as_of": to_text(arrival.as_of),
            "question": arrival.question,
            "model": arrival.model,
            "imports": [{**report.document(), "path": encodable(report.path)} for report in arrival.imports],
            "before": arrival.before.to_json(),
            "forecast": [one.to_json() for one in arrival.forecast],
            "report": self.report.to_json(),
            "diff": [row.to_json() for row in self.rows],
            "usage": [row.to_json() for row in self.usage],
            "after": self.after.to_json(),
        }


def arrival_lines(session: CommandSession, arrival: Arrival) -> Lines:
    """Yield what came in, what the memory answers before, and what the model is about to be asked."""
    width = session.screen.width
    yield Line("Six weeks in the memory of an architect's assistant (invented), copied to")
    yield Line(f"  {arrival.folder}")
    rows = [(f"  {Path(report.path).name}", amounts(report.added) or "nothing new") for report in arrival.imports]
    yield from table(rows, width)
    yield Line()
    yield from _look("Before", arrival.before, arrival.question, width)
    if arrival.model is not None:
        yield from forecast_lines(session, arrival.forecast, arrival.tokens_left)
        most = sum(one.most_tokens for one in arrival.forecast)
        text = f"Now {arrival.model} is asked, for {most:,} tokens at most. (--no-model leaves it out.)"
        yield from paragraph(text, width)
        yield Line()


def demonstration_lines(session: CommandSession, shown: Demonstration) -> Lines:
    """Yield the dream with its diff, after, what it cost, and what to do next."""
    width = session.screen.width
    yield from _dream(session, shown)
    yield from _changes(session, shown)
    yield from _look("After", shown.after, shown.arrival.question, width)
    if shown.usage:
        yield Line("What it cost", Tone.TITLE)
        total = next(iter(summed(shown.usage)), UsageRow())
        yield from usage_lines(session, shown.usage, total, EVERYTHING, shown.tokens_left)
        yield Line()
    yield from _onwards(session, shown)


def _look(title: str, look: Look, question: str, width: int) -> Lines:
    counts = ", ".join(f"{count:,} {state}" for state, count in look.status.entries.items())
    yield Line(f"{title}: {counts} entries", Tone.TITLE)
    yield Line(f'  asked "{question}" it recalls')
    for entry in look.answers:
        seen = f"  (seen {counted(entry.reinforcement_count, 'time')})"
        yield from paragraph(f"{entry.content}{seen}", width, first="    - ", rest="      ")
    yield Line()


def _dream(session: CommandSession, shown: Demonstration) -> Lines:
    width, report = session.screen.width, shown.report
    title = f"The dream, as of {when(shown.arrival.as_of)}, just after the conversation's end"
    yield from paragraph(f"{title}: {report.outcome.value}", width, tone=Tone.TITLE)
    yield from passes_lines(report, width, shown.named)
    yield Line()


def _changes(session: CommandSession, shown: Demonstration) -> Lines:
    """Yield the first change of each kind, and what is left to a person."""
    width, report = session.screen.width, shown.report
    first = {row.operation: row.number for row in reversed(shown.rows)}
    examples = [row for row in shown.rows if first[row.operation] == row.number]
    yield Line("What it changed, one of each kind", Tone.TITLE)
    yield from change_set_lines(examples, width, entries=shown.named)
    left = len({row.number for row in shown.rows}) - len(first)
    if left:
        yield Line(f"... and {counted(left, 'more change', 'more changes')}.", Tone.FAINT)
    yield Line()
    more = f"see {session.command('--json', 'show', report.run_id)}"
    if shown.arrival.model is None:
        yield from cluster_lines(report, shown.named, width, more=more, limit=_SHOWN_CLUSTERS)
        yield from paragraph(_WAITING, width, tone=Tone.WARNING)
        yield Line()
    elif asked_about(report):
        yield from question_lines(report, shown.named, width, more=more)
        yield Line()


def _onwards(session: CommandSession, shown: Demonstration) -> Lines:
    run_id, is_asked = shown.report.run_id, shown.arrival.model is not None
    steps = [
        ("every change", session.command("diff", run_id)),
        *([("why one is as it is", session.command("why", survivor))] if (survivor := _survivor(shown.rows)) else []),
        ("take it all back", session.command("undo", run_id)),
        ("run another dream as of the demo's date", session.command("run", "--now", to_text(shown.arrival.as_of)[:10])),
        *([("tell the model otherwise", session.command("directives", "eject", "dream"))] if is_asked else []),
        ("throw the demo away", shlex.join(("rm", "-r", str(shown.arrival.folder)))),
    ]
    yield Line("What next", Tone.TITLE)
    for what, command in steps:
        yield Line(f"  {what}:")
        yield Line(f"    {command}")


def _survivor(rows: Sequence[JournalRow]) -> str | None:
    """Return the record with the longest story: the one that took the place of most others."""
    heirs = Counter(heir for row in rows for heir in successors_of([row]))
    added = {row.record_id for row in rows if row.before is None}
    # What a dream wrote has more to tell than what it kept.
    return max(sorted(heirs), key=lambda heir: (heir in added, heirs[heir]), default=None)
