from .dream_pass import (
    DocumentConsolidation as DocumentConsolidation,
)
from .editing import (
    DocumentEditor as DocumentEditor,
)
from .items import (
    MemoryDocument as MemoryDocument,
    read_memory as read_memory,
)
from .judging import (
    Approved as Approved,
    DocumentHandles as DocumentHandles,
    judge as judge,
    over_eager as over_eager,
    sort_out as sort_out,
)
from .prompt import (
    OVERHEAD as OVERHEAD,
    parse as parse,
)
