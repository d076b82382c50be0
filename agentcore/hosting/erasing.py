"""Erases scopes whole: what is stored, the files beside the database, and the documents of their workspaces."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from agentcore.domain.scope import Scope
from agentcore.domain.temporal import to_text
from agentcore.errors import InvalidOptionsError, StorageUnavailableError
from agentcore.hosting.forget_hooks import ForgetHooks, clear_files
from agentcore.recall.recall import Recall
from agentcore.stores.forgetting import Erasure, KnownCopy
from agentcore.stores.storage import ReadView, Storage
from agentcore.workspace.errors import DocumentError, InvalidWorkspaceError
from agentcore.workspace.folder import ARCHIVE, DREAMS, MEMORY
from agentcore.workspace.workspaces import Workspaces

DOCUMENTS: Final = (MEMORY, DREAMS, ARCHIVE)
"""What dreams write into a workspace; all else there is people's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasureCertificate:
    """What an erasure removed, or would, and what it does not reach.

    Args:
        erasures: What it removed, scope by scope.
        documents: Files of workspaces that it deleted.
        copies: Files that are known to hold copies.
        speaks_of: Scopes beside them that hold turns of the peer, with how many.
    """

    erasures: tuple[Erasure, ...]
    documents: tuple[str, ...] = ()
    copies: tuple[KnownCopy, ...] = ()
    speaks_of: tuple[tuple[Scope, int], ...] = ()

    @property
    def removed(self) -> dict[str, int]:
        """How many went, by kind, over all scopes."""
        return _summed(one.removed for one in self.erasures)

    @property
    def sent(self) -> dict[str, int]:
        """How many calls had gone to each model."""
        return _summed(one.sent for one in self.erasures)

    def beyond_reach(self) -> list[str]:
        """Return a sentence for each place that an erasure does not reach."""
        told = list(dict.fromkeys(map(_told_of_copy, self.copies)))
        told += [f"{calls:,} prompts that were sent to the model {model}" for model, calls in self.sent.items()]
        told += [f"{count:,} turns of the peer in {scope}" for scope, count in self.speaks_of]
        if self.documents:
            told.append("commits of the workspace, if it is a repository")
        return [*told, "copies made by other means: backups of the disk, replicas, exports written elsewhere"]

    def told_to(self, reaches: Callable[[Scope], bool]) -> dict[str, object]:
        """Return plain JSON values for somebody elsewhere: no paths, nothing of scopes that they do not reach.

        Args:
            reaches: Tells which scopes are theirs.
        """
        kept = tuple(replace(one, place="of the server", records=0) for one in self.copies)
        spoken = tuple((scope, count) for scope, count in self.speaks_of if reaches(scope))
        ours = replace(self, copies=kept, speaks_of=spoken, documents=tuple(Path(one).name for one in self.documents))
        return ours.document()

    def document(self) -> dict[str, object]:
        """Return plain JSON values."""
        return {
            "scopes": [str(one.scope) for one in self.erasures],
            "removed": self.removed,
            "documents": list(self.documents),
            "beyond_reach": self.beyond_reach(),
        }


