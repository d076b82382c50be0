"""The views and the unit of work that `SqlStorage` hands to its callers."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

from sqlalchemy import select

from agentcore.domain.conversation import Turn
from agentcore.domain.decay import Decay
from agentcore.domain.document import StoredDocument
from agentcore.domain.records import Record
from agentcore.domain.scope import Scope
from agentcore.domain.signals import Feedback, ToolCall, WispRun
from agentcore.domain.skill import Skill, SkillUse
from agentcore.stores.sql.activity import SqlActivityStore
from agentcore.stores.sql.documents import DOCUMENTS, SqlDocumentStore
from agentcore.stores.sql.entries import SqlEntryStore
from agentcore.stores.sql.forget import forget, withhold
from agentcore.stores.sql.imports import SqlForgottenReader, SqlImportLedger, SqlSettingsStore
from agentcore.stores.sql.leases import SqlBusyStore, SqlLeaseStore
from agentcore.stores.sql.recall_hits import SqlRecallHitStore
from agentcore.stores.sql.rows import RECORD_COLUMNS, RecordRows, to_entry
from agentcore.stores.sql.schema import entries, skills, turns
from agentcore.stores.sql.signals import FEEDBACK, SKILL_USES, TOOL_CALLS, WISP_RUNS, SqlSignalStore
from agentcore.stores.sql.skills import SqlSkillStore
from agentcore.stores.sql.switches import SqlSwitchStore
from agentcore.stores.sql.transaction import Transaction, of_my_scope
from agentcore.stores.sql.turns import SqlTurnStore
from agentcore.stores.sql.vectors import SqlVectorStore
from agentcore.stores.sql.withheld import SqlWithheldStore
from agentcore.stores.values import Forgotten

_ENTRIES = select(*RECORD_COLUMNS).where(of_my_scope(entries)).order_by(entries.c.id)
_TURNS = RecordRows(Turn, turns)
_SKILLS = RecordRows(Skill, skills)


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
    def revision(self) -> int:
        """The scope's last committed revision."""
        return self.transaction.current_revision()

    @property
    def entries(self) -> SqlEntryStore:
        """Entries."""
        return SqlEntryStore(self.transaction)

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
    def learnable(self) -> "SqlUnit":
        """The same view without turns and signals that nothing is to be learnt from."""
        return SqlUnit(replace(self.transaction, learnable_only=True))

    @property
    def withheld(self) -> SqlWithheldStore:
        """What is told to nobody since a person asked to forget what it says."""
        return SqlWithheldStore(self.transaction)

    def withhold(self, entry_id: str) -> tuple[str, ...]:
        """Withhold the turns that an entry cites and those of equal text; return their ids."""
        return withhold(self.transaction, entry_id)

    def forget(self, entry_id: str) -> Forgotten:
        """Remove an entry, its equal texts and what was derived from it alone, and scrub every copy of the text."""
        return forget(self.transaction, entry_id)

    def records(self) -> Iterator[Record]:
        """Stream every record of the scope, by kind and id."""
        for row in self.transaction.execute(_ENTRIES):
            yield to_entry(self.transaction, row)
        for rows in (_TURNS, _SKILLS, SKILL_USES, FEEDBACK, WISP_RUNS, TOOL_CALLS, DOCUMENTS):
            yield from self._all(rows)

    def _all(
        self,
        rows: RecordRows[Turn]
        | RecordRows[Skill]
        | RecordRows[SkillUse]
        | RecordRows[Feedback]
        | RecordRows[WispRun]
        | RecordRows[ToolCall]
        | RecordRows[StoredDocument],
    ) -> Iterator[Record]:
        for row in self.transaction.execute(rows.by_id):
            yield rows.read(self.transaction, row)
