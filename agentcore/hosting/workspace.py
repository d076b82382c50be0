"""Reads and writes the documents of the agent, as the agent itself does."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from agentcore.domain.document import StoredDocument
from agentcore.domain.scope import Scope
from agentcore.domain.text import fold_key
from agentcore.errors import InvalidContentError
from agentcore.hosting.checks import clean_text
from agentcore.stores.storage import Storage, UnitOfWork
from agentcore.stores.values import Peer
from agentcore.workspace.document import Append, Document, Edit, EditRefusal, Replace
from agentcore.workspace.errors import DocumentChangedError, InvalidWorkspaceError
from agentcore.workspace.folder import MEMORY, WorkspaceFolder
from agentcore.workspace.workspaces import Workspaces

_ATTEMPTS: Final = 5
"""Times a document is read again because somebody wrote in it between reading and writing."""

_PROBLEMS: Final = {
    EditRefusal.NOT_EDITABLE: "it is a table, code or another block; edit the file by hand",
    EditRefusal.NOT_ONE_ITEM: "it would not stay one item of the document; give plain words on one line",
}


class AgentWorkspace:
    """One scope's documents; what is written here is known as the agent's own, unlike what people write in the files.

    Args:
        scope: Whose they are.
        storage: Where it is kept what is the agent's own.
        workspaces: Where the files are.
    """

    def __init__(self, scope: Scope, *, storage: Storage, workspaces: Workspaces) -> None:
        self._scope = scope
        self._storage = storage
        self._workspaces = workspaces

    @property
    def scope(self) -> Scope:
        """Whose documents they are."""
        return self._scope

    async def read(self, name: str = MEMORY) -> str:
        """Return the text of a document, empty if there is none.

        Raises:
            InvalidWorkspaceError: the scope has no workspace, or it is none.
            UnreadableDocumentError: the file cannot be read.
        """
        return (await asyncio.to_thread(lambda: self._folder().read(name))).text

    async def append(self, *texts: str, section: tuple[str, ...] = (), name: str = MEMORY) -> None:
        """Add items to a document, which is made if there is none.

        Args:
            *texts: What each of them says, on one line.
            section: The headings to put them under, from the outermost; those not there are added at the end.
            name: The document.

        Raises:
            InvalidContentError: a text cannot be an item; nothing was written.
            InvalidWorkspaceError: the scope has no workspace, or it is none.
            DocumentError: the file cannot be read or written; it is as it was.
        """
        edit = Append(section, tuple(clean_text("text", text) for text in texts))
        await self._edit(name, lambda _: edit)

    async def replace(self, old: str, new: str, *, name: str = MEMORY) -> None:
        """Let the item that says *old* say *new*.

        Args:
            old: What it says, the whole of it, but for case and spacing.
            new: What it shall say, on one line.
            name: The document.

        Raises:
            InvalidContentError: no item says that, or *new* cannot be one; nothing was written.
            InvalidWorkspaceError: the scope has no workspace, or it is none.
            DocumentError: the file cannot be read or written; it is as it was.
        """
        text, key = clean_text("text", new), fold_key(old)

        def edit(document: Document) -> Edit:
            found = next((item for item in document.items if fold_key(item.text) == key), None)
            if found is None:
                raise InvalidContentError(field="text", problem=f"no item of {name} says that; read it again")
            return Replace(found.id, text)

        await self._edit(name, edit)

    async def own_items(self, name: str = MEMORY) -> frozenset[str]:
        """Return the fold keys of the items that the agent or its dreams wrote; all others are a person's."""
        stored = await self._storage.read(self._scope, lambda view: view.documents.get(name))
        return frozenset(() if stored is None else stored.own)

    def _folder(self) -> WorkspaceFolder:
        folder = self._workspaces.folder(self._scope)
        if folder is None:
            raise InvalidWorkspaceError(path=str(self._scope), problem="the scope has no folder; name one for it")
        return folder

    async def _edit(self, name: str, edit: Callable[[Document], Edit]) -> None:
        """Write the file, then keep what is the agent's own: killed in between, its text counts as a person's."""
        before, after = await asyncio.to_thread(self._write, name, edit)

        def keep(unit: UnitOfWork) -> None:
            _keep(unit, name, before, after)
            unit.activity.touch({Peer.of(self._scope): unit.now})

        await self._storage.write(self._scope, keep)

    def _write(self, name: str, edit: Callable[[Document], Edit]) -> tuple[str | None, Document]:
        folder = self._folder()
        for _ in range(_ATTEMPTS):
            written = folder.read(name)
            document = Document(written.text)
            edited = document.edited([edit(document)])
            if edited.refused:
                raise InvalidContentError(field="text", problem=_PROBLEMS[edited.refused[0].reason])
            try:
                folder.write(name, edited.document.text, over=written.hash)
            except DocumentChangedError:
                continue
            return written.text_or_none, edited.document
        raise DocumentChangedError(name=name)


def _keep(unit: UnitOfWork, name: str, before: str | None, after: Document) -> None:
    """Keep the new text, unless a dream's own still waits to be written; and in any case whose it is."""
    stored = unit.documents.get(name)
    there = {fold_key(item.text) for item in Document(before or "").items}
    new = {fold_key(item.text) for item in after.items} - there
    known = StoredDocument(id=name, scope=unit.scope, content=before or "", updated_at=unit.now)
    base = known if stored is None else stored
    own = tuple(sorted({*base.own, *new}))
    content = after.text if base.content == (before or "") else base.content
    kept = replace(base, content=content, updated_at=unit.now, own=own)
    if stored is None:
        unit.documents.add(kept)
    elif kept != stored:
        unit.documents.replace(stored, kept)
