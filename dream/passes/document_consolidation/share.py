"""Bounds how much of MEMORY.md dreams may change in any 24 hours."""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from agentcore.domain.document import StoredDocument
from agentcore.workspace.folder import MEMORY
from dream.domain.change import JournalRow
from dream.options import DreamOptions, PassMode
from dream.passes.document_consolidation.items import NAME, MemoryDocument, read_document
from dream.passes.document_consolidation.prompt import Op, operation_of
from dream.passes.protocol import PassView

_DAY: Final = timedelta(hours=24)
_EDITS: Final = frozenset(operation_of(op) for op in Op)


@dataclass(slots=True)
class DailyShare:
    """Room for changes of MEMORY.md; lives as long as one answer is interpreted.

    Args:
        most: Items that may be changed in 24 hours; None where a person decides about each change.
        room: Items that may still be changed.
    """

    most: int | None
    room: int

    @classmethod
    def as_it_stands(
        cls, view: PassView, memory: MemoryDocument, options: DreamOptions, as_of: datetime
    ) -> "DailyShare":
        """Return the room there is now: the share of the page, less what was changed in the last 24 hours."""
        if options.mode(NAME) is PassMode.PROPOSE:
            return cls(None, 0)
        terms = options.documents
        most = max(terms.share_cap_min, int(terms.share_cap * len(memory.pieces)))
        rows = view.books.journal.of_record(MEMORY, since=as_of - _DAY)
        return cls(most, max(0, most - sum(_changed(row) for row in rows if row.operation in _EDITS)))

    @property
    def is_worth_asking(self) -> bool:
        """Whether so much is left that an answer can be used."""
        return self.most is None or 2 * self.room >= max(1, self.most)

    def is_too_much(self, weight: int) -> bool:
        """Tell whether no day has room for so many items."""
        return self.most is not None and weight > self.most

    def admits(self, weight: int) -> bool:
        """Take the room that a change needs; False, and nothing is taken, if there is too little."""
        if self.most is None:
            return True
        if weight > self.room:
            return False
        self.room -= weight
        return True


def _changed(row: JournalRow) -> int:
    """Return how many items a change of the document reworded, took away or added."""
    before, after = (_texts(one) for one in (row.record_before, row.record_after))
    return max((before - after).total(), (after - before).total())


def _texts(record: object) -> Counter[str]:
    items = read_document(record.content).items if isinstance(record, StoredDocument) else ()
    return Counter(item.text for item in items)
