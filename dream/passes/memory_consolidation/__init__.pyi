from .clusters import (
    Bounds as Bounds,
    Pair as Pair,
    beside as beside,
    fill as fill,
    gather as gather,
    linked as linked,
    reopens_at as reopens_at,
)
from .dream_pass import (
    MemoryConsolidation as MemoryConsolidation,
)
from .judging import (
    JudgedConsolidation as JudgedConsolidation,
    judge_entries as judge_entries,
    judge_feedback as judge_feedback,
)
from .operations import (
    ConsolidationInput as ConsolidationInput,
)
from .prompt import (
    ConsolidationAnswer as ConsolidationAnswer,
    ConsolidationHandles as ConsolidationHandles,
    parse as parse,
)
