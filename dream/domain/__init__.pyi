from .built_in_passes import (
    BUILT_IN as BUILT_IN,
    DECLARED as DECLARED,
)
from .change import (
    Change as Change,
    ChangeSet as ChangeSet,
    JournalRow as JournalRow,
    fingerprint as fingerprint,
    image_text as image_text,
)
from .cluster import (
    SettledCluster as SettledCluster,
)
from .declaration import (
    Declaration as Declaration,
    DeclaredDirective as DeclaredDirective,
    PassMode as PassMode,
    Preset as Preset,
    Reads as Reads,
    declared as declared,
    readers_of as readers_of,
)
from .finding import (
    Finding as Finding,
    FindingLevel as FindingLevel,
)
from .forecast import (
    PassForecast as PassForecast,
)
from .phases import (
    Phase as Phase,
    PhaseHit as PhaseHit,
    PhaseStanding as PhaseStanding,
)
from .plan import (
    Plan as Plan,
)
from .promotion import (
    Promotion as Promotion,
)
from .proposal import (
    HistoryKind as HistoryKind,
    Notes as Notes,
    Proposal as Proposal,
    PurgeHistory as PurgeHistory,
    PurgeRecords as PurgeRecords,
    PurgeSignals as PurgeSignals,
    Refusal as Refusal,
    Work as Work,
)
from .reasons import (
    Deferral as Deferral,
    NotUndone as NotUndone,
    Refused as Refused,
    Skip as Skip,
    Stop as Stop,
)
from .recalls import (
    RecallColumns as RecallColumns,
)
from .refused import (
    RefusedText as RefusedText,
)
from .report import (
    Alarm as Alarm,
    AlarmKind as AlarmKind,
    Outcome as Outcome,
    PassOutcome as PassOutcome,
    PassReport as PassReport,
    RunKind as RunKind,
    RunReport as RunReport,
    find_alarm as find_alarm,
)
from .rounds import (
    Answer as Answer,
    NextRound as NextRound,
    Round as Round,
    RoundCost as RoundCost,
    RoundKind as RoundKind,
)
from .session import (
    DreamSession as DreamSession,
    ModelCall as ModelCall,
)
from .step import (
    Batch as Batch,
    Packing as Packing,
    StepDraft as StepDraft,
    StepReport as StepReport,
    WaitingExchange as WaitingExchange,
)
from .storage_names import (
    DREAM_LEASE as DREAM_LEASE,
)
from .usage import (
    EVERYTHING as EVERYTHING,
    UsageKey as UsageKey,
    UsageRow as UsageRow,
    summed as summed,
)
