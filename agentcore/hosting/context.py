"""Context: what a turn should see of what the agent knows."""

from typing import TypeAlias

from agentcore.domain.filters import TurnFilter
from agentcore.domain.scope import Scope
from agentcore.hosting.checks import clean_name, clean_query
from agentcore.recall.finding import Finding
from agentcore.recall.recall import Recall
from agentcore.recall.together import Together
from agentcore.stores.protocols import Storage

Findings: TypeAlias = list[Finding]


class Context:
    """What one scope's memory, conversations and skills give to a turn.

    Args:
        scope: Whose they are.
        storage: Where they are kept.
        recall: Finds them.
    """

    def __init__(self, scope: Scope, *, storage: Storage, recall: Recall) -> None:
        self._scope = scope
        self._together = Together(storage, recall)

    @property
    def scope(self) -> Scope:
        """Whose memory, conversations and skills they are."""
        return self._scope

    async def recall(self, query: str, k: int = 10, *, besides: str | None = None) -> Findings:
        """Return the *k* entries and turns that answer *query* best, in one ranking (see `agentcore.recall.together`).

        An entry and a turn it was taken from are not both among the best: the worse of them stands behind all others.

        Args:
            query: What is asked; one without a word finds nothing.
            k: How many at most, 1 or more.
            besides: A conversation whose turns are left out, such as the one the agent still sees.

        Raises:
            InvalidOptionsError: *k* is below 1, or the query is no text.
        """
        turns = None if besides is None else TurnFilter(besides=clean_name("session id", besides))
        return await self._together.search(self._scope, clean_query(query), k=k, turns=turns)
