"""Model answers that were paid for: a resumed run finds them here."""

from collections.abc import Sequence
from dataclasses import dataclass

import orjson
from sqlalchemy import ColumnElement, delete, insert, select

from agentcore.domain.instants import to_micros
from agentcore.llm.chat import Completion, FinishReason, Usage
from agentcore.stores.sql.schema import model_calls
from agentcore.stores.sql.transaction import Transaction, encode


@dataclass(frozen=True, slots=True, kw_only=True)
class CallKey:
    """What identifies an answer: run, pass, batch and attempt."""

    run_id: str
    pass_name: str
    batch_key: str
    attempt: int


class AnswerStore:
    """Stored answers of one scope, in one transaction; lives as long as it."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self._connection = transaction.connection
        self._mine = model_calls.c.scope_id == transaction.scope_id

    def find(self, key: CallKey) -> Completion | None:
        """Return the answer stored under *key*, or None."""
        row = self._connection.execute(select(model_calls).where(self._is(key))).one_or_none()
        if row is None or row.answer is None:
            return None
        usage = Usage(input_tokens=row.input_tokens, output_tokens=row.output_tokens)
        return Completion(
            text=row.answer,
            finish_reason=FinishReason(row.finish_reason),
            usage=usage,
            model=row.model,
        )

    def save(self, key: CallKey, *, request: object, completion: Completion, record_ids: Sequence[str]) -> None:
        """Store an answer as soon as it is there; it takes the place of one that a `forget` has emptied."""
        self._connection.execute(delete(model_calls).where(self._is(key)))
        self._connection.execute(
            insert(model_calls).values(
                scope_id=self._transaction.scope_id,
                run_id=key.run_id,
                pass_name=key.pass_name,
                batch_key=key.batch_key,
                attempt=key.attempt,
                record_ids=encode(list(record_ids)),
                request=orjson.dumps(request, option=orjson.OPT_SORT_KEYS).decode(),
                answer=completion.text,
                finish_reason=completion.finish_reason.value,
                model=completion.model,
                input_tokens=completion.usage.input_tokens,
                output_tokens=completion.usage.output_tokens,
                answered_at=to_micros(self._transaction.now),
            ),
        )

    def _is(self, key: CallKey) -> ColumnElement[bool]:
        return (
            self._mine
            & (model_calls.c.run_id == key.run_id)
            & (model_calls.c.pass_name == key.pass_name)
            & (model_calls.c.batch_key == key.batch_key)
            & (model_calls.c.attempt == key.attempt)
        )
