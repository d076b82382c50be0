from .engines.sqlite import (
    snapshot_folder as snapshot_folder,
    sqlite_engine as sqlite_engine,
)
from .leases import (
    is_gone as is_gone,
    machine as machine,
    process_mark as process_mark,
)
from .prepared import (
    Prepared as Prepared,
    PreparedByKey as PreparedByKey,
)
from .scrub import (
    FORGET as FORGET,
    REASON as REASON,
    REMOVED_TEXT as REMOVED_TEXT,
)
from .sql_storage import (
    FILE_NAME as FILE_NAME,
    SqlStorage as SqlStorage,
)
from .transaction import (
    Transaction as Transaction,
)
from .unit import (
    SqlUnit as SqlUnit,
)
