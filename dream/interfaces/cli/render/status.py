"""Shows how things stand: the schedule and its gates, options, promotion, and what an examination found."""

from collections.abc import Sequence
from datetime import datetime, timedelta

import orjson

from agentcore.domain.scope import Scope
from dream.cycle.scheduling.status import ScheduleStatus
from dream.cycle.scope_status import ScopeStatus
from dream.domain.candidate import Candidate, PromotionStanding
from dream.domain.finding import Finding, FindingLevel
from dream.domain.reasons import Refused
from dream.interfaces.cli.render.reasons import explained
from dream.interfaces.cli.render.reports import amount
from dream.interfaces.cli.render.text import (
    Line,
    Lines,
    Tone,
    counted,
    encodable,
    numbers_table,
    one_line,
    paragraph,
    table,
    when,
)
from dream.interfaces.cli.session import CommandSession
from dream.interfaces.gate_words import GATE_WORDS
from dream.options.sources import EffectiveOption, OptionSource
from dream.stores.waiting import WaitingCount
from dream.triggers import Gate, GateName, Reading, Reason


def to_do(standing: ScheduleStatus) -> str:
    """Return which passes have work now, and how much of it; empty if none has."""
    return ", ".join(f"{name} {items:,}" if items else name for name, items in standing.backlog.items())


def next_rows(standing: ScheduleStatus) -> list[tuple[str, str]]:
    """Return what `dream status` says of the next dream."""
    shut = ", ".join(_waited_for(gate) for gate in standing.waits_for) or "nothing"
    return [("next dream", _next(standing)), ("waits for", shut), *(("warning", one) for one in standing.warnings)]


def standing_lines(session: CommandSession, standing: ScheduleStatus) -> Lines:
    """Yield when a scope dreams next, and every gate with what it measured and what it needs."""
    width = session.screen.width
    yield from paragraph(f"The next dream of {standing.scope}: {_next(standing)}", width, rest="  ", tone=Tone.TITLE)
    rows = [_row(gate) for gate in standing.decision.gates]
    yield from table(rows, width)
    for warning in standing.warnings:
        yield from paragraph(warning, width, tone=Tone.WARNING)
    later = [one for one in standing.work if one.at is not None and not one.is_waiting]
    if standing.backlog:
        yield from paragraph(f"To do now: {to_do(standing)}.", width)
    if later:
        dated = ", ".join(f"{one.name} {one.awaits or f'from {when(one.at)}'}" for one in later)
        yield from paragraph(f"To do later: {dated}.", width)
    if standing.failures:
        yield from paragraph(f"{counted(standing.failures, 'run')} in a row failed.", width, tone=Tone.WARNING)


_SWITCHES = {
    GateName.DREAMING: "dreams are switched off",
    GateName.LEARNING: "learning is switched off",
    GateName.PAUSED: "it is paused",
}
"""Gates that only a person opens, and what to call them while they are shut."""


def _next(standing: ScheduleStatus) -> str:
    off = next((one.name for one in standing.waits_for if one.name in _SWITCHES), None)
    if off is not None:
        return f"none while {_SWITCHES[off]}"
    if standing.due_at is None:
        return "not before something changes"
    what = "as a person asked" if standing.reason is Reason.MANUAL else standing.reason.value
    if standing.due_at <= standing.now:
        return f"due since {when(standing.due_at)} ({what})"
    return f"{when(standing.due_at)} at the earliest ({what})"


def _waited_for(gate: Gate) -> str:
    return f"a free place: {_under_way(gate)}" if gate.name is GateName.FREE_PLACE else gate.name.value


def _under_way(gate: Gate) -> str:
    return f"{gate.value} of {gate.threshold} dreams under way"


def _row(gate: Gate) -> tuple[str, str, str]:
    told = GATE_WORDS[gate.name]
    if gate.name is GateName.FREE_PLACE:
        return "open" if gate.is_open else "shut", gate.name.value, f"{told} ({_under_way(gate)})"
    if gate.name in {GateName.DREAMING, GateName.LEARNING}:
        return "open" if gate.is_open else "shut", gate.name.value, f"{told} (by {gate.threshold})"
    if gate.name is GateName.BUDGET:
        spent = str(gate.threshold).partition("more of ")[2]
        if spent:
            told = f"model.{spent} is used up for today{', and nothing that waits needs it' if gate.is_open else ''}"
        measured = [f"{_measured_text(gate.value)} tokens left today"] if gate.value and not spent else []
    else:
        measured = [
            f"{verb} {_measured_text(value)}"
            for verb, value in (("is", gate.value), ("needs", gate.threshold))
            if value is not None and not isinstance(value, bool)  # of these the words and open or shut say all
        ]
    measured += [f"opens {when(gate.until)}" if gate.until is not None and not gate.is_open else ""]
    figures = "; ".join(filter(None, measured))
    return "open" if gate.is_open else "shut", gate.name.value, f"{told}{f' ({figures})' if figures else ''}"


