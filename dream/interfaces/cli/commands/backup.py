"""Runs `dream backup` and `dream restore-backup`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from agentcore.errors import InvalidOptionsError
from dream.domain.storage_names import EDITED_OPTIONS, OPTION_EDITS, PAUSED_SETTING
from dream.interfaces.cli.errors import EmptyFolderError
from dream.interfaces.cli.render.text import Line, Lines, Tone, counted, one_line, paragraph
from dream.interfaces.cli.session import DATABASE_VARIABLE, Access, CliSession

if TYPE_CHECKING:
    from agentcore.stores.sql.backup import Backup
    from agentcore.stores.sql.restore import Restored

_QUESTION = "Put it in the place of what is there?"
_NO_RESTORE = "unset it: a backup is of a file; bring what it holds to the server with `dream copy`"
_DECLINED = "Nothing was restored."
_KEPT = (PAUSED_SETTING, EDITED_OPTIONS, OPTION_EDITS)
"""Settings that are no memory: as they stand now they outlive a restore."""


async def backup(*, to: Path | None = None, session: CliSession) -> None:
    """Copy the memory of all scopes to a file, while it is in use, and read the copy back.

    Args:
        to: The folder; else one beside the data folder.
        session: Whose memory.
    """
    if not session.has_database and not session.data_dir.is_file():
        raise EmptyFolderError(path=str(session.data_dir))
    async with session.host(Access.LOOK, dreams=False, needs_scope=False) as host:
        made = await host.backup(to)
    session.screen.show(lambda: _json(made), lambda: backup_lines(made))


async def restore_backup(
    file: Path,
    /,
    *,
    without_forgets: Annotated[bool, Parameter(negative="")] = False,
    yes: Annotated[bool, Parameter(negative="")] = False,
    session: CliSession,
) -> None:
    """Put a backup in the place of the memory of all scopes; end every process that uses it first.

    What is there is backed up before. What was forgotten since the backup was made is forgotten in it as well, and
    off-limits topics stay. So do tokens as they are now, and what is switched off or paused.

    Args:
        file: The backup.
        without_forgets: Restore although the database there is damaged and cannot tell what was forgotten since.
        yes: Ask nobody; scripts have to say it.
        session: Whose memory.
    """
    from agentcore.stores.sql.backup import examined  # noqa: PLC0415 - the database takes half a second
    from agentcore.stores.sql.restore import restore_backup as restore  # noqa: PLC0415 - as above

    if session.url is not None:
        raise InvalidOptionsError(field=DATABASE_VARIABLE, value=session.database_name, allowed=_NO_RESTORE)
    found = examined(file)
    lines = restoring_lines(found, session.database, session.screen.width)
    if not yes and not session.screen.confirm(lines, question=_QUESTION, declined=_DECLINED):
        return
    done = await restore(file, session.data_dir, session.clock, obeying=not without_forgets, kept=_KEPT)
    session.screen.show(
        lambda: {
            "restored": _json(found),
            "former": None if done.former is None else _json(done.former),
            "forgotten_since": {
                str(scope): {"removed": list(one.removed), "redacted": list(one.redacted)}
                for scope, one in done.obeyed.items()
            },
        },
        lambda: restored_lines(done, session.screen.width),
    )


def _json(made: "Backup") -> dict[str, Any]:
    counts = {"entries": made.entries, "turns": made.turns, "skills": made.skills}
    return {"path": str(made.path), "bytes": made.size, "schema": made.revision, **counts}


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
            "No memory that can be read was there, so it is not known what was forgotten since the backup.", width
        )
    else:
        yield Line(f"What was there before: {one_line(str(done.former.path))}", Tone.FAINT)


def _holds(found: "Backup") -> str:
    entries, turns = counted(found.entries, "entry", "entries"), counted(found.turns, "turn")
    return f"{entries}, {turns}, {counted(found.skills, 'skill')}; {found.size:,} bytes, schema {found.revision}"
