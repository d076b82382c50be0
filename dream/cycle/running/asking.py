"""Opens the questions of a step: those that are not asked already, were not answered, and nobody took back."""

from collections.abc import Sequence
from dataclasses import replace

from agentcore.domain.evidence import SourceKind
from agentcore.domain.memory import MemoryEntry, last_rewrite
from agentcore.domain.question import Question, QuestionCause
from agentcore.domain.records import Record
from agentcore.stores.storage import ReadView, UnitOfWork
from dream.domain.change import ASK, Change, ChangeSet, fingerprint
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.stores import DreamStores


def open_questions(
    unit: UnitOfWork, books: DreamStores, asked: Sequence[Question]
) -> tuple[list[ChangeSet], list[Refusal]]:
    """Return the change sets that open what of *asked* is new, and a refusal for each that a person took back.

    Args:
        unit: The step's own; it writes nothing yet.
        books: The same.
        asked: Questions of a proposal, all of this scope.
    """
    change_sets: list[ChangeSet] = []
    refused: list[Refusal] = []
    earlier = unit.questions.naming({member for question in asked for member in question.members})
    for question in asked:
        if is_asked(unit, question, earlier):
            continue
        mark = fingerprint(f"{ASK}:{question.cause}", *_entries(unit, question))
        if books.decisions.declined({mark}):
            refused.append(Refusal.of(Refused.UNDONE_BY_PERSON, question.member_ids))
            continue
        before, after = _grown(question, earlier)
        change = Change[Record](before=before, after=after, reason=f"about {', '.join(after.member_ids)}")
        change_sets.append(ChangeSet(operation=ASK, changes=(change,), fingerprints={after.id: mark}))
        earlier = [*(one for one in earlier if one.id != after.id), after]
    return change_sets, refused


def is_asked(view: ReadView, question: Question, earlier: Sequence[Question]) -> bool:
    """Tell whether one of *earlier* asks the same, or was answered since the members' texts changed last."""
    same = [one for one in earlier if one.cause is question.cause and one.names(question.members)]
    if any(one.is_open or one.id == question.id for one in same):
        return True
    changed = last_rewrite(_entries(view, question))
    return any(one.still_answers(changed) for one in same)


def _grown(question: Question, earlier: Sequence[Question]) -> tuple[Question | None, Question]:
    """Return what is written over and what is written: near-duplicates of one entry make one question."""
    if question.cause is not QuestionCause.NEAR_DUPLICATE:
        return None, question
    for one in earlier:
        if one.is_open and one.cause is question.cause and not set(one.members).isdisjoint(question.members):
            similarity = max(one.similarity or 0.0, question.similarity or 0.0)
            return one, replace(one, members=(*one.members, *question.members), similarity=similarity)
    return None, question


def _entries(view: ReadView, question: Question) -> list[MemoryEntry]:
    return view.entries.get_many([ref.id for ref in question.members if ref.kind is SourceKind.ENTRY])
