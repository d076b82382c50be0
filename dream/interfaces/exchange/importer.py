"""Imports a file: reads and checks all of it before it writes any, decides what is new, counts what became of it."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import blake2b
from itertools import islice
from pathlib import Path

from agentcore.clock import Clock
from agentcore.domain.conversation import Turn
from agentcore.domain.document import StoredDocument
from agentcore.domain.evidence import Evidence, SourceKind, SourceRef
from agentcore.domain.memory import MemoryEntry, Status
from agentcore.domain.records import Record, RecordKind, kind_of, text_of, type_of
from agentcore.domain.scope import Scope
from agentcore.domain.skill import Skill
from agentcore.domain.text import fold_key
from agentcore.ids import IdFactory
from agentcore.stores.sql import REMOVED_TEXT
from agentcore.stores.storage import Origin, Storage, UnitOfWork
from agentcore.stores.values import Withheld
from agentcore.workspace.differences import own_left
from agentcore.workspace.document import Document
from dream.domain.change import Change
from dream.domain.declaration import Reads
from dream.interfaces.exchange.chat_json import parse_chat_json
from dream.interfaces.exchange.chat_jsonl import parse_chat
from dream.interfaces.exchange.export import parse_export
from dream.interfaces.exchange.files import SourceFile
from dream.interfaces.exchange.forgotten_items import ForgottenItems, kept_origins
from dream.interfaces.exchange.formats import Format, detect_format
from dream.interfaces.exchange.import_report import ImportReport, Tally
from dream.interfaces.exchange.items import (
    CursorMark,
    ImportItem,
    Note,
    Parsed,
    SkippedItem,
    SkipReason,
    SourceKeys,
    UnknownField,
)
from dream.interfaces.exchange.locomo import parse_locomo
from dream.interfaces.exchange.memory_md import parse_memory_md
from dream.interfaces.exchange.records import (
    parse_feedback,
    parse_memory_jsonl,
    parse_skill_uses,
    parse_skills,
    parse_tool_calls,
    parse_wisp_runs,
)
from dream.stores import dream_stores


@dataclass(slots=True)
class ImportWriter:
    """What one import has written so far; lives as long as it.

    Args:
        ids: Names the new records.
    """

    ids: IdFactory
    ours: set[str] = field(default_factory=set[str])
    """Ids of what readers read and came by this file, now or in an import of it that was cut short."""
    forgotten: ForgottenItems = field(default_factory=ForgottenItems)
    written: set[str] = field(default_factory=set[str])
    """Ids of entries that this import wrote."""
    _settled: ForgottenItems = field(default_factory=ForgottenItems)
    """What of the file is known as forgotten by the transactions of before."""
    _documents: list[ImportItem] = field(default_factory=list[ImportItem])
    _turn_ids: dict[str, str] = field(default_factory=dict[str, str])
    _known_turns: dict[str, Turn] = field(default_factory=dict[str, Turn])

    def begin(self, parsed: Sequence[Parsed] = ()) -> None:
        """Prepare for the next transaction, which may have to be tried several times."""
        self._settled = self.forgotten
        self._documents += [one for one in parsed if isinstance(one, ImportItem) and _is_document(one)]

    def write(self, unit: UnitOfWork, parsed: Sequence[Parsed]) -> Tally:
        """Write what is new among *parsed*; return what became of each."""
        tally, self.forgotten = Tally(), self._settled.copy()
        tally.skipped.update((one.kind, one.reason) for one in parsed if isinstance(one, SkippedItem))
        tally.unknown_fields.update(one for one in parsed if isinstance(one, UnknownField))
        unit.withheld.add([one for one in parsed if isinstance(one, Withheld)])
        tally.notes.update(self.forgotten.set_tombstones(unit, parsed))
        items = [one for one in parsed if isinstance(one, ImportItem) and not _is_document(one)]
        return self._take(unit, items, tally)

    @property
    def has_documents(self) -> bool:
        """Whether documents wait to be written."""
        return bool(self._documents)

    def write_documents(self, unit: UnitOfWork) -> Tally:
        """Write the documents of the file, which wait until all is known that it says and was forgotten here."""
        tally, self.forgotten = Tally(), self._settled.copy()
        texts = set(self.forgotten.texts)
        held = [replace(item, record=_without_forgotten_lines(unit, item.record, texts)) for item in self._documents]
        return self._take(unit, held, tally)

    def _take(self, unit: UnitOfWork, items: Sequence[ImportItem], tally: Tally) -> Tally:
        """Write what is new among *items*; count what became of each."""
        tally.sessions.update(one.record.session_id for one in items if isinstance(one.record, Turn))
        imported = unit.imports.known([item.source_key for item in items])
        fresh = self._fresh(unit, items, imported, tally)
        records = _without_forgotten_sentences(unit, [self._named(unit, item, tally) for item in fresh])
        _add(unit, records)
        self.written.update(record.id for record in records if isinstance(record, MemoryEntry))
        tally.added.update(kind_of(record) for record in records)
        unit.imports.record(
            {
                key: (kind_of(record), record.id)
                for item, record in zip(fresh, records, strict=True)
                for key in (item.source_key, *kept_origins(item, record))
                if key not in imported
            },
        )
        return tally

    def _fresh(
        self, unit: UnitOfWork, items: Sequence[ImportItem], imported: set[str], tally: Tally
    ) -> list[ImportItem]:
        """Return the items to be written; count the others."""
        keys = [_fold_key(item.record) for item in items]
        forgotten = unit.forgotten.contains({key for key in keys if key is not None})
        present = self._present(unit, [item.record for item in items if item.record.id])
        names: set[str] = set()
        fresh: list[ImportItem] = []

        def is_here(record: Record, source_key: str) -> bool:
            return (kind_of(record), record.id) in present if record.id else source_key in imported

        barred = self.forgotten.among(unit, items, [is_here(item.record, item.source_key) for item in items])
        for item, key, is_barred in zip(items, keys, barred, strict=True):
            record, kind = item.record, kind_of(item.record)
            is_known = is_here(record, item.source_key)
            if is_barred or (key in forgotten and not is_known):
                tally.skipped[kind, SkipReason.FORGOTTEN] += 1
            elif is_known:
                tally.known[kind] += 1
                self._recognise(item, imported)
            elif isinstance(record, Skill) and _is_taken(unit, record, names):
                tally.skipped[kind, SkipReason.NAME_TAKEN] += 1
            else:
                fresh.append(item)
                present.add((kind, record.id))
        return fresh

    def _recognise(self, item: ImportItem, imported: set[str]) -> None:
        """Keep what later items may need of one that is here already."""
        if isinstance(item.record, Turn):
            self._known_turns[item.source_key] = item.record
        if type_of(item.record).is_read and item.record.id and item.source_key in imported:
            self.ours.add(item.record.id)

    def _named(self, unit: UnitOfWork, item: ImportItem, tally: Tally) -> Record:
        tally.notes.update(item.notes)
        if item.record.id:
            if type_of(item.record).is_read:
                self.ours.add(item.record.id)
            return item.record
        record_id = self.ids.new()
        if isinstance(item.record, Turn):
            self._turn_ids[item.source_key] = record_id
        if isinstance(item.record, MemoryEntry) and item.cites:
            return replace(item.record, id=record_id, sources=self._sources(unit, item, tally))
        return replace(item.record, id=record_id)

    def _sources(self, unit: UnitOfWork, item: ImportItem, tally: Tally) -> tuple[SourceRef, ...]:
        found = [self._turn_id(unit, key) for key in item.cites]
        tally.notes.update([Note.UNKNOWN_SOURCE] * found.count(None))
        return tuple(sorted({SourceRef(SourceKind.TURN, one) for one in found if one is not None}))

    def _turn_id(self, unit: UnitOfWork, key: str) -> str | None:
        """Return the id of a turn of this file, looking it up if an earlier import wrote it."""
        if key not in self._turn_ids and key in self._known_turns:
            wanted = self._known_turns[key]
            for turn in unit.turns.session(wanted.session_id):
                if (turn.occurred_at, turn.content) == (wanted.occurred_at, wanted.content):
                    self._turn_ids[key] = turn.id
        return self._turn_ids.get(key)

    def _present(self, unit: UnitOfWork, records: Sequence[Record]) -> set[tuple[RecordKind, str]]:
        """Return which of these records are stored already."""
        by_kind: dict[RecordKind, set[str]] = {}
        for record in records:
            by_kind.setdefault(kind_of(record), set()).add(record.id)
        return {(kind, one) for kind, ids in by_kind.items() for one in unit.of_kind(kind).existing(ids)}


def _without_forgotten_sentences(unit: UnitOfWork, records: Sequence[Record]) -> list[Record]:
    """Return *records* without the evidence and the turns' texts that a person asked to forget since their export."""
    evidence = [one for record in records if isinstance(record, MemoryEntry) for one in record.evidence]
    said = {record.id for record in records if isinstance(record, Turn)}
    if not evidence and not said:
        return list(records)
    cited = {one.source.id for one in evidence if one.source.kind is SourceKind.TURN}
    turns = unit.withheld.of_the_forgotten(cited | said)
    keys = unit.forgotten.contains({fold_key(one.sentence) for one in evidence})

    def is_forgotten(one: Evidence) -> bool:
        return (one.source.kind is SourceKind.TURN and one.source.id in turns) or fold_key(one.sentence) in keys

    def left(record: Record) -> Record:
        if isinstance(record, MemoryEntry) and any(map(is_forgotten, record.evidence)):
            return replace(record, evidence=tuple(one for one in record.evidence if not is_forgotten(one)))
        if isinstance(record, Turn) and record.id in turns and REMOVED_TEXT not in record.content:
            return replace(record, content=REMOVED_TEXT)
        return record

    return [left(record) for record in records]