class Eraser:
    """Erases scopes, and finishes at start what a kill cut short; lives as long as the host.

    Args:
        storage: Where everything is kept.
        recall: Keeps files of indexes.
        workspaces: Which folder is whose; None if there are none.
        aftermath: Who has to follow when something was forgotten.
    """

    def __init__(
        self, storage: Storage, *, recall: Recall, workspaces: Workspaces | None, aftermath: ForgetHooks
    ) -> None:
        self._storage = storage
        self._recall = recall
        self._workspaces = workspaces
        self._aftermath = aftermath

    async def start(self) -> None:
        """Finish erasures, and clear the files of forgets, that an earlier process did not get to."""
        erased, forgot = await self._storage.unfinished()
        for scope in erased:
            await self._finish(scope)
        for scope in forgot:
            await clear_files(scope, self._storage, self._recall, self._aftermath)

    async def stop(self) -> None:
        """Nothing is left running."""

    async def chosen(
        self, scope: Scope | None = None, *, workspace: str | None = None, observed: str | None = None
    ) -> list[Scope]:
        """Return the scopes that hold anything and are meant: one, those of a workspace, or those about a peer.

        Raises:
            InvalidOptionsError: none or several of them are named.
        """
        if (scope is None) == (workspace is None and observed is None):
            allowed = "name one scope, or a workspace, or an observed peer with its workspace"
            raise InvalidOptionsError(field="scope", value=str(scope), allowed=allowed)
        there = await self._storage.scopes()
        if scope is not None:
            return [one for one in there if one == scope]
        return [one for one in there if workspace in {None, one.workspace} and observed in {None, one.observed}]

    async def preview(self, chosen: Sequence[Scope]) -> ErasureCertificate:
        """Return what `erase` would remove and not reach; nothing is changed."""
        looks = [await self._storage.read(scope, _look) for scope in chosen]
        documents = [str(path) for scope in chosen for path in await asyncio.to_thread(self._documents, scope)]
        return await self._certificate([what for what, _ in looks], [copies for _, copies in looks], documents)

    async def erase(self, chosen: Sequence[Scope]) -> ErasureCertificate:
        """Remove all that these scopes hold, for good; who dreams on one is stopped.

        What is said in one meanwhile goes too. A kill leaves erasures that are finished when a host opens next.
        """
        looks = [await self._storage.read(scope, lambda view: view.erasure.copies()) for scope in chosen]
        # All are noted before the first row goes: after a kill, none of them is left out.
        begun = [await self._storage.write(scope, lambda unit: unit.erasure.begin()) for scope in chosen]
        documents = [path for scope in chosen for path in await self._finish(scope)]
        return await self._certificate(begun, looks, documents)

    async def _finish(self, scope: Scope) -> list[str]:
        """Remove the rows, then the files, then end the erasure."""
        more = True
        while more:
            more = await self._storage.write(scope, lambda unit: unit.erasure.step())
        gone = await asyncio.to_thread(self._delete_documents, scope)
        await self._recall.scrub(scope)
        await self._storage.write(scope, lambda unit: unit.erasure.finish())
        await self._aftermath.tell(scope)
        return gone

    def _documents(self, scope: Scope) -> list[str]:
        try:
            folder = None if self._workspaces is None else self._workspaces.folder(scope)
            paths = [] if folder is None else [folder.path(name) for name in DOCUMENTS]
        except (InvalidWorkspaceError, DocumentError):
            return []
        return [str(path) for path in paths if path.is_file()]

    def _delete_documents(self, scope: Scope) -> list[str]:
        gone = self._documents(scope)
        for path in gone:
            try:
                Path(path).unlink(missing_ok=True)
            except OSError as error:
                remedy = "delete it, and open the memory again"
                raise StorageUnavailableError(path=path, problem="cannot be deleted", remedy=remedy) from error
        return gone

    async def _certificate(
        self, erasures: Sequence[Erasure], copies: Sequence[Sequence[KnownCopy]], documents: Sequence[str]
    ) -> ErasureCertificate:
        spoken = await self._storage.spoken_elsewhere([one.scope for one in erasures])
        known = sorted({copy for some in copies for copy in some}, key=lambda copy: (copy.made_at, copy.place))
        return ErasureCertificate(
            erasures=tuple(erasures), documents=tuple(documents), copies=tuple(known), speaks_of=tuple(spoken.items())
        )


def _told_of_copy(copy: KnownCopy) -> str:
    held = f" ({copy.records:,} records)" if copy.records else ""
    return f"{copy.called} {copy.place} of {to_text(copy.made_at)}{held}"


def _look(view: ReadView) -> tuple[Erasure, list[KnownCopy]]:
    return view.erasure.what(), view.erasure.copies()


def _summed(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for one in counts:
        total.update(one)
    return dict(total)
