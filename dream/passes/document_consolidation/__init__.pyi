from .answer import (
    Broken as Broken,
    parse as parse,
)
from .consolidation import (
    DocumentConsolidation as DocumentConsolidation,
)
from .editing import (
    Desk as Desk,
)
from .judging import (
    Judged as Judged,
    judge as judge,
)
from .memory import (
    Memory as Memory,
    read_memory as read_memory,
)
from .operations import (
    Sheet as Sheet,
    over_eager as over_eager,
    sort_out as sort_out,
)
from .question import (
    OVERHEAD as OVERHEAD,
)
