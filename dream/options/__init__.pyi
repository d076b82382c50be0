from .dream_options import (
    OTHERS as OTHERS,
    DreamOptions as DreamOptions,
    Insertion as Insertion,
    OwnPass as OwnPass,
    OwnPasses as OwnPasses,
    PassMode as PassMode,
    PassPosition as PassPosition,
    Preset as Preset,
)
from .hypothesis_options import (
    ClaimOptions as ClaimOptions,
    HypothesisOptions as HypothesisOptions,
)
from .model_options import (
    ModelOptions as ModelOptions,
    ModelProfile as ModelProfile,
    ReviewOptions as ReviewOptions,
    VerificationMode as VerificationMode,
    WaitingOptions as WaitingOptions,
)
from .pass_options import (
    ConsolidationOptions as ConsolidationOptions,
    ConsumptionPolicy as ConsumptionPolicy,
    DocumentOptions as DocumentOptions,
    EpisodeOptions as EpisodeOptions,
    InferenceOptions as InferenceOptions,
    LogOptions as LogOptions,
    MiningOptions as MiningOptions,
    Narrator as Narrator,
    NearDuplicateOptions as NearDuplicateOptions,
    PreferenceOptions as PreferenceOptions,
    PromotionOptions as PromotionOptions,
    PromotionPolicy as PromotionPolicy,
    ReadingOptions as ReadingOptions,
    RemOptions as RemOptions,
    RetentionOptions as RetentionOptions,
    ScorerName as ScorerName,
    SessionOptions as SessionOptions,
    SkillConsolidationOptions as SkillConsolidationOptions,
    SkillGapOptions as SkillGapOptions,
    SkillOptimizationOptions as SkillOptimizationOptions,
    WispFailureOptions as WispFailureOptions,
)
from .scheduling import (
    AwakeReading as AwakeReading,
    CatchUp as CatchUp,
    SchedulingOptions as SchedulingOptions,
)
from .sources import (
    Configured as Configured,
    EffectiveOption as EffectiveOption,
    OptionSource as OptionSource,
    configured as configured,
)
from .triggers import (
    AllOf as AllOf,
    AnyOf as AnyOf,
    CapWindow as CapWindow,
    Cron as Cron,
    DailyAt as DailyAt,
    Heartbeat as Heartbeat,
    Idle as Idle,
    Interval as Interval,
    Threshold as Threshold,
    Trigger as Trigger,
)
