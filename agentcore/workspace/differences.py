"""Finds what two texts of a document differ in, item by item, and does the same to a third."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from agentcore.domain.text import fold_key
from agentcore.workspace.document import Append, Document, Edit, EditRefusal, RefusedEdit, Remove, Replace, Said
from agentcore.workspace.markdown import ItemKind, MarkdownItem, SectionPath


@dataclass(frozen=True, slots=True)
class Difference:
    """What turns one text into another.

    Attributes:
        gone: Items that are no more.
        come: Items that are new.
        heirs: Those of the new ones that stand where one stood that is no more, by its id.
    """

    gone: tuple[MarkdownItem, ...]
    come: tuple[MarkdownItem, ...]
    heirs: Mapping[str, MarkdownItem] = field(default_factory=dict[str, MarkdownItem])

    def done_to(self, document: Document) -> "Redone":
        """Take out of *document* what is gone and add what is new; whatever else it says stays.

        What it says already counts as added, and what it does not say counts as taken out: done twice, it is done once.
        What stands between marks to be kept, and did not before, is not taken out. An item whose heading was taken away
        is known by its text.
        """
        there = {(item.section, item.text) for item in document.items}
        edits, refused, placed = list[Edit](), list[RefusedEdit](), set[str]()
        for item in self.gone:
            now, heir = _found(document, item), self.heirs.get(item.id)
            if now is None or (now.is_kept and not item.is_kept):
                reason = EditRefusal.NOT_FOUND if now is None else EditRefusal.NOT_EDITABLE
                refused.append(RefusedEdit(Remove(item.id), reason))
            elif heir is not None and heir.kind is not ItemKind.BLOCK and (heir.section, heir.text) not in there:
                edits.append(Replace(now.id, heir.text))
                placed.add(heir.id)
            else:
                edits.append(Remove(now.id))
        new: dict[SectionPath, list[str]] = {}
        for item in self.come:
            if item.kind is ItemKind.BLOCK:
                refused.append(RefusedEdit(Append(item.section, (item.text,)), EditRefusal.NOT_EDITABLE))
            elif item.id not in placed and (item.section, item.text) not in there:
                new.setdefault(item.section, []).append(item.text)
        edits += [Append(section, tuple(texts)) for section, texts in new.items()]
        edited = document.edited(edits)
        return Redone(edited.document, (*refused, *edited.refused))


@dataclass(frozen=True, slots=True)
class Redone:
    """A document to which a difference was done.

    Attributes:
        document: What became of it.
        refused: What could not be done.
    """

    document: Document
    refused: tuple[RefusedEdit, ...]


def difference(before: Document, after: Document) -> Difference:
    r"""Return what turns *before* into *after*, items that only moved up or down within their section aside.

    Example:
        >>> told = difference(Document("- Ana\n- Bo\n"), Document("- Bo\n- Cy\n"))
        >>> [item.text for item in told.gone], [item.text for item in told.come]
        (['Ana'], ['Cy'])
        >>> renamed = difference(Document("- Ana\n- Bo\n"), Document("- Eva\n- Bo\n"))
        >>> renamed.done_to(Document("- Ana\n- Cy\n")).document.text
        '- Eva\n- Cy\n'
    """
    gone, come = _beyond(before, after), _beyond(after, before)
    return Difference(gone, come, _heirs(_runs(before, gone), _runs(after, come)))


def own_after(own: tuple[str, ...], before: Document, after: Document) -> tuple[str, ...]:
    """Return which items of *after* are the agent's own: those of *own* that stayed, and all that are new."""
    there = {fold_key(item.text) for item in before.items}
    now = {fold_key(item.text) for item in after.items}
    return tuple(sorted((set(own) & now) | (now - there)))


def own_left(own: tuple[str, ...], document: Document) -> tuple[str, ...]:
    """Return which of *own* the document still holds."""
    return tuple(sorted(set(own) & {fold_key(item.text) for item in document.items}))


def _found(document: Document, item: MarkdownItem) -> MarkdownItem | None:
    """Return an item of another text; where its heading is gone, the only one that says the same."""
    there = document.item(item.id)
    if there is not None or any(section.path == item.section for section in document.sections):
        return there
    same = [one for one in document.items if one.text == item.text]
    return same[0] if len(same) == 1 else None


_Run = tuple[SectionPath, Said | None]
"""Where items stand that only one of two texts has: the section, and the last item before them that both have."""


def _runs(document: Document, changed: Iterable[MarkdownItem]) -> dict[_Run, list[MarkdownItem]]:
    """Return the changed items of a document by where they stand."""
    ids, runs, last = {item.id for item in changed}, dict[_Run, list[MarkdownItem]](), dict[SectionPath, Said]()
    for item in document.items:
        if item.id in ids:
            runs.setdefault((item.section, last.get(item.section)), []).append(item)
        else:
            last[item.section] = (item.section, item.text)
    return runs


def _heirs(gone: Mapping[_Run, list[MarkdownItem]], come: Mapping[_Run, list[MarkdownItem]]) -> dict[str, MarkdownItem]:
    """Return which item took the place of which, by the id of the one that is no more."""
    pairs = (zip(items, come.get(run, ()), strict=False) for run, items in gone.items())
    return {one.id: other for run in pairs for one, other in run if one.kind is other.kind}


def _beyond(one: Document, other: Document) -> tuple[MarkdownItem, ...]:
    """Return the items of *one* that *other* has not, or not as often."""
    there = Counter((item.section, item.text) for item in other.items)
    beyond = list[MarkdownItem]()
    for item in one.items:
        said: Said = (item.section, item.text)
        there[said] -= 1
        if there[said] < 0:
            beyond.append(item)
    return tuple(beyond)
