"""Refused texts, whole."""

from collections.abc import Sequence

from dream.domain.refused import RefusedText
from dream.interfaces.cli.render.line import Line, Lines, Tone, paragraph
from dream.interfaces.cli.render.text import counted

_ABOUT = "  "
_TEXT = "    "


def refused_text_lines(texts: Sequence[RefusedText], width: int) -> Lines:
    """Yield each text with its pass and why it was refused."""
    if not texts:
        yield from paragraph("No refused text of this run is kept.", width, tone=Tone.FAINT)
        return
    yield Line(f"{counted(len(texts), 'refused text')}", Tone.TITLE)
    for one in texts:
        about = f"{one.pass_name}, {one.code}: {one.detail}"
        yield from paragraph(about, width, first=_ABOUT, rest=_ABOUT, tone=Tone.WARNING)
        for line in one.text.splitlines():
            yield from paragraph(line, width, first=_TEXT, rest=_TEXT)
