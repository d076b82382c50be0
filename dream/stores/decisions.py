"""What people took back: fingerprints of operations that no dream repeats."""

from collections.abc import Collection, Mapping

from sqlalchemy import bindparam, delete, insert, select

from agentcore.domain.instants import to_micros
from agentcore.stores.sql.schema import decisions
from agentcore.stores.sql.transaction import Transaction, chunks, of_my_scope
from dream.domain.reasons import Refused
from dream.stores.proposals import ProposalStore

UNDONE = "undone"

_AMONG = of_my_scope(decisions) & decisions.c.fingerprint.in_(bindparam("among", expanding=True))
_DECLINED = select(decisions.c.fingerprint).where(_AMONG)
_RECONSIDER = delete(decisions).where(_AMONG)


class DecisionReader:
    """Decisions of one scope, for reading; lives as long as its transaction."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def declined(self, fingerprints: Collection[str]) -> set[str]:
        """Return those that a person took back."""
        found: set[str] = set()
        for chunk in chunks(sorted(set(fingerprints))):
            found.update(self._transaction.execute(_DECLINED, among=chunk).scalars())
        return found

    def withheld(self, fingerprints: Collection[str]) -> Mapping[str, Refused]:
        """Return those that must not be proposed: what a person took back, or has yet to decide."""
        if not fingerprints:
            return {}
        waiting = {mark for _, mark in ProposalStore(self._transaction).marks() if mark is not None}
        found = dict.fromkeys(waiting.intersection(fingerprints), Refused.AWAITS_REVIEW)
        return found | dict.fromkeys(self.declined(fingerprints), Refused.UNDONE_BY_PERSON)


class DecisionStore(DecisionReader):
    """Decisions of one scope, in one transaction; lives as long as it."""

    def decline(self, fingerprints: Collection[str], *, run_id: str) -> None:
        """Remember that a person took these back."""
        rows = [
            {
                "scope_id": self._transaction.scope_id,
                "fingerprint": item,
                "kind": UNDONE,
                "run_id": run_id,
                "decided_at": to_micros(self._transaction.now),
            }
            for item in sorted(set(fingerprints) - self.declined(fingerprints))
        ]
        if rows:
            self._transaction.connection.execute(insert(decisions), rows)

    def reconsider(self, fingerprints: Collection[str]) -> None:
        """Let dreams propose these again."""
        for chunk in chunks(sorted(set(fingerprints))):
            self._transaction.execute(_RECONSIDER, among=chunk)
