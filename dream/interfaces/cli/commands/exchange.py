"""Runs `dream import` and `export`."""

import os
import sys
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

from cyclopts import Parameter

from agentcore.domain.scope import Scope
from agentcore.domain.scope_pattern import ScopePattern
from agentcore.errors import InvalidOptionsError
from agentcore.stores.storage import Storage
from dream.errors import UnwritableFileError
from dream.interfaces.cli.commands.scopes import named_scopes, pattern_of
from dream.interfaces.cli.errors import ConflictingOptionsError, MissingSettingError
from dream.interfaces.cli.render.exchange import exported_lines, import_lines
from dream.interfaces.cli.render.text import Line, counted, encodable, one_line
from dream.interfaces.cli.session import Access, CliSession
from dream.interfaces.exchange.export import export_file, export_scope
from dream.interfaces.exchange.files import SourceFile
from dream.interfaces.exchange.formats import Format
from dream.interfaces.exchange.importer import import_file
from dream.interfaces.exchange.readable import export_readable_file, readable_pages


async def import_(
    path: Path,
    /,
    *,
    file_format: Annotated[Format, Parameter(name="--format")] = Format.AUTO,
    sample: str | None = None,
    session: CliSession,
) -> None:
    """Add what a file holds and the memory does not; a file with any fault adds nothing.

    Args:
        path: The file; - reads stdin.
        file_format: What it is; auto finds out.
        sample: Of a LoCoMo file, only this sample.
        session: Whose memory.
    """
    if str(path) == "-":
        with _from_stdin() as file:
            await import_(file, file_format=file_format, sample=sample, session=session)
        return
    # Looked at before the memory is opened, so that a mistyped path makes no data directory.
    SourceFile(path, session.scope, session.clock.now()).state()
    async with session.host(Access.CREATE) as host:
        with session.screen.progress(f"Importing {path.name}") as progress:
            report = await import_file(
                host.storage,
                session.scope,
                path,
                file_format=file_format,
                sample=sample,
                clock=session.clock,
                ids=session.ids,
                progress=progress,
            )
    session.screen.show(
        lambda: {**report.document(), "path": encodable(report.path)},
        lambda: import_lines(session, report),
    )


@contextmanager
def _from_stdin() -> Generator[Path]:
    """Keep what stdin says in a file as long as the block lasts: an import reads it twice."""
    with tempfile.TemporaryDirectory(prefix="dream-import-") as folder:
        file = Path(folder) / "stdin"
        file.write_bytes(sys.stdin.buffer.read())
        yield file


async def export(
    *,
    output: Path | None = None,
    all_of: str | None = None,
    readable: Annotated[bool, Parameter(negative="")] = False,
    all_scopes: Annotated[bool, Parameter(negative="")] = False,
    force: Annotated[bool, Parameter(negative="")] = False,
    session: CliSession,
) -> None:
    """Write every record and cursor of the scope as sorted JSON lines, or all that is kept about a peer to be read.

    Args:
        output: The file to write; else stdout. Of several scopes the folder for a file of each.
        all_of: A peer: every record of every scope that is about them; with --readable. In whatever workspace, or in
            those that `--scope 'acme/*/*'` names: another customer's may be another person.
        readable: Write a page that people read instead, for requests of access; with --all-of.
        all_scopes: Write all scopes; those that fit where `--scope` holds `*`, as in `acme/*/*`.
        force: Overwrite files that exist.
        session: Whose memory.

    Raises:
        InvalidOptionsError: the file is a folder, or exists, and nobody said that it is to be overwritten.
        ConflictingOptionsError: scopes were named beside a peer, whose scopes are all that are about them.
        MissingSettingError: one of the two was given without the other, or no folder for several scopes.
    """
    is_one = session.pattern is None and "--scope" in session.given
    for name, is_given in (("--scope", is_one), ("--all-scopes", all_scopes)):
        if all_of is not None and is_given:
            raise ConflictingOptionsError(first="--all-of", second=name)
    if (all_of is None) == readable:
        raise MissingSettingError(what="other option", remedy="give --all-of and --readable together")
    pattern = pattern_of(session, is_every=all_scopes)
    if pattern is not None and all_of is None:
        await _each(session, pattern, output, force=force)
        return
    if output is not None:
        _refuse_to_overwrite([output], force=force)
    if all_of is not None:
        await _readable(session, all_of, output)
        return
    async with session.host(Access.LOOK) as host:
        if output is None:
            await _to_stdout(session, host.storage)
            return
        into = _to_device if _is_device(output) else export_file
        records = await into(host.storage, session.scope, output)
    session.screen.show(
        lambda: {"path": encodable(str(output)), "scope": str(session.scope), "records": records},
        lambda: exported_lines(session, output, records),
    )


