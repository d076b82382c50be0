"""Examines a memory for `dream doctor`: the folder, the database, and whether what stands in it fits together."""

import asyncio
import os
import platform
import sqlite3
import tempfile
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Final, TypeVar

from sqlalchemy import ColumnElement, String, Table, and_, column, exists, func, select, table, text

from agentcore.domain.filters import EntryFilter
from agentcore.domain.memory import MemoryEntry, SourceKind, Status
from agentcore.domain.scope import Scope
from agentcore.errors import InvalidInputError, StorageError
from agentcore.hosting.host import Host
from agentcore.hosting.option_layers import OptionSource
from agentcore.hosting.option_parts import PARTS, effective_part
from agentcore.secrets import secret_in
from agentcore.stores.sql.feed import unknown_states
from agentcore.stores.sql.forget_key import KEY_FILE, KEY_VARIABLE, ForgetKey
from agentcore.stores.sql.hosts import HostRecord
from agentcore.stores.sql.schema import REVISION, entries, entry_sources, feedback, leases, turns
from agentcore.stores.sql.unit import SqlUnit
from agentcore.stores.storage import ReadView
from agentcore.stores.values import FeedPosition
from agentcore.workspace.errors import DocumentError, InvalidWorkspaceError
from agentcore.workspace.folder import WorkspaceFolder
from dream.cycle.documents.delivery import KEPT
from dream.cycle.documents.files import read_whole
from dream.domain.candidate import PromotionStanding
from dream.domain.finding import Finding, FindingLevel
from dream.domain.reasons import Refused
from dream.domain.report import Alarm, RunReport
from dream.errors import UnsupportedStorageError
from dream.interfaces.cli.render.followed import followed_sentence
from dream.interfaces.cli.render.status import MAKE_ROOM, no_room
from dream.interfaces.cli.render.text import when
from dream.interfaces.cli.session import Access, CommandSession
from dream.interfaces.release import installed_version
from dream.stores import dream_stores

T = TypeVar("T")
_LIBRARIES = ("agentcore-dream", "sqlalchemy", "numpy", "pydantic", "orjson", "cyclopts")
_PAGE = 5_000
_READ_FOR_SECRETS: Final = 10_000
"""Active entries that are read for secrets, the latest seen first: about a second."""
_SHOWN = 3
_KEY_HERE: Final = f"that of this host ({KEY_FILE} in its folder, or {KEY_VARIABLE})"
_NO_KEY: Final = f"this host has: {KEY_FILE} is not in its folder, and {KEY_VARIABLE} not set"


async def examine(session: CommandSession, scopes: Sequence[Scope] | None = None) -> AsyncGenerator[Finding]:
    """Look at everything, outermost first; what cannot be opened is not looked into.

    Args:
        session: Whose folder.
        scopes: Whose records are looked at; those of the session's scope by default.
    """
    yield _versions()
    yield _folder(session)
    settings = _settings(session)
    yield settings
    if settings.verdict is FindingLevel.WRONG:
        return
    for finding in _refused_edits(session):
        yield finding
    if session.workspace is not None:
        yield await asyncio.to_thread(_workspace, session.workspace)
    if not session.has_database:
        yield Finding("database", FindingLevel.NOTE, "there is none yet", "an import or a first memory makes it")
        return
    try:
        # Who names a scope is told that it is not there; who names none, where there is something.
        is_named = scopes is None and session.scope != Scope.default()
        async with session.host(Access.LOOK, needs_scope=is_named) as host:
            async for finding in _database(session, host, scopes):
                yield finding
    except StorageError as error:
        yield Finding("database", FindingLevel.WRONG, str(error).rstrip("."))


async def _database(session: CommandSession, host: Host, scopes: Sequence[Scope] | None) -> AsyncGenerator[Finding]:
    yield await _writable(session, host)
    yield _hosts(session, await host.storage.read(session.scope, lambda view: view.hosts.newest()))
    yield _forgetting(session, await host.storage.read(session.scope, lambda view: view.tombstones.keys()))
    for look in (_schema, _integrity):
        yield await host.storage.read(session.scope, look)
    known = await host.storage.scopes()
    if scopes is None and session.scope not in known and known:
        yield _elsewhere(session.scope, known)
        return
    async for finding in _records(host, session.scope) if scopes is None else _each(host, scopes):
        yield finding


