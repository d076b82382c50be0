"""Opens the stores of one transaction: the views and the unit of work that `SqlStorage` hands to its callers."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

from agentcore.domain.actor import Actor
from agentcore.domain.decay import Decay
from agentcore.domain.records import RECORD_TYPES, Record, RecordKind
from agentcore.domain.scope import Scope
from agentcore.domain.signals import Feedback, ToolCall, WispRun
from agentcore.domain.skill import SkillUse
from agentcore.stores.forgetting import Forgotten, SaysIt, Tombstone, TurnsChoice
from agentcore.stores.records import RecordStore
from agentcore.stores.sql.access import SqlReceiptStore, SqlTokenStore
from agentcore.stores.sql.authorship import SqlAuthorshipReader
from agentcore.stores.sql.card import SqlCardStore
from agentcore.stores.sql.conclusions import SqlConclusionStore
from agentcore.stores.sql.documents import SqlDocumentStore
from agentcore.stores.sql.entries import SqlEntryStore
from agentcore.stores.sql.erase import SqlErasureStore
from agentcore.stores.sql.fan_out import SqlFanOutStore
from agentcore.stores.sql.feed import SqlActivityStore
from agentcore.stores.sql.forget import forget, forget_turns, withhold
from agentcore.stores.sql.hosts import SqlHostStore
from agentcore.stores.sql.hypotheses import SqlClaimStore, SqlHypothesisStore
from agentcore.stores.sql.import_ledger import SqlImportLedger
from agentcore.stores.sql.leases import SqlBusyStore, SqlLeaseStore
from agentcore.stores.sql.obey import obey
from agentcore.stores.sql.pages import SqlPageReader
from agentcore.stores.sql.questions import SqlQuestionStore
from agentcore.stores.sql.recall_hits import SqlRecallHitStore
from agentcore.stores.sql.record_store import (
    FEEDBACK,
    OFF_LIMITS_TOPICS,
    SIGNAL_ROWS,
    SKILL_USES,
    TOOL_CALLS,
    WISP_RUNS,
    SqlRecordStore,
    SqlSignalStore,
)
from agentcore.stores.sql.settings import SqlSettingsStore, SqlSwitchStore
from agentcore.stores.sql.skills import SqlSkillStore
from agentcore.stores.sql.tombstones import SqlForgottenReader, SqlTombstoneStore
from agentcore.stores.sql.transaction import Transaction
from agentcore.stores.sql.turns import SqlTurnStore
from agentcore.stores.sql.vectors import SqlVectorStore
from agentcore.stores.sql.withheld import SqlWithheldStore

_STORES: Mapping[RecordKind, Callable[[Transaction], RecordStore[Any]]] = {
    RecordKind.ENTRY: SqlEntryStore,
    RecordKind.TURN: SqlTurnStore,
    RecordKind.SKILL: SqlSkillStore,
    RecordKind.DOCUMENT: SqlDocumentStore,
    RecordKind.OFF_LIMITS_TOPIC: partial(SqlRecordStore[Any], rows=OFF_LIMITS_TOPICS),
    RecordKind.QUESTION: SqlQuestionStore,
    RecordKind.CARD_LINE: SqlCardStore,
    RecordKind.CLAIM: SqlClaimStore,
    RecordKind.HYPOTHESIS: SqlHypothesisStore,
    **{kind: partial(SqlSignalStore[Any], rows=rows) for kind, rows in SIGNAL_ROWS.items()},
}
"""Where each kind of record is kept."""


class SqlUnit:
    """One transaction on one scope; as a read view its connection refuses writes. Lives as long as the transaction."""

    def __init__(self, transaction: Transaction) -> None:
        self.transaction = transaction

    @property
    def scope(self) -> Scope:
        """The scope it is bound to."""
        return self.transaction.scope

    @property
    def now(self) -> datetime:
        """The instant everything in it happens."""
        return self.transaction.now

    @property
    def decay(self) -> Decay:
        """How importance is read."""
        return self.transaction.decay

    @property
    def actor(self) -> Actor:
        """Who writes."""
        return self.transaction.actor

    @property
    def authorship(self) -> SqlAuthorshipReader:
        """Who wrote records."""
        return SqlAuthorshipReader(self.transaction)

    @property
    def pages(self) -> SqlPageReader:
        """Records page by page."""
        return SqlPageReader(self.transaction)

    @property
    def tokens(self) -> SqlTokenStore:
        """Bearer tokens, of whatever scope."""
        return SqlTokenStore(self.transaction)

    @property
    def receipts(self) -> SqlReceiptStore:
        """Receipts of requests."""
        return SqlReceiptStore(self.transaction)

    @property
    def revision(self) -> int:
        """The scope's last committed revision."""
        return self.transaction.current_revision()

    @property
    def entries(self) -> SqlEntryStore:
        """Entries."""
        return SqlEntryStore(self.transaction)

    @property
    def conclusions(self) -> SqlConclusionStore:
        """What conclusions rest on."""
        return SqlConclusionStore(self.transaction)

    @property
    def card(self) -> SqlCardStore:
        """Lines of the card."""
        return SqlCardStore(self.transaction)

    @property
    def claims(self) -> SqlClaimStore:
        """Claims."""
        return SqlClaimStore(self.transaction)

    @property
    def hypotheses(self) -> SqlHypothesisStore:
        """Hypotheses."""
        return SqlHypothesisStore(self.transaction)

    @property
    def turns(self) -> SqlTurnStore:
        """The conversation log."""
        return SqlTurnStore(self.transaction)

    @property
    def skills(self) -> SqlSkillStore:
        """Skills."""
        return SqlSkillStore(self.transaction)

    @property
    def skill_uses(self) -> SqlSignalStore[SkillUse]:
        """Invocations of skills."""
        return SqlSignalStore(self.transaction, SKILL_USES)

    @property
    def feedback(self) -> SqlSignalStore[Feedback]:
        """Feedback."""
        return SqlSignalStore(self.transaction, FEEDBACK)

    @property
    def wisp_runs(self) -> SqlSignalStore[WispRun]:
        """Wisp runs."""
        return SqlSignalStore(self.transaction, WISP_RUNS)

    @property
    def tool_calls(self) -> SqlSignalStore[ToolCall]:
        """Calls of tools."""
        return SqlSignalStore(self.transaction, TOOL_CALLS)

    @property
    def documents(self) -> SqlDocumentStore:
        """Documents of the workspace."""
        return SqlDocumentStore(self.transaction)

    @property
    def questions(self) -> SqlQuestionStore:
        """Questions that only a person can answer."""
        return SqlQuestionStore(self.transaction)

    @property
    def recall_hits(self) -> SqlRecallHitStore:
        """What needs recalled."""
        return SqlRecallHitStore(self.transaction)

    @property
    def vectors(self) -> SqlVectorStore:
        """What embedding models made of the texts of entries."""
        return SqlVectorStore(self.transaction)

    @property
    def settings(self) -> SqlSettingsStore:
        """Settings."""
        return SqlSettingsStore(self.transaction)

    @property
    def leases(self) -> SqlLeaseStore:
        """Leases."""
        return SqlLeaseStore(self.transaction)

    @property
    def hosts(self) -> SqlHostStore:
        """Hosts that work on the database."""
        return SqlHostStore(self.transaction)

    @property
    def busy(self) -> SqlBusyStore:
        """Who serves people, in whatever scope."""
        return SqlBusyStore(self.transaction)

    @property
    def imports(self) -> SqlImportLedger:
        """Items imported before."""
        return SqlImportLedger(self.transaction)

    @property
    def forgotten(self) -> SqlForgottenReader:
        """Texts a person asked to forget."""
        return SqlForgottenReader(self.transaction)

    @property
    def activity(self) -> SqlActivityStore:
        """When the scope's peer was active."""
        return SqlActivityStore(self.transaction)

    @property
    def switches(self) -> SqlSwitchStore:
        """What is switched off."""
        return SqlSwitchStore(self.transaction)

    @property
    def fan_out(self) -> SqlFanOutStore:
        """Who takes part in sessions; brings what peers say to those who observe them."""
        return SqlFanOutStore(self.transaction)

    @property
    def learnable(self) -> "SqlUnit":
        """The same view without turns and signals that nothing is to be learnt from."""
        return SqlUnit(replace(self.transaction, learnable_only=True))

    @property
    def withheld(self) -> SqlWithheldStore:
        """What is told to nobody since a person asked to forget what it says."""
        return SqlWithheldStore(self.transaction)

    def withhold(self, entry_id: str, also: Collection[str] = ()) -> tuple[str, ...]:
        """Withhold the turns that an entry cites, those of equal text and *also* others; return their ids."""
        return withhold(self.transaction, entry_id, also)

    @property
    def tombstones(self) -> SqlTombstoneStore:
        """What was forgotten, by its id."""
        return SqlTombstoneStore(self.transaction)

    @property
    def erasure(self) -> SqlErasureStore:
        """Erases the scope."""
        return SqlErasureStore(self.transaction)

    def obey(self, tombstones: Collection[Tombstone]) -> Forgotten:
        """Remove what tombstones of elsewhere touch, and set them: what a restored backup has to do."""
        return obey(self.transaction, tombstones)

    def forget(
        self, entry_id: str, *, choice: TurnsChoice = TurnsChoice.CITED, says_it: SaysIt | None = None
    ) -> Forgotten:
        """Remove an entry, its equal texts and what was derived from it alone, and scrub every copy of the text."""
        return forget(self.transaction, entry_id, choice=choice, says_it=says_it)

    def forget_turns(self, *, turn_id: str | None = None, session_id: str | None = None) -> Forgotten:
        """Redact a turn or a session, and remove every entry that was learnt from it."""
        return forget_turns(self.transaction, turn_id=turn_id, session_id=session_id)

    def of_kind(self, kind: RecordKind) -> RecordStore[Any]:
        """Return the store of one kind of record."""
        return _STORES[kind](self.transaction)

    def signals(self, kind: RecordKind) -> SqlSignalStore[Any]:
        """Return the store of one kind of signal."""
        return SqlSignalStore(self.transaction, SIGNAL_ROWS[kind])

    def records(self) -> Iterator[Record]:
        """Stream every record of the scope, by kind and id."""
        for kind in RECORD_TYPES:
            yield from self.of_kind(kind).every()
