"""How a scope stands, and what a doctor found."""

from collections.abc import Sequence

from dream.cycle.scope_status import ScopeStatus
from dream.domain.finding import Finding, Verdict
from dream.interfaces.cli.render.gates import next_rows, to_do
from dream.interfaces.cli.render.line import Line, Lines, Tone, paragraph, table
from dream.interfaces.cli.render.text import counted, one_line, when
from dream.interfaces.cli.session import Session

_TONES = {Verdict.FINE: Tone.PLAIN, Verdict.NOTE: Tone.WARNING, Verdict.WRONG: Tone.REMOVED}


def status_lines(session: Session, status: ScopeStatus) -> Lines:
    """Yield how the scope stands."""
    yield Line(one_line(f"{session.scope} in {session.data_dir}"), Tone.TITLE)
    yield from table(_rows(session, status), session.screen.width)
    if status.alarm is not None:
        yield from paragraph(status.alarm.sentence, session.screen.width, tone=Tone.WARNING)
    if not (sum(status.entries.values()) or status.turns or status.skills):
        yield from paragraph(
            f"Nothing is stored here yet: {session.command('import', 'FILE')} or "
            f"{session.command('remember', 'TEXT')} begins, `dream demo` shows what dreams do.",
            session.screen.width,
        )


def _rows(session: Session, status: ScopeStatus) -> list[tuple[str, str]]:
    entries = ", ".join(f"{count:,} {state}" for state, count in status.entries.items())
    run = status.last_run
    last = (
        f"{run.run_id} {run.outcome.value} on {when(run.finished_at)}, {counted(run.changes, 'record')} changed"
        if run
        else "never"
    )
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
        ("last dream", last),
        *next_rows(status.schedule),
        ("interrupted", "none" if lease else interrupted),
        ("dreaming", f"process {lease.pid} on {one_line(lease.host)}" if lease else "nobody"),
        ("paused", f"yes; {session.command('resume')} lifts it" if status.paused else "no"),
        ("revision", f"{status.revision:,}"),
    ]


def _waiting(session: Session, status: ScopeStatus) -> str:
    if not status.proposals:
        return "none"
    waiting = ", ".join(f"{name} {count:,}" for name, count in status.proposals.items())
    return f"{waiting}; {session.command('review', 'list')} shows them"


def paused_lines(session: Session, *, is_paused: bool) -> Lines:
    """Yield what a pause or resume did."""
    if is_paused:
        yield Line(f"The dreams of {session.scope} are paused, in every process: {session.command('resume')} lifts it.")
    else:
        yield Line(f"The dreams of {session.scope} may run.")


def finding_lines(findings: Sequence[Finding], width: int) -> Lines:
    """Yield what was examined, and a remedy for whatever is not fine."""
    size = max(len(finding.subject) for finding in findings) + 2
    for finding in findings:
        head = f"{finding.verdict.value:<6}{finding.subject:<{size}}"
        remedy = f": {finding.remedy}" if finding.remedy else ""
        yield from paragraph(f"{finding.detail}{remedy}", width, first=head, tone=_TONES[finding.verdict])
    wrong = sum(finding.verdict is Verdict.WRONG for finding in findings)
    yield Line(f"{counted(wrong, 'thing')} to put right." if wrong else "All is well.", Tone.TITLE)
