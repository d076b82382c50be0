"""What was said stays as it was said: of a turn a dream may note that it was read, and nothing else."""

from dataclasses import replace

from agentcore.domain.conversation import Turn
from dream.domain.change import ChangeSet
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.guards.knowledge import Knowledge


def keeps_words(change_set: ChangeSet, _knowledge: Knowledge) -> Refusal | None:
    """Refuse turns that nobody said, turns that say something else than before, and reading one a second time."""
    for change in change_set.changes:
        before, after = change.before, change.after
        if not isinstance(after, Turn):
            continue
        read_once = isinstance(before, Turn) and before.consumed_at is None and after.consumed_at is not None
        if not (read_once and replace(after, consumed_at=None) == before):
            return Refusal(Refused.MISMATCHED, after.id)
    return None
