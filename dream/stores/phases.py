"""Which entries the phases of dreams met: a row for each entry and phase, which goes with the entry."""

from collections.abc import Sequence

from sqlalchemy import bindparam, insert, select, update

from agentcore.domain.instants import to_micros
from agentcore.stores.sql.schema import phase_hits
from agentcore.stores.sql.transaction import Transaction, chunks
from dream.domain.phases import Phase, PhaseHit, PhaseStanding

_HITS = phase_hits.c


class PhaseReader:
    """The phases' hits of one scope, for reading; lives as long as its transaction."""

    def __init__(self, transaction: Transaction) -> None:
        self._scope_id = transaction.scope_id
        self._connection = transaction.connection
        self._mine = _HITS.scope_id == transaction.scope_id

    def met(self, phase: Phase) -> set[str]:
        """Return the ids of the entries that a phase met."""
        mine = select(_HITS.entry_id).where(self._mine, _HITS.phase == phase.value)
        return set(self._connection.execute(mine).scalars())

    def standing(self) -> dict[str, PhaseStanding]:
        """Return how often each entry was met, by id; those that never were are left out."""
        found: dict[str, dict[str, int]] = {}
        for row in self._connection.execute(select(phase_hits).where(self._mine)):
            found.setdefault(row.entry_id, {}).update({row.phase: row.times, f"{row.phase}_last": row.last_at})
        return {entry_id: PhaseStanding(**values) for entry_id, values in found.items()}


class PhaseStore(PhaseReader):
    """The phases' hits of one scope, in one transaction; lives as long as it."""

    def record(self, hits: Sequence[PhaseHit]) -> None:
        """Count hits, each entry and phase once."""
        latest = {(hit.entry_id, hit.phase): to_micros(hit.at) for hit in hits}
        for phase in Phase:
            wanted = sorted(entry_id for entry_id, of in latest if of is phase)
            known = self._known(phase, wanted)
            old = [{"of": one, "at": latest[one, phase]} for one in wanted if one in known]
            new = [{"entry_id": one, "last_at": latest[one, phase]} for one in wanted if one not in known]
            if old:
                counted = update(phase_hits).where(self._mine, _HITS.phase == phase, _HITS.entry_id == bindparam("of"))
                self._connection.execute(counted.values(times=_HITS.times + 1, last_at=bindparam("at")), old)
            if new:
                row = {"scope_id": self._scope_id, "phase": phase.value, "times": 1}
                self._connection.execute(insert(phase_hits), [row | one for one in new])

    def _known(self, phase: Phase, entry_ids: Sequence[str]) -> set[str]:
        known: set[str] = set()
        for chunk in chunks(entry_ids):
            statement = select(_HITS.entry_id).where(self._mine, _HITS.phase == phase, _HITS.entry_id.in_(chunk))
            known.update(self._connection.execute(statement).scalars())
        return known
