"""Defines the contracts of storage: transactions on one scope at a time.

A `Storage` runs synchronous functions of a `ReadView` or a `UnitOfWork` on its own threads, each in one transaction
and bound to one scope. So a store method cannot be called without a scope, cannot reach two, and never stalls the event
loop; async exists only at this boundary. A write transaction that changed records bumps the scope's `revision` and
leaves a row in the change feed, which the recall index and the triggers follow.

They read and write with classes of `agentcore.stores.sql`, tested on each database by `agentcore.testing.contracts`.
"""

from collections.abc import Callable, Collection, Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from agentcore.domain.actor import Actor
from agentcore.domain.decay import Decay
from agentcore.domain.records import Record, RecordKind
from agentcore.domain.scope import Scope
from agentcore.stores.forgetting import ErasureLog, Forgotten, SaysIt, Tombstone, TurnsChoice
from agentcore.stores.records import RecordReader, RecordStore
from agentcore.stores.values import Origin, Present

if TYPE_CHECKING:  # contracts are imported where no database is: SQLAlchemy costs a third of a second
    from contextlib import AbstractAsyncContextManager

    from agentcore.domain.signals import Feedback, ToolCall, WispRun
    from agentcore.domain.skill import SkillUse
    from agentcore.stores.sql.access import SqlReceiptStore, SqlTokenStore
    from agentcore.stores.sql.authorship import SqlAuthorshipReader
    from agentcore.stores.sql.card import SqlCardReader, SqlCardStore
    from agentcore.stores.sql.conclusions import SqlConclusionReader, SqlConclusionStore
    from agentcore.stores.sql.documents import SqlDocumentReader, SqlDocumentStore
    from agentcore.stores.sql.entries import SqlEntryReader, SqlEntryStore
    from agentcore.stores.sql.erase import SqlErasureReader, SqlErasureStore
    from agentcore.stores.sql.fan_out import SqlFanOutReader, SqlFanOutStore
    from agentcore.stores.sql.feed import SqlActivityReader, SqlActivityStore
    from agentcore.stores.sql.hosts import SqlHostStore
    from agentcore.stores.sql.hypotheses import SqlClaimReader, SqlClaimStore, SqlHypothesisReader, SqlHypothesisStore
    from agentcore.stores.sql.import_ledger import SqlImportLedger, SqlImportReader
    from agentcore.stores.sql.leases import SqlBusyReader, SqlBusyStore, SqlLeaseReader, SqlLeaseStore
    from agentcore.stores.sql.pages import SqlPageReader
    from agentcore.stores.sql.questions import SqlQuestionReader, SqlQuestionStore
    from agentcore.stores.sql.recall_hits import SqlRecallHitReader, SqlRecallHitStore
    from agentcore.stores.sql.record_store import SqlSignalReader, SqlSignalStore
    from agentcore.stores.sql.settings import SqlSettingsReader, SqlSettingsStore, SqlSwitchReader, SqlSwitchStore
    from agentcore.stores.sql.skills import SqlSkillReader, SqlSkillStore
    from agentcore.stores.sql.tombstones import SqlForgottenReader, SqlTombstoneReader, SqlTombstoneStore
    from agentcore.stores.sql.turns import SqlTurnReader, SqlTurnStore
    from agentcore.stores.sql.vectors import SqlVectorReader, SqlVectorStore
    from agentcore.stores.sql.withheld import SqlWithheldReader, SqlWithheldStore


T = TypeVar("T")
R = TypeVar("R", bound=Record)


