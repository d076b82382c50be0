"""The contracts of storage.

A `Storage` runs synchronous functions of a `ReadView` or a `UnitOfWork` on its own threads, each in one transaction
and bound to one scope. So a store method cannot be called without a scope, cannot reach two, and never stalls the event
loop; async exists only at this boundary. A write transaction that changed records bumps the scope's `revision` and
leaves a row in the change feed, which the recall index and the triggers follow.

What a view or a unit of work reads and writes with are classes of `agentcore.stores.sql`; a reader has no method that
writes. `agentcore.testing.contracts` is the suite they have to pass on each database.
"""

from agentcore.stores.protocols.activity import Peer
from agentcore.stores.protocols.busy import BusyHolder
from agentcore.stores.protocols.conversation import TurnMaterial
from agentcore.stores.protocols.entries import Material, Repeated
from agentcore.stores.protocols.feed import FacetRow, FeedPage, FeedPosition, IndexRow, SkillRow, TurnRow
from agentcore.stores.protocols.leases import Lease
from agentcore.stores.protocols.ledgers import Forgotten, Withheld
from agentcore.stores.protocols.storage import Origin, ReadView, Storage, UnitOfWork
from agentcore.stores.protocols.switches import Switch, SwitchLevel
from agentcore.stores.protocols.vectors import TextVector

__all__ = [
    "BusyHolder",
    "FacetRow",
    "FeedPage",
    "FeedPosition",
    "Forgotten",
    "IndexRow",
    "Lease",
    "Material",
    "Origin",
    "Peer",
    "ReadView",
    "Repeated",
    "SkillRow",
    "Storage",
    "Switch",
    "SwitchLevel",
    "TextVector",
    "TurnMaterial",
    "TurnRow",
    "UnitOfWork",
    "Withheld",
]
