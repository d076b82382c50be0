"""Parses chat JSON: one object that is a whole talk, with questions about it where it serves a benchmark.

    {"name": "team", "turns": [{"id": "1", "session": "1", "role": "user", "speaker": "Ana",
                                "timestamp": "2025-05-01T10:00:00Z", "content": "..."}],
     "questions": [{"question": "...", "answer": "...", "evidence": ["1"], "category": "single"}]}

The name stands under `name` or `chat`, else it is the file's. Turns go to the conversation log in sessions
`{name}:{session}`; roles, trust and what is left out are those of chat JSONL. An import leaves the questions alone.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import cast

import orjson

from agentcore.domain.conversation import Turn
from agentcore.domain.records import RecordKind
from agentcore.domain.text import MAX_TURN, clean_content
from dream.errors import InvalidFileError
from dream.interfaces.exchange.chat_jsonl import ROLES
from dream.interfaces.exchange.files import Fields, SourceFile
from dream.interfaces.exchange.items import UNNAMED, ImportItem, SkippedItem, SkipReason, SourceKeys

_NOT_CHAT_JSON = "it is no chat JSON: expected one object with a list of turns"


@dataclass(frozen=True, slots=True)
class ChatPart(SourceFile):
    """A part of such a file, whose name its refusals tell in the place of a line.

    Args:
        where: Which part: `turn 3`.
    """

    where: str = ""

    @classmethod
    def of(cls, source: SourceFile, where: str) -> "ChatPart":
        """Return a part of a file."""
        return cls(source.path, source.scope, source.now, where)

    def fields(self, raw: object) -> Fields:
        """Return the fields of the part.

        Raises:
            InvalidFileError: it is no object.
        """
        if not isinstance(raw, dict):
            raise self.refusal("it is no object")
        return Fields(self, 0, cast("Mapping[str, object]", raw))

    def refusal(self, problem: str, *, line: int | None = None, remedy: str | None = None) -> InvalidFileError:
        """Build the error that says what is wrong in this part."""
        _ = line
        return InvalidFileError(path=str(self.path), line=None, problem=f"{self.where}: {problem}", remedy=remedy)


@dataclass(frozen=True, slots=True)
class ChatTurn:
    """A turn of a talk.

    Args:
        name: Its id in the file.
        item: What it becomes, or why it becomes nothing.
    """

    name: str
    item: ImportItem | SkippedItem


def parse_chat_json(source: SourceFile) -> Iterator[ImportItem | SkippedItem]:
    """Yield the turns.

    Raises:
        InvalidFileError: it is no chat JSON.
    """
    return (turn.item for turn in chat_turns(source, read_chat(source)))


def read_chat(source: SourceFile) -> Mapping[str, object]:
    """Return the talk of a file as it stands there.

    Raises:
        InvalidFileError: it is no chat JSON.
    """
    try:
        raw: object = orjson.loads(source.whole())
    except orjson.JSONDecodeError as error:
        raise source.refusal(f"it is not JSON ({error.msg})", line=error.lineno, remedy="get the file again") from None
    if not isinstance(raw, dict) or not isinstance(cast("Mapping[str, object]", raw).get("turns"), list):
        raise source.refusal(_NOT_CHAT_JSON)
    return cast("Mapping[str, object]", raw)


def is_chat_json(source: SourceFile) -> bool:
    """Tell whether a file is one JSON object with turns, on however many lines."""
    try:
        read_chat(source)
    except InvalidFileError:
        return False
    return True


def chat_name(source: SourceFile, chat: Mapping[str, object]) -> str:
    """Return what a talk is called."""
    named = (str(chat[key]).strip() for key in ("name", "chat") if isinstance(chat.get(key), str | int))
    return next(filter(None, named), source.path.stem)


def chat_turns(source: SourceFile, chat: Mapping[str, object]) -> Iterator[ChatTurn]:
    """Yield the turns of a talk.

    Raises:
        InvalidFileError: a turn cannot be read, or two have one id.
    """
    keys, name = SourceKeys("chat-json"), chat_name(source, chat)
    seen: set[str] = set()
    for number, raw in enumerate(cast("list[object]", chat["turns"]), start=1):
        part = ChatPart.of(source, f"turn {number}")
        fields = part.fields(raw)
        turn_name = fields.name("id")
        if turn_name in seen:
            raise part.refusal(
                f"an earlier turn has the id {turn_name!r} too", remedy="give each turn an id of its own"
            )
        seen.add(turn_name)
        role, trust = fields.required_choice("role", ROLES).value
        session = fields.optional_name("session")
        said = fields.required_instant("timestamp")
        text = fields.text("content")
        if not text.strip() or len(text) > MAX_TURN:
            reason = SkipReason.TOO_LONG if text.strip() else SkipReason.NO_TEXT
            yield ChatTurn(turn_name, SkippedItem(RecordKind.TURN, reason, number))
            continue
        with part.at(None):
            content = clean_content(text, most=MAX_TURN)
        turn = Turn(
            id=UNNAMED,
            scope=source.scope,
            session_id=f"{name}:{session}" if session else name,
            role=role,
            content=content,
            speaker=fields.optional_name("speaker"),
            occurred_at=said,
            recorded_at=source.now,
            trust=trust,
        )
        yield ChatTurn(turn_name, ImportItem(record=turn, source_key=keys.new(name, turn_name, content)))
