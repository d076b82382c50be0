"""TurnContext: what one turn is given."""

from dataclasses import dataclass

from agentcore.domain.conversation import Turn
from agentcore.domain.memory import MemoryEntry
from agentcore.domain.skill import Skill


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnContext:
    """What one turn is given of what the agent knows; only what its conversation does not show already.

    Args:
        text: Everything as one block, for the prompt; empty if there is nothing new.
        tokens: What the block takes, never more than the budget.
        query: What was searched for: the message, with the turns before it where that is short.
        always: Pinned entries and preferences, the most important first.
        entries: Entries that answer the message, the best first.
        turns: Turns that do, the best first.
        skills: Skills that do, the best first.
    """

    text: str
    tokens: int
    query: str
    always: tuple[MemoryEntry, ...] = ()
    entries: tuple[MemoryEntry, ...] = ()
    turns: tuple[Turn, ...] = ()
    skills: tuple[Skill, ...] = ()
