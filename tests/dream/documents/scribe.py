"""A pass that writes what a test wishes into documents, and a world with a workspace."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar

from agentcore.domain import Capability, Record, StoredDocument
from agentcore.workspace import MEMORY, Append, Document, Edit, own_after
from dream.domain import Change, ChangeSet, Notes, Proposal, Work
from dream.passes import DreamContext

Edits = Callable[[Document], Sequence[Edit]]


def saying(*texts: str, section: tuple[str, ...] = ("Dreamed",)) -> Edits:
    return lambda _: [Append(section, texts)]


@dataclass
class Scribe:
    """Makes *edits* in MEMORY.md; `meanwhile` happens between its reading and the end of the run."""

    edits: Edits = field(default_factory=lambda: saying("Ana moved to Lisbon"))
    meanwhile: Callable[[], object] | None = None
    document: str = MEMORY

    name: ClassVar[str] = "scribe"
    requires: ClassVar[frozenset[Capability]] = frozenset({Capability.WORKSPACE})

    async def has_work(self, context: DreamContext) -> Work:
        del context
        return Work(1)

    async def propose(self, context: DreamContext) -> Proposal:
        before = await context.read(lambda view: view.documents.get(self.document))
        if self.meanwhile is not None:
            self.meanwhile()
        text = Document("" if before is None else before.content)
        edited = text.edited(self.edits(text))
        assert not edited.refused
        known = before or StoredDocument(id=self.document, scope=context.scope, content="", updated_at=context.as_of)
        own = own_after(known.own, text, edited.document)
        after = replace(known, content=edited.document.text, own=own, updated_at=context.as_of)
        change = Change[Record](before=before, after=after, reason="a test wished it")
        return Proposal(change_sets=(ChangeSet(operation="write", changes=(change,)),))

    def conclude(self, notes: Sequence[Notes]) -> Notes:
        return notes[-1]


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines()