async def _writable(session: CommandSession, host: Host) -> Finding:
    """Tell whether the database can be written; SQLite keeps two more files beside it while it is in use."""
    files = [session.database.with_name(f"{session.database.name}{end}") for end in ("", "-wal", "-shm")]
    closed = [] if session.url is not None else [one for one in files if one.exists() and not os.access(one, os.W_OK)]
    if closed:
        told = f"{', '.join(map(str, closed))} cannot be written: the memory is read-only"
        return Finding("database", FindingLevel.WRONG, told, "make it writable for its owner (chmod u+w)")
    try:
        await host.require_writable()
    except StorageError as error:
        return Finding("database", FindingLevel.WRONG, str(error).rstrip("."))
    return Finding("database", FindingLevel.FINE, f"{session.database_name} opens and can be written")


def _forgetting(session: CommandSession, known: Sequence[tuple[str, datetime]]) -> Finding:
    """Tell where the key of forgotten texts is, and whether it is the one that they are remembered by."""
    key = ForgetKey.of(session.data_dir)
    mine = key.fingerprints()
    strange = [at for fingerprint, at in known if fingerprint not in mine]
    if known and known[-1][0] not in mine:
        told = f"forgotten texts are remembered by another key than {_KEY_HERE if mine else _NO_KEY}"
        remedy = "put that key back, or go on with `dream forget --new-key`, which recognises no text forgotten before"
        return Finding("forgetting", FindingLevel.WRONG, told, remedy)
    if strange:
        told = f"a key was lost: texts forgotten before {when(known[-1][1])} are known by their origin alone"
        return Finding("forgetting", FindingLevel.NOTE, told, f"put the former {KEY_FILE} back if there is one")
    if session.url is None:
        told = (
            "the key of forgotten texts is the one they are remembered by"
            if known
            else "no text is remembered by a key"
        )
        return Finding("forgetting", FindingLevel.FINE, told)
    if key.is_given:
        return Finding("forgetting", FindingLevel.FINE, f"{KEY_VARIABLE} gives the key of forgotten texts")
    told = f"the key of forgotten texts is that of {session.data_dir}: hosts without this folder do not recognise them"
    return Finding(
        "forgetting", FindingLevel.NOTE, told, f"set {KEY_VARIABLE}, the same everywhere, if there are others"
    )


async def _records(host: Host, scope: Scope) -> AsyncGenerator[Finding]:
    for look in (_states, _runs, _waiting, _leases, _sources, _index):
        yield await host.storage.read(scope, look)
    yield await asyncio.to_thread(_secrets, await host.storage.read(scope, _newest))
    dreams = host.for_scope(scope).dreams
    yield _promotion(await dreams.promotion(limit=0))
    status = await dreams.status()
    yield _alarm(status.alarm)
    yield _budget(status.last_run)


async def _each(host: Host, scopes: Sequence[Scope]) -> AsyncGenerator[Finding]:
    """Yield what is not as it should be in each scope, and how many were looked at."""
    found: dict[Finding, list[str]] = {}
    for scope in scopes:
        async for finding in _records(host, scope):
            if finding.verdict is not FindingLevel.FINE:
                found.setdefault(finding, []).append(str(scope))
    for finding, where in found.items():
        if len(where) == 1:
            yield replace(finding, subject=f"{where[0]} {finding.subject}")
        else:
            more = f" and {len(where) - _SHOWN:,} more" if len(where) > _SHOWN else ""
            told = f"in {len(where):,} scopes ({', '.join(where[:_SHOWN])}{more}): {finding.detail}"
            yield replace(finding, detail=told)
    yield Finding("scopes", FindingLevel.FINE, f"{len(scopes):,} were looked at")


def _elsewhere(scope: Scope, known: Sequence[Scope]) -> Finding:
    detail = f"{scope} holds nothing, {len(known):,} others do, {known[0]} among them"
    return Finding("scope", FindingLevel.NOTE, detail, "`dream doctor --all-scopes` looks at all, `--scope` names one")


def _versions() -> Finding:
    libraries = ", ".join(f"{name} {installed_version(name)}" for name in _LIBRARIES)
    return Finding(
        "versions",
        FindingLevel.FINE,
        f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, {libraries}",
    )


