"""What a run would ask the model."""

from collections.abc import Sequence

from dream.domain.forecast import PassForecast, total
from dream.interfaces.cli.render.line import Line, Lines, Tone, numbers_table, paragraph
from dream.interfaces.cli.render.reasons import explained
from dream.interfaces.cli.render.usage import left_line
from dream.interfaces.cli.session import Session

_HEADS = ("pass", "calls", "directives", "data", "answers", "repairs", "backlog")


def forecast_lines(session: Session, passes: Sequence[PassForecast], left: int | None) -> Lines:
    """Yield a line per pass with its calls and tokens, the sum, why others ask nothing, and what is left for today."""
    width = session.screen.width
    asking = [one for one in passes if one.calls]
    yield Line(f"What a dream on {session.scope} would ask the model now; nobody was asked.", Tone.TITLE)
    if asking:
        rows = [_HEADS, *map(_cells, asking), _cells(total(asking))]
        yield from numbers_table(rows, 1)
        text = (
            "In tokens, a token per four bytes: answers as long as they may be, and repairs as if every answer needed "
            "one. Halves of what proves too long come on top; what earlier passes of the dream would add or fold is "
            "not counted."
        )
        yield from paragraph(text, width, tone=Tone.FAINT)
    for one in passes:
        if not one.calls:
            yield from paragraph(explained(one.reason), width, first=f"{one.name}: ")
    if not passes:
        yield Line("No pass that asks a model is enabled.")
    yield left_line(left)


def _cells(one: PassForecast) -> tuple[str, ...]:
    numbers = (one.calls, one.directive_tokens, one.data_tokens, one.most_output_tokens)
    numbers += (one.most_repair_tokens, one.backlog)
    return (one.name, *(f"{number:,}" for number in numbers))
