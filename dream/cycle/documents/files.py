"""Writes one document to its file, whatever the file says by now."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from agentcore.workspace.differences import difference
from agentcore.workspace.document import Document
from agentcore.workspace.errors import DocumentChangedError, DocumentError, UnreadableDocumentError
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agentcore.workspace.differences import Difference
    from agentcore.workspace.folder import WorkspaceFolder, Written
    from dream.stores.promotions import Outgoing

_ATTEMPTS: Final = 3
"""Times a file is read again because somebody wrote in it between reading and writing."""
_CONFLICT: Final = re.compile(r"^(?:<{7} |>{7} )", re.MULTILINE)
_OPENING: Final = re.compile(r"^ {0,3}(?:```|~~~|<)", re.MULTILINE)
"""What may begin a block that goes on until it is closed."""
_PROBE: Final = "an item"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileOutcome:
    """What became of the texts of one document that waited.

    Args:
        document: The document.
        run_id: The last run that wrote it; empty if none did.
        passes: Who wrote it, in order.
        keys: The rows of the outbox.
        base: The text they began with.
        meant: The text they were to end with; None if the file was to go.
        real: What the file says now.
        edits: How many items were to come or go.
        missed: How many of them could not.
        problem: Why the file could not be written, and they still wait.
    """

    document: str
    run_id: str
    passes: tuple[str, ...]
    keys: tuple[int, ...]
    base: str | None
    meant: str | None
    real: str | None = None
    edits: int = 0
    missed: int = 0
    problem: str | None = None

    @property
    def is_news(self) -> bool:
        """Whether the texts were to change anything."""
        return self.base != self.meant

    def delta(self) -> Difference:
        """Read both texts, and return what was to change, item by item."""
        return difference(Document(self.base or ""), Document(self.meant or ""))

    def told(self) -> str | None:
        """Return what was not done as it was meant, in words; None if all was."""
        if not self.missed:
            return None
        return f"{self.document}: {self.missed} of {self.edits} edits, for somebody changed what they are about"

    def refusals(self) -> Iterator[Refusal]:
        """Yield what is to be reported."""
        if self.problem is not None:
            yield Refusal(Refused.DOCUMENT_WAITS, self.problem)
        told = self.told()
        if told is not None:
            yield Refusal(Refused.DOCUMENT_CHANGED, told)


def read_whole(folder: WorkspaceFolder, name: str) -> Written:
    """Return a document that can be worked on.

    Raises:
        UnreadableDocumentError: it cannot be read, is in the middle of a merge, or what is added at its end would stand
            in a block that somebody left open.
    """
    written = folder.read(name)
    if _CONFLICT.search(written.text):
        raise UnreadableDocumentError(name=name, problem="it holds the marks of a merge conflict; resolve it first")
    if _OPENING.search(written.text) and not _takes_items(written.text):
        raise UnreadableDocumentError(
            name=name, problem="its last block of code or HTML is never closed; close it first"
        )
    return written


def _takes_items(text: str) -> bool:
    """Tell whether a list at the end of *text* would be one."""
    items = Document(f"{text}\n\n- {_PROBE}\n").items
    return bool(items) and items[-1].text == _PROBE


def write_out(folder: WorkspaceFolder, rows: Sequence[Outgoing]) -> FileOutcome:
    """Write the last of *rows*, which are all about one document, in the order they were posted."""
    for attempt in range(_ATTEMPTS):
        try:
            return _written(folder, rows)
        except DocumentChangedError as error:
            if attempt == _ATTEMPTS - 1:
                return _outcome(rows, problem=str(error).rstrip("."))
        except DocumentError as error:
            return _outcome(rows, problem=str(error).rstrip("."))
    raise AssertionError  # every attempt returns or goes on


def _written(folder: WorkspaceFolder, rows: Sequence[Outgoing]) -> FileOutcome:
    name, base, meant = rows[0].document, rows[0].before, rows[-1].after
    whole = read_whole(folder, name)
    now = whole.text_or_none
    edits = missed = 0
    if now in {base, *(row.after for row in rows)}:
        text = meant
    else:
        delta = difference(Document(base or ""), Document(meant or ""))
        redone = delta.done_to(Document(whole.text))
        edits, missed = len(delta.gone) + len(delta.come), len(redone.refused)
        text = redone.document.text if now is not None or redone.document.text else None
    if text is None and whole.hash is not None:
        folder.remove(name, over=whole.hash)
    elif text is not None and text != now:
        folder.write(name, text, over=whole.hash)
    return _outcome(rows, real=text, edits=edits, missed=missed)


def _outcome(
    rows: Sequence[Outgoing], *, real: str | None = None, edits: int = 0, missed: int = 0, problem: str | None = None
) -> FileOutcome:
    return FileOutcome(
        document=rows[0].document,
        run_id=rows[-1].run_id,
        passes=tuple(dict.fromkeys(row.pass_name for row in rows)),
        keys=tuple(row.key for row in rows),
        base=rows[0].before,
        meant=rows[-1].after,
        real=real,
        edits=edits,
        missed=missed,
        problem=problem,
    )
