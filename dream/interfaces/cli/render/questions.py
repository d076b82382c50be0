"""Open questions: conflicts that the evidence does not decide, for a person."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from agentcore.domain.memory import MemoryEntry
from dream.domain.report import RunReport
from dream.interfaces.cli.render.line import Line, Lines, Tone, paragraph
from dream.interfaces.cli.render.text import clip, counted

_SHOWN = 5
_MAX_TEXT = 160


def asked_about(report: RunReport) -> list[str]:
    """Return the ids of the entries whose texts `question_lines` shows."""
    return [entry_id for question in _questions(report)[:_SHOWN] for entry_id in question["entries"]]


def question_lines(report: RunReport, entries: Mapping[str, MemoryEntry], width: int, *, more: str) -> Lines:
    """Yield the open questions with the texts they are about, and how many more there are.

    Args:
        report: The report of the run that found them.
        entries: The entries to be shown, by id; one that is missing is gone since.
        width: Columns of a line.
        more: Where to see the rest.
    """
    found = _questions(report)
    if not found:
        return
    yield Line(f"{counted(len(found), 'open question')}:", Tone.TITLE)
    for place, question in enumerate(found[:_SHOWN], start=1):
        yield from paragraph(question["question"], width, first=f"  {place}. ", rest="     ")
        for entry_id in question["entries"]:
            entry = entries.get(entry_id)
            text = "(no longer here)" if entry is None else f"{clip(entry.content, _MAX_TEXT)}  [{entry.category}]"
            yield from paragraph(text, width, first=f"     {entry_id}  ", rest="       ")
    if len(found) > _SHOWN:
        yield Line(f"  and {len(found) - _SHOWN} more; {more}", Tone.FAINT)


def _questions(report: RunReport) -> Sequence[Mapping[str, Any]]:
    noted = [cast("Sequence[Mapping[str, Any]]", item.notes.get("questions", ())) for item in report.passes]
    return [question for questions in noted for question in questions]
