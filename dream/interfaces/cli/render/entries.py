"""Shows entries, answers of recall, and the history of a record."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import TYPE_CHECKING

from agentcore.domain.conclusion import Premise
from agentcore.domain.conversation import Turn
from agentcore.domain.evidence import Evidence
from agentcore.domain.memory import MemoryEntry, SourceKind, Status
from agentcore.domain.records import RecordKind
from agentcore.domain.skill import Skill
from agentcore.hosting.representation import HeldEntry
from agentcore.recall.results import DenseScore, Explanation, Hit
from agentcore.stores.values import RecordWrite
from dream.interfaces.cli.render.changes import change_set_lines, content_lines
from dream.interfaces.cli.render.reasons import explained
from dream.interfaces.cli.render.text import Line, Lines, Tone, clip, clipped, counted, one_line, paragraph, when
from dream.interfaces.cli.session import CommandSession

# Lists and answers of recall are shown by commands that open no dreams.
if TYPE_CHECKING:
    from dream.cycle.history import EntryHistory, SkillHistory
    from dream.domain.report import RunReport


_MAX_TEXT = 240
"""Columns shown of a content in a list; `why` shows it whole."""


def entry_lines(entry: MemoryEntry, width: int, *, prefix: str = "", at: datetime | None = None) -> Lines:
    """Yield an entry as a list shows it: its id, how much it matters, where it is filed, and what it says.

    Args:
        entry: The entry.
        width: Columns of a line.
        prefix: What stands before its id.
        at: An instant to be shown, in local time.
    """
    marks = [f"{entry.importance:.2f}", entry.category, *(f"#{tag}" for tag in entry.tags)]
    if entry.reinforcement_count > 1:
        marks.append(f"seen {entry.reinforcement_count}x")
    if entry.subject_time is not None:
        marks.append(f"about {entry.subject_time}")
    if entry.pinned:
        marks.append("pinned")
    if entry.is_conclusion:
        marks.append(conclusion_of(entry))
    if not entry.is_active:
        marks.append(entry.status.value)
    if entry.valid_until is not None:
        marks.append(f"held until {entry.valid_until}")
    if at is not None:
        marks.append(f"{at.astimezone():%Y-%m-%d %H:%M}")
    indent = " " * (len(prefix) - len(prefix.lstrip()))
    yield clipped(", ".join(marks), width, first=f"{prefix}{entry.id}  ", tone=Tone.TITLE)
    yield from paragraph(clip(entry.content, _MAX_TEXT), width, first=f"{indent}    ")


def conclusion_of(entry: MemoryEntry) -> str:
    """Return what sort of conclusion an entry is, and how sure."""
    sure = "" if entry.pattern is None else f" {entry.pattern.value}, confidence {entry.confidence or 'unknown'}"
    return f"{entry.level.value}{sure} on {counted(len(entry.premises), 'premise')}"


def conclusion_lines(held: Sequence[HeldEntry], width: int) -> Lines:
    """Yield conclusions, each with what it rests on and what speaks against it."""
    if not held:
        yield Line("Nothing was concluded.")
    for one in held:
        yield from entry_lines(one.entry, width)
        for premise, entry in one.premises:
            yield from premise_lines(premise, entry, width, "      ")


def premise_lines(premise: Premise, entry: MemoryEntry | None, width: int, indent: str) -> Lines:
    """Yield one premise: what it says, when and where it was first said, and whether it speaks against."""
    stance = "against" if premise.against else "because it held" if premise.past else "because"
    session = f" in session {one_line(premise.session)}" if premise.session else ""
    text = "(no longer here)" if entry is None else f'"{clip(entry.content, _MAX_TEXT)}"'
    state = "" if entry is None or entry.is_active else f", {entry.status.value}"
    told = f"{stance} {text} ({premise.entry_id}, {when(premise.said_at)}{session}{state})"
    yield from paragraph(told, width, first=indent, rest=f"{indent}  ", tone=Tone.FAINT)


def _premise_tree(entry: MemoryEntry, known: Mapping[str, MemoryEntry], width: int, indent: str = "  ") -> Lines:
    """Yield what a conclusion rests on, down to what was said; nothing for any other entry."""
    for premise in entry.premises:
        below = known.get(premise.entry_id)
        yield from premise_lines(premise, below, width, indent)
        if below is not None and len(indent) < _DEEPEST_INDENT:
            yield from _premise_tree(below, known, width, f"{indent}  ")


_DEEPEST_INDENT = 12


def entry_list_lines(entries: Sequence[MemoryEntry], total: int, width: int, *, said: bool = False) -> Lines:
    """Yield entries, each with when it was last seen or first said, and how many more there are."""
    for entry in entries:
        yield from entry_lines(entry, width, at=entry.created_at if said else entry.last_seen_at)
    if not total:
        yield Line("There are no such entries.")
    elif len(entries) < total:
        yield Line(f"{len(entries):,} of {counted(total, 'entry', 'entries')}; --limit shows more.", Tone.FAINT)
    else:
        yield Line(f"{counted(total, 'entry', 'entries')}.", Tone.FAINT)


def hit_lines(query: str, hits: Sequence[tuple[Hit, Explanation | None]], width: int, turns: int = 0) -> Lines:
    """Yield the answers to a query, best first, each with how its score came about where that is given.

    Args:
        query: What was asked.
        hits: The answers.
        width: Columns of a line.
        turns: Turns of the conversation log, which were not searched; told of where there is no answer.
    """
    if not hits:
        yield from paragraph(f"Nothing is known about {query!r}.", width)
    if turns and not hits:
        told = (
            f"The conversation log holds {counted(turns, 'turn')}, which this command does not search: a dream with a "
            "model learns entries from them, and a host finds them with host.conversation.recall."
        )
        yield from paragraph(told, width, tone=Tone.FAINT)
    for place, (hit, why) in enumerate(hits, start=1):
        yield from entry_lines(hit.entry, width, prefix=f"{place}. {hit.score:.2f}  ")
        if why is not None:
            yield from _explanation_lines(why, width)


def _explanation_lines(why: Explanation, width: int) -> Lines:
    for term in why.terms:
        reason = f"{term.score:.3f}  {term.term}: idf {term.idf:.3f}, {term.count} in it, norm {term.norm:.3f}"
        yield from paragraph(reason, width, first="    + ", rest="      ", tone=Tone.FAINT)
    if why.dense is not None:
        yield from paragraph(_dense_line(why.dense, why.bm25), width, first="    + ", rest="      ", tone=Tone.FAINT)
    factors = [f"relevance {why.relevance:.3f}", f"importance {why.importance:.3f}", f"recency {why.recency:.3f}",
               f"phrase {why.phrase:.3f}", f"length {why.length:.3f}"]  # fmt: skip
    yield from paragraph(" x ".join(factors), width, first="    = ", rest="      ", tone=Tone.FAINT)


def _dense_line(dense: DenseScore, bm25: float) -> str:
    near = "no vector yet" if dense.similarity is None else f"similarity {dense.similarity:.3f}"
    return f"{dense.share:.3f}  by meaning: {near}; words count {bm25 * dense.scale:.3f} of {bm25:.3f}"


def remembered_lines(entry: MemoryEntry, width: int) -> Lines:
    """Yield what became of a text that was to be remembered."""
    count = entry.reinforcement_count
    done = "Remembered" if count == 1 else f"Known already; reinforced, now seen {count} times"
    yield Line(f"{done}:")
    yield from entry_lines(entry, width)


def restored_lines(session: CommandSession, report: "RunReport", entry: MemoryEntry | None) -> Lines:
    """Yield what a restore did."""
    from dream.domain.report import Outcome  # noqa: PLC0415 - as above

    width = session.screen.width
    if report.outcome is Outcome.DEFERRED or entry is None:
        yield from paragraph(f"Not restored: {explained(report.reason)}.", width, tone=Tone.WARNING)
        return
    yield Line("Restored; no dream retires it for the same reason again:")
    yield from entry_lines(entry, width)
    yield Line(f"Take that back: {session.command('undo', report.run_id)}", Tone.FAINT)


def provenance_of(entry: MemoryEntry) -> str:
    """Return in one sentence how an entry came to be known and how much it matters."""
    about = f", about {entry.subject_time}" if entry.subject_time else ""
    pinned = ", pinned" if entry.pinned else ""
    level = conclusion_of(entry) if entry.is_conclusion else entry.level.value
    return (
        f"{level}, trust {entry.trust.name.lower()}{about}{pinned}; importance {entry.importance:.2f} now, "
        f"{entry.base:.2f} when last seen on {when(entry.last_seen_at)}; first said {when(entry.created_at)}, "
        f"seen {counted(entry.reinforcement_count, 'time')}."
    )


def history_lines(history: "EntryHistory", width: int) -> Lines:
    """Yield an entry as it is, what happened to it, where it came from, and what came of it."""
    if history.entry is None:
        last = history.rows[-1] if history.rows else None
        text = f"The record {history.entry_id} is gone (purged or forgotten); the journal still knows of it."
        if last is not None and last.kind is not RecordKind.ENTRY and last.after is not None:
            text = f"{history.entry_id} is no memory but a {last.kind.value.replace('_', ' ')}."
        yield from paragraph(text, width, tone=Tone.WARNING)
    else:
        yield from _present(history.entry, width)
        yield from _evidence(history.entry, width)
    yield Line()
    yield Line("What happened to it", Tone.TITLE)
    yield from _events(history, width)
    yield Line()
    yield Line("Where it came from", Tone.TITLE)
    if history.entry is not None and history.entry.is_conclusion:
        yield from _premise_tree(history.entry, {one.id: one for one in history.ancestors}, width)
    yield from _origins(history, width)
    if history.descendants:
        yield Line()
        yield Line("What came of it", Tone.TITLE)
        for entry in history.descendants:
            yield from entry_lines(entry, width, prefix="  ")


def skill_history_lines(history: "SkillHistory", width: int) -> Lines:
    """Yield a skill as it is, what happened to it, and what it said before."""
    newest = history.skill or history.former[-1]
    yield Line(f"{newest.id}  {newest.name}  {newest.status.value}", Tone.TITLE)
    yield from _skill(newest, width, "  ")
    yield Line()
    yield Line("What happened to it", Tone.TITLE)
    yield from _events(history, width)
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
        held = f"; it held until {entry.valid_until}" if entry.valid_until else ""
        text = f"{entry.status.value} on {when(entry.status_at)}: {entry.status_reason}{successor}{held}"
        yield from paragraph(text, width, first="  ", tone=Tone.WARNING)


def _evidence(entry: MemoryEntry, width: int) -> Lines:
    if not entry.evidence:
        return
    yield Line()
    yield Line(f"What it rests on: {entry.verdict.value}", Tone.TITLE)
    for one in entry.evidence:
        speaker = f", {one_line(one.speaker)}" if one.speaker else ""
        by = f" by {one_line(one.verified_by)}" if one.verified_by else ""
        in_round = f" in round {one.round}" if one.round else ""
        yield from paragraph(f'"{one.sentence}"', width, first="  ")
        told = f"{when(one.said_at)}{speaker} ({one.source}); {one.verdict.value}{by}{in_round}{_writer(one)}"
        yield from paragraph(told, width, first="    ", rest="    ")


def _writer(one: Evidence) -> str:
    if one.is_verified_by_its_writer:
        return ", the model that wrote it"
    return f", written by {one_line(one.written_by)}" if one.written_by else ""


def _events(history: "EntryHistory | SkillHistory", width: int) -> Lines:
    for write in history.writes:
        yield from paragraph(_write_line(write), width, first="  ", rest="    ")
    if not history.rows:
        yield Line("  No dream and no undo has touched it.")
    for (run_id, instant), group in groupby(history.rows, key=lambda row: (row.run_id, row.recorded_at)):
        asked_by = history.asked_by.get(run_id)
        yield Line(f"  {when(instant)}, run {run_id}{f', asked for by {asked_by}' if asked_by else ''}")
        for line in change_set_lines(list(group), width - 2):
            yield Line(f"  {line.text}", line.tone)


def _write_line(write: RecordWrite) -> str:
    again = f", {write.times} times, last {when(write.last_at)}" if write.times > 1 else ""
    return f"{when(write.first_at)}, {write.action.value} by {one_line(write.actor)}{again}"


def _origins(history: "EntryHistory", width: int) -> Lines:
    for ancestor in sorted(history.ancestors, key=lambda entry: (entry.created_at, entry.id)):
        yield from entry_lines(ancestor, width, prefix="  ")
        if ancestor.status_reason:
            yield from paragraph(_fate(ancestor), width, first="    ")
    for turn in sorted(history.turns, key=lambda turn: (turn.occurred_at, turn.id)):
        yield from _turn(turn, width)
    missing = _missing(history)
    if missing:
        yield from paragraph(f"no longer here: {', '.join(missing)}", width, first="  ", tone=Tone.FAINT)
    if history.entry is None:
        yield Line("  That went with it.")
    elif not (history.ancestors or history.turns or missing):
        yield Line("  No source is recorded: it was remembered or imported as it stands.")


def _fate(entry: MemoryEntry) -> str:
    reason, state = entry.status_reason or "", entry.status.value
    return reason if reason.startswith(state) else f"{state}: {reason}"


def _turn(turn: Turn, width: int) -> Lines:
    speaker = f"{turn.speaker} ({turn.role})" if turn.speaker else turn.role
    session = one_line(turn.session_id)
    yield Line(f"  turn {turn.id}, {when(turn.occurred_at)}, {one_line(speaker)} in session {session}")
    yield from paragraph(f'"{turn.content}"', width, first="    ")


def _missing(history: "EntryHistory") -> list[str]:
    """Return the sources of the entry and its ancestors that no longer exist."""
    family = [entry for entry in (history.entry, *history.ancestors) if entry is not None]
    here = {(SourceKind.TURN, turn.id) for turn in history.turns}
    here |= {(SourceKind.ENTRY, entry.id) for entry in family}
    cited = {ref for entry in family for ref in entry.sources if ref.kind in {SourceKind.TURN, SourceKind.ENTRY}}
    return sorted(str(ref) for ref in cited if (ref.kind, ref.id) not in here)
