"""Parses chat JSONL: one OpenAI-style message per line, with an optional session and timestamp.

    {"session": "s1", "timestamp": "2025-05-01T10:00:00Z", "role": "user", "content": "...", "name": "ana"}

A line without a session belongs to one named after the file. A line without a timestamp was said when the line before
it in its session was, or, where no line before it says, at the instant of the import; the order of the lines is kept
either way. Of content in parts the texts are taken. What the user said is trusted as stated, what the assistant said as
inferred, and what a tool returned not at all.
"""

from collections.abc import Iterator
from datetime import datetime
from enum import Enum
from typing import cast

from agentcore.domain.conversation import Turn
from agentcore.domain.memory import Trust
from agentcore.domain.records import RecordKind
from agentcore.domain.text import MAX_TURN, clean_content
from dream.interfaces.exchange.files import Fields, SourceFile
from dream.interfaces.exchange.items import UNNAMED, ImportItem, SkippedItem, SkipReason, SourceKeys, UnknownField


class _MessageRole(Enum):
    """Roles of a message: the name it is stored under, and how far its text is trusted."""

    USER = ("user", Trust.STATED)
    ASSISTANT = ("assistant", Trust.INFERRED)
    SYSTEM = ("system", Trust.STATED)
    TOOL = ("tool", Trust.UNTRUSTED)


ROLES = {
    "user": _MessageRole.USER,
    "assistant": _MessageRole.ASSISTANT,
    "system": _MessageRole.SYSTEM,
    "developer": _MessageRole.SYSTEM,
    "tool": _MessageRole.TOOL,
    "function": _MessageRole.TOOL,
}
"""What chat formats call who speaks."""


def parse_chat(source: SourceFile) -> Iterator[ImportItem | SkippedItem | UnknownField]:
    """Yield the messages as turns.

    Raises:
        InvalidFileError: a line is no message.
    """
    keys = SourceKeys("chat")
    said: dict[str, datetime] = {}
    for line, values in source.objects():
        fields = Fields(source, line, values)
        role = fields.required_choice("role", ROLES)
        session = fields.optional_name("session") or fields.optional_name("session_id") or source.path.stem
        timestamp = fields.instant("timestamp")
        said[session] = occurred_at = timestamp or said.get(session, source.now)
        text = _text_of(fields, values.get("content"))
        yield from fields.unknown("session_id", "content", "name")
        if not text.strip() or len(text) > MAX_TURN:
            reason = SkipReason.TOO_LONG if text.strip() else SkipReason.NO_TEXT
            yield SkippedItem(RecordKind.TURN, reason, line)
            continue
        with source.at(line):
            content = clean_content(text, most=MAX_TURN)
        name, trust = role.value
        turn = Turn(
            id=UNNAMED,
            scope=source.scope,
            session_id=session,
            role=name,
            content=content,
            speaker=fields.optional_name("name"),
            occurred_at=occurred_at,
            recorded_at=source.now,
            trust=trust,
        )
        key = keys.new(session, "" if timestamp is None else timestamp.isoformat(), name, content)
        yield ImportItem(record=turn, source_key=key, line=line)


def _text_of(fields: Fields, content: object) -> str:
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(_part(part) for part in cast("list[object]", content))
    raise fields.refusal("content", "a text, or a list of parts with texts")


def _part(part: object) -> str:
    if isinstance(part, dict):
        text = cast("dict[str, object]", part).get("text")
        return text if isinstance(text, str) else ""
    return part if isinstance(part, str) else ""
