"""The pass ledger: when each pass last took a step, in which run, and on what input."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import bindparam, delete, insert, select

from agentcore.domain.instants import from_micros, to_micros
from agentcore.stores.sql.schema import pass_ledger
from agentcore.stores.sql.transaction import Transaction, of_my_scope

_MINE = of_my_scope(pass_ledger)
_OF_PASS = _MINE & (pass_ledger.c.pass_name == bindparam("of_pass"))
_FINGERPRINT = select(pass_ledger.c.fingerprint).where(_OF_PASS)
_ALL = select(pass_ledger).where(_MINE)
_REMOVE = delete(pass_ledger).where(_OF_PASS)
_WRITE = insert(pass_ledger)


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerEntry:
    """The last step of a pass.

    Args:
        pass_name: The pass.
        run_id: The run it was taken in.
        fingerprint: Hash of what it judges by, of passes that look again at everything when that changes.
        completed_at: When it was committed.
    """

    pass_name: str
    run_id: str
    fingerprint: str | None
    completed_at: datetime


class LedgerStore:
    """The pass ledger of one scope, in one transaction; lives as long as it."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def record(self, pass_name: str, *, run_id: str, fingerprint: str | None) -> None:
        """Note that the pass took a step; without a *fingerprint* the one it had stands."""
        fingerprint = fingerprint or self.fingerprint(pass_name)
        self._transaction.execute(_REMOVE, of_pass=pass_name)
        row = {
            "scope_id": self._transaction.scope_id,
            "pass_name": pass_name,
            "run_id": run_id,
            "fingerprint": fingerprint,
            "completed_at": to_micros(self._transaction.now),
        }
        self._transaction.connection.execute(_WRITE, row)

    def fingerprint(self, pass_name: str) -> str | None:
        """Return the fingerprint of the pass's last step that had one; None if none had."""
        return self._transaction.execute(_FINGERPRINT, of_pass=pass_name).scalar()

    def entries(self) -> dict[str, LedgerEntry]:
        """Return the last step of every pass that ever took one."""
        rows = self._transaction.execute(_ALL)
        return {
            row.pass_name: LedgerEntry(
                pass_name=row.pass_name,
                run_id=row.run_id,
                fingerprint=row.fingerprint,
                completed_at=from_micros(row.completed_at),
            )
            for row in rows
        }