def _measured_text(value: Reading) -> str:
    if isinstance(value, datetime):
        return when(value)
    if isinstance(value, timedelta):
        return str(timedelta(seconds=round(value.total_seconds())))
    return f"{value:,}" if isinstance(value, int) else str(value)


def option_lines(session: CommandSession, options: Sequence[EffectiveOption], *, of: int) -> Lines:
    """Yield one line per option: its path, who said what it is and of which scopes, and its value.

    Args:
        session: Whose screen it is for.
        options: Which are shown.
        of: How many there are.
    """
    told = [f"{one.source.value} {one.scopes}" if one.scopes else one.source.value for one in options]
    rows = [(one.name, said, _value_text(one.value)) for one, said in zip(options, told, strict=True)]
    yield from table(rows, session.screen.width)
    changed = sum(one.source is not OptionSource.DEFAULT for one in options)
    yield Line(f"{changed} of {of} are not the defaults.", Tone.FAINT)


def _value_text(value: object) -> str:
    return one_line(encodable(orjson.dumps(value).decode()))


_ALREADY = {
    "already_said": "MEMORY.md says it already",
    "not_active": "it is set aside",
}


def promotion_lines(session: CommandSession, standing: PromotionStanding) -> Lines:
    """Yield how promotion stands, and each candidate with its score and gates."""
    recalled = counted(standing.recalled, "entry was", "entries were")
    yield from paragraph(f"{recalled} recalled, {standing.promoted:,} promoted so far.", session.screen.width)
    for gate in standing.unreachable:
        told = f"No entry meets {gate.name}: the most is {gate.has:g}, and {gate.needs:g} is asked for."
        yield from paragraph(told, session.screen.width, tone=Tone.WARNING)
    if standing.waits_for_room:
        yield from paragraph(f"{no_room(standing)}: {MAKE_ROOM}.", session.screen.width, tone=Tone.WARNING)
    for candidate in standing.candidates:
        yield Line("")
        yield from _candidate_lines(candidate, session.screen.width)


MAKE_ROOM = "shorten it, or raise documents.size_cap"


def no_room(standing: PromotionStanding) -> str:
    """Return why nothing can be promoted though something meets every gate."""
    waits = counted(standing.waits_for_room, "entry waits", "entries wait")
    return (
        f"{waits} for room in MEMORY.md: it has {standing.memory_size:,} characters, dreams add to it up to "
        f"{standing.size_cap:,}, and what people wrote there is not moved"
    )


def _candidate_lines(candidate: Candidate, width: int) -> Lines:
    yield from paragraph(one_line(candidate.content), width, first=f"{candidate.entry_id}  ", tone=Tone.TITLE)
    yield from paragraph(_verdict(candidate), width, first="  ")
    rows = [["", "value", "weight"]]
    rows += [[name, f"{value:.3f}", f"{weight:.2f}"] for name, (value, weight) in candidate.components.items()]
    if candidate.components:
        yield from numbers_table([*rows, ["score", f"{candidate.score:.3f}", ""]], 1)
    for gate in candidate.gates:
        mark, tone = ("met", Tone.FAINT) if gate.is_met else ("missing", Tone.WARNING)
        yield Line(f"  {mark:8}{gate.name}: {gate.has:.4g} of {gate.needs:.4g}", tone)


def _verdict(candidate: Candidate) -> str:
    if candidate.promotion is not None:
        return f"promoted on {when(candidate.promotion.promoted_at)} by run {candidate.promotion.run_id}"
    if candidate.barred in {Refused.AWAITS_REVIEW, Refused.DOCUMENT_FULL}:
        return f"not yet: {explained(candidate.barred)}"
    if candidate.barred is not None:
        return f"never: {_ALREADY.get(candidate.barred) or explained(candidate.barred)}"
    if not candidate.components:
        return "never recalled"
    if candidate.is_chosen:
        return "the next sweep promotes it"
    missing = [gate.name for gate in candidate.gates if not gate.is_met]
    return f"not yet: {', '.join(missing)}" if missing else "meets every gate; better ones go first"


