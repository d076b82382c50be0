"""Reads and writes lines of the card, and takes those off it that rest on what does not hold any longer."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final, TypeAlias

from sqlalchemy import or_, select

from agentcore.domain.card import MOST_LINES, CardLine, in_order
from agentcore.domain.conclusion import Premise, footing_of
from agentcore.domain.evidence import SourceKind, SourceRef
from agentcore.domain.memory import PREMISE_GONE, Status
from agentcore.domain.temporal import to_micros
from agentcore.domain.text import fold_key
from agentcore.stores.sql.record_store import SqlRecordReader, SqlRecordStore
from agentcore.stores.sql.rows import RecordRows
from agentcore.stores.sql.schema import card_lines
from agentcore.stores.sql.transaction import Transaction, chunks, has_element, starts_with

LivingAmong: TypeAlias = Callable[[Iterable[str]], Callable[[Premise], bool]]
"""Given ids of entries, returns what tells whether a premise among them holds."""

_ROWS: Final = RecordRows(CardLine, card_lines)
_RESTS: Final = card_lines.c.premises != "[]"
_LACKING: Final = starts_with(card_lines.c.status_reason, PREMISE_GONE)
_MENTIONS: Final = 50
"""Entries asked about in one statement; databases bound the depth of an expression."""


class SqlCardReader(SqlRecordReader[CardLine]):
    """Read lines of the card."""

    def __init__(self, transaction: Transaction) -> None:
        super().__init__(transaction, _ROWS)

    def lines(self) -> list[CardLine]:
        """Return the card: its active lines, in order."""
        return in_order(self._where(card_lines.c.status == Status.ACTIVE.value))

    def resting_on(self, entry_ids: Collection[str]) -> list[CardLine]:
        """Return the lines that go back to one of these entries, in whatever state."""
        found: dict[str, CardLine] = {}
        for chunk in chunks(sorted(set(entry_ids)), _MENTIONS):
            refs = [str(SourceRef(SourceKind.ENTRY, entry_id)) for entry_id in chunk]
            named = self._where(or_(*(has_element(card_lines.c.sources, ref) for ref in refs)))
            found |= {line.id: line for line in named}
        return [found[line_id] for line_id in sorted(found)]

    def lost(self, since: datetime | None) -> list[CardLine]:
        """Return the lines that were taken off the card after an instant since what they rest on went; None for all."""
        after = () if since is None else (card_lines.c.status_at > to_micros(since),)
        return self._where(card_lines.c.status == Status.ARCHIVED.value, _RESTS, _LACKING, *after)

    def saying(self, texts: Collection[str]) -> list[CardLine]:
        """Return the lines, in whatever state, that say one of these texts, its case and spacing aside."""
        if not texts or self._connection.execute(select(card_lines.c.pk).where(self._mine).limit(1)).first() is None:
            return []
        keys = set(map(fold_key, texts))
        return [line for line in self.every() if fold_key(line.content) in keys]

    def _where(self, *conditions: object) -> list[CardLine]:
        statement = self._rows.by_id.where(*conditions)  # pyright: ignore[reportArgumentType]
        return [self._rows.read(self._transaction, row) for row in self._transaction.execute(statement).all()]


class SqlCardStore(SqlCardReader, SqlRecordStore[CardLine]):
    """Write lines of the card; what they rest on is looked at before the transaction ends."""

    def add(self, record: CardLine, /) -> None:
        """Add a line; StaleVersionError if its id is taken."""
        super().add(record)
        self._transaction.unsettled.update(one.entry_id for one in record.premises)

    def replace(self, before: CardLine, after: CardLine, /) -> None:
        """Write *after* over *before*; StaleVersionError if the stored version is another."""
        super().replace(before, after)
        self._transaction.unsettled.update(one.entry_id for one in after.premises)

    def settle(self, touched: Collection[str], living: LivingAmong) -> list[tuple[CardLine, CardLine]]:
        """Take lines off the card of which a premise among *touched* does not hold; put back what they took off.

        A line comes back only where the card has room for it and does not say it anew.
        """
        if not touched:
            return []
        kept = self._where(_RESTS, or_(card_lines.c.status == Status.ACTIVE.value, _LACKING))
        asked = [line for line in in_order(kept) if any(one.entry_id in touched for one in line.premises)]
        is_live = living(one.entry_id for line in asked for one in line.premises)
        changed = [
            (line, _taken_off(line, footing.missing or "", self._transaction))
            for line in asked
            if line.is_active and not (footing := footing_of(line.premises, is_live, is_pattern=False)).stands
        ]
        gone = {before.id for before, _ in changed}
        lacking = [line for line in asked if not line.is_active]
        back = [line for line in lacking if footing_of(line.premises, is_live, is_pattern=False).stands]
        if back:
            changed += self._put_back(back, gone)
        for before, after in changed:
            super().replace(before, after)
        return [(before, replace(after, version=before.version + 1)) for before, after in changed]

    def _put_back(self, lines: Sequence[CardLine], gone: Collection[str]) -> list[tuple[CardLine, CardLine]]:
        present = [line for line in self.lines() if line.id not in gone]
        said = {(line.section, fold_key(line.content)) for line in present}
        changed: list[tuple[CardLine, CardLine]] = []
        for line in lines:
            told = line.section, fold_key(line.content)
            if len(said) < MOST_LINES and told not in said:
                said.add(told)
                changed.append((line, replace(line, status=Status.ACTIVE, status_reason=None, status_at=None)))
        return changed


def _taken_off(line: CardLine, missing: str, transaction: Transaction) -> CardLine:
    return replace(line, status=Status.ARCHIVED, status_reason=f"{PREMISE_GONE}: {missing}", status_at=transaction.now)
