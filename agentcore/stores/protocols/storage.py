"""Storage: transactions on one scope at a time."""

from collections.abc import Callable, Iterable
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from enum import StrEnum
from typing import Protocol, TypeVar

from agentcore.domain.decay import Decay
from agentcore.domain.records import Record
from agentcore.domain.scope import Scope
from agentcore.domain.signals import Feedback, ToolCall, WispRun
from agentcore.domain.skill import SkillUse
from agentcore.stores.protocols.activity import ActivityReader, ActivityStore
from agentcore.stores.protocols.busy import BusyReader, BusyStore
from agentcore.stores.protocols.conversation import TurnReader, TurnStore
from agentcore.stores.protocols.documents import DocumentReader, DocumentStore
from agentcore.stores.protocols.entries import EntryReader, EntryStore
from agentcore.stores.protocols.leases import LeaseReader, LeaseStore
from agentcore.stores.protocols.ledgers import (
    Forgotten,
    ForgottenReader,
    ImportLedger,
    SettingsReader,
    SettingsStore,
    WithheldReader,
    WithheldStore,
)
from agentcore.stores.protocols.recalls import RecallHitReader, RecallHitStore
from agentcore.stores.protocols.signals import SignalReader, SignalStore
from agentcore.stores.protocols.skills import SkillReader, SkillStore
from agentcore.stores.protocols.switches import SwitchReader, SwitchStore
from agentcore.stores.protocols.vectors import VectorReader, VectorStore

T = TypeVar("T")


class Origin(StrEnum):
    """Who a write transaction belongs to; only what hosts and imports write counts as new material."""

    HOST = "host"
    IMPORT = "import"
    DREAM = "dream"
    UNDO = "undo"


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
    def revision(self) -> int:
        """The scope's last committed revision."""
        ...

    @property
    def entries(self) -> EntryReader:
        """Entries."""
        ...

    @property
    def turns(self) -> TurnReader:
        """The conversation log."""
        ...

    @property
    def skills(self) -> SkillReader:
        """Skills."""
        ...

    @property
    def skill_uses(self) -> SignalReader[SkillUse]:
        """Invocations of skills."""
        ...

    @property
    def feedback(self) -> SignalReader[Feedback]:
        """Feedback."""
        ...

    @property
    def wisp_runs(self) -> SignalReader[WispRun]:
        """Wisp runs."""
        ...

    @property
    def tool_calls(self) -> SignalReader[ToolCall]:
        """Calls of tools."""
        ...

    @property
    def documents(self) -> DocumentReader:
        """Documents of the workspace."""
        ...

    @property
    def recall_hits(self) -> RecallHitReader:
        """What needs recalled."""
        ...

    @property
    def vectors(self) -> VectorReader:
        """What embedding models made of the texts of entries."""
        ...

    @property
    def settings(self) -> SettingsReader:
        """Settings."""
        ...

    @property
    def leases(self) -> LeaseReader:
        """Who holds leases."""
        ...

    @property
    def busy(self) -> BusyReader:
        """Who serves people, in whatever scope."""
        ...

    @property
    def activity(self) -> ActivityReader:
        """When the scope's peer was active."""
        ...

    @property
    def switches(self) -> SwitchReader:
        """What is switched off."""
        ...

    @property
    def forgotten(self) -> ForgottenReader:
        """Texts a person asked to forget."""
        ...

    @property
    def withheld(self) -> WithheldReader:
        """What is told to nobody since."""
        ...

    @property
    def learnable(self) -> "ReadView":
        """The same view without turns and signals that nothing is to be learnt from; they still count as stored.

        Those are what learning was switched off for, and turns that are withheld.
        """
        ...

    def records(self) -> Iterable[Record]:
        """Stream every record of the scope, by kind and id."""
        ...


class UnitOfWork(ReadView, Protocol):
    """One write transaction on one scope: everything in it commits together or not at all."""

    @property
    def entries(self) -> EntryStore:
        """Entries."""
        ...

    @property
    def turns(self) -> TurnStore:
        """The conversation log."""
        ...

    @property
    def skills(self) -> SkillStore:
        """Skills."""
        ...

    @property
    def skill_uses(self) -> SignalStore[SkillUse]:
        """Invocations of skills."""
        ...

    @property
    def feedback(self) -> SignalStore[Feedback]:
        """Feedback."""
        ...

    @property
    def wisp_runs(self) -> SignalStore[WispRun]:
        """Wisp runs."""
        ...

    @property
    def tool_calls(self) -> SignalStore[ToolCall]:
        """Calls of tools."""
        ...

    @property
    def documents(self) -> DocumentStore:
        """Documents of the workspace."""
        ...

    @property
    def recall_hits(self) -> RecallHitStore:
        """What needs recalled."""
        ...

    @property
    def vectors(self) -> VectorStore:
        """What embedding models made of the texts of entries."""
        ...

    @property
    def settings(self) -> SettingsStore:
        """Settings."""
        ...

    @property
    def leases(self) -> LeaseStore:
        """Leases."""
        ...

    @property
    def busy(self) -> BusyStore:
        """Who serves people, in whatever scope."""
        ...

    @property
    def activity(self) -> ActivityStore:
        """When peers were active."""
        ...

    @property
    def switches(self) -> SwitchStore:
        """What is switched off."""
        ...

    @property
    def imports(self) -> ImportLedger:
        """Items imported before."""
        ...

    @property
    def withheld(self) -> WithheldStore:
        """What is told to nobody since a person asked to forget what it says."""
        ...

    def withhold(self, entry_id: str) -> tuple[str, ...]:
        """Withhold the turns that an entry cites and those of equal text; return their ids.

        For an entry that is set aside and stays; `withheld.release` takes it back.
        """
        ...

    def forget(self, entry_id: str) -> Forgotten:
        """Remove an entry, its equal texts and what was derived from it alone, and scrub every copy of the text.

        A merge with other sources goes too; the sources it took the place of are brought back first. Turns that the
        removed entries cite, and those of equal text, are withheld. After the
        commit no file of the storage holds the text any longer, or as soon as its readers have finished.
        """
        ...


class Storage(Protocol):
    """Where everything is kept; opened by the host, closed by the host."""

    async def start(self) -> None:
        """Open, creating or migrating the schema."""
        ...

    async def stop(self) -> None:
        """Finish what is under way and close."""
        ...

    async def read(self, scope: Scope, work: Callable[[ReadView], T]) -> T:
        """Run *work* on a consistent view of *scope*."""
        ...

    def read_here(self, scope: Scope, work: Callable[[ReadView], T]) -> T:
        """Do what `read` does on the calling thread, which waits: a worker's, never the one of an event loop."""
        ...

    async def write(self, scope: Scope, work: Callable[[UnitOfWork], T], *, origin: Origin = Origin.HOST) -> T:
        """Run *work* in one transaction; what it raises rolls everything back."""
        ...

    async def scopes(self) -> list[Scope]:
        """Return every scope that holds anything, sorted."""
        ...

    def snapshot(self) -> "AbstractAsyncContextManager[Storage]":
        """Copy everything as it is now to a storage of its own, deleted at the end of the context."""
        ...
