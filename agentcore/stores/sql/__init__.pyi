from .engine import (
    sqlite_engine as sqlite_engine,
)
from .prepared import (
    Prepared as Prepared,
    PreparedByKey as PreparedByKey,
)
from .processes import (
    is_gone as is_gone,
    machine as machine,
    process_mark as process_mark,
)
from .schema import (
    KNOWN_REVISIONS as KNOWN_REVISIONS,
    REVISION as REVISION,
)
from .schema.base import (
    metadata as metadata,
)
from .schema.busy import (
    busy_holders as busy_holders,
)
from .schema.dreams import (
    decisions as decisions,
    journal as journal,
    model_calls as model_calls,
    pass_ledger as pass_ledger,
    plans as plans,
    proposals as proposals,
    reopened as reopened,
    runs as runs,
    settled_clusters as settled_clusters,
    steps as steps,
)
from .schema.records import (
    change_feed as change_feed,
    entries as entries,
    entry_sources as entry_sources,
    leases as leases,
    recall_hits as recall_hits,
    skills as skills,
    turns as turns,
)
from .scrubbing import (
    REASON as REASON,
    REMOVED_TEXT as REMOVED_TEXT,
)
from .snapshots import (
    snapshot_folder as snapshot_folder,
)
from .storage import (
    FILE_NAME as FILE_NAME,
    SqlStorage as SqlStorage,
)
from .transaction import (
    Transaction as Transaction,
)
from .unit import (
    SqlUnit as SqlUnit,
)
