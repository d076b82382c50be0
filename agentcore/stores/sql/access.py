"""Keeps what bearer tokens stand for, and receipts of requests that were carried out."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final

import orjson
from sqlalchemy import bindparam, delete, insert, or_, select, update

from agentcore.domain.access import AccessToken, Right
from agentcore.domain.scope_pattern import ScopePattern
from agentcore.domain.temporal import from_micros, to_micros
from agentcore.errors import TakenNameError
from agentcore.stores.sql.schema import access_tokens, receipts
from agentcore.stores.sql.transaction import chunks, contains, encode, micros, of_my_scope

if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any

    from sqlalchemy import Row

    from agentcore.stores.sql.transaction import Transaction

_T = access_tokens.c
_HOLDS = _T.revoked_at.is_(None)
_KEPT: Final = timedelta(hours=24)
"""How long a receipt is kept: a client that has not tried again by then never will."""


class SqlTokenStore:
    """Bearer tokens of all scopes, by the hash of their secret; lives as long as its transaction."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self._connection = transaction.connection

    def by_digest(self, digest: str) -> AccessToken | None:
        """Return the token whose secret has this hash, or None."""
        row = self._connection.execute(select(access_tokens).where(_T.digest == digest)).one_or_none()
        return None if row is None else _token(row)

    def every(self) -> list[AccessToken]:
        """Return all tokens, revoked ones too, the newest last."""
        return [_token(row) for row in self._connection.execute(select(access_tokens).order_by(_T.pk))]

    def add(self, token: AccessToken, digest: str) -> None:
        """Keep a new token.

        Raises:
            TakenNameError: another one that is not revoked has its name.
        """
        same = self._connection.execute(select(_T.pk).where(_T.name == token.name, _HOLDS)).first()
        if same is not None:
            raise TakenNameError(name=token.name)
        row = {
            "name": token.name,
            "digest": digest,
            "scopes": encode([str(one) for one in token.scopes]),
            "rights": encode(sorted(token.rights)),
            "created_at": to_micros(token.created_at),
            "expires_at": micros(token.expires_at),
            "revoked_at": None,
        }
        self._connection.execute(insert(access_tokens), row)

    def revoke(self, name: str) -> bool:
        """Take back the token of this name and those that it made, `NAME.*`; return whether there was one that held."""
        held = {one.name: one for one in self.every() if one.revoked_at is None}
        reach = held[name].scopes if name in held else ()
        made = [
            one.name
            for one in held.values()
            if one.name.startswith(f"{name}.") and all(any(mine.covers(its) for mine in reach) for its in one.scopes)
        ]
        taken = update(access_tokens).where(_T.name.in_([name, *made]), _HOLDS)
        taken = taken.values(revoked_at=to_micros(self._transaction.now))
        return bool(self._connection.execute(taken).rowcount)


def _token(row: Row[Any]) -> AccessToken:
    return AccessToken(
        name=row.name,
        scopes=tuple(map(ScopePattern.parse, orjson.loads(row.scopes))),
        rights=frozenset(map(Right, orjson.loads(row.rights))),
        created_at=from_micros(row.created_at),
        expires_at=None if row.expires_at is None else from_micros(row.expires_at),
        revoked_at=None if row.revoked_at is None else from_micros(row.revoked_at),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What shows that a request was carried out.

    Args:
        key: What the client calls the request, with who it is.
        digest: Hash of what it asked for.
        attempt: Which attempt carried it out.
        records: What it wrote, in its order: kind and id.
    """

    key: str
    digest: str
    attempt: str
    records: tuple[tuple[str, str], ...] = ()


_MINE = of_my_scope(receipts)
_BY_KEY = select(receipts).where(_MINE, receipts.c.request_key == bindparam("of_key"))
_OLD = delete(receipts).where(_MINE, receipts.c.recorded_at < bindparam("b_before"))


class SqlReceiptStore:
    """Receipts of one scope, in one transaction; lives as long as it. No content is kept in them, only ids."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def get(self, key: str) -> Receipt | None:
        """Return the receipt of a request, or None."""
        row = self._transaction.execute(_BY_KEY, of_key=key).one_or_none()
        if row is None:
            return None
        records = tuple((kind, record_id) for kind, record_id in orjson.loads(row.records))
        return Receipt(key=row.request_key, digest=row.digest, attempt=row.attempt, records=records)

    def keep(self, receipt: Receipt) -> None:
        """Keep a receipt, of what the transaction has written so far if it names nothing; those of yesterday go."""
        now = self._transaction.now
        self._transaction.execute(_OLD, b_before=to_micros(now - _KEPT))
        written = receipt.records or tuple((kind.value, name) for kind, name in self._transaction.touched)
        row = {
            "scope_id": self._transaction.scope_id,
            "request_key": receipt.key,
            "digest": receipt.digest,
            "attempt": receipt.attempt,
            "records": encode(written),
            "recorded_at": to_micros(now),
        }
        self._transaction.connection.execute(insert(receipts), row)


_NAMED_AT_ONCE: Final = 50
"""Ids in one statement; databases bound the depth of an expression."""


def forget_receipts(transaction: Transaction, ids: Collection[str]) -> None:
    """Clear the hashes of requests that wrote these records: whoever guesses the text could prove the guess."""
    mine = receipts.c.scope_id == transaction.scope_id
    for chunk in chunks(sorted(ids), _NAMED_AT_ONCE):
        named = or_(*(contains(receipts.c.records, orjson.dumps(one).decode()) for one in chunk))
        transaction.connection.execute(update(receipts).where(mine, named).values(digest=""))
