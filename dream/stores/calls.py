"""Model calls: answers that were paid for, which a resumed run finds here, and tries that failed, which cost too.

A call is on record before it is sent, as one without an answer; what comes of it takes the place of that.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import orjson
from sqlalchemy import ColumnElement, Table, bindparam, delete, func, insert, literal, null, select

from agentcore.domain.temporal import to_micros
from agentcore.llm.chat import Completion, FinishReason, Usage
from agentcore.stores.sql.erase import SqlErasureReader
from agentcore.stores.sql.schema import model_calls, model_failures
from agentcore.stores.sql.stored_prompts import StoredPrompts
from agentcore.stores.sql.tombstones import SqlTombstoneReader
from agentcore.stores.sql.transaction import encode, of_my_scope
from dream.domain.rounds import AskedRound, RoundCost, RoundKind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Table

    from agentcore.llm.chat import FailedTry
    from agentcore.stores.sql.transaction import Transaction
    from dream.domain.rounds import NextRound

CANCELLED = "cancelled"
"""The failure of a call that was given up for a person's turn."""

NO_ANSWER = "no_answer"
"""The failure of a call that is under way, or of which nothing came: its process ended, or it was cancelled."""

Forgets: TypeAlias = tuple[int, "int | None", int]
"""How many tombstones a scope has, when the last was set (microseconds since 1970), and how often it was erased."""

SHARED = "+"
"""Ends the key of an answer that several exchanges share, until it is split."""

_LONGEST_FAILURE = 32


def _with_key(table: Table) -> ColumnElement[bool]:
    return (
        of_my_scope(table)
        & (table.c.run_id == bindparam("of_run"))
        & (table.c.pass_name == bindparam("of_pass"))
        & (table.c.batch_key == bindparam("of_batch"))
        & (table.c.attempt == bindparam("of_attempt"))
    )


_THIS = _with_key(model_calls)
_BEGUN = _with_key(model_failures) & (model_failures.c.failure == NO_ANSWER)
_NEWEST_BEGUN = select(func.max(model_failures.c.pk)).where(_BEGUN).scalar_subquery()
_SETTLE = delete(model_failures).where(model_failures.c.pk == _NEWEST_BEGUN)
_FIND = select(model_calls).where(_THIS)
_REMOVE = delete(model_calls).where(_THIS)
_SAVE = insert(model_calls)
_SUMS = tuple(
    (
        select(count, func.sum(table.c.input_tokens), func.sum(table.c.output_tokens)).where(of_my_scope(table)),
        table.c,
        at,
    )
    for table, count, at in (
        (model_calls, func.sum(model_calls.c.calls), model_calls.c.answered_at),
        (model_failures, func.count(), model_failures.c.failed_at),
    )
)
_SUMS_OF_ALL = tuple(
    select(count, func.sum(columns.input_tokens), func.sum(columns.output_tokens)).where(at >= bindparam("since"))
    for columns, count, at in (
        (model_calls.c, func.sum(model_calls.c.calls), model_calls.c.answered_at),
        (model_failures.c, func.count(), model_failures.c.failed_at),
    )
)
_TEXTS = frozenset({"pk", "scope_id", "prompt", "answer"})


@dataclass(frozen=True, slots=True, kw_only=True)
class CallKey:
    """What identifies an answer: run, pass, batch and round, counted from 1."""

    run_id: str
    pass_name: str
    batch_key: str
    round: int


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """An answer that was paid for, with what a run that resumes needs of its round.

    Args:
        completion: The answer.
        asked: Why it was asked, and what the question showed besides its batch.
    """

    completion: Completion
    asked: AskedRound = field(default_factory=AskedRound)


@dataclass(frozen=True, slots=True)
class Spent:
    """Calls, failed ones included, and their tokens."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    @property
    def tokens(self) -> int:
        """Tokens in both directions."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Spent) -> Spent:
        return Spent(
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
        )


