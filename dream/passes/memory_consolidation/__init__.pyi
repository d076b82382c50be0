from .clusters import (
    AlikePair as AlikePair,
    Bounds as Bounds,
    beside as beside,
    fill as fill,
    gather as gather,
    linked as linked,
    reopens_at as reopens_at,
)
from .composition import (
    composed as composed,
    keeps_meaning as keeps_meaning,
)
from .dream_pass import (
    MemoryConsolidation as MemoryConsolidation,
)
from .judging import (
    JudgedConsolidation as JudgedConsolidation,
    judge_entries as judge_entries,
    made_of as made_of,
)
from .lessons import (
    judge_feedback as judge_feedback,
    learned as learned,
)
from .operations import (
    ConsolidationInput as ConsolidationInput,
)
from .prompt import (
    ConsolidationAnswer as ConsolidationAnswer,
    ConsolidationHandles as ConsolidationHandles,
    parse as parse,
)
