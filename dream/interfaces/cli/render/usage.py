"""Shows what calls of a model cost, or would cost at most."""

from collections.abc import Collection, Sequence

from agentcore.domain.scope import Scope
from dream.domain.forecast import PassForecast, total
from dream.domain.usage import HostDay, UsageKey, UsageRow
from dream.interfaces.cli.render.reasons import explained
from dream.interfaces.cli.render.text import Line, Lines, Tone, clip, counted, numbers_table, paragraph
from dream.interfaces.cli.session import CommandSession

_COUNTS = ("calls", "failed", "tokens in", "tokens out")
_WIDEST_NAME = 32


def usage_lines(
    session: CommandSession, rows: Sequence[UsageRow], total: UsageRow, keys: Collection[UsageKey], left: int | None
) -> Lines:
    """Yield a line per row, the sum of all, and what may still be spent today."""
    if not rows:
        yield from paragraph(f"No model was asked for {session.scope} in that time.", session.screen.width)
    else:
        yield from _table(rows, total, [key for key in UsageKey if key in keys])
        yield from _unanswered_lines(session.screen.width, total)
    yield left_line(left)


def usage_of_scopes_lines(found: Sequence[tuple[Scope, UsageRow, int | None]], total: UsageRow) -> Lines:
    """Yield a line per scope with what may still be spent on it today, and the sum of all."""
    lines = [[str(scope), *_numbers(row), "no bound" if left is None else f"{left:,}"] for scope, row, left in found]
    yield from numbers_table([["scope", *_COUNTS, "left today"], *lines, ["total", *_numbers(total), ""]], 1)


def _unanswered_lines(width: int, total: UsageRow) -> Lines:
    if total.unanswered:
        calls = f"{counted(total.unanswered, 'call')} without an answer, about {total.unanswered_tokens:,} tokens"
        told = f"{calls}: under way, or ended with the process that asked. They count by what they can cost at most."
        yield from paragraph(told, width)


def left_line(left: int | None) -> Line:
    """Return what may still be spent today."""
    if left is None:
        return Line("There is no bound for a day.")
    return Line(f"Left for today (UTC): {counted(left, 'token')}.")


def host_lines(day: HostDay) -> Lines:
    """Yield what all scopes of the host cost today, where that has a bound."""
    if day.most_calls is None and day.most_tokens is None:
        return
    calls, tokens = counted(day.calls, "call"), counted(day.tokens, "token")
    of_calls = "" if day.most_calls is None else f" of {day.most_calls:,}"
    of_tokens = "" if day.most_tokens is None else f" of {day.most_tokens:,}"
    yield Line(f"All scopes of the host today (UTC): {calls}{of_calls}, {tokens}{of_tokens}.")


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


_HEADS = ("pass", "calls", "directives", "data", "answers", "further", "backlog")


def forecast_lines(session: CommandSession, passes: Sequence[PassForecast], left: int | None) -> Lines:
    """Yield a line per pass with its calls and tokens, the sum, why others ask nothing, and what is left for today."""
    width = session.screen.width
    asking = [one for one in passes if one.calls]
    yield Line(f"What a dream on {session.scope} would ask the model now; nobody was asked.", Tone.TITLE)
    if asking:
        rows = [_HEADS, *map(_cells, asking), _cells(total(asking))]
        yield from numbers_table(rows, 1)
        text = (
            "In tokens, a token per four bytes: answers as long as they may be, and further rounds (lookups, repairs, "
            f"second readings) as if every exchange had all it may have. Together {foreseen(total(asking))}. Halves of "
            "what proves too long come on top; what earlier passes of the dream would add or fold is not counted."
        )
        yield from paragraph(text, width, tone=Tone.FAINT)
    for one in passes:
        if not one.calls:
            told = explained(one.reason) if one.reason else "asked in the question of another pass"
            yield from paragraph(told, width, first=f"{one.name}: ")
    if not passes:
        yield Line("No pass that asks a model is enabled.")
    yield left_line(left)


def _cells(one: PassForecast) -> tuple[str, ...]:
    numbers = (one.calls, one.directive_tokens, one.data_tokens, one.most_output_tokens)
    numbers += (one.most_further_tokens, one.backlog)
    return (one.name, *(f"{number:,}" for number in numbers))


def foreseen(one: PassForecast) -> str:
    """Return how much is asked at least and at most.

    Example:
        >>> foreseen(PassForecast(name="a", calls=1, most_calls=2, data_tokens=500, most_output_tokens=1_000))
        'at least 1 call and 500 tokens, at most 2 calls and 1,500 tokens'
    """
    least = f"at least {counted(one.calls, 'call')} and {one.least_tokens:,} tokens"
    return f"{least}, at most {counted(one.most_calls, 'call')} and {one.most_tokens:,} tokens"
