"""Defines a turn, one message of a conversation; and conversations as a whole."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from agentcore.domain.memory import Trust
from agentcore.domain.scope import Scope

_MONTHS: Final = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One message of a conversation, kept until every enabled reader has consumed it and retention has passed.

    Args:
        id: Unique within the scope.
        scope: Whose conversation it is.
        session_id: The conversation it belongs to.
        role: `user`, `assistant`, `system` or `tool`.
        content: The text.
        speaker: The person's name, where the source gives one.
        occurred_at: When it was said.
        recorded_at: When this store first held it; retention counts from here.
        consumed_at: When the last enabled reader had read it; None while somebody still has to.
        trust: Trust of its origin.
        generated: Whether a dream or the host's own machinery wrote it; such text is never evidence.
        observers: The peers who observed the speaker when it was said; what is learnt from it is theirs too.
        learning: Whether anything is learnt from it; None leaves it to the switches of session, scope and workspace.
        version: Optimistic version.
    """

    id: str
    scope: Scope
    session_id: str
    role: str
    content: str
    speaker: str | None = None
    occurred_at: datetime
    recorded_at: datetime
    consumed_at: datetime | None = None
    trust: Trust = Trust.STATED
    generated: bool = False
    observers: tuple[str, ...] = ()
    learning: bool | None = None
    version: int = field(default=1, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationSession:
    """A conversation as a list of conversations shows it.

    Args:
        session_id: Its id, as the host gave it.
        turns: How many turns of it are stored.
        first_at: When the first of them was said.
        last_at: When the last of them was said.
    """

    session_id: str
    turns: int
    first_at: datetime
    last_at: datetime


def spoken_line(speaker: str | None, content: str, said: datetime) -> str:
    """Return a turn as recall reads it and an agent is shown it: when it was said, by whom, and what.

    Example:
        >>> from datetime import UTC
        >>> spoken_line("Ana", "I moved.", datetime(2023, 5, 7, tzinfo=UTC))
        '[7 May 2023] Ana: I moved.'
    """
    # Not strftime, whose months are in the language of the process.
    date = f"[{said.day} {_MONTHS[said.month - 1]} {said.year}]"
    return f"{date} {speaker}: {content}" if speaker else f"{date} {content}"
