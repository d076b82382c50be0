"""What two texts of a document differ in, item by item, and the same done to a third."""

from collections import Counter
from dataclasses import dataclass

from agentcore.domain.text import fold_key
from agentcore.workspace.document import Document
from agentcore.workspace.edit import Append, Edit, EditRefusal, Refused, Remove
from agentcore.workspace.item import Item, ItemKind, SectionPath

Said = tuple[SectionPath, str]


@dataclass(frozen=True, slots=True)
class Difference:
    """What turns one text into another.

    Attributes:
        gone: Items that are no more.
        come: Items that are new.
    """

    gone: tuple[Item, ...]
    come: tuple[Item, ...]

    def done_to(self, document: Document) -> "Redone":
        """Take out of *document* what is gone and add what is new; whatever else it says stays.

        What it says already counts as added, and what it does not say counts as taken out: done twice, it is done once.
        """
        missing = [item for item in self.gone if document.item(item.id) is None]
        edits: list[Edit] = [Remove(item.id) for item in self.gone if document.item(item.id) is not None]
        there = {(item.section, item.text) for item in document.items}
        new: dict[SectionPath, list[str]] = {}
        refused = list[Refused]()
        for item in self.come:
            if item.kind is ItemKind.BLOCK:
                refused.append(Refused(Append(item.section, (item.text,)), EditRefusal.NOT_EDITABLE))
            elif (item.section, item.text) not in there:
                new.setdefault(item.section, []).append(item.text)
        edits += [Append(section, tuple(texts)) for section, texts in new.items()]
        edited = document.edited(edits)
        refused += [Refused(Remove(item.id), EditRefusal.NOT_FOUND) for item in missing]
        return Redone(edited.document, (*refused, *edited.refused))


@dataclass(frozen=True, slots=True)
class Redone:
    """A document to which a difference was done.

    Attributes:
        document: What became of it.
        refused: What could not be done.
    """

    document: Document
    refused: tuple[Refused, ...]


def difference(before: Document, after: Document) -> Difference:
    r"""Return what turns *before* into *after*, items that only moved up or down within their section aside.

    Example:
        >>> told = difference(Document("- Ana\n- Bo\n"), Document("- Bo\n- Cy\n"))
        >>> [item.text for item in told.gone], [item.text for item in told.come]
        (['Ana'], ['Cy'])
    """
    return Difference(_beyond(before, after), _beyond(after, before))


def own_after(own: tuple[str, ...], before: Document, after: Document) -> tuple[str, ...]:
    """Return which items of *after* are the agent's own: those of *own* that stayed, and all that are new."""
    there = {fold_key(item.text) for item in before.items}
    now = {fold_key(item.text) for item in after.items}
    return tuple(sorted((set(own) & now) | (now - there)))


def own_left(own: tuple[str, ...], document: Document) -> tuple[str, ...]:
    """Return which of *own* the document still holds."""
    return tuple(sorted(set(own) & {fold_key(item.text) for item in document.items}))


def _beyond(one: Document, other: Document) -> tuple[Item, ...]:
    """Return the items of *one* that *other* has not, or not as often."""
    there = Counter((item.section, item.text) for item in other.items)
    beyond = list[Item]()
    for item in one.items:
        said: Said = (item.section, item.text)
        there[said] -= 1
        if there[said] < 0:
            beyond.append(item)
    return tuple(beyond)
