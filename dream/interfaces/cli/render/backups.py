"""Shows backups and what a restore did."""

from pathlib import Path
from typing import TYPE_CHECKING

from dream.interfaces.cli.render.text import Line, Lines, Tone, counted, one_line, paragraph

if TYPE_CHECKING:
    from agentcore.stores.sql.backup import Backup
    from agentcore.stores.sql.restore import Restored


def backup_lines(made: "Backup") -> Lines:
    """Yield where a backup is and what it holds."""
    yield Line(f"Backed up, and read back: {one_line(str(made.path))}", Tone.TITLE)
    yield Line(f"    {_holds(made)}")


def restoring_lines(found: "Backup", database: Path, width: int) -> Lines:
    """Yield what a restore is going to do, for a person to decide."""
    yield Line(f"To be restored: {one_line(str(found.path))}", Tone.TITLE)
    yield Line(f"    {_holds(found)}")
    yield from paragraph(
        f"It takes the place of {one_line(str(database))}, which is backed up first. What was forgotten since stays"
        " so.",
        width,
    )


def restored_lines(done: "Restored", width: int) -> Lines:
    """Yield what a restore did."""
    yield Line(f"Restored: {_holds(done.backup)}.", Tone.TITLE)
    for scope, one in done.obeyed.items():
        entries = counted(len(one.removed), "entry", "entries")
        turns = counted(len(one.redacted), "turn")
        yield Line(f"    Forgotten again in {one_line(str(scope))}: {entries}, and what {turns} said.")
    if done.former is None:
        yield from paragraph(
            "What was there could not be read, so it is not known what was forgotten since the backup.", width
        )
    else:
        yield Line(f"What was there before: {one_line(str(done.former.path))}", Tone.FAINT)


def _holds(found: "Backup") -> str:
    entries, turns = counted(found.entries, "entry", "entries"), counted(found.turns, "turn")
    return f"{entries}, {turns}, {counted(found.skills, 'skill')}; {found.size:,} bytes, schema {found.revision}"