def _refuse_to_overwrite(files: Sequence[Path], *, force: bool) -> None:
    folder = next((one for one in files if one.is_dir()), None)
    if folder is not None:
        raise InvalidOptionsError(field="--output", value=str(folder), allowed="it is a folder: name a file in it")
    there = next((one for one in files if one.is_file()), None)
    if there is not None and not force:
        allowed = "it exists: give --force to overwrite it, or name another"
        raise InvalidOptionsError(field="--output", value=str(there), allowed=allowed)


async def _each(session: CliSession, pattern: ScopePattern, folder: Path | None, *, force: bool) -> None:
    """Write a file for each scope; what stands between the slashes of its name is quoted as in an address."""
    if folder is None:
        raise MissingSettingError(what="folder", remedy="name one with --output, for a file of each scope")
    named = await named_scopes(session, pattern)
    files = {
        scope: folder / f"{'+'.join(quote(part, safe='') for part in str(scope).split('/'))}.jsonl" for scope in named
    }
    _refuse_to_overwrite(list(files.values()), force=force)
    _make(folder)
    written: list[dict[str, Any]] = []
    async with session.host(Access.LOOK, needs_scope=False) as host:
        for scope, path in files.items():
            records = await export_file(host.storage, scope, path)
            written.append({"scope": str(scope), "path": encodable(str(path)), "records": records})
    session.screen.show(
        lambda: {"exports": written},
        lambda: [
            Line(f"{one['scope']}  {counted(one['records'], 'record')}: {one_line(one['path'])}") for one in written
        ],
    )


def _make(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise UnwritableFileError(path=str(folder), problem=os.strerror(error.errno or 0)) from error


async def _readable(session: CliSession, peer: str, output: Path | None) -> None:
    # The scope of the session is not asked for: whether there is any about the peer is.
    async with session.host(Access.LOOK, dreams=False, needs_scope=False) as host:
        if output is None:
            pages = [page async for page in readable_pages(host.storage, peer, within=session.pattern)]
            session.screen.write("".join(pages).encode("utf-8", "replace"))
            return
        await export_readable_file(host.storage, peer, output, within=session.pattern)
    session.screen.show(
        lambda: {"path": encodable(str(output)), "peer": peer},
        lambda: (Line(f"All that is kept about {one_line(peer)}: {one_line(str(output))}"),),
    )


async def _to_stdout(session: CliSession, storage: Storage) -> None:
    """Print the lines as they are; as one JSON document, put them into a list."""
    if not session.screen.as_json:
        await export_scope(storage, session.scope, session.screen.write)
        return
    lines: list[bytes] = []
    records = await export_scope(storage, session.scope, lines.append)
    session.screen.write(b'{"records":%d,"lines":[%b]}\n' % (records, b",".join(line.strip() for line in lines)))


def _is_device(path: Path) -> bool:
    """Tell whether *path* is written to as it is; anything else becomes a file that appears whole or not at all."""
    return path.exists() and not (path.is_file() or path.is_dir())


async def _to_device(storage: Storage, scope: Scope, path: Path) -> int:
    try:
        with path.open("wb") as stream:
            return await export_scope(storage, scope, stream.write)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise UnwritableFileError(path=str(path), problem=os.strerror(error.errno or 0)) from error
