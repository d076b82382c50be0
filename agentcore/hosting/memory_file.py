"""Reads MEMORY.md for a turn."""

import re
from typing import Final

from agentcore.domain.scope import Scope
from agentcore.errors import AgentcoreError
from agentcore.hosting.memory_items import MemoryItem
from agentcore.workspace.document import Document
from agentcore.workspace.folder import MEMORY
from agentcore.workspace.workspaces import Workspaces

_SOURCE: Final = re.compile(r"(?<= )entry:(\S+) ")
_COMMENT: Final = re.compile(r"<!--.*?-->", re.DOTALL)


def memory_items(workspaces: Workspaces, scope: Scope) -> tuple[MemoryItem, ...]:
    """Return the items of the scope's MEMORY.md in order; none where the scope has no folder, or it cannot be read."""
    try:
        folder = workspaces.folder(scope)
        text = "" if folder is None else folder.read(MEMORY).text
    except AgentcoreError:
        return ()  # the turn goes first: whoever writes the document is told what is wrong with it
    return tuple(_item(item.text) for item in Document(text).items) if text.strip() else ()


def _item(text: str) -> MemoryItem:
    return MemoryItem(" ".join(_COMMENT.sub("", text).split()), frozenset(_SOURCE.findall(text)))