def _without_forgotten_lines(unit: UnitOfWork, record: Record, texts: Collection[str]) -> Record:
    if not isinstance(record, StoredDocument) or not (texts or unit.tombstones.any()):
        return record
    left = unit.documents.without_forgotten_lines(record.content, texts)
    return record if left == record.content else replace(record, content=left, own=own_left(record.own, Document(left)))


def _is_document(item: ImportItem) -> bool:
    return isinstance(item.record, StoredDocument)


def _fold_key(record: Record) -> str | None:
    """Return what a forgotten text is recognised by, or None for a record without a text of its own."""
    text = text_of(record)
    return None if text is None else fold_key(text)


def _is_taken(unit: UnitOfWork, skill: Skill, names: set[str]) -> bool:
    """Tell whether another active skill has its name, in the store or earlier among *names*."""
    if skill.status is not Status.ACTIVE:
        return False
    taken = skill.name in names or unit.skills.named(skill.name) is not None
    names.add(skill.name)
    return taken


def _add(unit: UnitOfWork, records: Sequence[Record]) -> None:
    by_kind: defaultdict[RecordKind, list[tuple[None, Record]]] = defaultdict(list)
    for record in records:
        by_kind[kind_of(record)].append((None, record))
    for kind, added in by_kind.items():
        unit.of_kind(kind).apply(added)
    # The files of documents follow when a host with the workspace opens.
    changes = [Change[Record](before=None, after=record, reason="imported") for record in records]
    dream_stores(unit).outbox.post("", "import", changes)


