from .dream_pass import (
    PromotionPass as PromotionPass,
)
from .gates import (
    Scored as Scored,
    scored as scored,
)
from .scoring import (
    MICROS_PER_DAY as MICROS_PER_DAY,
    NEXO as NEXO,
    OPENCLAW as OPENCLAW,
    RecallSignals as RecallSignals,
    Scorer as Scorer,
)
from .sweep import (
    settle as settle,
)
