"""Defines a document that an agent and its people share, as the store holds it."""

from dataclasses import dataclass, field
from datetime import datetime

from agentcore.domain.scope import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredDocument:
    """The text of a file of the workspace as it was last read or written; the file itself is what people see.

    Args:
        id: Its name, such as `MEMORY.md`; unique within the scope.
        scope: Whose workspace.
        content: The whole text, a byte order mark included.
        updated_at: When this text was first seen or written here.
        own: Fold keys of the items that the agent or its dreams wrote, sorted; all others are a person's.
        version: Optimistic version.
    """

    id: str
    scope: Scope
    content: str
    updated_at: datetime
    own: tuple[str, ...] = ()
    version: int = field(default=1, compare=False)
