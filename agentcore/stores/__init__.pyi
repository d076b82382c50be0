from .protocols.activity import (
    Peer as Peer,
)
from .protocols.busy import (
    BusyHolder as BusyHolder,
)
from .protocols.feed import (
    FILING_MARK as FILING_MARK,
    FacetRow as FacetRow,
    FeedPage as FeedPage,
    FeedPosition as FeedPosition,
    IndexRow as IndexRow,
    TurnRow as TurnRow,
)
from .protocols.leases import (
    Lease as Lease,
)
from .protocols.storage import (
    Origin as Origin,
    ReadView as ReadView,
    Storage as Storage,
    UnitOfWork as UnitOfWork,
)
from .protocols.switches import (
    SwitchLevel as SwitchLevel,
)