CHUNK = 2_000
"""Records per transaction: about a tenth of a second of the write lock."""

Progress = Callable[[int, int], None]

_PARSERS: dict[Format, Callable[[SourceFile], Iterator[Parsed]]] = {
    Format.CHAT_JSON: parse_chat_json,
    Format.CHAT_JSONL: parse_chat,
    Format.MEMORY_MD: parse_memory_md,
    Format.MEMORY_JSONL: parse_memory_jsonl,
    Format.SKILLS: parse_skills,
    Format.SKILL_USES: parse_skill_uses,
    Format.FEEDBACK: parse_feedback,
    Format.WISP_RUNS: parse_wisp_runs,
    Format.TOOL_CALLS: parse_tool_calls,
    Format.EXPORT: parse_export,
}


async def import_file(
    storage: Storage,
    scope: Scope,
    path: Path,
    *,
    file_format: Format = Format.AUTO,
    sample: str | None = None,
    clock: Clock,
    ids: IdFactory,
    progress: Progress | None = None,
) -> ImportReport:
    """Add what *path* holds and the scope does not.

    The file is read twice: once to check it whole, so that a file with any fault writes nothing, and once to write it,
    `CHUNK` records to a transaction. An import that is cut short between two of them is completed by importing the file
    again. Nothing is reinforced, and equal texts within the file all come in: folding them is the dream's.

    Args:
        storage: Where it goes.
        scope: Whose knowledge it becomes.
        path: The file.
        file_format: What it is.
        sample: Of a LoCoMo file, the one sample to take; None takes all.
        clock: Gives the instant at which the records came here.
        ids: Names the new records.
        progress: Called with the items done and their total, before the first transaction and after each.

    Raises:
        InvalidFileError: the file cannot be imported; nothing was written.
    """
    source = SourceFile(path, scope, clock.now())
    before = await asyncio.to_thread(source.state)
    found, parse = await asyncio.to_thread(_parser, source, file_format, sample)
    checked = await asyncio.to_thread(_check, parse)
    intake = ImportWriter(ids)
    tally, done = Tally(), 0
    _tell(progress, done, checked.total)
    items = parse()
    while chunk := await asyncio.to_thread(_next_chunk, items, source, before):
        intake.begin(chunk)
        tally.update(await storage.write(scope, partial(intake.write, parsed=chunk), origin=Origin.IMPORT))
        done += len(chunk)
        _tell(progress, done, checked.total)
    if intake.has_documents:
        intake.begin()
        tally.update(await storage.write(scope, intake.write_documents, origin=Origin.IMPORT))
    if intake.forgotten.refused:
        sweep = partial(intake.forgotten.sweep, written=intake.written)
        await storage.write(scope, sweep, origin=Origin.IMPORT)
    if checked.pending:
        restore = partial(_restore_cursors, checked=checked, ours=intake.ours)
        await storage.write(scope, restore, origin=Origin.IMPORT)
    return tally.report(path=str(path), found=found)


