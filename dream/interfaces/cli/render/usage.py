"""What the model cost."""

from collections.abc import Collection, Sequence

from dream.domain.usage import UsageKey, UsageRow
from dream.interfaces.cli.render.line import Line, Lines, numbers_table, paragraph
from dream.interfaces.cli.render.text import clip, counted
from dream.interfaces.cli.session import Session

_COUNTS = ("calls", "failed", "tokens in", "tokens out")
_WIDEST_NAME = 32


def usage_lines(
    session: Session, rows: Sequence[UsageRow], total: UsageRow, keys: Collection[UsageKey], left: int | None
) -> Lines:
    """Yield a line per row, the sum of all, and what may still be spent today."""
    if not rows:
        yield from paragraph(f"No model was asked for {session.scope} in that time.", session.screen.width)
    else:
        yield from _table(rows, total, [key for key in UsageKey if key in keys])
    yield left_line(left)


def left_line(left: int | None) -> Line:
    """Return what may still be spent today."""
    if left is None:
        return Line("There is no bound for a day.")
    return Line(f"Left for today (UTC): {counted(left, 'token')}.")


def _table(rows: Sequence[UsageRow], total: UsageRow, keys: Sequence[UsageKey]) -> Lines:
    heads = [key.value for key in keys] or [""]
    lines = [[*_names(row, keys), *_numbers(row)] for row in rows]
    sums = ["total", *[""] * (len(heads) - 1), *_numbers(total)]
    return numbers_table([[*heads, *_COUNTS], *lines, sums], len(heads))


def _names(row: UsageRow, keys: Sequence[UsageKey]) -> list[str]:
    told = {
        UsageKey.DAY: "" if row.day is None else row.day.isoformat(),
        UsageKey.PASS: row.pass_name or "",
        UsageKey.MODEL: row.model or "unknown",
    }
    return [clip(told[key], _WIDEST_NAME) for key in keys] or [""]


def _numbers(row: UsageRow) -> list[str]:
    return [f"{number:,}" for number in (row.calls, row.failed, row.input_tokens, row.output_tokens)]
