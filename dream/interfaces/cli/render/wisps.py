"""What was learned from wisps: which keep failing and why, and which are worth keeping."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from dream.domain.report import RunReport
from dream.interfaces.cli.render.line import Line, Lines, Tone, paragraph
from dream.interfaces.cli.render.text import counted

_SHOWN: Final = 5


def wisp_lines(report: RunReport, width: int, *, more: str) -> Lines:
    """Yield the patterns of failure that were classified, then the wisps that keep succeeding.

    Args:
        report: The report of the run that found them.
        width: Columns of a line.
        more: Where to see the rest.
    """
    failing, succeeding = _noted(report, "patterns"), _noted(report, "promotion_candidates")
    title = f"{counted(len(failing), 'wisp keeps', 'wisps keep')} failing:"
    yield from _listed(title, [_failing(one) for one in failing], width, more)
    title = f"{counted(len(succeeding), 'wisp keeps', 'wisps keep')} succeeding and could become a skill:"
    yield from _listed(title, [_succeeding(one) for one in succeeding], width, more)


def _failing(pattern: Mapping[str, Any]) -> str:
    told = f"{pattern['description']}: {pattern['failures']} of {pattern['runs']} runs failed"
    skill = f", written into {pattern['skill']}" if pattern["skill"] else ""
    return f"{told}; {pattern['classification']}{skill}"


def _succeeding(candidate: Mapping[str, Any]) -> str:
    told = f"{candidate['description']}: {candidate['successes']} of {candidate['runs']} runs succeeded"
    return f"{told}; it came from {candidate['skill']}" if candidate["skill"] else told


def _listed(title: str, items: Sequence[str], width: int, more: str) -> Lines:
    if not items:
        return
    yield Line(title, Tone.TITLE)
    for item in items[:_SHOWN]:
        yield from paragraph(item, width, first="  - ", rest="    ")
    if len(items) > _SHOWN:
        yield Line(f"  and {len(items) - _SHOWN} more; {more}", Tone.FAINT)


def _noted(report: RunReport, name: str) -> list[Mapping[str, Any]]:
    noted: list[Sequence[Mapping[str, Any]]] = [item.notes.get(name, ()) for item in report.passes]
    return [one for found in noted for one in found]
