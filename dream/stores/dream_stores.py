"""Opens the stores of dreams, in the same transaction as the records they are about.

`dream_stores(unit)` opens them on a unit of work, or for reading on a read view. A storage of a host's own offers the
same by a `transaction` of the SQL schema, or is wrapped by one. Each store is imported when it is first opened.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from agentcore.stores.sql.unit import SqlUnit
from dream import stores
from dream.errors import UnsupportedStorageError

if TYPE_CHECKING:
    from agentcore.domain.scope import Scope
    from agentcore.stores.sql.transaction import Transaction
    from agentcore.stores.storage import ReadView, UnitOfWork
    from dream.stores.attempts import AttemptReader
    from dream.stores.calls import CallStore
    from dream.stores.cursors import (
        ClusterReader,
        ClusterStore,
        CursorReader,
        CursorStore,
        ExpiryReader,
        ExpiryStore,
        LedgerStore,
    )
    from dream.stores.edited_options import EditedOptionsStore
    from dream.stores.fleet import Fleet
    from dream.stores.fleet_workers import WorkerStore
    from dream.stores.growth import MemoryGrowth
    from dream.stores.journal import JournalReader, JournalStore
    from dream.stores.model_rates import ModelRateStore
    from dream.stores.offers import OfferStore
    from dream.stores.promotions import (
        OutboxStore,
        PhaseReader,
        PhaseStore,
        PromotionReader,
        PromotionStore,
        RecallReader,
    )
    from dream.stores.proposals import DecisionReader, DecisionStore, PlanStore, ProposalStore, RefusedTextStore
    from dream.stores.runs import RunHistory, RunStore, UsageStore
    from dream.stores.schedules import ScheduleStore
    from dream.stores.sessions import SessionStore
    from dream.stores.waiting import WaitingReader, WaitingStore


@dataclass(frozen=True, slots=True)
class DreamReaders:
    """What passes may read of one scope's bookkeeping; lives as long as its transaction.

    A new fact for a pass is a method of one of these readers.
    """

    _transaction: Transaction

    @property
    def cursors(self) -> CursorReader:
        """How far each pass has looked."""
        return stores.CursorReader(self._transaction)

    @property
    def decisions(self) -> DecisionReader:
        """What people took back, or have yet to decide."""
        return stores.DecisionReader(self._transaction)

    @property
    def history(self) -> RunHistory:
        """Finished dreams, the newest first."""
        return stores.RunHistory(self._transaction)

    @property
    def journal(self) -> JournalReader:
        """What each run changed."""
        return stores.JournalReader(self._transaction)

    @property
    def attempts(self) -> AttemptReader:
        """In how many runs a pass failed on a record."""
        return stores.AttemptReader(self._transaction)

    @property
    def waiting(self) -> WaitingReader:
        """Exchanges with the model that could not be ended."""
        return stores.WaitingReader(self._transaction)

    @property
    def clusters(self) -> ClusterReader:
        """Clusters that were left as they are."""
        return stores.ClusterReader(self._transaction)

    @property
    def promotions(self) -> PromotionReader:
        """What was promoted to MEMORY.md."""
        return stores.PromotionReader(self._transaction)

    @property
    def phases(self) -> PhaseReader:
        """Which entries earlier phases met."""
        return stores.PhaseReader(self._transaction)

    @property
    def recalls(self) -> RecallReader:
        """What recall tells of entries."""
        return stores.RecallReader(self._transaction)

    @property
    def expiry(self) -> ExpiryReader:
        """What is too old to be kept."""
        return stores.ExpiryReader(self._transaction)


@dataclass(frozen=True, slots=True)
class DreamStores(DreamReaders):
    """The stores of dreams for one scope in one transaction; lives as long as it."""

    @property
    def runs(self) -> RunStore:
        """Runs and their steps."""
        return stores.RunStore(self._transaction)

    @property
    def journal(self) -> JournalStore:
        """What each run changed."""
        return stores.JournalStore(self._transaction)

    @property
    def cursors(self) -> CursorStore:
        """How far each pass has looked."""
        return stores.CursorStore(self._transaction)

    @property
    def decisions(self) -> DecisionStore:
        """What people took back."""
        return stores.DecisionStore(self._transaction)

    @property
    def ledger(self) -> LedgerStore:
        """When each pass last took a step."""
        return stores.LedgerStore(self._transaction)

    @property
    def calls(self) -> CallStore:
        """Model calls: answers that were paid for, and what failed."""
        return stores.CallStore(self._transaction)

    @property
    def plans(self) -> PlanStore:
        """Plans to be applied."""
        return stores.PlanStore(self._transaction)

    @property
    def waiting(self) -> WaitingStore:
        """Exchanges with the model that could not be ended."""
        return stores.WaitingStore(self._transaction)

    @property
    def proposals(self) -> ProposalStore:
        """Changes that wait for a person."""
        return stores.ProposalStore(self._transaction)

    @property
    def refused_texts(self) -> RefusedTextStore:
        """What models wrote and dreams did not take."""
        return stores.RefusedTextStore(self._transaction)

    @property
    def clusters(self) -> ClusterStore:
        """Clusters that were left as they are."""
        return stores.ClusterStore(self._transaction)

    @property
    def expiry(self) -> ExpiryStore:
        """What is too old to be kept."""
        return stores.ExpiryStore(self._transaction)

    @property
    def usage(self) -> UsageStore:
        """What calls cost."""
        return stores.UsageStore(self._transaction)

    @property
    def sessions(self) -> SessionStore:
        """Dreams as sessions: their keys, calls, and what they wrote."""
        return stores.SessionStore(self._transaction)

    @property
    def schedules(self) -> ScheduleStore:
        """When scopes dream next, whichever they are."""
        return stores.ScheduleStore(self._transaction)

    @property
    def fleet(self) -> Fleet:
        """Which of all scopes have to be looked at."""
        return stores.Fleet(self._transaction)

    @property
    def edited_options(self) -> EditedOptionsStore:
        """What admins changed of options."""
        return stores.EditedOptionsStore(self._transaction)

    @property
    def growth(self) -> MemoryGrowth:
        """What the scope holds, counted."""
        return stores.MemoryGrowth(self._transaction)

    @property
    def offers(self) -> OfferStore:
        """Which due scopes are offered to the workers of a fleet."""
        return stores.OfferStore(self._transaction)

    @property
    def workers(self) -> WorkerStore:
        """The workers of a fleet."""
        return stores.WorkerStore(self._transaction)

    @property
    def rates(self) -> ModelRateStore:
        """What a fleet asks of models."""
        return stores.ModelRateStore(self._transaction)

    @property
    def outbox(self) -> OutboxStore:
        """Texts of documents that are to be written to their files."""
        return stores.OutboxStore(self._transaction)

    @property
    def promotions(self) -> PromotionStore:
        """What was promoted to MEMORY.md."""
        return stores.PromotionStore(self._transaction)

    @property
    def phases(self) -> PhaseStore:
        """Which entries earlier phases met."""
        return stores.PhaseStore(self._transaction)


class SqlPassView(SqlUnit):
    """What a pass reads: records that something may be learnt from, and the bookkeeping; its connection refuses writes.

    It lives as long as the transaction.
    """

    @property
    def books(self) -> DreamReaders:
        """The bookkeeping."""
        return DreamReaders(self.transaction)


def on_scope(unit: UnitOfWork, scope: Scope, key: int) -> UnitOfWork:
    """Return *unit* bound to another scope, for the scheduler of a fleet; the transaction stays the same.

    What changes records there goes unnoticed by the change feed: only bookkeeping may be written by it.

    Args:
        unit: A unit of work on whatever scope.
        scope: The other scope.
        key: Its key in the database.
    """
    if not isinstance(unit, SqlUnit):
        raise UnsupportedStorageError(storage=type(unit).__name__)
    return SqlUnit(replace(unit.transaction, scope=scope, scope_id=key))


def dream_stores(view: ReadView) -> DreamStores:
    """Open the stores of dreams on *view*; they can write if the view is a unit of work."""
    if not isinstance(view, SqlUnit):
        raise UnsupportedStorageError(storage=type(view).__name__)
    return DreamStores(view.transaction)


def pass_view(view: ReadView) -> SqlPassView:
    """Return what a pass may read in *view*."""
    learnable = view.learnable
    if not isinstance(learnable, SqlUnit):
        raise UnsupportedStorageError(storage=type(view).__name__)
    return SqlPassView(learnable.transaction)
