"""Why an entry or a skill is as it is."""

from collections.abc import Sequence
from itertools import groupby

from agentcore.domain.conversation import Turn
from agentcore.domain.memory import MemoryEntry, SourceKind, Status
from agentcore.domain.skill import Skill
from dream.cycle.history import EntryHistory, SkillHistory
from dream.domain.journal import JournalRow
from dream.interfaces.cli.render.changes import change_set_lines
from dream.interfaces.cli.render.contents import content_lines
from dream.interfaces.cli.render.entries import entry_lines, provenance_of
from dream.interfaces.cli.render.line import Line, Lines, Tone, paragraph
from dream.interfaces.cli.render.text import one_line, when


def history_lines(history: EntryHistory, width: int) -> Lines:
    """Yield an entry as it is, what happened to it, where it came from, and what came of it."""
    if history.entry is None:
        text = f"The record {history.entry_id} is gone (purged or forgotten); the journal still knows of it."
        yield from paragraph(text, width, tone=Tone.WARNING)
    else:
        yield from _present(history.entry, width)
    yield Line()
    yield Line("What happened to it", Tone.TITLE)
    yield from _events(history.rows, width)
    yield Line()
    yield Line("Where it came from", Tone.TITLE)
    yield from _origins(history, width)
    if history.descendants:
        yield Line()
        yield Line("What came of it", Tone.TITLE)
        for entry in history.descendants:
            yield from entry_lines(entry, width, prefix="  ")


def skill_history_lines(history: SkillHistory, width: int) -> Lines:
    """Yield a skill as it is, what happened to it, and what it said before."""
    newest = history.skill or history.former[-1]
    yield Line(f"{newest.id}  {newest.name}  {newest.status.value}", Tone.TITLE)
    yield from _skill(newest, width, "  ")
    yield Line()
    yield Line("What happened to it", Tone.TITLE)
    yield from _events(history.rows, width)
    if former := [skill for skill in history.former if skill is not newest]:
        yield Line()
        yield Line("What it was before", Tone.TITLE)
        for skill in former:
            yield Line(f"  {skill.id}", Tone.TITLE)
            yield from _skill(skill, width, "    ")


def _skill(skill: Skill, width: int, indent: str) -> Lines:
    dates = f"written {when(skill.created_at)}, rewritten {when(skill.updated_at)}, used {when(skill.last_used_at)}"
    told = f"{skill.summary} (trust {skill.trust.name.lower()}; {dates})"
    yield from paragraph(told, width, first=indent, rest=indent)
    yield from content_lines(skill.content, width, indent, whole=True)
    if skill.status is not Status.ACTIVE:
        successor = f", succeeded by {skill.successor}" if skill.successor else ""
        text = f"{skill.status.value} on {when(skill.status_at)}: {skill.status_reason}{successor}"
        yield from paragraph(text, width, first=indent, rest=indent, tone=Tone.WARNING)


def _present(entry: MemoryEntry, width: int) -> Lines:
    yield Line(f"{entry.id}  {entry.category}  {entry.status.value}", Tone.TITLE)
    yield from paragraph(f'"{entry.content}"', width, first="  ")
    yield from paragraph(provenance_of(entry), width, first="  ")
    if not entry.is_active:
        successor = f", succeeded by {entry.successor}" if entry.successor else ""
        text = f"{entry.status.value} on {when(entry.status_at)}: {entry.status_reason}{successor}"
        yield from paragraph(text, width, first="  ", tone=Tone.WARNING)


def _events(rows: Sequence[JournalRow], width: int) -> Lines:
    if not rows:
        yield Line("  No dream and no undo has touched it.")
    for (run_id, instant), group in groupby(rows, key=lambda row: (row.run_id, row.recorded_at)):
        yield Line(f"  {when(instant)}, run {run_id}")
        for line in change_set_lines(list(group), width - 2):
            yield Line(f"  {line.text}", line.tone)


def _origins(history: EntryHistory, width: int) -> Lines:
    for ancestor in sorted(history.ancestors, key=lambda entry: (entry.created_at, entry.id)):
        yield from entry_lines(ancestor, width, prefix="  ")
        if ancestor.status_reason:
            yield from paragraph(_fate(ancestor), width, first="    ")
    for turn in sorted(history.turns, key=lambda turn: (turn.occurred_at, turn.id)):
        yield from _turn(turn, width)
    missing = _missing(history)
    if missing:
        yield from paragraph(f"no longer here: {', '.join(missing)}", width, first="  ", tone=Tone.FAINT)
    if not (history.ancestors or history.turns or missing):
        yield Line("  No source is recorded: it was remembered or imported as it stands.")


def _fate(entry: MemoryEntry) -> str:
    reason, state = entry.status_reason or "", entry.status.value
    return reason if reason.startswith(state) else f"{state}: {reason}"


def _turn(turn: Turn, width: int) -> Lines:
    speaker = f"{turn.speaker} ({turn.role})" if turn.speaker else turn.role
    session = one_line(turn.session_id)
    yield Line(f"  turn {turn.id}, {when(turn.occurred_at)}, {one_line(speaker)} in session {session}")
    yield from paragraph(f'"{turn.content}"', width, first="    ")


def _missing(history: EntryHistory) -> list[str]:
    """Return the sources of the entry and its ancestors that no longer exist."""
    family = [entry for entry in (history.entry, *history.ancestors) if entry is not None]
    here = {(SourceKind.TURN, turn.id) for turn in history.turns}
    here |= {(SourceKind.ENTRY, entry.id) for entry in family}
    cited = {ref for entry in family for ref in entry.sources if ref.kind in {SourceKind.TURN, SourceKind.ENTRY}}
    return sorted(str(ref) for ref in cited if (ref.kind, ref.id) not in here)
