from .export import (
    export_file as export_file,
    export_scope as export_scope,
)
from .formats import (
    Format as Format,
)
from .importer import (
    import_file as import_file,
)
from .items import (
    Note as Note,
    SkipReason as SkipReason,
)
from .locomo import (
    parse_locomo as parse_locomo,
)
from .report import (
    ImportReport as ImportReport,
)
from .source import (
    Source as Source,
)
