"""What the model cost."""

from collections.abc import Collection, Sequence

from dream.domain.usage import UsageKey, UsageRow
from dream.interfaces.cli.render.line import Line, Lines, Tone, paragraph
from dream.interfaces.cli.render.text import clip, columns, counted
from dream.interfaces.cli.session import Session

_COUNTS = ("calls", "failed", "tokens in", "tokens out")
_WIDEST_NAME = 32
_GAP = "  "


def usage_lines(
    session: Session, rows: Sequence[UsageRow], total: UsageRow, keys: Collection[UsageKey], left: int | None
) -> Lines:
    """Yield a line per row, the sum of all, and what may still be spent today."""
    if not rows:
        yield from paragraph(f"No model was asked for {session.scope} in that time.", session.screen.width)
    else:
        yield from _table(rows, total, [key for key in UsageKey if key in keys])
    bound = "There is no bound for a day." if left is None else f"Left for today (UTC): {counted(left, 'token')}."
    yield Line(bound)


def _table(rows: Sequence[UsageRow], total: UsageRow, keys: Sequence[UsageKey]) -> Lines:
    heads = [key.value for key in keys] or [""]
    bodies = [_names(row, keys) for row in rows]
    sums = ["total", *[""] * (len(heads) - 1)]
    lines = [[*heads, *_COUNTS], *(names + _numbers(row) for names, row in zip(bodies, rows, strict=True))]
    lines.append(sums + _numbers(total))
    widths = [max(columns(line[place]) for line in lines) for place in range(len(lines[0]))]
    for place, line in enumerate(lines):
        is_edge = place in {0, len(lines) - 1}
        cells = (
            _padded(cell, width, is_name=at < len(heads))
            for at, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        yield Line(_GAP.join(cells).rstrip(), Tone.TITLE if is_edge else Tone.PLAIN)


def _names(row: UsageRow, keys: Sequence[UsageKey]) -> list[str]:
    told = {
        UsageKey.DAY: "" if row.day is None else row.day.isoformat(),
        UsageKey.PASS: row.pass_name or "",
        UsageKey.MODEL: row.model or "unknown",
    }
    return [clip(told[key], _WIDEST_NAME) for key in keys] or [""]


def _numbers(row: UsageRow) -> list[str]:
    return [f"{number:,}" for number in (row.calls, row.failed, row.input_tokens, row.output_tokens)]


def _padded(cell: str, width: int, *, is_name: bool) -> str:
    padding = " " * (width - columns(cell))
    return cell + padding if is_name else padding + cell
