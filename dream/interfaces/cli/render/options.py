"""Options that are in force, and who said so."""

from collections.abc import Sequence

import orjson

from dream.interfaces.cli.render.line import Line, Lines, Tone, table
from dream.interfaces.cli.render.text import encodable, one_line
from dream.interfaces.cli.session import Session
from dream.options.sources import EffectiveOption, OptionSource


def option_lines(session: Session, options: Sequence[EffectiveOption]) -> Lines:
    """Yield one line per option: its path, who said what it is, and its value."""
    rows = [(one.name, one.source.value, _told(one.value)) for one in options]
    yield from table(rows, session.screen.width)
    changed = sum(one.source is not OptionSource.DEFAULT for one in options)
    yield Line(f"{changed} of {len(options)} are not the defaults.", Tone.FAINT)


def _told(value: object) -> str:
    return one_line(encodable(orjson.dumps(value).decode()))
