"""Defines what parsers yield: records without an id yet, remarks about what was left out, and cursor marks."""

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from hashlib import blake2b

from agentcore.domain.records import Record, RecordKind
from agentcore.stores.forgetting import Tombstone
from agentcore.stores.values import Withheld
from dream.domain.declaration import Reads

UNNAMED = ""
"""Id of a record that the importer has yet to name."""


class SkipReason(StrEnum):
    """Why something in a file did not become a record."""

    FORGOTTEN = "forgotten"
    """A person asked to forget it, or what it comes from."""
    NAME_TAKEN = "name_taken"
    """An active skill of that name is already here."""
    NO_TEXT = "no_text"
    """A message or bullet without any text, such as a bare tool call."""
    TOO_LONG = "too_long"
    """A message longer than one record may be."""
    CODE_BLOCK = "code_block"
    TABLE = "table"
    HTML = "html"
    """An HTML block or comment."""
    FRONT_MATTER = "front_matter"
    PROSE = "prose"
    """A paragraph outside any bullet."""
    QUOTE = "quote"
    LEAD_IN = "lead_in"
    """A bullet that ends in a colon and only introduces the bullets below it, which carry its text."""


class Note(StrEnum):
    """What was repaired or left open in a record that was taken."""

    MALFORMED_SOURCE = "malformed_source"
    """A source id was written in an unusual way."""
    UNKNOWN_SOURCE = "unknown_source"
    """A source id names no turn that is here; the record was taken without it."""
    FORGOTTEN_WITHOUT_KEY = "forgotten_without_key"
    """An item of another file was forgotten there, but `forget.key` is not here: that file would bring it back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportItem:
    """One record to be imported.

    Args:
        record: The record; its id is `UNNAMED` unless the file gives one.
        source_key: What makes it the same item in the next import of the file.
        line: Where it starts, counted from 1; None where the file has no lines to speak of.
        origins: Keys of the items of other files that it came from before it was exported.
        cites: Source keys of the turns it was drawn from.
        notes: What was repaired.
    """

    record: Record
    source_key: str
    line: int | None = None
    origins: tuple[str, ...] = ()
    cites: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()

    @property
    def keys(self) -> set[str]:
        """All by which it may be known that a person had it forgotten."""
        return {self.source_key, *self.origins, *self.cites}


@dataclass(frozen=True, slots=True)
class SkippedItem:
    """Something that will not become a record."""

    kind: RecordKind
    reason: SkipReason
    line: int | None = None


@dataclass(frozen=True, slots=True)
class UnknownField:
    """A field of one line that its format does not know, and the one that may have been meant."""

    name: str
    meant: str | None = None


@dataclass(frozen=True, slots=True)
class CursorMark:
    """A reader that has looked at everything it reads, or (with an id) has still to look at that record."""

    reader: str
    pending: str | None = None
    reads: Reads | None = None


Parsed = ImportItem | SkippedItem | UnknownField | CursorMark | Withheld | Tombstone


class SourceKeys:
    """Makes the keys under which imported items are remembered; lives as long as one reading of a file.

    Items that are the same in every part are told apart by their ordinal among each other, so both are imported and
    neither is imported twice.

    Args:
        format_name: Keeps the formats' keys apart.

    Example:
        >>> keys = SourceKeys("chat")
        >>> first, second = keys.new("s1", "user", "ok"), keys.new("s1", "user", "ok")
        >>> first != second, first == SourceKeys("chat").new("s1", "user", "ok"), len(first)
        (True, True, 32)
    """

    def __init__(self, format_name: str) -> None:
        self._format = format_name
        self._seen: Counter[bytes] = Counter()

    def new(self, *parts: str) -> str:
        """Return the key of the next item that consists of *parts*."""
        digest = _digest((self._format, *parts))
        ordinal = self._seen[digest]
        self._seen[digest] += 1
        return _digest((digest.hex(), str(ordinal))).hex() if ordinal else digest.hex()


def _digest(parts: tuple[str, ...]) -> bytes:
    # The length before each part keeps ("ab", "c") and ("a", "bc") apart.
    framed = "".join(f"{len(part)}:{part}" for part in parts)
    return blake2b(framed.encode(), digest_size=16).digest()