class ReadView(Protocol):
    """A consistent, read-only look at one scope; valid only inside `Storage.read` or `write`."""

    @property
    def scope(self) -> Scope:
        """The scope it is bound to."""
        ...

    @property
    def now(self) -> datetime:
        """The instant everything in it happens."""
        ...

    @property
    def decay(self) -> Decay:
        """How importance is read."""
        ...

    @property
    def authorship(self) -> "SqlAuthorshipReader":
        """Who wrote records."""
        ...

    @property
    def pages(self) -> "SqlPageReader":
        """Records page by page."""
        ...

    @property
    def tokens(self) -> "SqlTokenStore":
        """Bearer tokens, of whatever scope."""
        ...

    @property
    def receipts(self) -> "SqlReceiptStore":
        """Receipts of requests."""
        ...

    @property
    def revision(self) -> int:
        """The scope's last committed revision."""
        ...

    @property
    def entries(self) -> "SqlEntryReader":
        """Entries."""
        ...

    @property
    def conclusions(self) -> "SqlConclusionReader":
        """What conclusions rest on."""
        ...

    @property
    def card(self) -> "SqlCardReader":
        """Lines of the card."""
        ...

    @property
    def claims(self) -> "SqlClaimReader":
        """Claims."""
        ...

    @property
    def hypotheses(self) -> "SqlHypothesisReader":
        """Hypotheses."""
        ...

    @property
    def turns(self) -> "SqlTurnReader":
        """The conversation log."""
        ...

    @property
    def skills(self) -> "SqlSkillReader":
        """Skills."""
        ...

    @property
    def skill_uses(self) -> "SqlSignalReader[SkillUse]":
        """Invocations of skills."""
        ...

    @property
    def feedback(self) -> "SqlSignalReader[Feedback]":
        """Feedback."""
        ...

    @property
    def wisp_runs(self) -> "SqlSignalReader[WispRun]":
        """Wisp runs."""
        ...

    @property
    def tool_calls(self) -> "SqlSignalReader[ToolCall]":
        """Calls of tools."""
        ...

    @property
    def documents(self) -> "SqlDocumentReader":
        """Documents of the workspace."""
        ...

    @property
    def questions(self) -> "SqlQuestionReader":
        """Questions that only a person can answer."""
        ...

    @property
    def recall_hits(self) -> "SqlRecallHitReader":
        """What needs recalled."""
        ...

    @property
    def vectors(self) -> "SqlVectorReader":
        """What embedding models made of the texts of entries."""
        ...

    @property
    def settings(self) -> "SqlSettingsReader":
        """Settings."""
        ...

    @property
    def leases(self) -> "SqlLeaseReader":
        """Who holds leases."""
        ...

    @property
    def hosts(self) -> "SqlHostStore":
        """Hosts that work on the database."""
        ...

    @property
    def busy(self) -> "SqlBusyReader":
        """Who serves people, in whatever scope."""
        ...

    @property
    def activity(self) -> "SqlActivityReader":
        """When the scope's peer was active."""
        ...

    @property
    def fan_out(self) -> "SqlFanOutReader":
        """Who takes part in sessions, and who observes whom."""
        ...

    @property
    def switches(self) -> "SqlSwitchReader":
        """What is switched off."""
        ...

    @property
    def forgotten(self) -> "SqlForgottenReader":
        """Texts a person asked to forget."""
        ...

    @property
    def withheld(self) -> "SqlWithheldReader":
        """What is told to nobody since."""
        ...

    @property
    def imports(self) -> "SqlImportReader":
        """Which items of files became records."""
        ...

    @property
    def tombstones(self) -> "SqlTombstoneReader":
        """What was forgotten, by its id."""
        ...

    @property
    def erasure(self) -> "SqlErasureReader":
        """When the scope was erased, and what an erasure would remove."""
        ...

    @property
    def learnable(self) -> "ReadView":
        """The same view without turns and signals that nothing is to be learnt from; they still count as stored.

        Those are what learning was switched off for, and turns that are withheld.
        """
        ...

    def of_kind(self, kind: RecordKind) -> RecordReader[Any]:
        """Return the store of one kind of record."""
        ...

    def signals(self, kind: RecordKind) -> "SqlSignalReader[Any]":
        """Return the store of one kind of signal."""
        ...

    def records(self) -> Iterable[Record]:
        """Stream every record of the scope, by kind and id."""
        ...


