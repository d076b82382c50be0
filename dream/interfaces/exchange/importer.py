"""Importing a file: all of it is read and checked before any of it is written."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from itertools import islice
from pathlib import Path

from agentcore.clock import Clock
from agentcore.domain.records import RecordKind
from agentcore.domain.scope import Scope
from agentcore.ids import IdFactory
from agentcore.stores.storage import Origin, Storage, UnitOfWork
from dream.domain.reads import Reads
from dream.interfaces.exchange.chat_jsonl import parse_chat
from dream.interfaces.exchange.export import parse_export
from dream.interfaces.exchange.formats import Format, detect_format
from dream.interfaces.exchange.intake import Intake
from dream.interfaces.exchange.items import CursorMark, Item, Parsed, SourceKeys
from dream.interfaces.exchange.locomo import parse_locomo
from dream.interfaces.exchange.memory_jsonl import parse_memory_jsonl
from dream.interfaces.exchange.memory_md import parse_memory_md
from dream.interfaces.exchange.records import (
    parse_feedback,
    parse_skill_uses,
    parse_skills,
    parse_tool_calls,
    parse_wisp_runs,
)
from dream.interfaces.exchange.report import ImportReport, Tally
from dream.interfaces.exchange.source import Source
from dream.stores import dream_stores

CHUNK = 2_000
"""Records per transaction: about a tenth of a second of the write lock."""

Progress = Callable[[int, int], None]

_PARSERS: dict[Format, Callable[[Source], Iterator[Parsed]]] = {
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
    source = Source(path, scope, clock.now())
    before = await asyncio.to_thread(source.state)
    found, parse = await asyncio.to_thread(_parser, source, file_format, sample)
    checked = await asyncio.to_thread(_check, parse)
    intake = Intake(ids)
    tally = Tally()
    done = 0
    _tell(progress, done, checked.total)
    items = parse()
    while chunk := await asyncio.to_thread(_next_chunk, items, source, before):
        tally.update(await storage.write(scope, partial(intake.write, parsed=chunk), origin=Origin.IMPORT))
        done += len(chunk)
        _tell(progress, done, checked.total)
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


def _parser(source: Source, wanted: Format, sample: str | None) -> tuple[Format, Callable[[], Iterator[Parsed]]]:
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
        elif isinstance(one, Item):
            digest.update(one.source_key.encode())
    checked.digest = digest.hexdigest()
    return checked


def _next_chunk(items: Iterator[Parsed], source: Source, before: tuple[int, int, int]) -> list[Parsed]:
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
            unit.imports.record({keys[reader]: (RecordKind.ENTRY, reader)})


def _tell(progress: Progress | None, done: int, total: int) -> None:
    if progress is not None:
        progress(done, total)
