"""Shows the peer card and what stood on it."""

from collections.abc import Mapping, Sequence

from agentcore.domain.card import MOST_LINES, CardLine
from dream.interfaces.cli.render.text import Line, Lines, Tone, one_line, paragraph, when


def card_lines(lines: Sequence[CardLine], texts: Mapping[str, str], width: int) -> Lines:
    """Yield the lines of the card, each with what it goes back to.

    Args:
        lines: They.
        texts: What the entries say that they go back to, by id.
        width: Columns.
    """
    if not lines:
        yield Line("The card is empty.", Tone.TITLE)
        return
    for one in lines:
        yield from paragraph(one_line(str(one)), width, first=f"{one.id[:8]}  ")
        for ref in one.sources:
            yield from paragraph(
                f"from {ref.id[:8]}: {one_line(texts.get(ref.id, ''))}", width, first="  ", tone=_FAINT
            )
        if one.pinned:
            yield Line(f"  by {one.set_by}, {when(one.set_at)}", _FAINT)
    full = "; the next line has to take the place of one" if len(lines) >= MOST_LINES else ""
    yield Line(f"{len(lines)} of {MOST_LINES} lines{full}.", _FAINT)


def history_lines(lines: Sequence[CardLine], width: int) -> Lines:
    """Yield all lines that ever stood on the card, with when and why they came and went."""
    if not lines:
        yield Line("Nothing ever stood on the card.", Tone.TITLE)
    for one in lines:
        yield from paragraph(one_line(str(one)), width, first=f"{one.id[:8]}  ")
        yield from paragraph(
            f"set by {one.set_by}, {when(one.set_at)}: {one_line(one.reason)}", width, first="  ", tone=_FAINT
        )
        if not one.is_active:
            heir = f" by {one.successor[:8]}" if one.successor else ""
            gone = f"{one.status.value}{heir}, {when(one.status_at)}: {one_line(one.status_reason or '')}"
            yield from paragraph(gone, width, first="  ", tone=_FAINT)


_FAINT = Tone.FAINT