class UnitOfWork(ReadView, Protocol):
    """One write transaction on one scope: everything in it commits together or not at all."""

    @property
    def actor(self) -> Actor:
        """Who writes."""
        ...

    @property
    def entries(self) -> "SqlEntryStore":
        """Entries."""
        ...

    @property
    def conclusions(self) -> "SqlConclusionStore":
        """What conclusions rest on, kept true."""
        ...

    @property
    def card(self) -> "SqlCardStore":
        """Lines of the card."""
        ...

    @property
    def claims(self) -> "SqlClaimStore":
        """Claims."""
        ...

    @property
    def hypotheses(self) -> "SqlHypothesisStore":
        """Hypotheses."""
        ...

    @property
    def turns(self) -> "SqlTurnStore":
        """The conversation log."""
        ...

    @property
    def skills(self) -> "SqlSkillStore":
        """Skills."""
        ...

    @property
    def skill_uses(self) -> "SqlSignalStore[SkillUse]":
        """Invocations of skills."""
        ...

    @property
    def feedback(self) -> "SqlSignalStore[Feedback]":
        """Feedback."""
        ...

    @property
    def wisp_runs(self) -> "SqlSignalStore[WispRun]":
        """Wisp runs."""
        ...

    @property
    def tool_calls(self) -> "SqlSignalStore[ToolCall]":
        """Calls of tools."""
        ...

    @property
    def documents(self) -> "SqlDocumentStore":
        """Documents of the workspace."""
        ...

    @property
    def questions(self) -> "SqlQuestionStore":
        """Questions that only a person can answer."""
        ...

    @property
    def recall_hits(self) -> "SqlRecallHitStore":
        """What needs recalled."""
        ...

    @property
    def vectors(self) -> "SqlVectorStore":
        """What embedding models made of the texts of entries."""
        ...

    @property
    def settings(self) -> "SqlSettingsStore":
        """Settings."""
        ...

    @property
    def leases(self) -> "SqlLeaseStore":
        """Leases."""
        ...

    @property
    def busy(self) -> "SqlBusyStore":
        """Who serves people, in whatever scope."""
        ...

    @property
    def activity(self) -> "SqlActivityStore":
        """When peers were active."""
        ...

    @property
    def fan_out(self) -> "SqlFanOutStore":
        """Who takes part in sessions; brings what peers say to their observers."""
        ...

    @property
    def switches(self) -> "SqlSwitchStore":
        """What is switched off."""
        ...

    @property
    def imports(self) -> "SqlImportLedger":
        """Items imported before."""
        ...

    @property
    def withheld(self) -> "SqlWithheldStore":
        """What is told to nobody since a person asked to forget what it says."""
        ...

    @property
    def tombstones(self) -> "SqlTombstoneStore":
        """What was forgotten, by its id."""
        ...

    @property
    def erasure(self) -> "SqlErasureStore":
        """Erases the scope."""
        ...

    def obey(self, tombstones: Collection[Tombstone]) -> Forgotten:
        """Remove what tombstones of elsewhere touch, and set them (see `agentcore.stores.sql.obey`)."""
        ...

    def of_kind(self, kind: RecordKind) -> RecordStore[Any]:
        """Return the store of one kind of record."""
        ...

    def signals(self, kind: RecordKind) -> "SqlSignalStore[Any]":
        """Return the store of one kind of signal."""
        ...

    def withhold(self, entry_id: str, also: Collection[str] = ()) -> tuple[str, ...]:
        """Withhold what an entry that is set aside cites, turns of equal text and *also* others; return their ids."""
        ...

    def forget(
        self, entry_id: str, *, choice: TurnsChoice = TurnsChoice.CITED, says_it: SaysIt | None = None
    ) -> Forgotten:
        """Remove an entry, its equal texts and what was derived from it alone; scrub and redact every copy of it."""
        ...

    def forget_turns(self, *, turn_id: str | None = None, session_id: str | None = None) -> Forgotten:
        """Redact a turn or those of a session, which stay, and remove what was learnt from them, however far down."""
        ...


class Storage(ErasureLog, Protocol):
    """Where everything is kept; opened by the host, closed by the host."""

    async def start(self) -> None:
        """Open, creating or migrating the schema."""
        ...

    async def stop(self) -> None:
        """Finish what is under way and close."""
        ...

    async def read(self, scope: Scope | None, work: Callable[[ReadView], T]) -> T:
        """Run *work* on a consistent view of *scope*; None is for what spans scopes."""
        ...

    def read_here(self, scope: Scope, work: Callable[[ReadView], T]) -> T:
        """Do what `read` does on the calling thread, which waits: a worker's, never the one of an event loop."""
        ...

    def present(self, scope: Scope) -> Present | None:
        """Return what holds of a scope now, on the thread of an event loop; None where somebody would be waited for."""
        ...

    async def write(self, scope: Scope | None, work: Callable[[UnitOfWork], T], *, origin: Origin = Origin.HOST) -> T:
        """Run *work* in a transaction, again if others came in its way; what it raises undoes it. None is no scope."""
        ...

    async def scopes(self) -> list[Scope]:
        """Return every scope that holds anything, sorted."""
        ...

    def snapshot(self, scope: Scope) -> "AbstractAsyncContextManager[Storage]":
        """Copy a scope as it is now to a storage of its own, gone at the end of the context."""
        ...
