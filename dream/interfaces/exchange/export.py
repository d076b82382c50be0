"""Writes and parses our own format: all records and cursors of a scope as JSON lines, to back up, compare, read back.

    {"format":"agentcore-dream/1","scope":"default/agent/agent"}
    {"entry":"77c0de...","id":"0b5e1c...","kind":"withheld","record":"turn"}
    {"content":"...","id":"4f00c2...","kind":"entry",...}
    {"forgotten_at":"2025-05-02T10:00:00Z","id":"77c0de...","kind":"tombstone","record":"entry","whole":true}
    {"kind":"cursor","reader":"exact-fold"}
    {"id":"4f00c2...","kind":"pending","reader":"exact-fold"}
    {"kind":"end","lines":6}

First comes what is withheld, so that an import shows it at no instant, and what was
forgotten, by its id. Records stand by kind (entries, turns, skills,
uses of skills, feedback, wisp runs, tool calls, documents of the workspace) and id, then come the cursors: a reader has
looked at everything it reads but what is pending for it. What a host's own pass reads beside entries stands in its line
(`"reads":"turns"`). The last line tells a whole export from a cut-off one. Two scopes that hold the same write the same
bytes below the first line: keys are sorted, and nothing is written that only the store needs (no versions, no decayed
importance). Runs and their journal stay behind.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cache, partial
from itertools import islice
from pathlib import Path

import orjson

from agentcore.domain.conversation import Turn
from agentcore.domain.memory import MemoryEntry, SourceKind
from agentcore.domain.records import RECORD_TYPES, Record, RecordKind, from_image, kind_of, to_image, type_of
from agentcore.domain.scope import Scope
from agentcore.domain.temporal import to_text
from agentcore.errors import InvalidInputError, StorageUnavailableError
from agentcore.stores.forgetting import KnownCopy, Tombstone, TombstoneKind
from agentcore.stores.storage import ReadView, Storage, UnitOfWork
from agentcore.stores.values import Withheld
from dream.domain.built_in_passes import BUILT_IN
from dream.domain.declaration import Reads, readers_of
from dream.errors import UnwritableFileError
from dream.interfaces.exchange.files import Fields, SourceFile, replacing
from dream.interfaces.exchange.items import CursorMark, ImportItem, SourceKeys
from dream.stores import dream_stores

FORMAT_PREFIX = "agentcore-dream/"
FORMAT = f"{FORMAT_PREFIX}1"

_KINDS = {kind.value: kind for kind in RecordKind}
_SOURCES = {kind.value: kind for kind in SourceKind}
_TOMBSTONES = {kind.value: kind for kind in TombstoneKind}
_READS = {reads.value: reads for reads in Reads}
_REPAIR = "export again, or repair the line"
_MAX_ID = 64
_NAME = "export"
_TOGETHER = 500
_SOURCE_KEY = re.compile("[0-9a-f]{32}")


async def export_scope(storage: Storage, scope: Scope, write: Callable[[bytes], object]) -> int:
    """Write everything a scope holds, as it is at one instant.

    Args:
        storage: Where it is kept.
        scope: Whose records.
        write: Takes one line after the other, newline included; called on a thread of the storage's.

    Returns:
        The number of records.
    """
    return await storage.read(scope, lambda view: _write_all(view, write))


async def export_file(storage: Storage, scope: Scope, path: Path) -> int:
    """Write everything a scope holds to a file that appears whole or not at all; return the number of records.

    Raises:
        UnwritableFileError: the file cannot be written; what stood there before is untouched.
    """

    def work(view: ReadView) -> int:
        try:
            with replacing(path) as file:
                return _write_all(view, file.write)
        except OSError as error:
            raise UnwritableFileError(path=str(path), problem=os.strerror(error.errno or 0)) from error

    records = await storage.read(scope, work)
    # A folder that cannot be written has to be exported all the same; its certificate then does not name the file.
    with suppress(StorageUnavailableError):
        await storage.write(scope, partial(note_export, path=path, records=records))
    return records


def note_export(unit: UnitOfWork, path: Path, records: int = 0, kind: str = "export") -> None:
    """Note that a file holds what the scope holds: the certificate of an erasure names it."""
    unit.erasure.note_copy(KnownCopy(kind, str(path.absolute()), records, unit.now))


def _write_all(view: ReadView, write: Callable[[bytes], object]) -> int:
    lines = records = 0

    def put(document: Mapping[str, object]) -> None:
        nonlocal lines
        write(orjson.dumps(document, option=orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE))
        lines += 1

    put({"format": FORMAT, "scope": str(view.scope)})
    for mark in view.withheld.all():
        put({"kind": "withheld", "record": mark.kind.value, "id": mark.record_id, "entry": mark.entry_id})
    stones = view.tombstones.all()
    for stone in stones:
        put(_tombstone(stone))
    left = iter(view.records())
    while some := list(islice(left, _TOGETHER)):
        keys = view.imports.keys_of([record.id for record in some])
        for record in some:
            origins = _origins(record, keys, forgot=bool(stones))
            put(_document(record) | ({"source_keys": origins} if origins else {}))
        records += len(some)
    books = dream_stores(view)
    cursors = books.cursors
    for reader in cursors.readers():
        reads = cursors.reads(reader) or Reads.ENTRIES
        told = {} if reads is _read_by_default(reader) else {"reads": reads.value}
        put({"kind": "cursor", "reader": reader, **told})
        # What waits is not exported, so what it is about is to be read anew where the export goes.
        for entry_id in cursors.pending(reader, also=books.waiting.members(reader)):
            put({"kind": "pending", "reader": reader, "id": entry_id})
    put({"kind": "end", "lines": lines})
    return records


def _tombstone(stone: Tombstone) -> Mapping[str, object]:
    told = {"kind": "tombstone", "record": stone.kind.value, "id": stone.record_id}
    return told | {"forgotten_at": to_text(stone.forgotten_at), "whole": stone.whole}


def _origins(record: Record, keys: Mapping[tuple[RecordKind, str], list[str]], *, forgot: bool) -> list[str]:
    """Return the keys of the items of other files that became a record, which are unkeyed hashes of their texts.

    Where something was forgotten, a key may go out only beside the very text that came in: what a record said before
    it was rewritten, and a sentence that a skill lost, may be what was forgotten.
    """
    if forgot and not (isinstance(record, Turn) or (isinstance(record, MemoryEntry) and record.updated_at is None)):
        return []
    kind = kind_of(record)
    own = _key(SourceKeys(_NAME), kind, record)
    return [key for key in keys.get((kind, record.id), ()) if key != own]


def _key(keys: SourceKeys, kind: RecordKind, record: Record) -> str:
    return keys.new(kind.value, record.id)


def _document(record: Record) -> dict[str, object]:
    called = type_of(record).exported_as
    return {
        **{called.get(name, name): value for name, value in to_image(record).items()},
        "kind": kind_of(record).value,
    }


def parse_export(source: SourceFile) -> Iterator[ImportItem | CursorMark | Withheld | Tombstone]:
    """Yield what is withheld, the records, with their ids, and the cursors.

    Raises:
        InvalidFileError: it is no export, is cut off, comes from a later version, or a line is no record.
    """
    keys = SourceKeys(_NAME)
    ended = False
    previous = 0
    for line, values in source.objects():
        fields = Fields(source, line, values)
        if ended:
            raise source.refusal("more follows after the end of the export", line=line, remedy="import one at a time")
        if previous == 0:
            _check_header(source, fields)
        elif values.get("kind") == "end":
            ended = True
            if fields.count("lines") != previous:
                problem = f"the export had {fields.count('lines')} lines before this one, and {previous} are left"
                raise source.refusal(problem, line=line, remedy="export again")
        else:
            yield _parsed(source, fields, values, keys)
        previous += 1
    if not ended:
        raise source.refusal("the export is cut off, its last line is missing", line=previous, remedy="export again")


def _read_by_default(reader: str) -> Reads:
    """Return what a cursor counts whose line does not say it: what the pass that comes with dream reads, or entries."""
    return _shipped().get(reader, Reads.ENTRIES)


@cache
def _shipped() -> Mapping[str, Reads]:
    return readers_of(BUILT_IN)


def _check_header(source: SourceFile, fields: Fields) -> None:
    found = fields.text("format")
    if found == FORMAT:
        return
    if found.startswith(FORMAT_PREFIX):
        raise source.refusal(f"the export has the format {found}", line=1, remedy="upgrade agentcore-dream")
    raise source.refusal("it is no export", line=1, remedy="choose another --format")


def _parsed(
    source: SourceFile, fields: Fields, values: Mapping[str, object], keys: SourceKeys
) -> ImportItem | CursorMark | Withheld | Tombstone:
    kind = fields.text("kind")
    if kind == "cursor":
        reader = fields.text("reader")
        return CursorMark(reader, reads=fields.choice("reads", _READS) or _read_by_default(reader))
    if kind == "pending":
        return CursorMark(fields.text("reader"), fields.text("id"))
    if kind == "withheld":
        return Withheld(fields.required_choice("record", _SOURCES), fields.name("id"), fields.name("entry"))
    if kind == "tombstone":
        return Tombstone(
            fields.required_choice("record", _TOMBSTONES),
            fields.name("id"),
            fields.required_instant("forgotten_at"),
            whole=fields.flag("whole"),
        )
    if kind not in _KINDS:
        known = (*_KINDS, "withheld", "tombstone", "cursor", "pending", "end")
        raise fields.refusal("kind", f"one of {', '.join(known)}")
    record = _record(source, fields.line, _KINDS[kind], values)
    origins = fields.strings("source_keys")
    if not all(map(_SOURCE_KEY.fullmatch, origins)):
        raise fields.refusal("source_keys", "a list of 32 hexadecimal digits each")
    return ImportItem(record=record, source_key=_key(keys, _KINDS[kind], record), line=fields.line, origins=origins)


def _record(source: SourceFile, line: int, kind: RecordKind, values: Mapping[str, object]) -> Record:
    of_kind = RECORD_TYPES[kind]
    image = {**values, **{name: values.get(called) for name, called in of_kind.exported_as.items()}}
    what = f"it is no {kind.value.replace('_', ' ')} of an export"
    for name in of_kind.required:
        if image.get(name) is None:
            raise source.refusal(f"{what}: {name} is missing", line=line, remedy=_REPAIR)
    try:
        record = from_image(kind, source.scope, image)
    except InvalidInputError as error:
        raise source.refusal(f"{what}: {str(error).rstrip('.')}", line=line) from error
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise source.refusal(f"{what} ({error})", line=line, remedy=_REPAIR) from error
    if not 0 < len(record.id) <= _MAX_ID:
        raise source.refusal(f"{what}: its id should have 1 to {_MAX_ID} characters", line=line, remedy=_REPAIR)
    return record