def _folder(session: CommandSession) -> Finding:
    folder = session.data_dir
    if not folder.exists():
        return Finding(
            "folder", FindingLevel.NOTE, f"{folder} does not exist yet", "an import or a first memory makes it"
        )
    try:
        with tempfile.TemporaryFile(dir=folder):
            return Finding("folder", FindingLevel.FINE, f"{folder} is writable")
    except OSError as error:
        remedy = "make it writable, free some space, or choose another --data"
        return Finding("folder", FindingLevel.WRONG, f"{folder} cannot be written ({error.strerror})", remedy)


def _settings(session: CommandSession) -> Finding:
    """Read every table of the settings file as a host would."""
    wrong: list[str] = []

    def attempt(look: Callable[[], T]) -> T | None:
        try:
            return look()
        except InvalidInputError as error:
            wrong.append(str(error).rstrip("."))
        except ExceptionGroup as group:
            wrong.extend(str(error).rstrip(".") for error in group.exceptions)
        return None

    chat, levels = attempt(session.chat), attempt(session.levels)
    attempt(session.embedder)
    options = None if levels is None else attempt(lambda: levels.effective(session.scope))
    left = attempt(session.left)
    parts = [attempt(lambda part=part: effective_part(part, session.data_dir, left, session.scope)) for part in PARTS]
    if wrong or levels is None:
        return Finding("settings", FindingLevel.WRONG, "; ".join(dict.fromkeys(wrong)))
    found = [*(options or ()), *(one for part in parts for one in part or ())]
    unasked = levels.unasked_models() if chat is None else ""
    if unasked:
        told, remedy = unasked.rstrip(".").split(": ", 1)
        return Finding("settings", FindingLevel.NOTE, told, remedy)
    said = sum(one.source is not OptionSource.DEFAULT for one in found)
    return Finding("settings", FindingLevel.FINE, f"{said:,} of {len(found):,} options are not the defaults")


def _refused_edits(session: CommandSession) -> list[Finding]:
    remedy = "say it anew or leave it to the file, in Settings on the page or by PATCH /options"
    return [
        Finding("edits", FindingLevel.NOTE, f"left out of {scope}: {path}. {error.rstrip('.')}", remedy)
        for scope, refused in session.levels().refused_edits.items()
        for path, error in refused.items()
    ]


def _hosts(session: CommandSession, found: Sequence[HostRecord]) -> Finding:
    """Tell which hosts work here, and whether their code says the same of options."""
    living = [one for one in found if one.is_alive]
    if len({one.options for one in living}) > 1:
        told = ", ".join(f"process {one.pid} on {one.host} since {when(one.started_at)}" for one in living)
        remedy = "give all of them the same options; until then commands go by those of the one that started last"
        return Finding("hosts", FindingLevel.NOTE, f"hosts with unequal options work here: {told}", remedy)
    sentence = followed_sentence(session.left()).rstrip(".")
    return Finding(
        "hosts", FindingLevel.FINE, sentence or "none with options of its own: all go by those of the settings file"
    )


def _workspace(root: Path) -> Finding:
    """Read the documents as a dream would, and see whether it could write there."""
    try:
        folder = WorkspaceFolder(root)
        found = [name for name in KEPT if read_whole(folder, name).hash is not None]
        with tempfile.TemporaryFile(dir=folder.root):
            there = f", with {', '.join(found)}" if found else ""
            return Finding("workspace", FindingLevel.FINE, f"{root} is writable{there}")
    except (DocumentError, InvalidWorkspaceError) as error:
        return Finding("workspace", FindingLevel.WRONG, str(error).rstrip("."))
    except OSError as error:
        detail = f"{root} cannot be written ({error.strerror})"
        return Finding("workspace", FindingLevel.WRONG, detail, "make it writable, or free some space")


_VERSIONS: Final = table("alembic_version")


def _schema(view: ReadView) -> Finding:
    versions = select(column("version_num", String())).select_from(_VERSIONS)
    found = _sql(view).transaction.connection.execute(versions).scalar()
    if found == REVISION:
        return Finding("schema", FindingLevel.FINE, f"revision {found}")
    return Finding(
        "schema", FindingLevel.WRONG, f"revision {found} instead of {REVISION}", "restore a backup or an export"
    )


