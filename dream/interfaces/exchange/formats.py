"""Names the formats, and tells them apart by what a file holds."""

from collections.abc import Mapping
from enum import StrEnum

from dream.errors import InvalidFileError
from dream.interfaces.exchange.chat_json import is_chat_json
from dream.interfaces.exchange.export import FORMAT_PREFIX
from dream.interfaces.exchange.files import SourceFile


class Format(StrEnum):
    """What a file to be imported is."""

    AUTO = "auto"
    """Found out from the file."""
    LOCOMO = "locomo"
    CHAT_JSON = "chat-json"
    CHAT_JSONL = "chat-jsonl"
    MEMORY_MD = "memory-md"
    MEMORY_JSONL = "memory-jsonl"
    SKILLS = "skills"
    SKILL_USES = "skill-uses"
    FEEDBACK = "feedback"
    WISP_RUNS = "wisp-runs"
    TOOL_CALLS = "tool-calls"
    EXPORT = "export"


_MARKDOWN = frozenset({".md", ".markdown"})
# The first whose fields all stand on the first line; so a skill, which has content too, comes before a memory.
_SIGNS: tuple[tuple[Format, frozenset[str]], ...] = (
    (Format.CHAT_JSONL, frozenset({"role", "content"})),
    (Format.SKILLS, frozenset({"name", "content", "summary"})),
    (Format.SKILL_USES, frozenset({"skill_name"})),
    (Format.WISP_RUNS, frozenset({"wisp_id"})),
    (Format.TOOL_CALLS, frozenset({"tool_name", "succeeded"})),
    (Format.FEEDBACK, frozenset({"kind", "summary"})),
    (Format.MEMORY_JSONL, frozenset({"content"})),
)
_UNKNOWN = "its format cannot be told from its content"
_NAME_IT = f"name it with --format ({', '.join(one for one in Format if one is not Format.AUTO)})"


def detect_format(source: SourceFile) -> Format:
    """Return what *source* is: a Markdown file by its name, everything else by the first line that is not blank.

    A file whose first line is no object of a format may be one object on several lines, or on one longer than a line
    of the other formats may be.

    Raises:
        InvalidFileError: it is empty, or nothing this version can read.
    """
    if source.path.suffix.lower() in _MARKDOWN:
        return Format.MEMORY_MD
    # A whole LoCoMo file may stand on one line, longer than a line of the other formats may be.
    if source.first_character() == b"[":
        return Format.LOCOMO
    try:
        return _by_first_line(source)
    except InvalidFileError:
        if source.first_character() == b"{" and is_chat_json(source):
            return Format.CHAT_JSON
        raise


def _by_first_line(source: SourceFile) -> Format:
    number, line = next(source.lines())
    if line.lstrip().startswith(b"{"):
        return _by_fields(source, number, source.object_of(number, line))
    source.check_text(number, line)
    raise source.refusal(_UNKNOWN, line=number, remedy=_NAME_IT)


def _by_fields(source: SourceFile, number: int, values: Mapping[str, object]) -> Format:
    if str(values.get("format")).startswith(FORMAT_PREFIX):
        return Format.EXPORT
    for found, signs in _SIGNS:
        if signs <= values.keys():
            return found
    raise source.refusal(_UNKNOWN, line=number, remedy=_NAME_IT)
