"""Delivers documents: writes what waits in the outbox to the files of the workspace, once and for all.

The store has the last word on what a dream wants, the file on what it says. A text is first committed to the store,
with a row in the outbox. Then the file is written, then its repository, and last the row goes. Killed anywhere between,
the next delivery finds either the text that was to be replaced, and replaces it, or the new one, and is done; or
somebody else's, to which it does item by item what the run did.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Final

from agentcore.domain.document import StoredDocument
from agentcore.domain.records import Record
from agentcore.stores.storage import Origin
from agentcore.stores.values import Peer
from agentcore.workspace.differences import own_left
from agentcore.workspace.document import Document
from agentcore.workspace.errors import DocumentError, InvalidWorkspaceError
from agentcore.workspace.folder import ARCHIVE, DREAMS, MEMORY
from agentcore.workspace.workspaces import GitUse
from dream.cycle.documents.files import read_whole, write_out
from dream.cycle.running.applying import apply_changes
from dream.cycle.running.run_envelope import dream_lease
from dream.domain.change import Change, ChangeSet
from dream.errors import NotAdmittedError
from dream.stores import dream_stores
from dream.stores.journal import DOCUMENT_CHANGED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentcore.domain.scope import Scope
    from agentcore.hosting.services import HostServices
    from agentcore.stores.storage import ReadView, UnitOfWork
    from agentcore.workspace.folder import WorkspaceFolder, Written
    from dream.cycle.documents.files import FileOutcome
    from dream.domain.proposal import Refusal
    from dream.domain.report import PassReport
    from dream.options.levels import OptionLevels

KEPT: Final = (MEMORY, DREAMS, ARCHIVE)
"""The documents that dreams write; all others are read by nobody here."""

NO_WORKSPACE: Final = "the scope has no workspace; give with_workspace a function that names a folder for it"

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Delivery:
    """What became of the outbox.

    Args:
        passes: Who wrote what, pass by pass: the documents.
        refused: What was not written as it was meant, with the pass that meant it.
        commit: Id of the commit, or why there is none; None if nothing was written.
        problem: Why something still waits; None if nothing does.
    """

    passes: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    refused: tuple[tuple[str, Refusal], ...] = ()
    commit: str | None = None
    problem: str | None = None

    def told_in(self, report: PassReport) -> PassReport:
        """Return the report of a pass with what became of its documents."""
        refused = tuple(refusal for name, refusal in self.refused if name == report.name)
        documents = self.passes.get(report.name)
        if documents is None and not refused:
            return report
        notes = {**report.notes, "documents": list(documents or ()), "commit": self.commit}
        return replace(report, refused=(*report.refused, *refused), notes=notes if documents else report.notes)


class Documents:
    """Keeps the files of one scope's workspace and their records in step; cheap to make anew.

    Args:
        parts: What the host offers.
        scope: Whose workspace.
    """

    def __init__(self, parts: HostServices, scope: Scope) -> None:
        self._parts = parts
        self._scope = scope

    async def prepare(self) -> str | None:
        """Write what an earlier process left, and read what the files say; return why documents must be left alone."""
        try:
            folder = self._folder()
        except InvalidWorkspaceError as error:
            return _sentence(error)
        if folder is None:
            return NO_WORKSPACE
        problem = (await self.deliver()).problem
        return problem or await self._take_over(folder)

    async def take_over(self) -> str | None:
        """Let the records say what people wrote in the files; return why they cannot."""
        try:
            folder = self._folder()
        except InvalidWorkspaceError as error:
            return _sentence(error)
        return NO_WORKSPACE if folder is None else await self._take_over(folder)

    async def deliver(self) -> Delivery:
        """Write what the outbox holds to the files, commit them, and say so in the store."""
        try:
            folder = self._folder()
        except InvalidWorkspaceError as error:
            return Delivery(problem=_sentence(error))
        waiting = await self._parts.storage.read(self._scope, lambda view: dream_stores(view).outbox.waiting())
        if folder is None or not waiting or self._is_readonly:
            return Delivery()
        ordered = sorted(waiting, key=lambda row: row.document)  # stable: of one document, as they were posted
        groups = [list(rows) for _, rows in groupby(ordered, key=lambda row: row.document)]
        outcomes = await asyncio.to_thread(lambda: [write_out(folder, rows) for rows in groups])
        done = [outcome for outcome in outcomes if outcome.problem is None]
        commit = await asyncio.to_thread(self._commit, folder, done) if done else None
        await self._parts.storage.write(self._scope, partial(_settle, outcomes=done), origin=Origin.DREAM)
        names = sorted({name for outcome in done for name in outcome.passes})
        delivery = Delivery(
            passes={
                name: tuple(outcome.document for outcome in done if name in outcome.passes and outcome.is_news)
                for name in names
            },
            refused=tuple((outcome.passes[-1], refusal) for outcome in outcomes for refusal in outcome.refusals()),
            commit=commit,
            problem=next((outcome.problem for outcome in outcomes if outcome.problem), None),
        )
        fields = {"scope": str(self._scope), "documents": [one.document for one in done], "commit": commit}
        _log.info("documents_written", extra=fields)
        return delivery

    @property
    def _is_readonly(self) -> bool:
        return self._parts.workspaces is None or self._parts.workspaces.is_readonly

    def _folder(self) -> WorkspaceFolder | None:
        return None if self._parts.workspaces is None else self._parts.workspaces.folder(self._scope)

    async def _take_over(self, folder: WorkspaceFolder) -> str | None:
        """Let the records say what the files say; return why they cannot."""

        def look() -> dict[str, Written]:
            return {name: read_whole(folder, name) for name in KEPT}

        # The files after the store: one that a dream wrote in between differs from the file, and is left alone.
        known = await self._parts.storage.read(self._scope, _stored_texts)
        try:
            found = await asyncio.to_thread(look)
        except DocumentError as error:
            return _sentence(error)
        files = {name: found[name] for name in KEPT if name in known and known[name] != found[name].text_or_none}
        if files:
            take = partial(_take, files=files, known=known)
            await self._parts.storage.write(self._scope, take, origin=Origin.HOST)
        return None

    def _commit(self, folder: WorkspaceFolder, outcomes: Sequence[FileOutcome]) -> str:
        workspaces = self._parts.workspaces
        if workspaces is None or workspaces.git is GitUse.OFF:
            return GIT_OFF
        try:
            # Deferred: the library is an extra, and whoever has no repository needs none.
            from dream.cycle.documents.commits import commit  # noqa: PLC0415
        except ModuleNotFoundError:
            return GIT_MISSING
        return commit(folder.root, outcomes, is_made=workspaces.git is GitUse.INIT, at=self._parts.clock.now())


GIT_OFF: Final = "git_off"
"""The options say that nothing is committed."""
GIT_MISSING: Final = "git_not_installed"
"""The extra `git` is not installed."""


def _settle(unit: UnitOfWork, outcomes: Sequence[FileOutcome]) -> None:
    """Take out of the outbox what was written, and keep what the file says where that is not what was meant."""
    books = dream_stores(unit)
    for outcome in outcomes:
        if books.outbox.remove(outcome.keys) != len(outcome.keys) or outcome.real == outcome.meant:
            continue  # as it was meant, or another process came first and has said so
        before = unit.documents.get(outcome.document)
        after = _as_file(unit, outcome.document, before, outcome.real)
        if before == after or (before is None and after is None):
            continue
        reason = outcome.told() or "somebody else wrote in it meanwhile; what they wrote stays"
        change = Change[Record](before=before, after=after, reason=reason)
        apply_changes(unit, [change])
        if outcome.run_id:
            noted = [ChangeSet(operation=DOCUMENT_CHANGED, changes=(change,))]
            books.journal.write(outcome.run_id, books.runs.next_step(outcome.run_id), outcome.passes[-1], noted)


def _stored_texts(view: ReadView) -> dict[str, str | None]:
    """Return the text of each document as the store has it, but for those that wait to be written."""
    stored = {document.id: document.content for document in view.documents.all()}
    waiting = {row.document for row in dream_stores(view).outbox.waiting()}
    return {name: stored.get(name) for name in KEPT if name not in waiting}


def _take(unit: UnitOfWork, files: dict[str, Written], known: dict[str, str | None]) -> None:
    """Let records say what files say; their people were active when they wrote it, and passes may have work by it.

    Args:
        unit: A transaction.
        files: The files that differ.
        known: What the store said before they were read; a document that says something else by now is left alone.
    """
    standing = _stored_texts(unit)
    for name, file in files.items():
        if name not in standing or standing[name] != known[name]:
            continue
        before = unit.documents.get(name)
        after = _as_file(unit, name, before, file.text_or_none)
        if before != after:
            apply_changes(unit, [Change[Record](before=before, after=after, reason="read from its file")])
            unit.activity.touch({Peer.of(unit.scope): min(unit.now, file.changed_at or unit.now)})
            unit.activity.notify()


def _as_file(unit: UnitOfWork, name: str, stored: StoredDocument | None, text: str | None) -> StoredDocument | None:
    """Return the record of a file: what the agent wrote is its own as long as it stands there."""
    if text is None or (stored is not None and stored.content == text):
        return None if text is None else stored
    if stored is None:
        return StoredDocument(id=name, scope=unit.scope, content=text, updated_at=unit.now)
    return replace(stored, content=text, updated_at=unit.now, own=own_left(stored.own, Document(text)))


def _sentence(error: Exception) -> str:
    return str(error).rstrip(".")


class OutboxFlush:
    """Empties the outbox of every scope once, when the host starts; what cannot be written waits for the next dream.

    Args:
        parts: What the host offers.
        levels: The options of each scope.
    """

    def __init__(self, parts: HostServices, levels: OptionLevels) -> None:
        self._parts = parts
        self._levels = levels

    async def start(self) -> None:
        """Write what waits; a scope on which somebody dreams is left to that dream."""
        self._parts.aftermath.add(self.follow)
        for scope in await self._parts.storage.scopes():
            await self.follow(scope)

    async def follow(self, scope: Scope) -> None:
        """Write what waits on one scope."""
        if not await self._parts.storage.read(scope, lambda view: dream_stores(view).outbox.waiting()):
            return
        try:
            async with dream_lease(self._parts, scope, self._levels.of(scope).lease):
                problem = (await Documents(self._parts, scope).deliver()).problem
        except NotAdmittedError:
            return
        if problem is not None:
            _log.warning("documents_wait", extra={"scope": str(scope), "problem": problem})

    async def stop(self) -> None:
        """Nothing is left running."""
