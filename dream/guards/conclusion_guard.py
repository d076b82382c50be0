"""Holds conclusions against their premises."""

from typing import TYPE_CHECKING, Final

from agentcore.domain.memory import Level, MemoryEntry, Trust
from dream.domain.change import ChangeSet
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused

if TYPE_CHECKING:
    from dream.guards.change_guards import Knowledge

_DEEPEST: Final = 3
"""Conclusions above one another at most."""


def rests_on_premises(change_set: ChangeSet, knowledge: "Knowledge") -> Refusal | None:
    """Refuse conclusions that do not stand on their premises, or are surer or more trusted than these make them.

    What a conclusion says never changes: what would say something else is another one.
    """
    for change in change_set.changes:
        before, after = change.before, change.after
        if not isinstance(after, MemoryEntry) or not (before is None or isinstance(before, MemoryEntry)):
            continue
        if not (after.is_conclusion or (before is not None and before.is_conclusion)):
            continue
        if before is not None and _concludes(before) != _concludes(after):
            return Refusal(Refused.MISFOUNDED, after.id)
        code = _misfounded(after, knowledge) if after.is_active else None
        if code is not None:
            return Refusal(code, after.id)
    return None


def _concludes(entry: MemoryEntry) -> tuple[object, ...]:
    return entry.level, entry.content, entry.pattern


def _misfounded(conclusion: MemoryEntry, knowledge: "Knowledge") -> Refused | None:
    footing = knowledge.footings.get(conclusion.id)
    premises = [knowledge.premises.get(one.entry_id) for one in conclusion.premises]
    found = [premise for premise in premises if premise is not None]
    if footing is None or len(found) < len(premises) or (footing.missing is not None and not footing.stands):
        return Refused.PREMISE_GONE
    if not footing.stands:
        return Refused.TOO_FEW_OCCASIONS
    if any(premise.level is Level.INDUCTIVE for premise in found):
        return Refused.NO_PREMISE
    if knowledge.depths.get(conclusion.id, 0) > _DEEPEST:
        return Refused.TOO_DEEP
    if conclusion.trust > min([Trust.INFERRED, *(premise.trust for premise in found)]):
        return Refused.TRUST_RAISED
    return None if conclusion.confidence is footing.confidence else Refused.MISFOUNDED
