"""What the handles of a batch stand for, as the records are now."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from agentcore.domain.memory import MemoryEntry
from dream.domain.batch import Batch
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.passes.prompts import handles

_SHOWN = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """The entries of one batch by handle.

    Args:
        ids: The record id of each handle.
        entries: Those that are as they were packed, by handle.
        members: Handles that may be changed.
    """

    ids: Mapping[str, str]
    entries: Mapping[str, MemoryEntry] = field(default_factory=dict[str, MemoryEntry])
    members: frozenset[str] = frozenset()

    @classmethod
    def of(cls, batch: Batch, stored: Iterable[MemoryEntry]) -> "Sheet":
        """Find the entries of *batch* among *stored*."""
        found = {entry.id: entry for entry in stored}
        ids = handles(batch.record_ids)
        packed = dict((*batch.members, *batch.beside))
        settled = set(batch.member_ids)
        return cls(
            ids=ids,
            entries={
                handle: found[record_id]
                for handle, record_id in ids.items()
                if record_id in found and found[record_id].is_active and found[record_id].version == packed[record_id]
            },
            members=frozenset(handle for handle, record_id in ids.items() if record_id in settled),
        )

    def fault(self, names: Iterable[str]) -> Refusal | None:
        """Return why these handles cannot be changed, or None."""
        given = list(names)
        unknown = [name[:_SHOWN] for name in given if name not in self.ids]
        if unknown:
            return Refusal.of(Refused.UNKNOWN_HANDLE, unknown)
        fixed = [self.ids[name] for name in given if name not in self.members]
        if fixed:
            return Refusal.of(Refused.CONTEXT_ONLY, fixed)
        stale = [self.ids[name] for name in given if name not in self.entries]
        return Refusal.of(Refused.STALE_SOURCE, stale) if stale else None

    def named(self, names: Iterable[str]) -> list[str]:
        """Return the record ids behind handles, for people; what was never shown as it was written."""
        return [self.ids.get(name, name[:_SHOWN]) for name in names]
