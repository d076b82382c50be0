"""The contracts of storage.

A `Storage` runs synchronous functions of a `ReadView` or a `UnitOfWork` on its own threads, each in one transaction
and bound to one scope. So a store method cannot be called without a scope, cannot reach two, and never stalls the event
loop; async exists only at this boundary. A write transaction that changed records bumps the scope's `revision` and
leaves a row in the change feed, which the recall index and the triggers follow.

`agentcore.testing.contracts` is the suite that an implementation has to pass.
"""

from agentcore.stores.protocols.activity import ActivityReader, ActivityStore, Peer
from agentcore.stores.protocols.busy import BusyHolder, BusyReader, BusyStore
from agentcore.stores.protocols.conversation import TurnMaterial, TurnReader, TurnStore
from agentcore.stores.protocols.documents import DocumentReader, DocumentStore
from agentcore.stores.protocols.entries import EntryReader, EntryStore, Material, Repeated
from agentcore.stores.protocols.feed import FacetRow, FeedPage, FeedPosition, IndexRow, SkillRow, TurnRow
from agentcore.stores.protocols.leases import Lease, LeaseReader, LeaseStore
from agentcore.stores.protocols.ledgers import (
    Forgotten,
    ForgottenReader,
    ImportLedger,
    SettingsReader,
    SettingsStore,
    Withheld,
    WithheldReader,
    WithheldStore,
)
from agentcore.stores.protocols.recalls import RecallHitReader, RecallHitStore
from agentcore.stores.protocols.signals import SignalReader, SignalStore
from agentcore.stores.protocols.skills import SkillReader, SkillStore
from agentcore.stores.protocols.storage import Origin, ReadView, Storage, UnitOfWork
from agentcore.stores.protocols.switches import Switch, SwitchLevel, SwitchReader, SwitchStore
from agentcore.stores.protocols.vectors import TextVector, VectorReader, VectorStore

__all__ = [
    "ActivityReader",
    "ActivityStore",
    "BusyHolder",
    "BusyReader",
    "BusyStore",
    "DocumentReader",
    "DocumentStore",
    "EntryReader",
    "EntryStore",
    "FacetRow",
    "FeedPage",
    "FeedPosition",
    "Forgotten",
    "ForgottenReader",
    "ImportLedger",
    "IndexRow",
    "Lease",
    "LeaseReader",
    "LeaseStore",
    "Material",
    "Origin",
    "Peer",
    "ReadView",
    "RecallHitReader",
    "RecallHitStore",
    "Repeated",
    "SettingsReader",
    "SettingsStore",
    "SignalReader",
    "SignalStore",
    "SkillReader",
    "SkillRow",
    "SkillStore",
    "Storage",
    "Switch",
    "SwitchLevel",
    "SwitchReader",
    "SwitchStore",
    "TextVector",
    "TurnMaterial",
    "TurnReader",
    "TurnRow",
    "TurnStore",
    "UnitOfWork",
    "VectorReader",
    "VectorStore",
    "Withheld",
    "WithheldReader",
    "WithheldStore",
]
