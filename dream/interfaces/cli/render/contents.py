"""What records say, as a diff shows it: short texts as they are, of long ones what differs."""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import islice, zip_longest

from dream.interfaces.cli.render.line import Line, Lines, Tone, paragraph
from dream.interfaces.cli.render.text import clip, counted, one_line

SHORT = 400
"""Characters up to which a text is shown as it is."""
_MOST_LINES = 40
"""Lines of a difference that are shown unless all are asked for."""
_BEFORE_IT_DIFFERS = 40
"""Characters of a long line that are shown before the first that differs."""


def content_lines(text: str, width: int, indent: str, *, whole: bool) -> Lines:
    """Yield a text: its beginning as one line, or line by line and whole."""
    if not whole or len(one_line(text)) <= SHORT:
        yield from paragraph(clip(f'"{text}"', SHORT), width, first=indent)
        return
    for line in text.splitlines():
        yield from paragraph(line, width, first=f"{indent}| ")


def difference_lines(was: str, becomes: str, width: int, indent: str, *, whole: bool) -> Lines:
    """Yield how a text changes: both if they are short, else the lines that differ, all of them if *whole*."""
    if max(len(one_line(was)), len(one_line(becomes))) <= SHORT:
        yield from paragraph(f'"{was}"', width, first=f"{indent}- ", tone=Tone.REMOVED)
        yield from paragraph(f'"{becomes}"', width, first=f"{indent}+ ", tone=Tone.ADDED)
        return
    yield from line_difference_lines(was, becomes, width, indent, whole=whole)


def line_difference_lines(was: str, becomes: str, width: int, indent: str, *, whole: bool) -> Lines:
    """Yield the lines in which a text changes, all of them if *whole*."""
    found = list(_differing(was.splitlines(), becomes.splitlines()))
    for sign, line in found if whole else islice(found, _MOST_LINES):
        tone = {"-": Tone.REMOVED, "+": Tone.ADDED}.get(sign, Tone.FAINT)
        yield from paragraph(line if whole else clip(line, SHORT), width, first=f"{indent}{sign} ", tone=tone)
    if not whole and len(found) > _MOST_LINES:
        yield Line(f"{indent}... and {counted(len(found) - _MOST_LINES, 'more line')}", Tone.FAINT)


def _differing(was: Sequence[str], becomes: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield lines with their signs; those that stay are only counted."""
    for what, start, end, first, last in SequenceMatcher(None, was, becomes, autojunk=False).get_opcodes():
        if what == "equal":
            yield " ", f"({counted(end - start, 'line')} unchanged)"
            continue
        pairs = list(zip_longest(was[start:end], becomes[first:last]))
        for sign, side in (("-", 0), ("+", 1)):
            yield from ((sign, _cut(pair[side], pair[1 - side])) for pair in pairs if pair[side])


def _cut(line: str, other: str | None) -> str:
    """Return a line, from shortly before it differs if it is long and begins like the other one."""
    pairs = enumerate(zip(line, other or "", strict=False))
    start = next((place for place, (mine, its) in pairs if mine != its), len(other or "")) - _BEFORE_IT_DIFFERS
    return line if len(line) <= SHORT or start <= 0 else f"…{line[start:]}"
