"""Shows change sets: what each record was and becomes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import groupby, islice, zip_longest
from typing import TYPE_CHECKING, Any, cast

import orjson

from agentcore.domain.memory import MemoryEntry
from agentcore.domain.records import RecordKind
from dream.interfaces.cli.render.text import Line, Lines, Tone, clip, clipped, counted, one_line, paragraph

if TYPE_CHECKING:
    from dream.domain.change import JournalRow

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


_SHOWN_IDS = 3
_TOLD_OTHERWISE = frozenset({"id", "status", "status_reason", "status_at", "successor"})
"""Fields that the verb and the reason already tell."""
_VERB_WIDTH = 12

Image = Mapping[str, Any]


def successors_of(rows: "Iterable[JournalRow]") -> list[str]:
    """Return the ids of what took the place of records, whose texts `change_set_lines` shows."""
    found = (_image(row.after).get("successor") for row in rows)
    return sorted({str(successor) for successor in found if successor})


def change_set_lines(
    rows: "Sequence[JournalRow]",
    width: int,
    *,
    limit: int | None = None,
    entries: Mapping[str, MemoryEntry] | None = None,
    whole: bool = False,
) -> Lines:
    """Yield change sets in their order, each numbered as `dream undo --change` takes it.

    Args:
        rows: Rows of one run, in the order they were written.
        width: Columns of a line.
        limit: How many sets to show; the rest is counted.
        entries: What took the place of records, by id; what the rows themselves tell need not be there.
        whole: Whether long texts are shown to their end.
    """
    known = {entry_id: entry.content for entry_id, entry in (entries or {}).items()}
    known |= {row.record_id: str(_image(row.after).get("content") or "") for row in rows if row.after is not None}
    sets = [list(group) for _, group in groupby(rows, key=lambda row: row.number)]
    for change_set in sets[:limit]:
        # Within a set the successor is shown as a row of its own.
        elsewhere = known.keys() - {row.record_id for row in change_set}
        yield from _change_set(change_set, width, {record_id: known[record_id] for record_id in elsewhere}, whole=whole)
    left = len(sets) - len(sets[:limit])
    if left:
        yield Line(f"... and {counted(left, 'more change', 'more changes')}.", Tone.FAINT)


def _change_set(rows: "Sequence[JournalRow]", width: int, known: Mapping[str, str], *, whole: bool) -> Lines:
    head = rows[0]
    yield Line(f"#{head.number} {head.operation} ({head.pass_name})", Tone.TITLE)
    gone = [row for row in rows if row.before is None and row.after is None and not row.scrubbed]
    if gone:
        yield from _purged(gone, width)
        return
    if head.kind is RecordKind.TURN:
        yield from _turns(rows, width)
        return
    successors = {_image(row.after).get("successor") for row in rows}
    for row in rows:
        yield from _row(row, width, keeps=row.record_id in successors, known=known, whole=whole)


def _purged(rows: "Sequence[JournalRow]", width: int) -> Lines:
    kind = rows[0].kind.value.replace("_", " ")
    what = f"{counted(len(rows), f'{kind} record')} removed for good: {rows[0].reason} ({_names(rows)})"
    yield from paragraph(what, width, first="  ", tone=Tone.REMOVED)


def _turns(rows: "Sequence[JournalRow]", width: int) -> Lines:
    """Yield a line for what became of many turns: the journal has nothing but their ids."""
    for (is_consumed, reason), alike in groupby(rows, key=lambda row: (_is_consumed(row), row.reason)):
        turns = list(alike)
        what = "consumed" if is_consumed else "to be read again"
        yield from paragraph(f"{counted(len(turns), 'turn')} {what}: {reason} ({_names(turns)})", width, first="  ")


def _is_consumed(row: "JournalRow") -> bool:
    return "consumed_at" in _image(row.after)


def _names(rows: "Sequence[JournalRow]") -> str:
    names = ", ".join(row.record_id for row in rows[:_SHOWN_IDS])
    return f"{names} and {len(rows) - _SHOWN_IDS} more" if len(rows) > _SHOWN_IDS else names


def _row(row: "JournalRow", width: int, *, keeps: bool, known: Mapping[str, str], whole: bool) -> Lines:
    before, after = _image(row.before), _image(row.after)
    verb, tone = _verb(row, before, after, keeps=keeps)
    indent = " " * (_VERB_WIDTH + 2)
    yield clipped(_place(after or before), width, first=f"  {verb:<{_VERB_WIDTH}}{row.record_id}  ", tone=tone)
    if row.scrubbed:
        yield Line(f"{indent}(a person asked to forget the text)", Tone.FAINT)
    else:
        by_line = row.kind is RecordKind.DOCUMENT
        yield from _texts(before, after, width, indent, whole=whole, by_line=by_line)
    yield from paragraph(f"because {row.reason}", width, first=indent, rest=indent)
    heir = known.get(str(after.get("successor")))
    if heir and after.get("successor") != before.get("successor"):
        yield from paragraph(clip(f'"{heir}"', SHORT), width, first=f"{indent}now ", rest=f"{indent}    ")
    if before and after and row.kind not in {RecordKind.DOCUMENT, RecordKind.QUESTION}:
        for name in _changed(before, after):
            change = f"{_value(name, before.get(name))} -> {_value(name, after.get(name))}"
            yield from paragraph(change, width, first=f"{indent}{name}: ", rest=f"{indent}  ")


def _verb(row: "JournalRow", before: Image, after: Image, *, keeps: bool) -> tuple[str, Tone]:
    if row.scrubbed:
        return "forgotten", Tone.FAINT
    if row.kind is RecordKind.QUESTION and after:
        return ("answers" if after.get("state") != "open" else "asks"), Tone.PLAIN
    if not before:
        return "adds", Tone.ADDED
    if not after:
        return "removes", Tone.REMOVED
    state, was = after.get("status", "active"), before.get("status", "active")
    if state != was:
        verbs = {"active": ("restores", Tone.ADDED), "archived": ("archives", Tone.REMOVED)}
        return verbs.get(str(state), ("supersedes", Tone.REMOVED))
    return ("keeps" if keeps else "changes"), Tone.PLAIN


def _texts(before: Image, after: Image, width: int, indent: str, *, whole: bool, by_line: bool) -> Lines:
    names = ("content", "text", "quote", "hypothesis")
    was, becomes = (next((image[name] for name in names if image.get(name)), None) for image in (before, after))
    if by_line:
        yield from line_difference_lines(str(was or ""), str(becomes or ""), width, indent, whole=whole)
    elif before and after and was != becomes:
        yield from difference_lines(str(was), str(becomes), width, indent, whole=whole)
    else:
        yield from content_lines(str(becomes or was or ""), width, indent, whole=whole)


def _changed(before: Image, after: Image) -> Iterator[str]:
    for name in sorted({*before, *after} - _TOLD_OTHERWISE - {"content"}):
        if before.get(name) != after.get(name):
            yield name


def _place(image: Image) -> str:
    return one_line(str(image.get("category") or image.get("name") or image.get("predicate") or ""))


def _value(name: str, value: object) -> str:
    if value is None or value == []:
        return "none"
    if name == "absorbed":
        return ", ".join(f"{entry} x{count}" for entry, count in cast("list[tuple[str, int]]", value))
    if name == "evidence":
        told = cast("list[dict[str, str]]", value)
        return ", ".join(f'"{clip(one["sentence"], SHORT)}" ({one["verdict"]})' for one in told)
    if isinstance(value, list):
        return ", ".join(str(item) for item in cast("list[object]", value))
    if isinstance(value, dict):
        return ", ".join(f"{key}={item}" for key, item in cast("dict[str, object]", value).items()) or "none"
    return str(value)


def _image(text: str | None) -> Image:
    return {} if text is None else cast("Image", orjson.loads(text))