@dataclass(slots=True)
class _Checked:
    """What the first reading found: how many items, the cursors of an export, and a digest of its records."""

    total: int = 0
    pending: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    reads: dict[str, Reads] = field(default_factory=dict[str, Reads])
    digest: str = ""


def _parser(source: SourceFile, wanted: Format, sample: str | None) -> tuple[Format, Callable[[], Iterator[Parsed]]]:
    found = detect_format(source) if wanted is Format.AUTO else wanted
    if found is Format.LOCOMO:
        return found, partial(parse_locomo, source, sample=sample)
    if sample is not None:
        raise source.refusal(f"a {found} file holds no samples", remedy="leave out --sample")
    return found, partial(_PARSERS[found], source)


def _check(parse: Callable[[], Iterator[Parsed]]) -> _Checked:
    checked = _Checked()
    digest = blake2b(digest_size=16)
    for one in parse():
        checked.total += 1
        if isinstance(one, CursorMark):
            pending = checked.pending.setdefault(one.reader, set())
            pending.update(() if one.pending is None else (one.pending,))
            if one.reads is not None:
                checked.reads[one.reader] = one.reads
        elif isinstance(one, ImportItem):
            digest.update(one.source_key.encode())
    checked.digest = digest.hexdigest()
    return checked


def _next_chunk(items: Iterator[Parsed], source: SourceFile, before: tuple[int, int, int]) -> list[Parsed]:
    chunk = list(islice(items, CHUNK))
    if source.state() != before:
        raise source.refusal("it was changed while it was read", remedy="import it again")
    return chunk


def _restore_cursors(unit: UnitOfWork, checked: _Checked, ours: set[str]) -> None:
    """Have each reader of the file be done with its entries but those pending there; others stay as they are.

    Done once per content of a file: a second import adds nothing, so it reopens nothing either.
    """
    cursors = dream_stores(unit).cursors
    keys = {
        reader: SourceKeys("cursor").new(checked.digest, reader, *sorted(pending))
        for reader, pending in checked.pending.items()
    }
    done = unit.imports.known(keys.values())
    moved = set(cursors.readers()) if not ours else set[str]()
    for reader, pending in checked.pending.items():
        if keys[reader] not in done and reader not in moved:
            reads = checked.reads.get(reader)
            cursors.restore(reader, (set(cursors.pending(reader, reads)) - ours) | (pending & ours), reads)
            unit.imports.record({keys[reader]: (RecordKind.ENTRY, "")})


def _tell(progress: Progress | None, done: int, total: int) -> None:
    if progress is not None:
        progress(done, total)
