"""Keeps what models were asked: compressed, and once for each scope what its questions have in common."""

import zlib
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from hashlib import sha256
from typing import Any, Final

import orjson
from sqlalchemy import bindparam, delete, exists, select, update
from sqlalchemy.exc import IntegrityError

from agentcore.domain.temporal import to_micros
from agentcore.stores.sql.schema import model_calls, prompt_texts
from agentcore.stores.sql.transaction import Transaction, of_my_scope

BETWEEN: Final = "\n\n---\n\n"
"""Stands between directives in a system message; each is stored by itself."""
_SHORTEST: Final = 600
"""Shorter ones, such as the rule about data, stand in each prompt: they often hold what no other prompt has."""
_SYSTEM: Final = "system"

_ASKED = select(model_calls.c.pk, model_calls.c.prompt).where(
    of_my_scope(model_calls), model_calls.c.prompt.is_not(None)
)
_TEXTS = select(prompt_texts.c.hash, prompt_texts.c.text).where(of_my_scope(prompt_texts))
_THIS = of_my_scope(prompt_texts) & (prompt_texts.c.hash == bindparam("of_hash"))
_USED = update(prompt_texts).where(_THIS).values(used_at=bindparam("of_use"))
_IS_THERE = select(exists().where(_THIS))
Message = tuple[str, str]
"""The role and the text of a message."""


class StoredPrompts:
    """Prompts of the model calls of one scope, in one transaction; lives as long as it.

    Args:
        transaction: It.
    """

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self._known: dict[str, str] | None = None

    def pack(self, messages: Sequence[Message]) -> bytes:
        """Return *messages* as a row of `model_calls` holds them; directives are stored beside, if they are not yet."""
        return _pressed([[role, self._parted(role, text)] for role, text in messages])

    def unpack(self, prompt: bytes) -> list[Message]:
        """Return the messages that `pack` was given; "" in the place of a directive that is no longer there."""
        return [(role, self._whole(parts)) for role, parts in orjson.loads(zlib.decompress(prompt))]

    def all(self) -> Iterator[tuple[int, list[Message]]]:
        """Yield the key of each call of the scope whose prompt is on record, and its messages."""
        for row in self._transaction.execute(_ASKED):
            yield row.pk, self.unpack(row.prompt)

    def telling(self, texts: Collection[str]) -> set[int]:
        """Return the keys of the calls whose prompts hold one of *texts*, letter by letter."""
        return {
            key for key, messages in self.all() if any(text in content for _, content in messages for text in texts)
        }

    def forget(self, texts: Collection[str]) -> None:
        """Delete the directives that hold one of *texts*; the prompts that had them are the caller's to empty."""
        for hash_, told in self._texts().items():
            if any(text in told for text in texts):
                self._transaction.connection.execute(delete(prompt_texts).where(self._is(hash_)))
        self._known = None

    def _parted(self, role: str, text: str) -> str | list[str | dict[str, str]]:
        parts = text.split(BETWEEN) if role == _SYSTEM else [text]
        if role != _SYSTEM or all(len(one) < _SHORTEST for one in parts):
            return text
        return [{"text": self._stored(one)} if len(one) >= _SHORTEST else one for one in parts]

    def _stored(self, text: str) -> str:
        """Return what a directive is found by, once it is stored; it stays as long as prompts that use it."""
        hash_, now = sha256(text.encode()).hexdigest(), to_micros(self._transaction.now)
        if self._transaction.execute(_IS_THERE, of_hash=hash_).scalar_one():
            self._transaction.execute(_USED, of_hash=hash_, of_use=now)
        else:
            row = {"scope_id": self._transaction.scope_id, "hash": hash_, "text": _pressed(text), "used_at": now}
            with suppress(IntegrityError):  # another process stores the same
                self._transaction.insert_whole(prompt_texts, [row])
            self._known = None
        return hash_

    def _whole(self, parts: str | list[str | dict[str, str]]) -> str:
        if isinstance(parts, str):
            return parts
        return BETWEEN.join(one if isinstance(one, str) else self._texts().get(one["text"], "") for one in parts)

    def _texts(self) -> dict[str, str]:
        if self._known is None:
            found = self._transaction.execute(_TEXTS)
            self._known = {row.hash: orjson.loads(zlib.decompress(row.text)) for row in found}
        return self._known

    def _is(self, hash_: str) -> Any:
        return (prompt_texts.c.scope_id == self._transaction.scope_id) & (prompt_texts.c.hash == hash_)


def _pressed(value: object) -> bytes:
    return zlib.compress(orjson.dumps(value), 9)
