"""The dream's bookkeeping, in the same transaction as the records it is about.

`bookkeeping(unit)` opens it on a unit of work (or, for reading, on a read view). A storage of a host's own offers the
same by a `transaction` of the SQL schema, or is wrapped by one.
"""

from dataclasses import dataclass

from agentcore.stores.protocols import ReadView
from agentcore.stores.sql.unit import SqlUnit
from dream.errors import UnsupportedStorageError
from dream.stores.attempts import AttemptStore
from dream.stores.calls import CallStore
from dream.stores.clusters import ClusterStore
from dream.stores.cursors import CursorStore
from dream.stores.decisions import DecisionStore
from dream.stores.deferred import DeferredStore
from dream.stores.journal import JournalStore
from dream.stores.ledger import LedgerStore
from dream.stores.outbox import OutboxStore
from dream.stores.plans import PlanStore
from dream.stores.promotions import PromotionStore
from dream.stores.recalls import RecallStore
from dream.stores.run_history import RunHistory
from dream.stores.runs import RunStore
from dream.stores.usage import UsageStore


@dataclass(frozen=True, slots=True)
class Books:
    """The bookkeeping of one scope in one transaction; lives as long as it.

    Args:
        runs: Runs and their steps.
        journal: What each run changed.
        cursors: How far each pass has looked.
        decisions: What people took back.
        ledger: When each pass last took a step.
        calls: Model calls: answers that were paid for, and what failed.
        plans: Plans to be applied.
        deferred: Changes that wait for room under the share cap.
        clusters: Clusters that were left as they are.
        history: Finished dreams, the newest first.
        usage: What calls cost.
        attempts: In how many runs a pass failed on a record.
        outbox: Texts of documents that are to be written to their files.
        recalls: What recall tells of entries.
        promotions: What was promoted to MEMORY.md.
    """

    runs: RunStore
    journal: JournalStore
    cursors: CursorStore
    decisions: DecisionStore
    ledger: LedgerStore
    calls: CallStore
    plans: PlanStore
    deferred: DeferredStore
    clusters: ClusterStore
    history: RunHistory
    usage: UsageStore
    attempts: AttemptStore
    outbox: OutboxStore
    promotions: PromotionStore
    recalls: RecallStore


def bookkeeping(view: ReadView) -> Books:
    """Open the bookkeeping on *view*; it can write if the view is a unit of work."""
    if not isinstance(view, SqlUnit):
        raise UnsupportedStorageError(storage=type(view).__name__)
    transaction = view.transaction
    return Books(
        RunStore(transaction),
        JournalStore(transaction),
        CursorStore(transaction),
        DecisionStore(transaction),
        LedgerStore(transaction),
        CallStore(transaction),
        PlanStore(transaction),
        DeferredStore(transaction),
        ClusterStore(transaction),
        RunHistory(transaction),
        UsageStore(transaction),
        AttemptStore(transaction),
        OutboxStore(transaction),
        PromotionStore(transaction),
        RecallStore(transaction),
    )
