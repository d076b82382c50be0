"""Deciding, inside one transaction, which items of a file are new, and writing those.

An item that the file gives no id is known by its source key in the import ledger, one with an id (in an export) by
that id.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from agentcore.domain.conversation import Turn
from agentcore.domain.document import StoredDocument
from agentcore.domain.memory import MemoryEntry, SourceKind, SourceRef, Status
from agentcore.domain.records import Record, RecordKind, kind_of
from agentcore.domain.signals import Feedback, ToolCall, WispRun
from agentcore.domain.skill import Skill, SkillUse
from agentcore.domain.text import fold_key
from agentcore.ids import IdFactory
from agentcore.stores.sql.signals import SqlSignalReader
from agentcore.stores.storage import UnitOfWork
from agentcore.stores.values import Withheld
from dream.domain.change import Change
from dream.interfaces.exchange.items import Item, Note, Parsed, Skip, SkipReason
from dream.interfaces.exchange.report import Tally
from dream.stores import dream_stores

_IS_READ = (MemoryEntry, Turn, Skill, Feedback)


@dataclass(slots=True)
class Intake:
    """What one import has written so far; lives as long as it.

    Args:
        ids: Names the new records.
    """

    ids: IdFactory
    ours: set[str] = field(default_factory=set[str])
    """Ids of what readers read and came by this file, now or in an import of it that was cut short."""
    _turn_ids: dict[str, str] = field(default_factory=dict[str, str])
    _known_turns: dict[str, Turn] = field(default_factory=dict[str, Turn])
    _signal_ids: dict[RecordKind, set[str]] = field(default_factory=dict[RecordKind, set[str]])

    def write(self, unit: UnitOfWork, parsed: Sequence[Parsed]) -> Tally:
        """Write what is new among *parsed*; return what became of each."""
        tally = Tally()
        tally.skipped.update((one.kind, one.reason) for one in parsed if isinstance(one, Skip))
        unit.withheld.add([one for one in parsed if isinstance(one, Withheld)])
        items = [one for one in parsed if isinstance(one, Item)]
        tally.sessions.update(one.record.session_id for one in items if isinstance(one.record, Turn))
        imported = unit.imports.known([item.source_key for item in items])
        fresh = self._fresh(unit, items, imported, tally)
        records = [self._named(unit, item, tally) for item in fresh]
        _add(unit, records)
        tally.added.update(kind_of(record) for record in records)
        unit.imports.record(
            {
                item.source_key: (kind_of(record), record.id)
                for item, record in zip(fresh, records, strict=True)
                if item.source_key not in imported
            },
        )
        return tally

    def _fresh(self, unit: UnitOfWork, items: Sequence[Item], imported: set[str], tally: Tally) -> list[Item]:
        """Return the items to be written; count the others."""
        keys = [_fold_key(item.record) for item in items]
        forgotten = unit.forgotten.contains({key for key in keys if key is not None})
        present = self._present(unit, [item.record for item in items if item.record.id])
        names: set[str] = set()
        fresh: list[Item] = []
        for item, key in zip(items, keys, strict=True):
            record, kind = item.record, kind_of(item.record)
            if key in forgotten:
                tally.skipped[kind, SkipReason.FORGOTTEN] += 1
            elif (kind, record.id) in present if record.id else item.source_key in imported:
                tally.known[kind] += 1
                self._recognise(item, imported)
            elif isinstance(record, Skill) and _is_taken(unit, record, names):
                tally.skipped[kind, SkipReason.NAME_TAKEN] += 1
            else:
                fresh.append(item)
                present.add((kind, record.id))
        return fresh

    def _recognise(self, item: Item, imported: set[str]) -> None:
        """Keep what later items may need of one that is here already."""
        if isinstance(item.record, Turn):
            self._known_turns[item.source_key] = item.record
        if isinstance(item.record, _IS_READ) and item.record.id and item.source_key in imported:
            self.ours.add(item.record.id)

    def _named(self, unit: UnitOfWork, item: Item, tally: Tally) -> Record:
        tally.notes.update(item.notes)
        if item.record.id:
            if isinstance(item.record, _IS_READ):
                self.ours.add(item.record.id)
            return item.record
        record_id = self.ids.new()
        if isinstance(item.record, Turn):
            self._turn_ids[item.source_key] = record_id
        if isinstance(item.record, MemoryEntry) and item.cites:
            return replace(item.record, id=record_id, sources=self._sources(unit, item, tally))
        return replace(item.record, id=record_id)

    def _sources(self, unit: UnitOfWork, item: Item, tally: Tally) -> tuple[SourceRef, ...]:
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
        return {(kind, one) for kind, ids in by_kind.items() for one in self._stored(unit, kind, ids)}

    def _stored(self, unit: UnitOfWork, kind: RecordKind, ids: set[str]) -> Iterable[str]:
        if kind is RecordKind.ENTRY:
            return unit.entries.versions(ids)
        if kind is RecordKind.TURN:
            return [turn.id for turn in unit.turns.get_many(ids)]
        if kind is RecordKind.SKILL:
            return [one for one in ids if unit.skills.get(one) is not None]
        if kind is RecordKind.DOCUMENT:
            return [one for one in ids if unit.documents.get(one) is not None]
        # Signals cannot be asked for by id, so those of before this import are listed once.
        if kind not in self._signal_ids:
            signals = _signals(unit, kind)
            self._signal_ids[kind] = {signal.id for signal in signals.newest(limit=signals.count())}
        found = self._signal_ids[kind] & ids
        self._signal_ids[kind] |= ids
        return found


def _signals(
    unit: UnitOfWork, kind: RecordKind
) -> SqlSignalReader[SkillUse] | SqlSignalReader[Feedback] | SqlSignalReader[WispRun] | SqlSignalReader[ToolCall]:
    match kind:
        case RecordKind.SKILL_USE:
            return unit.skill_uses
        case RecordKind.FEEDBACK:
            return unit.feedback
        case RecordKind.WISP_RUN:
            return unit.wisp_runs
        case _:
            return unit.tool_calls


def _fold_key(record: Record) -> str | None:
    """Return what a forgotten text is recognised by, or None for a record without a text of its own."""
    if isinstance(record, Feedback):
        return fold_key(record.summary)
    return None if isinstance(record, SkillUse | WispRun | ToolCall | StoredDocument) else fold_key(record.content)


def _is_taken(unit: UnitOfWork, skill: Skill, names: set[str]) -> bool:
    """Tell whether another active skill has its name, in the store or earlier among *names*."""
    if skill.status is not Status.ACTIVE:
        return False
    taken = skill.name in names or unit.skills.named(skill.name) is not None
    names.add(skill.name)
    return taken


def _add(unit: UnitOfWork, records: Sequence[Record]) -> None:
    unit.turns.add([record for record in records if isinstance(record, Turn)])
    unit.entries.add([record for record in records if isinstance(record, MemoryEntry)])
    for skill in (record for record in records if isinstance(record, Skill)):
        unit.skills.add(skill)
    unit.skill_uses.append([record for record in records if isinstance(record, SkillUse)])
    unit.feedback.append([record for record in records if isinstance(record, Feedback)])
    unit.wisp_runs.append([record for record in records if isinstance(record, WispRun)])
    unit.tool_calls.append([record for record in records if isinstance(record, ToolCall)])
    documents = [record for record in records if isinstance(record, StoredDocument)]
    for document in documents:
        unit.documents.add(document)
    # Their files follow when a host with the workspace opens.
    added = [Change[Record](before=None, after=document, reason="imported") for document in documents]
    dream_stores(unit).outbox.post("", "import", added)
