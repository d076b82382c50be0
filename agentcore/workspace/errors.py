"""Defines what can be wrong with a workspace.

AgentcoreError
├── InvalidWorkspaceError       the folder cannot be a workspace
└── DocumentError               one of its documents cannot be taken
    ├── UnreadableDocumentError
    ├── DocumentChangedError
    └── UnwritableDocumentError
"""

from agentcore.errors import AgentcoreError, InvalidInputError


class InvalidWorkspaceError(InvalidInputError):
    """The folder cannot be a workspace."""

    def __init__(self, *, path: str, problem: str) -> None:
        super().__init__(f"The folder {path} cannot be a workspace: {problem}.")


class DocumentError(AgentcoreError):
    """A document of the workspace cannot be taken; nothing of it was changed."""


class UnreadableDocumentError(DocumentError):
    """The document cannot be read, or is not what it should be."""

    def __init__(self, *, name: str, problem: str) -> None:
        super().__init__(f"{name} cannot be read: {problem}.")


class DocumentChangedError(DocumentError):
    """Somebody else changed the document since it was read."""

    def __init__(self, *, name: str) -> None:
        super().__init__(f"{name} was changed by somebody else since it was read: read it again and repeat.")


class UnwritableDocumentError(DocumentError):
    """The document cannot be written; it is as it was."""

    def __init__(self, *, name: str, problem: str) -> None:
        super().__init__(f"{name} cannot be written, and is as it was: {problem}.")
