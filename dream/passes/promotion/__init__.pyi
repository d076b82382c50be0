from .gates import (
    Scored as Scored,
    scored as scored,
)
from .promotion_pass import (
    PromotionPass as PromotionPass,
)
from .scoring import (
    NEXO as NEXO,
    OPENCLAW as OPENCLAW,
    Scorer as Scorer,
)
from .signals import (
    MICROS_PER_DAY as MICROS_PER_DAY,
    RecallSignals as RecallSignals,
)
from .sweep import (
    settle as settle,
)
