from .answer import (
    Parsed as Parsed,
    parse as parse,
)
from .clusters import (
    Bounds as Bounds,
    Pair as Pair,
    beside as beside,
    fill as fill,
    gather as gather,
    linked as linked,
)
from .consolidation import (
    MemoryConsolidation as MemoryConsolidation,
)
from .desk import (
    Desk as Desk,
)
from .judging import (
    Judged as Judged,
    judge_entries as judge_entries,
    judge_feedback as judge_feedback,
)
from .settling import (
    reopens_at as reopens_at,
)
from .sheet import (
    Sheet as Sheet,
)
