"""Tells by whose options a command goes."""

from typing import Any

from agentcore.domain.temporal import to_text
from agentcore.hosting.left_options import LeftOptions
from dream.interfaces.cli.render.text import Line, Lines, Tone, counted, paragraph, when
from dream.interfaces.cli.session import CommandSession


def followed_json(left: LeftOptions | None) -> dict[str, Any] | None:
    """Return which host's options a command goes by; None if by those of the file and the environment alone."""
    if left is None or left.record is None:
        return None
    record = left.record
    return {
        "host": record.host,
        "pid": record.pid,
        "started_at": to_text(record.started_at),
        "alive": record.is_alive,
        "not_followed": list(left.only_code),
    }


def followed_lines(session: CommandSession, left: LeftOptions | None) -> Lines:
    """Yield a sentence on whose options the command goes by, where a host's code says something of its own."""
    sentence = followed_sentence(left)
    if sentence:
        yield from paragraph(sentence, session.screen.width, tone=Tone.FAINT)
        yield Line("")


def followed_sentence(left: LeftOptions | None) -> str:
    """Return the sentence; empty if the options are those of the file and the environment."""
    if left is None or left.record is None or left.is_empty:
        return ""
    state = "runs" if left.record.is_alive else "ran"
    told = f"Goes by the options of the host that {state} here last (process {left.record.pid} since "
    told += f"{when(left.record.started_at)}); --options file goes by agentcore.toml alone."
    if left.only_code:
        what = counted(len(left.only_code), "thing", "things")
        told += f" It cannot follow {what} that only its code has: {', '.join(left.only_code)}."
    return told
