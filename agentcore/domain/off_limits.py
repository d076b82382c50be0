"""Defines a topic that a person wants nothing kept about."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from agentcore.domain.scope import Scope

LONGEST_TOPIC: Final = 100
"""Characters of a topic: its words stand in every prompt that reads what was said."""
MOST_TOPICS: Final = 20
"""Topics of a scope, for the same reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OffLimitsTopic:
    """A topic about which nothing is to be kept, in the person's own words; kept until the person removes it.

    Args:
        id: Unique within the scope.
        scope: Whose memory.
        words: The topic as the person named it, such as `my health`.
        created_at: When they said so.
        version: Optimistic version.
    """

    id: str
    scope: Scope
    words: str
    created_at: datetime
    version: int = field(default=1, compare=False)
