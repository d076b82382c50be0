"""Changes documents of the workspace: appends lines and leaves what stands there as it is."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final
from zoneinfo import ZoneInfo

from agentcore.domain.document import StoredDocument
from agentcore.domain.records import Record
from agentcore.workspace.differences import own_after
from agentcore.workspace.document import Document
from agentcore.workspace.markdown import lines_of
from dream.domain.change import Change
from dream.passes.protocol import DreamContext

NEW_DIARY: Final = "# DREAMS.md — Dream Diary\n"
"""How DREAMS.md begins."""


def moment(context: DreamContext) -> str:
    """Return when a run dreams, as headings tell it: in the zone of the options."""
    return context.as_of.astimezone(ZoneInfo(context.options.promotion.zone)).strftime("%Y-%m-%d %H:%M %Z")


def appended(text: str, lines: Sequence[str]) -> str:
    r"""Put *lines* at the end, an empty line before them, with the line ends of the text.

    Example:
        >>> appended("# Diary\n", ["- slept well"])
        '# Diary\n\n- slept well\n'
    """
    there = lines_of(text)
    end = next((line[len(line.rstrip("\r\n")) :] for line in there if line != line.rstrip("\r\n")), "\n")
    last = there[-1] if there else ""
    gap = "" if last and not last.strip() else end
    broken = "" if not last or last != last.rstrip("\r\n") else end
    return f"{text}{broken}{gap}{end.join(lines)}{end}"


def rewritten(
    context: DreamContext,
    name: str,
    before: StoredDocument | None,
    after: Document,
    reason: str,
    *,
    read: Document | None = None,
) -> Change[Record]:
    """Return the change of a document to *after*; what it adds counts as written by dreams.

    Args:
        context: The run's.
        name: The document.
        before: It as it is stored; None if there is none yet.
        after: What it shall say.
        reason: Why, in words for people.
        read: What it says as it is stored, if that has been read before.
    """
    known = before or StoredDocument(id=name, scope=context.scope, content="", updated_at=context.as_of)
    own = own_after(known.own, read or Document(known.content), after)
    record = replace(known, content=after.text, own=own, updated_at=context.as_of)
    return Change[Record](before=before, after=record, reason=reason)
