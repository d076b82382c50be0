"""Shows sessions: the list of them, and what a dream asked and wrote."""

from collections.abc import Sequence

from agentcore.domain.conversation import ConversationSession
from dream.domain.rounds import RoundKind
from dream.domain.session import DreamSession, ModelCall
from dream.interfaces.cli.render.text import Line, Lines, Tone, clip, counted, numbers_table, one_line, paragraph, when
from dream.interfaces.cli.session import CommandSession

_MOST_CALLS = 50
_WIDEST_NAME = 24


def session_list_lines(
    session: CommandSession, found: Sequence[DreamSession | ConversationSession], prefix: str
) -> Lines:
    """Yield two lines per session: its key, and what it was."""
    width = session.screen.width
    if not found:
        begins = f" that begins with {prefix!r}" if prefix else " yet"
        yield from paragraph(f"There is no session on {session.scope}{begins}.", width)
        return
    for one in found:
        is_dream = isinstance(one, DreamSession)
        yield Line(one_line(one.session if is_dream else one.session_id), Tone.TITLE)
        yield from paragraph(_dream(one) if is_dream else _conversation(one), width, first="  ")
    dream = next((one.session for one in found if isinstance(one, DreamSession)), None)
    if dream is not None:
        yield Line(f"Look at one: {session.command('show', dream)}", Tone.FAINT)


def session_lines(session: CommandSession, one: DreamSession, calls: Sequence[ModelCall]) -> Lines:
    """Yield what stands beside the report of a dream: its session, and every call of it."""
    width = session.screen.width
    yield Line(f"Session {one.session}", Tone.TITLE)
    yield from paragraph(_asked_and_wrote(one), width, first="  ")
    if not calls:
        return
    rows = [_cells(call) for call in calls[:_MOST_CALLS]]
    names = ["pass", "batch", "model", "ended"]
    sums = ["total", "", "", "", f"{one.input_tokens:,}", f"{one.output_tokens:,}"]
    yield from numbers_table([[*names, "tokens in", "tokens out"], *rows, sums], len(names))
    if any(call.is_estimated for call in calls[:_MOST_CALLS]):
        yield Line("~ our estimate: the server counted nothing", Tone.FAINT)
    if len(calls) > _MOST_CALLS:
        more = session.command("--json", "show", one.run_id)
        yield from paragraph(f"{len(calls) - _MOST_CALLS:,} more calls: {more}", width, tone=Tone.FAINT)


def _cells(call: ModelCall) -> list[str]:
    mark = "~" if call.is_estimated else ""
    return [
        clip(call.pass_name, _WIDEST_NAME),
        call.batch if call.kind in {None, RoundKind.QUESTION} else f"{call.batch} {call.kind}",
        clip(call.model or "unknown", _WIDEST_NAME),
        f"failed: {call.ended}" if call.failed else call.ended,
        f"{mark}{call.input_tokens:,}",
        f"{mark}{call.output_tokens:,}",
    ]


def _dream(one: DreamSession) -> str:
    if one.outcome is None or one.finished_at is None:
        ended = f"{when(one.started_at)}, {'under way' if one.is_running else 'interrupted'}"
    else:
        seconds = (one.finished_at - one.started_at).total_seconds()
        ended = f"{when(one.started_at)}, {one.outcome.value} after {seconds:.2f} s"
    return f"{ended}; {_asked_and_wrote(one)}"


def _asked_and_wrote(one: DreamSession) -> str:
    models = f" to {', '.join(map(one_line, one.models))}" if one.models else ""
    failed = f" ({one.failed:,} failed)" if one.failed else ""
    tokens = f", {one.input_tokens:,} + {one.output_tokens:,} tokens"
    asked = f"{counted(one.calls, 'call')}{models}{failed}{tokens}" if one.calls else "no model asked"
    wrote = [
        f"{counted(one.changes, 'record')} changed" if one.changes else "",
        f"{one.purged:,} removed for good" if one.purged else "",
        ", ".join(one.documents),
    ]
    return f"{asked}; wrote {', '.join(part for part in wrote if part)}" if one.wrote else f"{asked}; wrote nothing"


def _conversation(one: ConversationSession) -> str:
    first, last = when(one.first_at), when(one.last_at)
    lasted = first if first == last else f"{first} to {last}"
    return f"{lasted}, conversation of {counted(one.turns, 'turn')}"
