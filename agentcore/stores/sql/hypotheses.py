"""Reads and writes hypotheses and claims, and finds those that a forget takes with it."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

from sqlalchemy import ColumnElement, func, or_, select

from agentcore.domain.claim import Claim, ClaimKey, ClaimState, Entailment
from agentcore.domain.conversation import Turn
from agentcore.domain.evidence import SourceKind, SourceRef
from agentcore.domain.hypothesis import VISIBLE, Hypothesis, HypothesisSource, HypothesisSourceKind, HypothesisState
from agentcore.domain.memory import MemoryEntry
from agentcore.domain.text import content_hash, fold_key
from agentcore.stores.sql.entries import SqlEntryReader
from agentcore.stores.sql.record_store import SqlRecordReader, SqlRecordStore
from agentcore.stores.sql.rows import RecordRows, members_of
from agentcore.stores.sql.schema import claims, hypotheses
from agentcore.stores.sql.transaction import Transaction, chunks, has_element
from agentcore.stores.sql.turns import SqlTurnReader

_HYPOTHESES: Final = RecordRows(Hypothesis, hypotheses, {"state": members_of(HypothesisState)})
_CLAIMS: Final = RecordRows(
    Claim, claims, {"state": members_of(ClaimState), "entailment": members_of(Entailment), "negated": bool}
)
_LOST: Final = frozenset(
    {
        ClaimState.REJECTED,
        ClaimState.SUPERSEDED,
        ClaimState.DISPUTED,
        HypothesisState.STALE,
        HypothesisState.REJECTED,
    }
)
"""States in which nothing rests on a claim or a hypothesis any longer."""
_MENTIONS: Final = 50
"""Records asked about in one statement; databases bound the depth of an expression."""
_H, _C = hypotheses.c, claims.c


class SqlHypothesisReader(SqlRecordReader[Hypothesis]):
    """Read hypotheses."""

    def __init__(self, transaction: Transaction) -> None:
        super().__init__(transaction, _HYPOTHESES)

    def in_states(self, states: Collection[HypothesisState]) -> list[Hypothesis]:
        """Return those in these states, the oldest first."""
        return self._where(_H.state.in_(sorted(states)))

    def count(self, states: Collection[HypothesisState]) -> int:
        """Count those in these states."""
        counted = select(func.count()).select_from(hypotheses).where(self._mine, _H.state.in_(sorted(states)))
        return self._connection.execute(counted).scalar_one()

    def changed_after(self, revision: int) -> list[Hypothesis]:
        """Return those written after that revision of the scope, in whatever state."""
        return self._where(_H.revision > revision)

    def visible_count(self) -> int:
        """Count those that recall names beside its results."""
        return self.count(VISIBLE)

    def beginning_with(self, prefix: str) -> list[Hypothesis]:
        """Return those whose ids begin with *prefix*: two at most, which tells that it is not one."""
        named = self._rows.by_id.where(_H.id.startswith(prefix, autoescape=True)).limit(2)
        return [self._rows.read(self._transaction, row) for row in self._transaction.execute(named).all()]

    def resting_on(self, sources: Iterable[HypothesisSource]) -> list[Hypothesis]:
        """Return those that rest on one of these, and those that rest on them, however far down; by id."""
        found: dict[str, Hypothesis] = {}
        ahead = {str(one) for one in sources}
        while ahead:
            new: dict[str, Hypothesis] = {}
            for chunk in chunks(sorted(ahead), _MENTIONS):
                named = or_(*(has_element(_H.source_refs, ref) for ref in chunk))
                new |= {one.id: one for one in self._where(named) if one.id not in found}
            found |= new
            ahead = {str(HypothesisSource(HypothesisSourceKind.HYPOTHESIS, one)) for one in new}
        return [found[one] for one in sorted(found)]

    def lost_sources(self, hypotheses: Iterable[Hypothesis]) -> dict[str, str]:
        """Return what happened to a source of each, by its id; left out are those whose sources are as they were."""
        asked = list(hypotheses)
        every = {ref for one in asked for ref in one.source_refs}
        ids = {kind: {ref.id for ref in every if ref.kind is kind} for kind in HypothesisSourceKind}
        entry_store, turn_store = SqlEntryReader(self._transaction), SqlTurnReader(self._transaction)
        found: dict[str, MemoryEntry | Claim | Hypothesis | Turn] = {}
        for one in (
            *entry_store.get_many(ids[HypothesisSourceKind.ENTRY]),
            *SqlClaimReader(self._transaction).get_many(ids[HypothesisSourceKind.CLAIM]),
            *self.get_many(ids[HypothesisSourceKind.HYPOTHESIS]),
            *turn_store.get_many(ids[HypothesisSourceKind.TURN]),
        ):
            found[one.id] = one
        told: dict[str, str] = {}
        for one in asked:
            texts = {premise.entry_id: premise.text_key for premise in one.premises}
            for ref in one.source_refs:
                why = _lost(found.get(ref.id), texts.get(ref.id))
                if why is not None:
                    told[one.id] = f"its source {ref} {why}"
                    break
        return told

    def _where(self, condition: ColumnElement[bool]) -> list[Hypothesis]:
        statement = self._rows.mine.where(condition).order_by(_H.created_at, _H.id)
        return [self._rows.read(self._transaction, row) for row in self._transaction.execute(statement).all()]


def _lost(source: MemoryEntry | Claim | Hypothesis | Turn | None, text_key: str | None) -> str | None:
    match source:
        case None:
            return "is gone"
        case MemoryEntry():
            if not source.is_active:
                return f"is {source.status.value}"
            is_as_it_was = text_key is None or text_key == fold_key(source.content)
            return None if is_as_it_was else "says something else by now"
        case Turn():
            return None
        case _:
            return f"is {source.state.value}" if source.state in _LOST else None


class SqlHypothesisStore(SqlHypothesisReader, SqlRecordStore[Hypothesis]):
    """Write hypotheses."""

    def release(self, gone: Collection[str]) -> None:
        """Take forgotten entries out of what came after hypotheses and was held against them."""
        refs = {SourceRef(SourceKind.ENTRY, one) for one in gone}
        for chunk in chunks(sorted(map(str, refs)), _MENTIONS):
            for one in self._where(or_(*(has_element(_H.touching, ref) for ref in chunk))):
                left = replace(one, touching=tuple(ref for ref in one.touching if ref not in refs), weighed=())
                kept = [weighed for weighed in one.weighed if weighed.entry_id not in gone]
                self.replace(one, left.with_weighed(kept) if one.weighed else left)

    def _beside(self, record: Hypothesis) -> dict[str, Any]:  # noqa: ARG002 - the same for each
        return {"revision": self._transaction.change()}


class SqlClaimReader(SqlRecordReader[Claim]):
    """Read claims."""

    def __init__(self, transaction: Transaction) -> None:
        super().__init__(transaction, _CLAIMS)

    def in_states(self, states: Collection[ClaimState]) -> list[Claim]:
        """Return those in these states, the oldest first."""
        return self._where(_C.state.in_(sorted(states)))

    def of_key(self, key: ClaimKey) -> list[Claim]:
        """Return those about the same subject and predicate, the oldest first."""
        return self._where(_C.claim_key == _key_column(key))

    def of_facts(self, entry_ids: Collection[str]) -> list[Claim]:
        """Return those that one of these entries says."""
        return [one for chunk in chunks(sorted(set(entry_ids))) for one in self._where(_C.fact.in_(chunk))]

    def beginning_with(self, prefix: str) -> list[Claim]:
        """Return those whose ids begin with *prefix*: two at most, which tells that it is not one."""
        named = self._rows.by_id.where(_C.id.startswith(prefix, autoescape=True)).limit(2)
        return [self._rows.read(self._transaction, row) for row in self._transaction.execute(named).all()]

    def citing(self, sources: Iterable[SourceRef]) -> list[Claim]:
        """Return those taken from one of these records, by id."""
        found: dict[str, Claim] = {}
        for chunk in chunks(sorted(map(str, set(sources))), _MENTIONS):
            found |= {one.id: one for one in self._where(or_(*(has_element(_C.sources, ref) for ref in chunk)))}
        return [found[one] for one in sorted(found)]

    def is_empty(self) -> bool:
        """Tell whether there is none."""
        return self._connection.execute(select(_C.pk).where(self._mine).limit(1)).first() is None

    def _where(self, condition: ColumnElement[bool]) -> list[Claim]:
        statement = self._rows.mine.where(condition).order_by(_C.asserted_at, _C.id)
        return [self._rows.read(self._transaction, row) for row in self._transaction.execute(statement).all()]


class SqlClaimStore(SqlClaimReader, SqlRecordStore[Claim]):
    """Write claims."""

    def _beside(self, record: Claim) -> dict[str, Any]:
        return {"claim_key": _key_column(record.key)}


def _key_column(key: ClaimKey) -> str:
    return content_hash("\x1f".join(key))


def doomed_with(
    transaction: Transaction, entry_ids: Collection[str], turn_ids: Collection[str]
) -> tuple[list[Claim], list[Hypothesis]]:
    """Return the claims and hypotheses that rest on forgotten entries or turns."""
    store = SqlClaimReader(transaction)
    named: Sequence[tuple[SourceKind, Collection[str]]] = (
        (SourceKind.ENTRY, entry_ids),
        (SourceKind.TURN, turn_ids),
    )
    cited = [SourceRef(kind, one) for kind, ids in named for one in ids]
    told = {one.id: one for one in (*store.citing(cited), *store.of_facts(entry_ids))}
    rested = [HypothesisSource(HypothesisSourceKind(ref.kind.value), ref.id) for ref in cited]
    rested += [HypothesisSource(HypothesisSourceKind.CLAIM, one) for one in told]
    return list(told.values()), SqlHypothesisReader(transaction).resting_on(rested)
