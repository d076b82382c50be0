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
from .importer import (
    ImportReport as ImportReport,
    import_file as import_file,
)
from .items import (
    Note as Note,
    SkipReason as SkipReason,
)
from .locomo import (
    parse_locomo as parse_locomo,
)
