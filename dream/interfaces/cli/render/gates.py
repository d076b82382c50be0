"""When a scope dreams next, and every gate it passes on the way, for people."""

from datetime import datetime, timedelta

from dream.cycle.scheduling.status import ScheduleStatus
from dream.interfaces.cli.render.line import Line, Lines, Tone, paragraph, table
from dream.interfaces.cli.render.text import counted, when
from dream.interfaces.cli.session import Session
from dream.triggers import Gate, GateName, Reading, Reason

_WORDS = {
    GateName.VERSION: "the stored state is of this version",
    GateName.DREAMING: "dreams are on",
    GateName.LEARNING: "something is learned",
    GateName.PAUSED: "nobody paused it",
    GateName.LEASE: "no run is under way",
    GateName.BUSY: "nobody is being served",
    GateName.SCHEDULE: "dreams start by themselves",
    GateName.WORK: "some pass has work",
    GateName.BUDGET: "the tokens of the day are not spent",
    GateName.INTERVAL: "the next window has come",
    GateName.CRON: "the minute of the cron expression has come",
    GateName.DAILY: "the time of day has come",
    GateName.IDLE: "it has been quiet for long enough",
    GateName.MAX_PER_DAY: "not too many dreams in one day",
    GateName.NEW_ENTRIES: "enough is new",
    GateName.COOLDOWN: "the last dream is long enough ago",
    GateName.HEARTBEAT: "the heart beats, long enough after the last dream",
    GateName.BACK_OFF: "the wait after a failure is over",
    GateName.QUIET_HOURS: "it is not one of the quiet hours",
    GateName.FREE_PLACE: "a place is free",
}


def to_do(standing: ScheduleStatus) -> str:
    """Return which passes have work now, and how much of it; empty if none has."""
    return ", ".join(f"{name} {items:,}" if items else name for name, items in standing.backlog.items())


def next_rows(standing: ScheduleStatus) -> list[tuple[str, str]]:
    """Return what `dream status` says of the next dream."""
    shut = ", ".join(_waited_for(gate) for gate in standing.waits_for) or "nothing"
    return [("next dream", _next(standing)), ("waits for", shut), *(("warning", one) for one in standing.warnings)]


def standing_lines(session: Session, standing: ScheduleStatus) -> Lines:
    """Yield when a scope dreams next, and every gate with what it measured and what it needs."""
    width = session.screen.width
    yield Line(f"{standing.scope}: {_next(standing)}", Tone.TITLE)
    rows = [_row(gate) for gate in standing.decision.gates]
    yield from table(rows, width)
    for warning in standing.warnings:
        yield from paragraph(warning, width, tone=Tone.WARNING)
    later = [one for one in standing.work if one.at is not None and not one.is_waiting]
    if standing.backlog:
        yield from paragraph(f"To do now: {to_do(standing)}.", width)
    if later:
        dated = ", ".join(f"{one.name} from {when(one.at)}" for one in later)
        yield from paragraph(f"To do later: {dated}.", width)
    if standing.failures:
        yield from paragraph(f"{counted(standing.failures, 'run')} in a row failed.", width, tone=Tone.WARNING)


def _next(standing: ScheduleStatus) -> str:
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
    told = _WORDS[gate.name]
    if gate.name is GateName.FREE_PLACE:
        return "open" if gate.is_open else "shut", gate.name.value, f"{told} ({_under_way(gate)})"
    if gate.name in {GateName.DREAMING, GateName.LEARNING}:
        return "open" if gate.is_open else "shut", gate.name.value, f"{told} (by {gate.threshold})"
    measured = [
        f"{verb} {_told(value)}"
        for verb, value in (("is", gate.value), ("needs", gate.threshold))
        if value is not None and not isinstance(value, bool)  # of these the words and open or shut say all
    ]
    measured += [f"opens {when(gate.until)}" if gate.until is not None and not gate.is_open else ""]
    figures = "; ".join(filter(None, measured))
    return "open" if gate.is_open else "shut", gate.name.value, f"{told}{f' ({figures})' if figures else ''}"


def _told(value: Reading) -> str:
    if isinstance(value, datetime):
        return when(value)
    if isinstance(value, timedelta):
        return str(timedelta(seconds=round(value.total_seconds())))
    return f"{value:,}" if isinstance(value, int) else str(value)
