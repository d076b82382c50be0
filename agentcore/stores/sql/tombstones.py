"""Remembers by their ids what a person had forgotten: nothing whose chain of sources touches one comes back.

A tombstone names a record, a session or an item of an imported file, and holds no text. It stays when the record is
gone, in every backup made since, and in exports. Whoever brings older material in obeys them: an import asks `touched`
for each record, and a restored database is given `Tombstone`s made since by `agentcore.stores.sql.obey.obey`.
"""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from functools import cache
from typing import Final

import regex
from sqlalchemy import Insert, bindparam, delete, func, insert, select

from agentcore.domain.evidence import SourceKind, SourceRef
from agentcore.domain.temporal import from_micros, to_micros
from agentcore.errors import InvalidOptionsError
from agentcore.lexicon.language import languages
from agentcore.stores.forgetting import Tombstone, TombstoneKind
from agentcore.stores.sql.forget_key import KEY_VARIABLE
from agentcore.stores.sql.schema import entries, forget_keys, forgotten, tombstones, withheld
from agentcore.stores.sql.transaction import Transaction, chunks, is_retired, of_my_scope

_T = tombstones.c
_ALL = select(_T.kind, _T.record_id, _T.whole, _T.forgotten_at).where(of_my_scope(tombstones))
_AMONG = _ALL.where(_T.kind == bindparam("of_kind"), _T.record_id.in_(bindparam("among", expanding=True)))
_ANY = select(_T.kind).where(of_my_scope(tombstones)).limit(1)
_STATE = select(func.count(), func.max(_T.forgotten_at)).where(of_my_scope(tombstones))
_OF_SOURCE: Final = {SourceKind(one.value): one for one in TombstoneKind if one.value in set(SourceKind)}

_SET_ASIDE = (
    select(entries.c.fold_key, withheld.c.withheld_at)
    .join_from(entries, withheld, (withheld.c.scope_id == entries.c.scope_id) & (withheld.c.record_id == entries.c.id))
    .where(
        of_my_scope(entries),
        is_retired(entries.c.status),
        withheld.c.kind == SourceKind.ENTRY.value,
        entries.c.fold_key.in_(bindparam("among", expanding=True)),
    )
)

_LAST_KEY: Final = select(forget_keys).order_by(forget_keys.c.number.desc()).limit(1)
OTHER_KEY: Final = (
    "the database remembers forgotten texts by another key: give this host the one that the others have, "
    "or run `dream forget --new-key` where that one is lost"
)


class SqlForgottenReader:
    """Keyed hashes of longer forgotten texts of one scope, in one transaction; lives as long as it."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def contains(self, fold_keys: Collection[str]) -> set[str]:
        """Return those of *fold_keys* that were forgotten."""
        return set(self._forgotten(fold_keys))

    def since(self, fold_keys: Collection[str]) -> dict[str, datetime]:
        """Return when those of *fold_keys* that were forgotten, or set aside by an agent, last were: later is new."""
        found = self._forgotten(fold_keys)
        for chunk in chunks(sorted(set(fold_keys))):
            for key, at in self._transaction.execute(_SET_ASIDE, among=chunk):
                found[key] = max(at, found.get(key, at))
        return {key: from_micros(at) for key, at in found.items()}

    def _forgotten(self, fold_keys: Collection[str]) -> dict[str, int]:
        key, scope_id = self._transaction.key, self._transaction.scope_id
        by_fingerprint = {mark: fold_key for fold_key in fold_keys for mark in key.marks(scope_id, fold_key)}
        found: dict[str, int] = {}
        for chunk in chunks(sorted(by_fingerprint)):
            statement = select(forgotten.c.fingerprint, forgotten.c.forgotten_at).where(
                forgotten.c.scope_id == self._transaction.scope_id,
                forgotten.c.fingerprint.in_(chunk),
            )
            found.update((by_fingerprint[item], at) for item, at in self._transaction.connection.execute(statement))
        return found


class SqlTombstoneReader:
    """See what was forgotten in one scope, in one transaction; lives as long as it."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def all(self, *, since: datetime | None = None) -> list[Tombstone]:
        """Return every tombstone, or those made at or after an instant; sorted by kind and id."""
        made = _ALL if since is None else _ALL.where(_T.forgotten_at >= to_micros(since))
        return sorted(_tombstones(self._transaction.execute(made)))

    def any(self) -> bool:
        """Tell whether anything was forgotten in the scope."""
        return self._transaction.execute(_ANY).first() is not None

    def state(self) -> tuple[int, int | None]:
        """Return what the next forget changes: how many there are, and when the last was made."""
        count, latest = self._transaction.execute(_STATE).one()
        return count, latest

    def of(self, kind: TombstoneKind, ids: Collection[str]) -> dict[str, Tombstone]:
        """Return the tombstones of one kind with these ids, by id."""
        found: dict[str, Tombstone] = {}
        for chunk in chunks(sorted(set(ids))):
            rows = self._transaction.execute(_AMONG, of_kind=kind.value, among=chunk)
            found |= {one.record_id: one for one in _tombstones(rows)}
        return found

    def touched(self, sources: Iterable[SourceRef], *, whole: bool = False) -> set[SourceRef]:
        """Return those of *sources* that were forgotten.

        Args:
            sources: Records that something is made of.
            whole: Leave out turns of which only sentences were forgotten: what rests on the others stays.
        """
        by_kind: dict[SourceKind, set[str]] = {}
        for source in sources:
            by_kind.setdefault(source.kind, set()).add(source.id)
        return {
            SourceRef(kind, one.record_id)
            for kind, ids in by_kind.items()
            if kind in _OF_SOURCE
            for one in self.of(_OF_SOURCE[kind], ids).values()
            if one.whole or not whole
        }

    @property
    def has_key(self) -> bool:
        """Whether this host has a key, without which no keyed hash tells it anything."""
        return bool(self._transaction.key.fingerprints())

    def keys(self) -> list[tuple[str, datetime]]:
        """Return the fingerprints of the keys that the database knew, with their first use; the last one counts."""
        with self._transaction.beyond_scope():
            rows = self._transaction.connection.execute(select(forget_keys).order_by(forget_keys.c.number)).all()
        return [(row.fingerprint, from_micros(row.first_used_at)) for row in rows]

    def items(self, source_keys: Collection[str]) -> set[str]:
        """Return the keys among *source_keys* of items of an imported file that were forgotten."""
        key, scope_id = self._transaction.key, self._transaction.scope_id
        by_mark = {mark: one for one in source_keys for mark in key.marks(scope_id, one)} if self.any() else {}
        return {by_mark[mark] for mark in self.of(TombstoneKind.ITEM, by_mark)}


