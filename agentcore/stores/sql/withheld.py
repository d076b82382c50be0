"""Withholds turns that say what a person asked to forget, and entries that an agent set aside for one.

A mark names a record and the entry for whose sake it is withheld; it holds no text, and it stays when the record is
gone, so that neither an import nor a restart shows it again.
"""

from collections.abc import Collection, Mapping
from typing import Final

import orjson
from sqlalchemy import ColumnElement, bindparam, delete, exists, insert, literal_column, select, update

from agentcore.domain.memory import SourceKind
from agentcore.domain.temporal import to_micros
from agentcore.domain.text import normalise
from agentcore.stores.sql.schema import change_feed, entries, entry_sources, refused_texts, reopened, turns, withheld
from agentcore.stores.sql.transaction import Transaction, chunks, of_my_scope
from agentcore.stores.values import Withheld

_W = withheld.c
_TURN: Final = SourceKind.TURN.value

IS_WITHHELD: Final[ColumnElement[bool]] = (
    exists()
    .where(_W.scope_id == turns.c.scope_id, _W.kind == literal_column(f"'{_TURN}'"), _W.record_id == turns.c.id)
    .correlate(turns)
)
"""Whether a row of `turns` is withheld."""

_ALL = select(_W.kind, _W.record_id, _W.entry_id).where(of_my_scope(withheld))
_AMONG = (
    select(_W.record_id)
    .where(of_my_scope(withheld), _W.kind == _TURN, _W.record_id.in_(bindparam("among", expanding=True)))
    .distinct()
)
_ANY = select(_W.kind).where(of_my_scope(withheld), _W.kind == _TURN).limit(1)
_OF_ENTRY = of_my_scope(withheld) & (_W.entry_id == bindparam("of_entry"))


class SqlWithheldReader:
    """See what is told to nobody, since a person asked to forget what it says."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def all(self) -> list[Withheld]:
        """Return every mark, sorted."""
        rows = self._transaction.execute(_ALL)
        return sorted(Withheld(SourceKind(kind), record_id, entry_id) for kind, record_id, entry_id in rows)

    def turns(self, turn_ids: Collection[str]) -> set[str]:
        """Return those of *turn_ids* that are withheld."""
        found: set[str] = set()
        for chunk in chunks(sorted(set(turn_ids))):
            found.update(self._transaction.execute(_AMONG, among=chunk).scalars())
        return found

    def of_the_forgotten(self, turn_ids: Collection[str]) -> set[str]:
        """Return those of *turn_ids* that are withheld for good: for the sake of an entry that a person forgot."""
        marks = self.all()
        aside = {mark.entry_id for mark in marks if mark.kind is SourceKind.ENTRY}
        return {
            mark.record_id for mark in marks if mark.kind is SourceKind.TURN and mark.entry_id not in aside
        }.intersection(turn_ids)


class SqlWithheldStore(SqlWithheldReader):
    """Withhold records, and show them again."""

    def add(self, marks: Collection[Withheld]) -> None:
        """Withhold records: recall loses turns (followers hear it), no pass reads them, and nothing waits for them."""
        known = set(self.all())
        new = sorted(mark for mark in set(marks) if mark not in known)
        if not new:
            return
        named = {mark.record_id for mark in new if mark.kind is SourceKind.TURN}
        hidden = named - self.turns(named)
        at = to_micros(self._transaction.now)
        scope_id = self._transaction.scope_id
        rows = [
            {"scope_id": scope_id, "kind": one.kind.value, "record_id": one.record_id, "entry_id": one.entry_id}
            for one in new
        ]
        self._transaction.connection.execute(insert(withheld), [row | {"withheld_at": at} for row in rows])
        keys = self._keys(hidden)
        if keys:
            self._transaction.removed(keys, told_in=change_feed.c.removed_turns)
        for chunk in chunks(sorted(hidden)):
            nobody = (reopened.c.scope_id == scope_id) & reopened.c.record_id.in_(chunk)
            self._transaction.connection.execute(delete(reopened).where(nobody))

    def release(self, entry_id: str) -> None:
        """Withhold nothing any longer for the sake of this entry; followers hear of the turns again."""
        mine = [mark.record_id for mark in self.all() if mark.entry_id == entry_id and mark.kind is SourceKind.TURN]
        self._transaction.execute(delete(withheld).where(_OF_ENTRY), of_entry=entry_id)
        keys = self._keys(set(mine) - self.turns(mine))
        for chunk in chunks(keys):
            shown = update(turns).where(turns.c.pk.in_(chunk)).values(revision=self._transaction.change())
            self._transaction.connection.execute(shown)

    def _keys(self, turn_ids: Collection[str]) -> list[int]:
        found: list[int] = []
        for chunk in chunks(sorted(turn_ids)):
            mine = select(turns.c.pk).where(turns.c.scope_id == self._transaction.scope_id, turns.c.id.in_(chunk))
            found += self._transaction.connection.execute(mine).scalars()
        return found


def learnable_turns(transaction: Transaction) -> ColumnElement[bool] | None:
    """Return which turns are not withheld, None where all of them are."""
    return ~IS_WITHHELD if transaction.execute(_ANY).first() is not None else None


def drop_refused_texts(transaction: Transaction, cited: Collection[str], texts: Collection[str] = ()) -> None:
    """Remove the refused texts of one scope that cite one of these records, or hold one of these texts.

    Args:
        transaction: In which the records go.
        cited: Ids of the records.
        texts: What must not be told any more, in whatever case and spacing.
    """
    gone, told = frozenset(cited), [normalise(text) for text in texts]
    # There are few of them, as they are kept for a month at most, so all are looked through.
    kept = select(refused_texts.c.pk, refused_texts.c.text, refused_texts.c.cites)
    rows = transaction.connection.execute(kept.where(refused_texts.c.scope_id == transaction.scope_id))
    doomed = [
        row.pk
        for row in rows
        if not gone.isdisjoint(orjson.loads(row.cites)) or any(text in normalise(row.text) for text in told)
    ]
    for chunk in chunks(doomed):
        transaction.connection.execute(delete(refused_texts).where(refused_texts.c.pk.in_(chunk)))


def forget_refused_texts(transaction: Transaction, gone: Mapping[str, str], turn_ids: Collection[str] = ()) -> None:
    """Remove the refused texts that hold forgotten texts, or cite forgotten entries or what these were made of.

    Args:
        transaction: The forget's own, before the entries are deleted.
        gone: Texts by entry id.
        turn_ids: Turns that are withheld.
    """
    cited = {*gone, *turn_ids}
    for chunk in chunks(sorted(gone)):
        made = select(entry_sources.c.source_id).join(entries, entries.c.pk == entry_sources.c.entry_pk)
        mine = made.where(entries.c.scope_id == transaction.scope_id, entries.c.id.in_(chunk))
        cited.update(transaction.connection.execute(mine).scalars())
    drop_refused_texts(transaction, cited, gone.values())
