from .storage import (
    Origin as Origin,
    ReadView as ReadView,
    Storage as Storage,
    UnitOfWork as UnitOfWork,
)
from .values import (
    FILING_MARK as FILING_MARK,
    BusyHolder as BusyHolder,
    FacetRow as FacetRow,
    FeedPage as FeedPage,
    FeedPosition as FeedPosition,
    IndexRow as IndexRow,
    Lease as Lease,
    Peer as Peer,
    SwitchLevel as SwitchLevel,
    Synchronous as Synchronous,
    TurnRow as TurnRow,
)
