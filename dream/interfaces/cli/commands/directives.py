"""Runs `dream directives list`, `show`, `eject` and `check`."""

import os
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from dream.cycle.forecast import DirectiveForecast, read_directive_forecast
from dream.directives import FILE_SUFFIX, FOLDER, KNOWN, Directive, DirectiveLibrary
from dream.domain.finding import Finding, FindingLevel
from dream.errors import UnwritableFileError
from dream.guards.names import VOCABULARY_FILE, load_vocabulary
from dream.interfaces.cli.errors import OccupiedFileError
from dream.interfaces.cli.exit_codes import Exit
from dream.interfaces.cli.render.directives import (
    check_lines,
    directive_json,
    ejected_lines,
    list_lines,
    listed,
    text_lines,
)
from dream.interfaces.cli.render.text import encodable
from dream.interfaces.cli.session import Access, CliSession, CommandSession
from dream.interfaces.exchange.files import replacing
from dream.interfaces.installed import installed_passes
from dream.options import DreamOptions
from dream.passes import library_of

Flag = Annotated[bool, Parameter(negative="")]


async def list_(*, session: CliSession) -> None:
    """List every directive: which passes send it, whose words it has, and how long it is.

    Args:
        session: Whose data directory.
    """
    found = listed(_library(session))
    session.screen.show(lambda: {"directives": [one.to_json() for one in found]}, lambda: list_lines(session, found))


async def show(
    name: str, /, *, original: Annotated[bool, Parameter(name="--built-in", negative="")] = False, session: CliSession
) -> None:
    """Print the text of a directive that is in force.

    Args:
        name: The directive, as `dream directives list` calls it.
        original: The text that comes with dream, even if you have your own.
        session: Whose data directory.
    """
    library = _library(session)
    directive = library.original(name) if original else library.read([name])[name]
    session.screen.show(lambda: directive_json(directive), lambda: text_lines(directive))


async def eject(name: str, /, *, force: Flag = False, session: CliSession) -> None:
    """Write a built-in directive to the data directory, where it is in force from the next run on.

    Args:
        name: The directive, as `dream directives list` calls it.
        force: Replace what stands there.
        session: Whose data directory.
    """
    directive = _library(session).original(name)
    path = _written(directive, session.data_dir / FOLDER, force=force)
    session.screen.show(
        lambda: {**directive_json(directive), "path": encodable(str(path))},
        lambda: ejected_lines(session, directive, path),
    )


def _written(directive: Directive, folder: Path, *, force: bool) -> Path:
    path = folder / f"{directive.name}{FILE_SUFFIX}"
    if not force and os.path.lexists(path):
        raise OccupiedFileError(path=str(path))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with replacing(path) as file:
            file.write(f"{directive.text}\n".encode())
    except OSError as error:
        raise UnwritableFileError(path=str(path), problem=os.strerror(error.errno or 0)) from error
    return path


async def check(*, session: CliSession) -> Exit:
    """Examine your own directives and vocabulary, and tell what a change of them costs.

    Args:
        session: Whose data directory and memory.
    """
    library = _library(session)
    findings = [*library.check(beside=(VOCABULARY_FILE,)), _vocabulary(session)]
    usable = all(finding.verdict is not FindingLevel.WRONG for finding in findings)
    forecast = await _forecast(session, library) if usable else None
    session.screen.show(
        lambda: {
            "usable": usable,
            "findings": [finding.to_json() for finding in findings],
            "forecast": forecast and forecast.to_json(),
        },
        lambda: check_lines(session, findings, forecast),
    )
    if usable:
        return Exit.OK
    session.screen.warn("Something cannot be used: the findings above say what, and what to do about it.")
    return Exit.BAD_INPUT


def _library(session: CommandSession) -> DirectiveLibrary:
    return library_of(session.data_dir, _options(session).replace(passes=installed_passes()))


def _options(session: CommandSession) -> DreamOptions:
    """Return what dreams of the scope go by: as the settings file, the environment and the host's code say."""
    session.require_one_scope()
    return session.levels().of(session.scope)


def _vocabulary(session: CommandSession) -> Finding:
    path = session.data_dir / FOLDER / VOCABULARY_FILE
    problem = load_vocabulary(path).problem
    if problem is not None:
        return Finding("vocabulary", FindingLevel.WRONG, str(problem).rstrip("."))
    return Finding("vocabulary", FindingLevel.FINE, str(path) if path.exists() else "built in")


async def _forecast(session: CommandSession, library: DirectiveLibrary) -> DirectiveForecast:
    directives = library.read(KNOWN)
    async with session.host(Access.LOOK) as host:
        return await host.storage.read(
            session.scope, lambda view: read_directive_forecast(view, directives, _options(session))
        )
