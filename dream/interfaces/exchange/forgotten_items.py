"""Tells which items of a file come from what a person had forgotten: none of them is imported again."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from agentcore.domain.conversation import Turn
from agentcore.domain.evidence import SourceKind, SourceRef
from agentcore.domain.memory import MemoryEntry
from agentcore.domain.question import Question
from agentcore.domain.records import Record, RecordKind, cited_by, kind_of, text_of
from agentcore.stores.forgetting import Tombstone, TombstoneKind
from agentcore.stores.storage import UnitOfWork
from dream.interfaces.exchange.items import ImportItem, Note, Parsed

_NAMED: Final = {
    RecordKind.ENTRY: TombstoneKind.ENTRY,
    RecordKind.TURN: TombstoneKind.TURN,
    RecordKind.FEEDBACK: TombstoneKind.FEEDBACK,
}


@dataclass(slots=True)
class ForgottenItems:
    """What of a file was forgotten here; lives as long as one import.

    An export tells what was forgotten where it was made. Its records obey that already: what rests on a turn of which a
    sentence was forgotten rests on the others. So only what was forgotten here, and is unknown there, bars a record.
    """

    refused: set[SourceRef] = field(default_factory=set[SourceRef])
    """Records of the file that were not taken: what was made of them is not taken either."""
    texts: set[str] = field(default_factory=set[str])
    """What such records say: a document of the file may say it, too."""
    _own: set[tuple[TombstoneKind, str]] = field(default_factory=set[tuple[TombstoneKind, str]])

    def copy(self) -> "ForgottenItems":
        """Return what is known now, for a transaction that may have to be tried again."""
        return ForgottenItems(set(self.refused), set(self.texts), set(self._own))

    def set_tombstones(self, unit: UnitOfWork, parsed: Sequence[Parsed]) -> list[Note]:
        """Set the tombstones of a file, those aside of what is still here: an import removes nothing.

        Returns:
            A note for each that nothing can be held against, since this folder has no key.
        """
        stones = [one for one in parsed if isinstance(one, Tombstone)]
        if not stones:
            return []
        self._own.update((one.kind, one.record_id) for one in stones)
        here = {
            (_NAMED[kind], one)
            for kind in (RecordKind.ENTRY, RecordKind.FEEDBACK)
            for one in unit.of_kind(kind).existing({stone.record_id for stone in stones if stone.kind is _NAMED[kind]})
        }
        unit.tombstones.add([one for one in stones if (one.kind, one.record_id) not in here])
        hashed = [] if unit.tombstones.has_key else [one for one in stones if one.kind is TombstoneKind.ITEM]
        return [Note.FORGOTTEN_WITHOUT_KEY] * len(hashed)

    def among(self, unit: UnitOfWork, items: Sequence[ImportItem], here: Sequence[bool]) -> list[bool]:
        """Tell of each item whether its chain of sources touches what was forgotten here.

        What is *here* outlived the forget, and is no such item; but a turn stays when its text is forgotten.
        """
        erased_at = unit.erasure.at()
        if erased_at is None and not unit.tombstones.any():
            return [False] * len(items)
        keys = unit.tombstones.items({key for item in items for key in item.keys})
        touched = self._touched(unit, items)
        topics = unit.tombstones.of(TombstoneKind.TOPIC, {one.record.id for one in items if _is_topic(one.record)})
        sessions = unit.tombstones.of(TombstoneKind.SESSION, {_session(item.record) for item in items} - {""})
        barred: list[bool] = []
        for item, is_here in zip(items, here, strict=True):
            session = sessions.get(_session(item.record))
            is_barred = (not is_here or isinstance(item.record, Turn)) and (
                not keys.isdisjoint(item.keys)
                or ("is", _itself(item.record)) in touched
                or any(("rests on", ref) in touched for ref in _rests_on(item.record))
                or not self.refused.isdisjoint(_rests_on(item.record))
                or (_is_topic(item.record) and item.record.id in topics)
                or (session is not None and self._is_earlier(item.record, session))
                or (erased_at is not None and bool(item.record.id) and _stored_at(item.record) <= erased_at)
            )
            barred.append(is_barred)
            itself = _itself(item.record)
            if is_barred and itself is not None:
                self.refused.add(itself)
            if is_barred:
                self.texts.update(_said_by(item.record))
        return barred

    def _touched(self, unit: UnitOfWork, items: Sequence[ImportItem]) -> set[tuple[str, SourceRef]]:
        """Return what bars an item: a forgotten record itself, or one that it rests on."""
        own = {SourceRef(SourceKind(kind.value), one) for kind, one in self._own if kind in _NAMED.values()}
        # A turn of which sentences alone were forgotten comes back without its text.
        itself = unit.tombstones.touched(filter(None, (_itself(item.record) for item in items)), whole=True)
        below = unit.tombstones.touched({ref for item in items for ref in _rests_on(item.record)})
        return {("is", ref) for ref in itself - own} | {("rests on", ref) for ref in below - own}

    def _is_earlier(self, record: Record, session: Tombstone) -> bool:
        if (session.kind, session.record_id) in self._own:
            return False
        said_at = getattr(record, "occurred_at", None)
        return said_at is not None and said_at <= session.forgotten_at

    def sweep(self, unit: UnitOfWork, written: Collection[str]) -> None:
        """Remove what this import wrote before it met, further down in the file, what it was made of."""
        ahead, left = set(self.refused), set(written)
        while ahead:
            kinds = {ref.kind for ref in ahead}
            below = {kind: sorted(ref.id for ref in ahead if ref.kind is kind) for kind in kinds}
            made = [one for kind, ids in below.items() for one in unit.entries.derived_from(kind.value, *ids)]
            gone = {entry.id for entry in made if entry.id in left}
            unit.entries.delete(gone)
            left -= gone
            ahead = {SourceRef(SourceKind.ENTRY, one) for one in gone}


def kept_origins(item: ImportItem, record: Record) -> tuple[str, ...]:
    """Return the keys to keep of an item's origin: none where its text was forgotten, for each is a hash of it."""
    return () if isinstance(record, Turn) and record != item.record else item.origins


def _itself(record: Record) -> SourceRef | None:
    kind = kind_of(record)
    return SourceRef(SourceKind(_NAMED[kind].value), record.id) if kind in _NAMED and record.id else None


def _said_by(record: Record) -> list[str]:
    said = [one.sentence for one in record.evidence] if isinstance(record, MemoryEntry) else []
    text = record.content if isinstance(record, Turn) else text_of(record)
    return [*said, *([] if text is None else [text])]


def _is_topic(record: Record) -> bool:
    return kind_of(record) is RecordKind.OFF_LIMITS_TOPIC


def _rests_on(record: Record) -> tuple[SourceRef, ...]:
    """Return what a record was made of; a question and its answer, which may quote them, rest on its members."""
    if isinstance(record, Question):
        return record.members if record.result is None else (*record.members, record.result)
    return cited_by(record)


def _stored_at(record: Record) -> datetime:
    """Return when the store that a record comes from first held it, or last changed it."""
    at = (getattr(record, name, None) for name in ("recorded_at", "created_at", "asked_at", "updated_at"))
    return next((one for one in at if one is not None), datetime.min.replace(tzinfo=UTC))


def _session(record: Record) -> str:
    return getattr(record, "session_id", None) or ""
