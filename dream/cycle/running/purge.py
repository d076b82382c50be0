"""Carries out purges: removes for good what retention proposes, in the transaction of its step."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from agentcore.domain.memory import MemoryEntry
from agentcore.domain.records import Record, RecordKind
from agentcore.stores.storage import UnitOfWork
from dream.domain.proposal import HistoryKind, Purge, PurgeHistory, PurgeRecords, PurgeSignals, Refusal
from dream.domain.reasons import Refused
from dream.guards import is_purgeable
from dream.options import RetentionOptions
from dream.stores import dream_stores


@dataclass(slots=True, kw_only=True)
class Purger:
    """The purges of one step; lives as long as its transaction.

    Args:
        unit: The transaction.
        run_id: The run.
        step: The step's number.
        pass_name: Who proposed them.
        is_allowed: Whether the pass that proposed them declares that it purges.
        terms: How long things are kept.
        as_of: The instant the run judges by.
        refused: What was not removed, and why.
    """

    unit: UnitOfWork
    run_id: str
    step: int
    pass_name: str
    is_allowed: bool
    terms: RetentionOptions
    as_of: datetime
    refused: list[Refusal] = field(default_factory=list[Refusal])

    def carry_out(self, purges: Sequence[Purge]) -> int:
        """Remove what *purges* name and the laws allow; return how much that was."""
        if purges and not self.is_allowed:
            self.refused.append(Refusal(Refused.DESTROYS, f"{self.pass_name} may not purge"))
            return 0
        return sum(self._purge(purge) for purge in purges)

    def remove(self, kind: RecordKind, record_ids: Collection[str], reason: str) -> int:
        """Remove records for good and say so in the journal."""
        books = dream_stores(self.unit)
        ids = sorted(record_ids)
        books.journal.write_purges(self.run_id, self.step, self.pass_name, kind=kind, record_ids=ids, reason=reason)
        return self.unit.of_kind(kind).delete(ids)

    def _purge(self, purge: Purge) -> int:
        if isinstance(purge, PurgeHistory):
            if purge.what is HistoryKind.PROPOSALS:
                return self._expire(purge)
            if purge.what is HistoryKind.REFUSED:
                return dream_stores(self.unit).refused_texts.purge(purge.before, limit=purge.limit)
            expiry = dream_stores(self.unit).expiry
            if purge.what is HistoryKind.RUNS:
                return expiry.purge(purge.before, limit=purge.limit)
            return expiry.purge_feed(purge.before, limit=purge.limit)
        if isinstance(purge, PurgeSignals):
            store = self.unit.signals(purge.kind)
            return store.drop_expired(recorded_before=purge.recorded_before, keep=purge.keep, limit=purge.limit)
        return self._purge_records(purge)

    def _expire(self, purge: PurgeHistory) -> int:
        """Drop what nobody decided; it is no record, so it is told among what was refused."""
        expired = dream_stores(self.unit).proposals.expire(purge.before, limit=purge.limit)
        self.refused += [
            Refusal(Refused.EXPIRED, f"{one.proposal_id}: {one.change_set.operation} of {one.pass_name}")
            for one in expired
        ]
        return 0

    def _purge_records(self, purge: PurgeRecords) -> int:
        ids = [record.id for record in purge.records]
        if purge.kind is RecordKind.TURN:
            return self.remove(purge.kind, [turn.id for turn in self.unit.turns.get_many(ids)], purge.reason)
        present = {entry.id: entry for entry in self.unit.entries.get_many(ids)}
        allowed = [record.id for record in purge.records if self._is_due(present.get(record.id), record)]
        return self.remove(purge.kind, allowed, purge.reason)

    def _is_due(self, stored: MemoryEntry | None, proposed: Record) -> bool:
        """Judge by what is stored, not by what the pass says of it."""
        if stored is None or not isinstance(proposed, MemoryEntry) or stored.version != proposed.version:
            self.refused.append(Refusal(Refused.STALE_SOURCE, proposed.id))
            return False
        if not is_purgeable(stored, self.terms, self.as_of):
            self.refused.append(Refusal(Refused.DESTROYS, proposed.id))
            return False
        return True