class SqlTombstoneStore(SqlTombstoneReader):
    """Set tombstones; nothing takes one away but the erasure of the scope."""

    def add(self, new: Collection[Tombstone]) -> None:
        """Set tombstones; of two for one record the one that says more stays, with the later instant."""
        for kind in TombstoneKind:
            mine = {one.record_id: one for one in sorted(new, key=_says_more) if one.kind is kind}
            known = self.of(kind, mine)
            rows = [
                {
                    "scope_id": self._transaction.scope_id,
                    "kind": kind.value,
                    "record_id": record_id,
                    "whole": one.whole or (record_id in known and known[record_id].whole),
                    "forgotten_at": to_micros(one.forgotten_at),
                }
                for record_id, one in mine.items()
                if record_id not in known or _says_more(one) > _says_more(known[record_id])
            ]
            for chunk in chunks([row["record_id"] for row in rows if row["record_id"] in known]):
                former = of_my_scope(tombstones) & (_T.kind == kind.value) & _T.record_id.in_(chunk)
                self._transaction.execute(delete(tombstones).where(former))
            if rows:
                self._transaction.connection.execute(insert(tombstones), rows)

    def mark(self, text: str) -> str:
        """Return the hash under which a text is remembered, by the key of the database.

        Raises:
            InvalidOptionsError: this host has another key: others would not recognise the text.
        """
        hashed = self._transaction.key.mark(text)
        self.claim_key()
        return hashed

    def claim_key(self, *, replace: bool = False) -> None:
        """Note the key of this host as that of the database, unless that is another host's.

        In a folder there is no other host: a key that is not the noted one takes the place of one that was lost.

        Args:
            replace: Let it count from now on, since the other one is lost.

        Raises:
            InvalidOptionsError: hosts of the database have another key.
        """
        transaction, key = self._transaction, self._transaction.key
        mine = key.fingerprints() or (key.mark(""), key.fingerprints())[1]
        with transaction.beyond_scope():
            for _ in range(2):
                known = transaction.connection.execute(_LAST_KEY).one_or_none()
                if known is not None and known.fingerprint == mine[0]:
                    return
                is_other = known is not None and known.fingerprint not in mine
                if is_other and transaction.among_writers and not replace:
                    raise InvalidOptionsError(field=KEY_VARIABLE, value="(not shown)", allowed=OTHER_KEY)
                row = {
                    "number": 1 if known is None else known.number + 1,
                    "fingerprint": mine[0],
                    "first_used_at": to_micros(transaction.now),
                }
                transaction.connection.execute(_adding(row, among_writers=transaction.among_writers))

    def add_items(self, source_keys: Collection[str], at: datetime) -> None:
        """Set tombstones for items of an imported file; their keys, which are hashes of texts, are hashed by a key."""
        marks = [self.mark(one) for one in source_keys]
        self.add([Tombstone(TombstoneKind.ITEM, mark, at) for mark in marks])


def _adding(row: Mapping[str, object], *, among_writers: bool) -> Insert:
    """Return what notes a key; of two hosts that are the first at once, one finds the key of the other."""
    if not among_writers:
        return insert(forget_keys).values(row)
    from sqlalchemy.dialects import postgresql  # noqa: PLC0415 - takes a while, and a file needs none of it

    return postgresql.insert(forget_keys).on_conflict_do_nothing().values(row)


def _tombstones(rows: Iterable[Collection[object]]) -> list[Tombstone]:
    return [
        Tombstone(TombstoneKind(str(kind)), str(record_id), from_micros(int(str(at))), whole=bool(whole))
        for kind, record_id, whole, at in rows
    ]


def _says_more(one: Tombstone) -> tuple[bool, datetime]:
    return one.whole, one.forgotten_at


LEAST_HASHED: Final = 8
"""Content words of a text whose hash is kept: whoever has the key could guess a shorter one."""

_WORD = regex.compile(r"[\p{L}\p{N}]+")
_UNSPACED = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]")


def content_words(text: str) -> int:
    """Count the words of a text that name something; in scripts without spaces two characters are one word.

    Example:
        >>> content_words("Ana has been pregnant since May."), content_words("The door is on the left.")
        (4, 2)
    """
    little = _little_words()
    unspaced = len(_UNSPACED.findall(text))
    spaced = [word for word in _WORD.findall(_UNSPACED.sub(" ", text).casefold()) if word not in little]
    return len(spaced) + unspaced // 2


def is_hashed(text: str) -> bool:
    """Tell whether the hash of a forgotten text may be kept."""
    return content_words(text) >= LEAST_HASHED


@cache
def _little_words() -> frozenset[str]:
    return frozenset(word for one in languages() for word in (*one.stop_words, *one.function_words))