def _integrity(view: ReadView) -> Finding:
    connection = _sql(view).transaction.connection
    if connection.dialect.name != "sqlite":
        server = connection.execute(text("SHOW server_version")).scalar_one()
        return Finding(
            "integrity", FindingLevel.FINE, f"PostgreSQL {server} answers, and keeps its pages sound by itself"
        )
    pragma = text(f"PRAGMA integrity_check({_SHOWN})")
    found = [str(row[0]) for row in connection.execute(pragma)]
    if found == ["ok"]:
        return Finding("integrity", FindingLevel.FINE, "every page and index of the database is sound")
    remedy = "export what can be read, then restore a backup or import that export into a new folder"
    return Finding("integrity", FindingLevel.WRONG, f"the database is damaged ({'; '.join(found)})", remedy)


def _states(view: ReadView) -> Finding:
    unknown = unknown_states(_sql(view).transaction)
    if not unknown:
        return Finding("states", FindingLevel.FINE, "every entry is in a state that this version knows")
    told = f"{sum(unknown.values()):,} entries are in a state that this version does not know ({', '.join(unknown)})"
    remedy = "upgrade agentcore-dream, or restore a backup; recall and lists pass over them"
    return Finding("states", FindingLevel.WRONG, told, remedy)


def _runs(view: ReadView) -> Finding:
    unfinished = [run.run_id for run in dream_stores(view).runs.unfinished()]
    if not unfinished:
        return Finding("runs", FindingLevel.FINE, "none was interrupted")
    names = ", ".join(unfinished[:_SHOWN])
    if view.leases.holder("dream") is not None:
        return Finding("runs", FindingLevel.NOTE, f"{names} is under way", "wait for it")
    return Finding("runs", FindingLevel.WRONG, f"{names} was interrupted", "`dream run` goes on with it")


def _waiting(view: ReadView) -> Finding:
    found = dream_stores(view).waiting.counts()
    if not found:
        return Finding("waiting", FindingLevel.FINE, "no exchange with the model waits")
    told = "; ".join(f"{one.count:,} of {one.pass_name} since {when(one.since)} ({one.reason})" for one in found)
    is_unreliable = any(one.reason == Refused.VERIFIER_UNRELIABLE for one in found)
    remedy = _UNRELIABLE if is_unreliable else "the next dream goes on with them, without asking again"
    return Finding("waiting", FindingLevel.NOTE, told, remedy)


_UNRELIABLE: Final = (
    "the reader answered out of shape or was wrong about what is known, so it decides nothing: measure it with "
    "`dream doctor --model`, name a better one in dreaming.model.verifier, or set dreaming.verification to `off` or "
    "`strict`"
)


def _leases(view: ReadView) -> Finding:
    unit = _sql(view)
    mine = and_(leases.c.scope_id == unit.transaction.scope_id, leases.c.expires_at > 0)
    rows = unit.transaction.connection.execute(select(leases.c.name, leases.c.pid, leases.c.host).where(mine)).all()
    stale = [row for row in rows if view.leases.holder(row.name) is None]
    if not stale:
        return Finding("lease", FindingLevel.FINE, "none was left behind")
    left = ", ".join(f"{row.name} of process {row.pid} on {row.host}" for row in stale)
    return Finding("lease", FindingLevel.NOTE, f"left behind: {left}", "nothing to do, the next dream takes it over")


def _sources(view: ReadView) -> Finding:
    lost = {
        kind: _count_lost(view, kind, records)
        for kind, records in ((SourceKind.ENTRY, entries), (SourceKind.TURN, turns), (SourceKind.FEEDBACK, feedback))
    }
    if lost[SourceKind.ENTRY]:
        detail = f"{lost[SourceKind.ENTRY]:,} active entries come from entries that are gone"
        return Finding("sources", FindingLevel.WRONG, detail, "restore a backup, or `dream forget` them")
    aged = lost[SourceKind.TURN] + lost[SourceKind.FEEDBACK]
    if aged:
        detail = f"{aged:,} active entries come from turns or feedback that are gone, as after their retention"
        return Finding("sources", FindingLevel.NOTE, detail, "nothing to do, `dream why` says so of each")
    return Finding("sources", FindingLevel.FINE, "every source of an active entry is here")