def spent_by_all(transaction: Transaction, since: datetime) -> Spent:
    """Return what the calls of all scopes cost since an instant."""
    total = Spent()
    with transaction.beyond_scope():
        for sums in _SUMS_OF_ALL:
            count, given, got = transaction.connection.execute(sums, {"since": to_micros(since)}).one()
            total += Spent(count or 0, given or 0, got or 0)
    return total


class CallStore:
    """Model calls of one scope, in one transaction; lives as long as it."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self._connection = transaction.connection

    def find(self, key: CallKey) -> StoredAnswer | None:
        """Return the answer stored under *key*; None if there is none, or if a `forget` emptied it."""
        row = self._transaction.execute(_FIND, **_parameters(key)).one_or_none()
        if row is None or row.answer is None:
            return None
        usage = Usage(
            input_tokens=row.input_tokens, output_tokens=row.output_tokens, is_estimated=bool(row.is_estimated)
        )
        completion = Completion(
            text=row.answer,
            finish_reason=FinishReason(row.finish_reason),
            usage=usage,
            model=row.model,
        )
        kind = RoundKind.of_number(key.round) if row.round_kind is None else RoundKind(row.round_kind)
        told: Any = orjson.loads(row.shown or "[]")
        # What a round was about came later; most rounds are about all that there is, and have a list of records alone.
        names = ("shown", "about", "read_as")
        more: list[Any] = [told[name] for name in names if name in told] if isinstance(told, dict) else [told]
        return StoredAnswer(completion, AskedRound.from_json((kind, *more)))

    def asked(self, run_id: str, pass_name: str, kind: RoundKind) -> set[str]:
        """Return the batches of a pass about which a round of this kind was answered in a run."""
        mine = (model_calls.c.run_id == run_id) & (model_calls.c.pass_name == pass_name)
        found = select(model_calls.c.batch_key).where(of_my_scope(model_calls), mine)
        return set(self._transaction.execute(found.where(model_calls.c.round_kind == kind.value)).scalars())

    def are_forgotten(self, run_id: str, pass_name: str, batch_key: str) -> bool:
        """Tell whether a `forget` emptied an answer about a batch."""
        emptied = select(func.count()).where(of_my_scope(model_calls), model_calls.c.answer.is_(None))
        mine = (model_calls.c.run_id == run_id) & (model_calls.c.pass_name == pass_name)
        return bool(self._transaction.execute(emptied.where(mine, model_calls.c.batch_key == batch_key)).scalar_one())

    def forgets(self) -> Forgets:
        """Return what the next `forget` changes."""
        return (*SqlTombstoneReader(self._transaction).state(), SqlErasureReader(self._transaction).count())

    def save(
        self, key: CallKey, *, asked: NextRound, completion: Completion, record_ids: Sequence[str], since: Forgets
    ) -> None:
        """Store an answer as soon as it is there; it takes the place of one that a `forget` has emptied.

        Args:
            key: What it is found by.
            asked: The question.
            completion: The answer.
            record_ids: The records of the batch.
            since: What `forgets` said before the question was worded: what was forgotten since may stand in both, so
                then neither is kept.
        """
        self._transaction.execute(_REMOVE, **_parameters(key))
        now = self.forgets()
        if now[-1] != since[-1]:
            return  # nothing of an erased scope is kept, not even what a call cost
        is_kept = now == since
        row = {
            "scope_id": self._transaction.scope_id,
            "run_id": key.run_id,
            "pass_name": key.pass_name,
            "batch_key": key.batch_key,
            "attempt": key.round,
            "round_kind": asked.kind.value,
            "shown": _shown(asked.asked),
            "record_ids": encode([*record_ids, *(record_id for record_id, _ in asked.shown)]),
            "prompt": self._packed(asked) if is_kept else None,
            "answer": completion.text if is_kept else None,
            "finish_reason": completion.finish_reason.value,
            "model": completion.model,
            "input_tokens": completion.usage.input_tokens,
            "output_tokens": completion.usage.output_tokens,
            "is_estimated": completion.usage.is_estimated,
            "answered_at": to_micros(self._transaction.now),
        }
        self._connection.execute(_SAVE, row)
        self.fail(key, completion.failed_tries, model=completion.model)

    def split(self, key: CallKey, parts: Mapping[CallKey, tuple[str, AskedRound]]) -> None:
        """Put the parts of an answer in its place, each as the answer to a question of one pass about one batch.

        What the answer cost is shared among them: the question evenly, the answer by its length. The question is kept
        with the first.

        Args:
            key: What the answer is stored under.
            parts: The text of each part and why it was asked, by what it is found by from now on.
        """
        row = self._transaction.execute(_FIND, **_parameters(key)).mappings().one_or_none()
        if row is None or not parts:
            return
        self._transaction.execute(_REMOVE, **_parameters(key))
        given = _shares(row["input_tokens"], [1] * len(parts))
        got = _shares(row["output_tokens"], [len(text) for text, _ in parts.values()])
        kept = {column: value for column, value in row.items() if column != "pk"}
        for place, (own, (text, asked)) in enumerate(parts.items()):
            self._transaction.execute(_REMOVE, **_parameters(own))
            part = {
                "pass_name": own.pass_name,
                "batch_key": own.batch_key,
                "attempt": own.round,
                "shown": _shown(asked),
                "answer": None if row["answer"] is None else text,
                "prompt": row["prompt"] if place == 0 else None,
                "input_tokens": given[place],
                "output_tokens": got[place],
                "is_estimated": True,
                "calls": int(place == 0),
            }
            self._connection.execute(_SAVE, kept | part)

    def begin(self, key: CallKey, most: Usage, *, model: str) -> None:
        """Put a call on record that is about to be sent, at the most it can cost."""
        self._failures(key, [(NO_ANSWER, most)], model)

    def settle(self, key: CallKey) -> None:
        """Take back what `begin` put on record, in the transaction that says what came of the call."""
        self._transaction.execute(_SETTLE, **_parameters(key))

    def settle_all(self, run_id: str) -> None:
        """Take back all that `begin` put on record of a run."""
        begun = (model_failures.c.run_id == run_id) & (model_failures.c.failure == NO_ANSWER)
        self._transaction.execute(delete(model_failures).where(of_my_scope(model_failures), begun))

    def fail(self, key: CallKey, tries: Sequence[FailedTry], *, model: str) -> None:
        """Record tries that gave no answer."""
        self._failures(key, [(one.failure.value, one.usage) for one in tries], model)

    def lose(self, key: CallKey, failure: str, usage: Usage, *, model: str) -> None:
        """Record a call that was given up for a person, or that failed in a way its client does not tell."""
        self._failures(key, [(failure[:_LONGEST_FAILURE], usage)], model)

    def spent(self, *, run_id: str | None = None, pass_name: str | None = None, since: datetime | None = None) -> Spent:
        """Return what calls cost: of a run, of a pass in it, since an instant, or of all there are on record."""
        total = Spent()
        for sums, columns, at in _SUMS:
            where = [] if run_id is None else [columns.run_id == run_id]
            where += [] if pass_name is None else [columns.pass_name == pass_name]
            where += [] if since is None else [at >= to_micros(since)]
            count, given, got = self._transaction.execute(sums.where(*where)).one()
            total += Spent(count or 0, given or 0, got or 0)
        return total

    def without_answer(self, run_id: str, pass_name: str) -> Spent:
        """Return what the calls of a pass in a run are charged that are under way, or of which nothing came."""
        sums, columns, _ = _SUMS[-1]
        mine = (columns.run_id == run_id) & (columns.pass_name == pass_name) & (columns.failure == NO_ANSWER)
        count, given, got = self._transaction.execute(sums.where(mine)).one()
        return Spent(count or 0, given or 0, got or 0)

    def spent_by_all(self, since: datetime) -> Spent:
        """Return what the calls of all scopes cost since an instant."""
        return spent_by_all(self._transaction, since)

    def rounds(self, run_id: str, pass_name: str) -> tuple[RoundCost, ...]:
        """Return what the rounds of a pass cost in a run, by number and kind, in order.

        A call that failed is of the kind of the answer that came for it after all.
        """
        kinds: dict[tuple[str, int], RoundKind] = {}
        costs: dict[tuple[int, RoundKind | None], Spent] = {}
        for table in (model_calls, model_failures):
            columns = table.c
            mine = of_my_scope(table) & (columns.run_id == run_id) & (columns.pass_name == pass_name)
            told = (columns.round_kind, columns.calls) if table is model_calls else (null(), literal(1))
            found = select(columns.batch_key, columns.attempt, *told, columns.input_tokens, columns.output_tokens)
            for batch, number, name, count, given, got in self._transaction.execute(found.where(mine)):
                if table is model_calls:
                    kinds[batch, number] = RoundKind.of_number(number) if name is None else RoundKind(name)
                kind = kinds.get((batch, number), RoundKind.QUESTION if number == 1 else None)
                costs[number, kind] = costs.get((number, kind), Spent()) + Spent(count, given, got)
        return tuple(
            RoundCost(
                number=number,
                kind=kind,
                calls=one.calls,
                input_tokens=one.input_tokens,
                output_tokens=one.output_tokens,
            )
            for (number, kind), one in sorted(costs.items(), key=lambda cost: (cost[0][0], cost[0][1] or ""))
        )

    def taken(self, run_id: str) -> list[tuple[str, list[dict[str, Any]]]]:
        """Return the rows of a run's calls, texts aside, to be counted elsewhere (see `count`)."""
        return [(table.name, self._rows(table, run_id)) for table in (model_calls, model_failures)]

    def count(self, taken: Sequence[tuple[str, list[dict[str, Any]]]]) -> None:
        """Add rows of another store's calls: a plan is tried on a copy, and paid for here."""
        for name, rows in taken:
            if rows:
                table = {model_calls.name: model_calls, model_failures.name: model_failures}[name]
                self._connection.execute(
                    insert(table), [{**row, "scope_id": self._transaction.scope_id} for row in rows]
                )

    def _packed(self, asked: NextRound) -> bytes:
        return StoredPrompts(self._transaction).pack([(one.role.value, one.content) for one in asked.request.messages])

    def _failures(self, key: CallKey, failures: Sequence[tuple[str, Usage]], model: str) -> None:
        rows = [
            {
                "scope_id": self._transaction.scope_id,
                "run_id": key.run_id,
                "pass_name": key.pass_name,
                "batch_key": key.batch_key,
                "failure": failure,
                "model": model,
                "input_tokens": usage.input_tokens,
                "output_tokens": usage.output_tokens,
                "failed_at": to_micros(self._transaction.now),
                "attempt": key.round,
            }
            for failure, usage in failures
        ]
        if rows:
            self._connection.execute(insert(model_failures), rows)

    def _rows(self, table: Table, run_id: str) -> list[dict[str, Any]]:
        columns = [column for column in table.c if column.name not in _TEXTS]
        names = [column.name for column in columns]
        mine = (table.c.scope_id == self._transaction.scope_id) & (table.c.run_id == run_id)
        found = self._connection.execute(select(*columns).where(mine).order_by(table.c.pk))
        return [dict(zip(names, row, strict=True)) for row in found]


def _shares(total: int, weights: Sequence[int]) -> list[int]:
    """Return how much of *total* each weight has; what is left over goes to the first.

    Example:
        >>> _shares(10, [1, 1, 1])
        [4, 3, 3]
    """
    whole = sum(weights) or 1
    shares = [total * weight // whole for weight in weights]
    shares[0] += total - sum(shares)
    return shares


def _shown(asked: AskedRound) -> str | None:
    more = {"read_as": asked.read_as} if asked.read_as else {}
    return encode({"shown": asked.shown, "about": asked.about, **more} if asked.about else asked.shown)


def _parameters(key: CallKey) -> dict[str, object]:
    return {"of_run": key.run_id, "of_pass": key.pass_name, "of_batch": key.batch_key, "of_attempt": key.round}