_TONES = {FindingLevel.FINE: Tone.PLAIN, FindingLevel.NOTE: Tone.WARNING, FindingLevel.WRONG: Tone.REMOVED}


def status_lines(session: CommandSession, status: ScopeStatus) -> Lines:
    """Yield how the scope stands."""
    yield Line(one_line(f"{session.scope} in {session.place}"), Tone.TITLE)
    yield from table(_rows(session, status), session.screen.width)
    if status.alarm is not None:
        yield from paragraph(status.alarm.sentence, session.screen.width, tone=Tone.WARNING)
    if not (sum(status.entries.values()) or status.turns or status.skills):
        yield from paragraph(
            f"Nothing is stored here yet: {session.command('import', 'FILE')} or "
            f"{session.command('remember', 'TEXT')} begins, `dream demo` shows what dreams do.",
            session.screen.width,
        )


def _rows(session: CommandSession, status: ScopeStatus) -> list[tuple[str, str]]:
    entries = ", ".join(f"{count:,} {state}" for state, count in status.entries.items())
    run = status.last_run
    last = f"{run.run_id} {run.outcome.value} on {when(run.finished_at)}, {amount(run)}" if run else "never"
    lease = status.lease
    interrupted = (
        f"run {status.interrupted}; {session.command('run')} goes on with it" if status.interrupted else "none"
    )
    return [
        ("entries", entries),
        ("turns", f"{status.turns:,}, {status.unread_turns:,} unread"),
        ("skills", f"{status.skills:,}"),
        ("to look at", to_do(status.schedule) or "nothing"),
        ("to review", _waiting(session, status)),
        ("questions", f"{status.questions:,}; {session.command('questions')} asks you" if status.questions else "none"),
        *(("waits", f"{one.pass_name}: {waiting_text(one)}") for one in status.waits),
        ("last dream", last),
        *next_rows(status.schedule),
        ("interrupted", "none" if lease else interrupted),
        ("dreaming", f"process {lease.pid} on {one_line(lease.host)}" if lease else "nobody"),
        ("paused", _paused(session, status)),
        ("revision", f"{status.revision:,}"),
    ]


def waiting_text(one: WaitingCount) -> str:
    """Return how much waits, since when and why."""
    return f"{one.count:,} since {when(one.since)}, {explained(one.reason)}"


def _waiting(session: CommandSession, status: ScopeStatus) -> str:
    if not status.proposals:
        return "none"
    waiting = ", ".join(f"{name} {count:,}" for name, count in status.proposals.items())
    return f"{waiting}; {session.command('review', 'list')} shows them"


def _paused(session: CommandSession, status: ScopeStatus) -> str:
    if not status.paused:
        return "no"
    under_way = "pausing: the dream under way stops at its next step" if status.lease else "yes"
    return f"{under_way}; {session.command('resume')} lifts it"


def paused_lines(
    session: CommandSession, named: Sequence[Scope], *, is_paused: bool, under_way: Sequence[Scope] = ()
) -> Lines:
    """Yield what a pause or resume did; of a pause, also on which scopes a dream is under way."""
    whose = str(named[0]) if len(named) == 1 else counted(len(named), "scope")
    if is_paused:
        words = ("resume",) if session.pattern is not None or len(named) == 1 else ("resume", "--all-scopes")
        yield Line(f"The dreams of {whose} are paused, in every process: {session.command(*words)} lifts it.")
        if under_way:
            which = f" of {counted(len(under_way), 'scope')}" if len(named) > 1 else ""
            yield Line(f"The dream under way{which} stops at its next step; what it did stands.")
    else:
        yield Line(f"The dreams of {whose} may run.")


def finding_lines(findings: Sequence[Finding], width: int) -> Lines:
    """Yield what was examined, and a remedy for whatever is not fine."""
    size = max(len(finding.subject) for finding in findings) + 2
    for finding in findings:
        head = f"{finding.verdict.value:<6}{finding.subject:<{size}}"
        remedy = f": {finding.remedy}" if finding.remedy else ""
        yield from paragraph(f"{finding.detail}{remedy}", width, first=head, tone=_TONES[finding.verdict])
    wrong = sum(finding.verdict is FindingLevel.WRONG for finding in findings)
    yield Line(f"{counted(wrong, 'thing')} to put right." if wrong else "All is well.", Tone.TITLE)
