from .differences import (
    own_after as own_after,
)
from .document import (
    Append as Append,
    Document as Document,
    Edit as Edit,
    EditRefusal as EditRefusal,
    Remove as Remove,
    Replace as Replace,
)
from .errors import (
    DocumentChangedError as DocumentChangedError,
    InvalidWorkspaceError as InvalidWorkspaceError,
    UnreadableDocumentError as UnreadableDocumentError,
    UnwritableDocumentError as UnwritableDocumentError,
)
from .folder import (
    ARCHIVE as ARCHIVE,
    MAX_BYTES as MAX_BYTES,
    MEMORY as MEMORY,
    WorkspaceFolder as WorkspaceFolder,
    Written as Written,
)
from .git import (
    Committed as Committed,
    NoCommit as NoCommit,
    WorkspaceGit as WorkspaceGit,
)
from .markdown import (
    ItemKind as ItemKind,
    lines_of as lines_of,
    read as read,
)
from .workspaces import (
    GitUse as GitUse,
    Workspaces as Workspaces,
)