def _count_lost(view: ReadView, kind: SourceKind, records: Table) -> int:
    """Count active entries that cite a record of *kind* that is not there."""
    transaction = _sql(view).transaction
    source = records.alias("source")
    is_here = exists().where(source.c.scope_id == entry_sources.c.scope_id, source.c.id == entry_sources.c.source_id)
    cited: list[ColumnElement[bool]] = [
        entry_sources.c.scope_id == transaction.scope_id,
        entry_sources.c.kind == kind.value,
        entries.c.status == Status.ACTIVE.value,
        ~is_here,
    ]
    joined = entry_sources.join(entries, entries.c.pk == entry_sources.c.entry_pk)
    statement = select(func.count(entries.c.pk.distinct())).select_from(joined).where(*cited)
    return transaction.connection.execute(statement).scalar_one()


def _index(view: ReadView) -> Finding:
    """Follow the change feed as recall does, and compare what it would find with what is stored."""
    live: set[int] = set()
    position, more = FeedPosition(), True
    while more:
        page = view.entries.changes_since(position, limit=_PAGE)
        live.difference_update(page.removed)
        live.difference_update(row.key for row in page.rows if not row.live)
        live.update(row.key for row in page.rows if row.live)
        position, more = page.position, page.more
    stored = view.entries.count(EntryFilter())
    if len(live) == stored:
        return Finding("index", FindingLevel.FINE, f"recall finds all {stored:,} active entries")
    detail = f"recall finds {len(live):,} of {stored:,} active entries"
    return Finding("index", FindingLevel.WRONG, detail, "`dream export`, then `dream import` that into a new folder")


def _newest(view: ReadView) -> list[MemoryEntry]:
    return view.entries.select(EntryFilter(), limit=_READ_FOR_SECRETS)


def _secrets(found: Sequence[MemoryEntry]) -> Finding:
    """Count the entries that seem to hold a secret, which a person or an earlier version had remembered."""
    held = [entry.id for entry in found if secret_in(entry.content) is not None]
    looked = f"the {len(found):,} active entries seen last" if len(found) == _READ_FOR_SECRETS else "active entries"
    if not held:
        return Finding("secrets", FindingLevel.FINE, f"no password, key or the like was found in {looked}")
    named = ", ".join(held[:_SHOWN]) + (" and others" if len(held) > _SHOWN else "")
    detail = f"{len(held):,} of {looked} seem to hold a password, a key or the like ({named})"
    return Finding("secrets", FindingLevel.NOTE, detail, "`dream forget ID` deletes one; then change what it told")


def _budget(last: RunReport | None) -> Finding:
    told = () if last is None else last.without_room
    if not told:
        return Finding("budget", FindingLevel.FINE, "the last dream had room for its calls")
    return Finding("budget", FindingLevel.WRONG, " ".join(told).rstrip("."))


def _alarm(alarm: Alarm | None) -> Finding:
    if alarm is None:
        return Finding("alarm", FindingLevel.FINE, "the last dreams did not all come to nothing")
    return Finding("alarm", FindingLevel.WRONG, alarm.sentence.rstrip("."))


def _promotion(standing: PromotionStanding) -> Finding:
    """Say so where nothing can be promoted as things are: the thresholds are beyond what recall has recorded."""
    if not standing.recalled:
        return Finding("promotion", FindingLevel.FINE, "no entry was recalled yet")
    if standing.waits_for_room:
        return Finding("promotion", FindingLevel.NOTE, no_room(standing), MAKE_ROOM)
    if not standing.unreachable:
        detail = f"{standing.recalled:,} entries were recalled, {standing.promoted:,} promoted"
        return Finding("promotion", FindingLevel.FINE, detail)
    told = ", ".join(f"{gate.name} {gate.needs:g} (the most is {gate.has:g})" for gate in standing.unreachable)
    remedy = "lower them, or let more turns recall; `dream promote --explain` tells it for each entry"
    return Finding("promotion", FindingLevel.NOTE, f"no entry meets {told}", remedy)


def _sql(view: ReadView) -> SqlUnit:
    if not isinstance(view, SqlUnit):
        raise UnsupportedStorageError(storage=type(view).__name__)
    return view


def is_healthy(findings: Sequence[Finding]) -> bool:
    """Tell whether nothing has to be put right."""
    return all(finding.verdict is not FindingLevel.WRONG for finding in findings)
