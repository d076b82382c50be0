from .attempts import (
    AttemptReader as AttemptReader,
)
from .calls import (
    CallStore as CallStore,
)
from .cursors import (
    ClusterReader as ClusterReader,
    ClusterStore as ClusterStore,
    CursorReader as CursorReader,
    CursorStore as CursorStore,
    ExpiryReader as ExpiryReader,
    ExpiryStore as ExpiryStore,
    LedgerStore as LedgerStore,
)
from .dream_stores import (
    DreamReaders as DreamReaders,
    DreamStores as DreamStores,
    SqlPassView as SqlPassView,
    dream_stores as dream_stores,
    on_scope as on_scope,
    pass_view as pass_view,
)
from .edited_options import (
    EditedOptionsStore as EditedOptionsStore,
)
from .fleet import (
    Fleet as Fleet,
)
from .fleet_workers import (
    WorkerRecord as WorkerRecord,
    WorkerStore as WorkerStore,
)
from .growth import (
    MemoryGrowth as MemoryGrowth,
)
from .journal import (
    JournalReader as JournalReader,
    JournalStore as JournalStore,
)
from .model_rates import (
    ModelRateStore as ModelRateStore,
)
from .offers import (
    AdmittedScope as AdmittedScope,
    OfferStore as OfferStore,
    TenantStanding as TenantStanding,
)
from .promotions import (
    OutboxStore as OutboxStore,
    PhaseReader as PhaseReader,
    PhaseStore as PhaseStore,
    PromotionReader as PromotionReader,
    PromotionStore as PromotionStore,
    RecallReader as RecallReader,
)
from .proposals import (
    DecisionReader as DecisionReader,
    DecisionStore as DecisionStore,
    PlanStore as PlanStore,
    ProposalStore as ProposalStore,
    RefusedTextStore as RefusedTextStore,
)
from .runs import (
    RunHistory as RunHistory,
    RunStore as RunStore,
    UsageStore as UsageStore,
)
from .schedules import (
    ScheduleStore as ScheduleStore,
)
from .sessions import (
    SessionStore as SessionStore,
)
from .waiting import (
    WaitingCount as WaitingCount,
    WaitingReader as WaitingReader,
    WaitingStore as WaitingStore,
)
