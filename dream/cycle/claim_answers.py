"""Makes the change set of a person's answer to which of several claims holds."""

from collections.abc import Mapping
from typing import Final

from agentcore.domain.claim import Claim, ClaimState
from agentcore.domain.evidence import SourceKind
from agentcore.domain.memory import MemoryEntry
from agentcore.domain.predicates import PredicateRule
from agentcore.domain.question import Question, QuestionVerdict
from agentcore.domain.records import Record
from agentcore.stores.storage import UnitOfWork
from dream.cycle.desk_changes import settled
from dream.domain.change import Change, ChangeSet
from dream.domain.desk_decision import DeskDecision
from dream.errors import UnknownMemberError
from dream.passes.claim_changes import promoted, rejected

ANSWER_CLAIM: Final = "answer_claim"


def answered_claims(
    unit: UnitOfWork,
    asked: Question,
    keep: str | None,
    decision: DeskDecision,
    *,
    rules: Mapping[str, PredicateRule],
    new_id: str,
) -> ChangeSet:
    """Return what an answer changes: the claim that holds becomes a fact in the place of others, or is refused.

    Args:
        unit: The transaction.
        asked: The question.
        keep: The member that holds, by its id or the beginning of it; None to dismiss the question.
        decision: Who answers.
        rules: The rows of predicates.
        new_id: The id of the fact that comes to be, if one does.

    Raises:
        UnknownMemberError: *keep* is none of the members.
    """
    claims = [
        one
        for one in unit.claims.get_many([ref.id for ref in asked.members if ref.kind is SourceKind.CLAIM])
        if one.state is ClaimState.DISPUTED
    ]
    if keep is None:
        return ChangeSet(operation=ANSWER_CLAIM, changes=(settled(asked, None, decision),))
    facts = [one for one in unit.entries.get_many(asked.member_ids) if one.is_active]
    kept = _kept(keep, [*facts, *claims])
    changes: list[Change[Record]] = []
    for claim in claims:
        if claim is kept:
            step = promoted(unit, claim, rules, decision, new_id, is_chosen=True)
            changes += step.changes
            kept = step.fact or kept
        else:
            changes.append(rejected(claim, f"{kept.id} holds, decided by {decision.by}", decision))
    changes.append(settled(asked, QuestionVerdict.KEPT, decision, kept.id))
    return ChangeSet(operation=ANSWER_CLAIM, changes=tuple(changes))


def _kept(prefix: str, members: list[MemoryEntry | Claim]) -> MemoryEntry | Claim:
    found = [one for one in members if prefix and one.id.startswith(prefix)]
    if len(found) != 1:
        raise UnknownMemberError(value=prefix, members=[one.id for one in members])
    return found[0]
