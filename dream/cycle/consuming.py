"""Turns change in one way alone: everybody has read them, or an undo has them unread again."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from datetime import datetime

from agentcore.domain.capability import Capability
from agentcore.domain.conversation import Turn
from agentcore.stores.storage import UnitOfWork
from dream.domain.reads import Reads
from dream.options import DreamOptions
from dream.passes import Place
from dream.passes.declared import reads_of


def log_readers(order: Sequence[Place], options: DreamOptions, capabilities: Collection[Capability]) -> tuple[str, ...]:
    """Return the passes that read turns to learn from them, are enabled and have what they require."""
    able = [place for place in order if options.is_on(place.name) and place.requires.issubset(capabilities)]
    return tuple(place.name for place in able if reads_of(place.dream_pass) is Reads.TURNS)


def mark_turns(unit: UnitOfWork, turns: Sequence[Turn]) -> None:
    """Write when each of *turns* was consumed, or that it was not."""
    ids: defaultdict[datetime | None, list[str]] = defaultdict(list)
    for turn in turns:
        ids[turn.consumed_at].append(turn.id)
    for instant, turn_ids in ids.items():
        if instant is None:
            unit.turns.mark_unread(turn_ids)
        else:
            unit.turns.mark_consumed(turn_ids, instant)
