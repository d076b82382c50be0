from .export import (
    export_file as export_file,
    export_scope as export_scope,
)
from .files import (
    SourceFile as SourceFile,
)
from .formats import (
    Format as Format,
)
from .import_report import (
    ImportReport as ImportReport,
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
