from .busy_reach import (
    BusyReach as BusyReach,
)
from .capability import (
    Capability as Capability,
)
from .card import (
    CardLine as CardLine,
    CardSection as CardSection,
)
from .claim import (
    Claim as Claim,
    ClaimState as ClaimState,
    Entailment as Entailment,
)
from .conclusion import (
    Confidence as Confidence,
    Pattern as Pattern,
    Premise as Premise,
)
from .conversation import (
    Turn as Turn,
    spoken_line as spoken_line,
)
from .decay import (
    Decay as Decay,
    DecayTally as DecayTally,
)
from .document import (
    StoredDocument as StoredDocument,
)
from .evidence import (
    Evidence as Evidence,
    EvidenceVerdict as EvidenceVerdict,
    SourceKind as SourceKind,
    SourceRef as SourceRef,
    exact_words as exact_words,
    united_evidence as united_evidence,
    with_verdict as with_verdict,
)
from .filters import (
    EntryFilter as EntryFilter,
    RecallFilter as RecallFilter,
    TurnFilter as TurnFilter,
)
from .hypothesis import (
    Bearing as Bearing,
    Factor as Factor,
    Hypothesis as Hypothesis,
    HypothesisDecision as HypothesisDecision,
    HypothesisSource as HypothesisSource,
    HypothesisSourceKind as HypothesisSourceKind,
    HypothesisState as HypothesisState,
    LoggedDecision as LoggedDecision,
    WeighedEntry as WeighedEntry,
)
from .memory import (
    Level as Level,
    MemoryEntry as MemoryEntry,
    Status as Status,
    Trust as Trust,
)
from .off_limits import (
    OffLimitsTopic as OffLimitsTopic,
)
from .predicates import (
    PredicatePolicy as PredicatePolicy,
    PredicateRule as PredicateRule,
)
from .question import (
    Question as Question,
    QuestionCause as QuestionCause,
    QuestionState as QuestionState,
    QuestionVerdict as QuestionVerdict,
    question_id as question_id,
)
from .records import (
    Record as Record,
    RecordKind as RecordKind,
    from_image as from_image,
    kind_of as kind_of,
    to_image as to_image,
)
from .scope import (
    Scope as Scope,
)
from .scope_pattern import (
    ScopePattern as ScopePattern,
)
from .session_peer import (
    SessionPeer as SessionPeer,
    observers_of as observers_of,
)
from .signals import (
    FailureCategory as FailureCategory,
    Feedback as Feedback,
    FeedbackKind as FeedbackKind,
    Purpose as Purpose,
    Rating as Rating,
    RecallHit as RecallHit,
    ToolCall as ToolCall,
    WispRun as WispRun,
)
from .skill import (
    Skill as Skill,
    SkillUse as SkillUse,
)
from .subject_time import (
    PartialDate as PartialDate,
    Precision as Precision,
    Span as Span,
    SubjectTime as SubjectTime,
    compatible as compatible,
)
from .temporal import (
    Temporal as Temporal,
    absorb as absorb,
    foldable as foldable,
    from_micros as from_micros,
    from_text as from_text,
    merge_observations as merge_observations,
    merged_fields as merged_fields,
    to_micros as to_micros,
    to_text as to_text,
)
from .text import (
    clean_category as clean_category,
    clean_content as clean_content,
    clean_tags as clean_tags,
    fold_key as fold_key,
    normalise as normalise,
)
from .validity import (
    revived as revived,
    superseded as superseded,
)
