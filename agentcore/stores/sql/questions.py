"""Reads and writes questions that only a person can answer."""

from collections.abc import Collection, Iterable
from dataclasses import replace

from sqlalchemy import or_, select

from agentcore.domain.evidence import SourceKind, SourceRef
from agentcore.domain.question import Question, QuestionCause, QuestionState
from agentcore.stores.sql.record_store import SqlRecordReader, SqlRecordStore
from agentcore.stores.sql.rows import RecordRows
from agentcore.stores.sql.schema import entries, questions
from agentcore.stores.sql.transaction import Transaction, chunks, has_element, is_active

_ROWS = RecordRows(Question, questions)
_MENTIONS = 50
"""Records asked about in one statement; databases bound the depth of an expression."""
_LEAST = 2
"""Members that have to be active for a question to be asked."""


class SqlQuestionReader(SqlRecordReader[Question]):
    """Read questions."""

    def __init__(self, transaction: Transaction) -> None:
        super().__init__(transaction, _ROWS)

    def naming(self, members: Iterable[SourceRef]) -> list[Question]:
        """Return the questions, answered ones too, that are about one of *members* or more, by id."""
        found: dict[str, Question] = {}
        for chunk in chunks(sorted(map(str, set(members))), _MENTIONS):
            named = or_(*(has_element(questions.c.members, member) for member in chunk))
            rows = self._transaction.execute(self._rows.by_id.where(named)).all()
            found |= {row.id: self._rows.read(self._transaction, row) for row in rows}
        return [found[name] for name in sorted(found)]

    def waiting(self, cause: QuestionCause | None = None) -> list[Question]:
        """Return the open questions of which two members or more are active, the oldest first.

        The others have answered themselves; they wait again if a member is brought back.
        """
        found = self.in_state(QuestionState.OPEN, cause)
        named = {ref.id for one in found for ref in one.members if ref.kind is SourceKind.ENTRY}
        active = self._active(named)
        return [one for one in found if sum(_counts(ref, active) for ref in one.members) >= _LEAST]

    def beginning_with(self, prefix: str) -> list[Question]:
        """Return the questions whose ids begin with *prefix*: two at most, which tells that it is not one."""
        named = self._rows.by_id.where(questions.c.id.startswith(prefix, autoescape=True)).limit(2)
        return [self._rows.read(self._transaction, row) for row in self._transaction.execute(named).all()]

    def in_state(self, state: QuestionState, cause: QuestionCause | None = None) -> list[Question]:
        """Return the questions in this state, the oldest first."""
        statement = self._rows.mine.where(questions.c.state == state.value)
        if cause is not None:
            statement = statement.where(questions.c.cause == cause.value)
        rows = self._transaction.execute(statement.order_by(questions.c.asked_at, questions.c.id)).all()
        return [self._rows.read(self._transaction, row) for row in rows]

    def _active(self, ids: Collection[str]) -> set[str]:
        active: set[str] = set()
        for chunk in chunks(sorted(ids)):
            mine = select(entries.c.id).where(entries.c.scope_id == self._transaction.scope_id, entries.c.id.in_(chunk))
            active.update(self._connection.execute(mine.where(is_active(entries.c.status))).scalars())
        return active


def _counts(member: SourceRef, active: Collection[str]) -> bool:
    return member.kind is not SourceKind.ENTRY or member.id in active


class SqlQuestionStore(SqlQuestionReader, SqlRecordStore[Question]):
    """Write questions."""

    def release(self, gone: Collection[str]) -> None:
        """Take entries and claims that are removed for good out of questions.

        An open question about near-duplicates goes on without them as long as two members are left; every other one
        that names one of them, as a member or as what holds now, goes.
        """
        doomed = set[str]()
        for chunk in chunks(sorted(gone), _MENTIONS):
            refs = {SourceRef(kind, one) for one in chunk for kind in (SourceKind.ENTRY, SourceKind.CLAIM)}
            told = questions.c.result.in_(sorted(map(str, refs)))
            doomed.update(self._connection.execute(select(questions.c.id).where(self._mine, told)).scalars())
            for question in self.naming(refs):
                left = tuple(member for member in question.members if member not in refs)
                if question.is_open and question.cause is QuestionCause.NEAR_DUPLICATE and len(left) >= _LEAST:
                    self.replace(question, replace(question, members=left))
                else:
                    doomed.add(question.id)
        self.delete(doomed)
