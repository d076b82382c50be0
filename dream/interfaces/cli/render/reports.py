"""Shows what runs did, pass by pass."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Sized
from typing import Any, Final, cast

from agentcore.domain.memory import MemoryEntry
from agentcore.domain.temporal import from_text
from dream.domain.built_in_passes import WISP_FAILURES
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused, Skip
from dream.domain.refused import RefusedText
from dream.domain.report import Outcome, PassOutcome, PassReport, RunKind, RunReport
from dream.domain.rounds import RoundKind
from dream.interfaces.cli.render.clusters import cluster_lines
from dream.interfaces.cli.render.reasons import committed, explained, refusal_lines
from dream.interfaces.cli.render.text import Line, Lines, Tone, clip, counted, paragraph, table, when
from dream.interfaces.cli.session import CommandSession

_QUESTIONS_SHOWN = 5
_MAX_TEXT = 160


def asked_about(report: RunReport) -> list[str]:
    """Return the ids of the entries whose texts `question_lines` shows."""
    return [entry_id for question in _questions(report)[:_QUESTIONS_SHOWN] for entry_id in question["entries"]]


def question_lines(report: RunReport, entries: Mapping[str, MemoryEntry], width: int, *, more: str) -> Lines:
    """Yield the open questions with the texts they are about, and how many more there are.

    Args:
        report: The report of the run that found them.
        entries: The entries to be shown, by id; one that is missing is gone since.
        width: Columns of a line.
        more: Where to see the rest.
    """
    found = _questions(report)
    if not found:
        return
    yield Line(f"{counted(len(found), 'open question')}:", Tone.TITLE)
    for place, question in enumerate(found[:_QUESTIONS_SHOWN], start=1):
        yield from paragraph(question["question"], width, first=f"  {place}. ", rest="     ")
        for entry_id in question["entries"]:
            entry = entries.get(entry_id)
            text = "(no longer here)" if entry is None else f"{clip(entry.content, _MAX_TEXT)}  [{entry.category}]"
            yield from paragraph(text, width, first=f"     {entry_id}  ", rest="       ")
    if len(found) > _QUESTIONS_SHOWN:
        yield Line(f"  and {len(found) - _QUESTIONS_SHOWN} more; {more}", Tone.FAINT)


def _questions(report: RunReport) -> Sequence[Mapping[str, Any]]:
    noted = [cast("Sequence[Mapping[str, Any]]", item.notes.get("questions", ())) for item in report.passes]
    return [question for questions in noted for question in questions]


def verification_lines(report: RunReport, entries: Mapping[str, MemoryEntry], width: int) -> Lines:
    """Yield what a second reading denied: what was archived, and what was kept for a person to decide."""
    ids = [one.cites[0] if one.cites else one.detail.partition(":")[0] for one in _denied(report)]
    for entry in (entries[one] for one in ids if one in entries):
        what = "kept, decide yourself" if entry.is_active else "archived"
        yield from paragraph(f"{clip(entry.content, _MAX_TEXT)} ({what})", width, first=f"  {entry.id}  ", rest="    ")


def _denied(report: RunReport) -> list[Refusal]:
    return [one for item in report.passes for one in item.refused if one.code == Refused.DENIED]


_WISPS_SHOWN: Final = 5


def wisp_lines(report: RunReport, width: int, *, more: str) -> Lines:
    """Yield the patterns of failure that were classified, then the wisps that keep succeeding.

    Args:
        report: The report of the run that found them.
        width: Columns of a line.
        more: Where to see the rest.
    """
    failing, succeeding = _noted(report, "patterns"), _noted(report, "promotion_candidates")
    title = f"{counted(len(failing), 'wisp keeps', 'wisps keep')} failing:"
    yield from _listed(title, [_failing(one) for one in failing], width, more)
    title = f"{counted(len(succeeding), 'wisp keeps', 'wisps keep')} succeeding and could become a skill:"
    yield from _listed(title, [_succeeding(one) for one in succeeding], width, more)


def _failing(pattern: Mapping[str, Any]) -> str:
    told = f"{pattern['description']}: {pattern['failures']} of {pattern['runs']} runs failed"
    skill = f", written into {pattern['skill']}" if pattern["skill"] else ""
    return f"{told}; {pattern['classification']}{skill}"


def _succeeding(candidate: Mapping[str, Any]) -> str:
    told = f"{candidate['description']}: {candidate['successes']} of {candidate['runs']} runs succeeded"
    return f"{told}; it came from {candidate['skill']}" if candidate["skill"] else told


def _listed(title: str, items: Sequence[str], width: int, more: str) -> Lines:
    if not items:
        return
    yield Line(title, Tone.TITLE)
    for item in items[:_WISPS_SHOWN]:
        yield from paragraph(item, width, first="  - ", rest="    ")
    if len(items) > _WISPS_SHOWN:
        yield Line(f"  and {len(items) - _WISPS_SHOWN} more; {more}", Tone.FAINT)


def _noted(report: RunReport, name: str) -> list[Mapping[str, Any]]:
    """Return what the pass about wisps noted; another one may count something under the same name."""
    noted: list[Sequence[Mapping[str, Any]]] = [
        item.notes.get(name, ()) for item in report.passes if item.name == WISP_FAILURES.name
    ]
    return [one for found in noted for one in found]


_TONES = {
    PassOutcome.APPLIED: Tone.ADDED,
    PassOutcome.PROPOSED: Tone.WARNING,
    PassOutcome.UNCHANGED: Tone.PLAIN,
    PassOutcome.SKIPPED: Tone.FAINT,
    PassOutcome.FAILED: Tone.REMOVED,
}
_NAME_WIDTH = 22
_NARROW = 60
"""Columns below which what a pass did stands below its name."""


def run_lines(
    session: CommandSession,
    report: RunReport,
    entries: Mapping[str, MemoryEntry],
    *,
    asked: int = 0,
    is_running: bool = False,
) -> Lines:
    """Yield the report of a run, and how to look at it and take it back.

    Args:
        session: What the command was given.
        report: The report; of a run that has not ended, what is known of it.
        entries: Entries that it is about, by id.
        asked: How many questions it asked a person.
        is_running: Whether the run is under way.
    """
    width = session.screen.width
    if report.outcome is Outcome.DEFERRED:
        reason = explained(report.reason)
        begun = f"Run {report.run_id} stopped between two steps, and what it did stands"
        title = begun if report.run_id else "Deferred, nothing was done"
        yield from paragraph(f"{title}: {reason}.", width, tone=Tone.WARNING)
        return
    yield from _head(report, width, asked, is_running=is_running)
    yield Line()
    yield from passes_lines(report, width, entries)
    more = f"see {session.command('--json', 'show', report.run_id)}"
    yield from cluster_lines(report, entries, width, more=more)
    yield from question_lines(report, entries, width, more=more)
    yield from wisp_lines(report, width, more=more)
    yield Line()
    yield from _next_steps(session, report, asked, is_running=is_running)


def _head(report: RunReport, width: int, asked: int, *, is_running: bool) -> Lines:
    target = f" of {report.target}" if report.target else ""
    what = {RunKind.DREAM: "Run"}.get(report.kind, f"Run ({report.kind.value}{target})")
    reason = f" ({explained(report.reason)})" if report.reason else ""
    resumed = "; it went on after an interruption" if report.resumed else ""
    ended = "under way" if is_running else f"{report.outcome.value}{reason}"
    title = f"{what} {report.run_id} on {report.scope}: {ended}{resumed}"
    yield from paragraph(title, width, rest="  ", tone=Tone.TITLE)
    asking = f"{counted(asked, 'question waits', 'questions wait')} for you" if asked else ""
    changed = "nothing changed" if asked and not report.changes and not report.purged else amount(report)
    what = ", ".join(filter(None, (changed, asking)))
    yield from paragraph(f"{what[0].upper()}{what[1:]}; as of {when(report.as_of)}{_seconds(report)}.", width)


def amount(report: RunReport) -> str:
    """Return how many records a run changed, and how many it removed for good."""
    gone = f", {counted(report.purged, 'record')} removed for good" if report.purged else ""
    return f"{counted(report.changes, 'record')} changed{gone}"


def _seconds(report: RunReport) -> str:
    if report.finished_at is None:
        return "; not finished"
    return f"; took {(report.finished_at - report.started_at).total_seconds():.2f} s"


def passes_lines(report: RunReport, width: int, entries: Mapping[str, MemoryEntry]) -> Lines:
    """Yield what each pass did; those that nobody asked for share a line.

    Args:
        report: The report.
        width: Columns of a line.
        entries: Entries that refusals are about, by id; of others the id is shown.
    """
    left_out = [item.name for item in report.passes if item.reason == Skip.NOT_REQUESTED]
    unable = {item.name: _missing(item) for item in report.passes if _missing(item)}
    for item in report.passes:
        if item.name not in left_out and item.name not in unable:
            yield from pass_lines(item, width, entries)
    yield from _unable_lines(unable, width)
    if left_out:
        yield from paragraph(", ".join(left_out), width, first="not asked for: ", tone=Tone.FAINT)


_MODEL: Final = "llm"
_WORKSPACE: Final = "workspace"


def _missing(item: PassReport) -> frozenset[str]:
    """Return what a pass needs that the host does not have; nothing for one that could run."""
    code, _, names = (item.reason or "").partition(": ")
    return frozenset(names.split(", ")) if code == Skip.MISSING else frozenset()


def _unable_lines(unable: Mapping[str, frozenset[str]], width: int) -> Lines:
    """Yield in a line each what cannot run for want of a model, of a workspace, or of something else."""
    asking = [name for name, missing in unable.items() if _MODEL in missing]
    writing = [name for name, missing in unable.items() if missing == frozenset({_WORKSPACE})]
    others = {name: missing for name, missing in unable.items() if name not in (*asking, *writing)}
    if asking:
        ask = "asks a model" if len(asking) == 1 else "ask a model"
        name_one = "name one by AGENTCORE_MODEL or in [llm] of agentcore.toml, and leave --no-model out"
        told = f"{counted(len(asking), 'pass', 'passes')} {ask}, and there was none ({name_one}): {', '.join(asking)}"
        yield from paragraph(told, width, rest="  ", tone=Tone.FAINT)
    if writing:
        write = "writes" if len(writing) == 1 else "write"
        told = f"{counted(len(writing), 'pass', 'passes')} {write} documents; name their folder by --workspace: "
        yield from paragraph(told + ", ".join(writing), width, rest="  ", tone=Tone.FAINT)
    for name, missing in others.items():
        yield from paragraph(f"{name} needs {', '.join(sorted(missing))}", width, rest="  ", tone=Tone.FAINT)


def pass_lines(item: PassReport, width: int, entries: Mapping[str, MemoryEntry]) -> Lines:
    """Yield what one pass did: outcome and numbers, then what was refused."""
    numbers = _numbers(item)
    # Beside what it counted, "unchanged" says enough.
    reason = "" if numbers and item.reason == Skip.NOTHING_TO_CHANGE else explained(item.reason)
    told = "; ".join(part for part in (numbers, reason) if part)
    head = f"{item.name:<{_NAME_WIDTH - 1}} {item.outcome.value}"
    is_narrow = width < _NARROW
    if is_narrow:
        yield Line(f"{item.name} {item.outcome.value}", _TONES[item.outcome])
        yield from paragraph(told or "-", width, first="  ", tone=_TONES[item.outcome])
    else:
        yield from paragraph(told or "-", width, first=head.ljust(_NAME_WIDTH + 11), tone=_TONES[item.outcome])
    yield from refusal_lines(item.refused, width, indent="  " if is_narrow else " " * _NAME_WIDTH, entries=entries)


def pass_line(item: PassReport) -> Line:
    """Return what one pass did, in short, for somebody who watches."""
    what = ", ".join(part for part in (explained(item.reason), _numbers(item)) if part)
    return Line(f"{item.name} {item.outcome.value}{f': {what}' if what else ''}", _TONES[item.outcome])


def _numbers(item: PassReport) -> str:
    counts = {name: value for name, value in item.notes.items() if value or isinstance(value, str)}
    parts = [
        counted(item.accepted, "record") + " changed" if item.accepted else "",
        counted(item.proposed, "proposal") + " to review" if item.proposed else "",
        counted(item.purged, "record") + " removed for good" if item.purged else "",
        # What it counted none of is told only where it counted nothing at all.
        *(_note(name, value) for name, value in (counts or item.notes).items() if value != {}),
        f"backlog {item.backlog:,}" if item.backlog else "",
        _asked(item),
        _read_again(item),
    ]
    return ", ".join(part for part in parts if part)


def _asked(item: PassReport) -> str:
    """Return what it asked, or its share of what another pass asked for both; empty if there was nothing."""
    tokens = f"{item.input_tokens:,} + {item.output_tokens:,} tokens"
    if item.calls:
        return f"{counted(item.calls, 'model call')}, {tokens}"
    return f"{tokens} of shared calls" if item.input_tokens else ""


def _read_again(item: PassReport) -> str:
    """Return what of its calls and tokens second readings took; empty where there was none."""
    read = [one for one in item.rounds if one.kind is RoundKind.VERIFICATION]
    if not read:
        return ""
    given, got = sum(one.input_tokens for one in read), sum(one.output_tokens for one in read)
    calls = sum(one.calls for one in read)
    return f"of these {counted(calls, 'second reading') if calls else 'second readings'}, {given:,} + {got:,} tokens"


def _note(name: str, value: Any) -> str:
    label = name.replace("_", " ")
    if name in _TOLD:
        return _TOLD[name](value)
    if isinstance(value, bool):
        return label if value else ""
    if isinstance(value, int | float):
        return f"{value:,} {_singular(label) if value == 1 else label}"
    if isinstance(value, Mapping):
        counts = cast("Mapping[str, Any]", value)
        return f"{label}: {', '.join(f'{key} {count}' for key, count in counts.items())}"
    if isinstance(value, Sized) and not isinstance(value, str):
        return f"{len(value):,} {_singular(label) if len(value) == 1 else label}"
    return f"{label} {value}"


def _singular(label: str) -> str:
    """Return the label of one of what is counted.

    Example:
        >>> _singular("promotion candidates"), _singular("entries"), _singular("at floor")
        ('promotion candidate', 'entry', 'at floor')
    """
    if label.endswith("ies"):
        return f"{label[:-3]}y"
    return label[:-1] if label.endswith("s") and not label.endswith("ss") else label


def _waiting(told: Sequence[Mapping[str, Any]]) -> str:
    """Return what waits, why and since when; of what waits for the share cap until when."""
    return ". ".join(map(_waits, told))


def _waits(told: Mapping[str, Any]) -> str:
    count = told["count"]
    what = f"{counted(count, 'change')} wait{'s' if count == 1 else ''} since {when(from_text(told['since']))}"
    if "share" not in told:
        return f"{what}: {explained(told['reason'])}"
    more = f"; the next ones from {when(from_text(told['room_at']))} on" if told["room_at"] else ""
    return f"{what}: at most {told['share']:.0%} of the entries may be retired in 24 hours{more}"


_TOLD: Mapping[str, Callable[[Any], str]] = {
    "commit": lambda value: committed(str(value)),
    "waits": _waiting,
    "no_answer": lambda value: f"{counted(value['calls'], 'call')} without an answer, about {value['tokens']:,} tokens",
    "score_range": lambda value: f"scores {value[0]:.2f} to {value[1]:.2f}" if value else "",
}
"""How a note is told that is no plain count."""


def _next_steps(session: CommandSession, report: RunReport, asked: int, *, is_running: bool) -> Lines:
    backlog = sum(item.backlog for item in report.passes)
    if backlog:
        yield Line(f"{backlog:,} entries are left for later runs: {session.command('run')}")
    if report.finished_at is None and not is_running:
        yield Line(f"It was interrupted; go on with it: {session.command('run')}", Tone.WARNING)
    if any(item.proposed for item in report.passes):
        yield Line(f"Decide what waits: {session.command('review', 'list')}")
    if asked:
        yield Line(f"It asked {counted(asked, 'question')}:  {session.command('questions')}")
    if report.changes or asked:
        yield Line(f"See every change:  {session.command('diff', report.run_id)}")
        yield Line(f"Take it all back:  {session.command('undo', report.run_id)}")
    elif report.finished_at is not None:
        yield Line("Nothing was changed.")


def undo_lines(session: CommandSession, report: RunReport, what: str, *, has_changes: bool, is_redo: bool) -> Lines:
    """Yield what an undo put back and what it left alone; a redo, of an undo, opens the operations again.

    Args:
        session: What the command was given.
        report: What the undo did.
        what: What it took back, as in "run 49425d507bb48938".
        has_changes: Whether that had changed or asked anything.
        is_redo: Whether that run was an undo itself.
    """
    width = session.screen.width
    if report.outcome is Outcome.DEFERRED:
        yield from paragraph(f"Not undone: {explained(report.reason)}.", width, tone=Tone.WARNING)
        return
    if not report.changes and not any(item.refused or item.notes for item in report.passes):
        why = "is undone already: nothing was changed" if has_changes else "changed nothing: there is nothing to undo"
        yield from paragraph(f"{what[:1].upper()}{what[1:]} {why}.", width)
        return
    back = counted(report.changes, "record")
    yield Line(f"Undid {what}: {back} put back." if report.changes else f"Nothing of {what} was put back.", Tone.TITLE)
    for item in report.passes:
        yield from refusal_lines(item.refused, width, indent="  ")
        purged = item.notes.get("purged_for_good", 0)
        if purged:
            yield from paragraph(
                f"{counted(purged, 'record')} that retention removed stay away; no undo reaches them.",
                width,
                first="  ",
                tone=Tone.WARNING,
            )
    waiting = sum(item.notes.get("reopened_proposals", 0) for item in report.passes)
    if waiting:
        told = f"{counted(waiting, 'proposal')} {'waits' if waiting == 1 else 'wait'} for you again"
        yield Line(f"{told}:  {session.command('review', 'list')}")
    elif report.changes:
        redone = "The changes stand again, and later dreams may make them too."
        yield Line(redone if is_redo else "No later dream makes these changes again.")
    if report.changes:
        yield Line(f"Take the undo back: {session.command('undo', report.run_id)}", Tone.FAINT)


_ABOUT = "  "
_TEXT = "    "


def refused_text_lines(texts: Sequence[RefusedText], width: int) -> Lines:
    """Yield each text with its pass and why it was refused."""
    if not texts:
        yield from paragraph("No refused text of this run is kept.", width, tone=Tone.FAINT)
        return
    yield Line(f"{counted(len(texts), 'refused text')}", Tone.TITLE)
    for one in texts:
        about = f"{one.pass_name}, {one.code}: {one.detail}"
        yield from paragraph(about, width, first=_ABOUT, rest=_ABOUT, tone=Tone.WARNING)
        for line in one.text.splitlines():
            yield from paragraph(line, width, first=_TEXT, rest=_TEXT)


def run_list_lines(session: CommandSession, reports: Sequence[RunReport], running: Collection[str]) -> Lines:
    """Yield one line per run, the newest first; *running* are the ids of those under way."""
    if not reports:
        yield Line(f"No dream has run on {session.scope} yet: {session.command('run')}")
        return
    yield from table([_cells(report, is_running=report.run_id in running) for report in reports], session.screen.width)
    yield Line(f"Look at one: {session.command('show', reports[0].run_id)}", Tone.FAINT)


def _cells(report: RunReport, *, is_running: bool) -> tuple[str, ...]:
    outcome = report.outcome.value if report.finished_at else "under way" if is_running else "interrupted"
    refused = sum(len(item.refused) for item in report.passes)
    parts = [amount(report)]
    proposed = sum(item.proposed for item in report.passes)
    if proposed:
        parts.append(f"{proposed:,} proposed")
    if refused:
        parts.append(f"{refused:,} refused")
    if report.target:
        parts.append(f"of {report.target}")
    if report.reason and report.outcome in {Outcome.PARTIAL, Outcome.FAILED} and report.finished_at:
        parts.append(report.reason)
    elif report.finished_at:
        parts += _failures(report)
    return report.run_id, when(report.started_at), report.kind.value, outcome, ", ".join(parts)


def _failures(report: RunReport) -> Iterator[str]:
    """Yield the passes that failed, by cause: the kind of error, whose words `show` tells."""
    failed = [(item.name, item.reason or "") for item in report.passes if item.outcome is PassOutcome.FAILED]
    for cause in dict.fromkeys(reason.partition(":")[0] for _, reason in failed):
        names = [name for name, reason in failed if reason.partition(":")[0] == cause]
        yield f"failed in {', '.join(names)}: {cause}"
