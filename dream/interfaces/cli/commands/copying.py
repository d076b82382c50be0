"""Runs `dream copy`."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from agentcore.errors import InvalidOptionsError
from dream.interfaces.cli.errors import MissingFolderError
from dream.interfaces.cli.render.text import Line, Lines, counted, one_line
from dream.interfaces.cli.session import CliSession

if TYPE_CHECKING:
    from agentcore.stores.sql.database_copy import Copied

_RECORDS = ("entries", "turns", "skills")


async def copy(
    *,
    from_: Annotated[str, Parameter(name="--from")],
    to: Annotated[str, Parameter(name="--to")],
    session: CliSession,
) -> None:
    """Copy the memory of all scopes between a data folder and a PostgreSQL database, or two of either.

    Runs, journal and schedules come along, and what was forgotten stays so. End every process that uses one of them
    first. The target may hold nothing yet. The key of forgotten texts of a folder comes along; that of a database is
    in the data folder of its hosts (--data), or in AGENTCORE_FORGET_KEY.

    Args:
        from_: A data folder, or the URL of a database.
        to: Another one.
        session: Where keys are.
    """
    from agentcore.stores.sql.database_copy import copy_everything  # noqa: PLC0415 - the database takes half a second
    from agentcore.stores.sql.forget_key import KEY_FILE, ForgetKey  # noqa: PLC0415 - as above

    source, target = _place(from_), _place(to)
    if isinstance(source, Path) and not source.is_file():
        raise MissingFolderError(path=from_)
    if source == target:
        raise InvalidOptionsError(field="--to", value=to, allowed="name another place than --from")
    folders = [session.data_dir if isinstance(one, str) else one.parent for one in (source, target)]
    former, new = map(ForgetKey.of, folders)
    is_kept = former.held()[0] is not None
    if is_kept and new.held()[0] not in {None, former.held()[0]}:
        told = f"its {KEY_FILE} is that of other forgotten texts; name a folder without one"
        field = "--data" if isinstance(target, str) else "--to"
        raise InvalidOptionsError(field=field, value=str(folders[1]), allowed=told)
    done = await asyncio.to_thread(copy_everything, source, target, at=session.clock.now())
    if is_kept:
        session.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        new.keep(*former.held())
    key = session.data_dir / KEY_FILE if is_kept and isinstance(target, str) and not new.is_given else None
    session.screen.show(lambda: {"scopes": done.scopes, "rows": done.rows}, lambda: _lines(done, to, key))


def _place(said: str) -> Path | str:
    from agentcore.stores.sql.sql_storage import FILE_NAME  # noqa: PLC0415 - as above

    return said if "://" in said else Path(said).expanduser() / FILE_NAME


def _lines(done: "Copied", target: str, key: Path | None) -> Lines:
    records = ", ".join(f"{done.rows.get(name, 0):,} {name}" for name in _RECORDS)
    yield Line(f"Copied {counted(done.scopes, 'scope')} with {records} and all that belongs to them.")
    there = "in AGENTCORE_DATABASE" if "://" in target else f"by --data {target}"
    yield Line("What is written where it came from stays there from now on.")
    yield Line(f"To go on with the copy, name it {there}.")
    if key is not None:
        yield Line(f"It recognises what was forgotten by {one_line(str(key))}: have its hosts use that folder.")
