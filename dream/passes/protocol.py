"""The contract of a pass."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar, Protocol, TypeVar

from agentcore.domain.capability import Capability
from agentcore.domain.scope import Scope
from agentcore.llm.chat import ChatRequest, Completion
from agentcore.recall.neighbour import Neighbour
from agentcore.stores.protocols import ReadView
from dream.domain.proposal import History, Notes, Proposal, Work
from dream.options import DreamOptions

T = TypeVar("T")


class Read(Protocol):
    """Run a function of a read-only view, off the event loop."""

    async def __call__(self, work: Callable[[ReadView], T]) -> T:
        """Return what *work* returns."""
        ...


class Similar(Protocol):
    """Find entries that share most of their rare words."""

    async def __call__(self, keys: Sequence[int], *, threshold: float, limit: int) -> Mapping[int, Sequence[Neighbour]]:
        """Return, per key, its neighbours above *threshold*, best first."""
        ...


class Declined(Protocol):
    """Look up what people took back."""

    async def __call__(self, fingerprints: Collection[str]) -> frozenset[str]:
        """Return those of *fingerprints* that a person declined."""
        ...


class CountHistory(Protocol):
    """Count bookkeeping that is old enough to go."""

    async def __call__(self, what: History, before: datetime) -> int:
        """Return how much of it ended before that instant."""
        ...


class Ask(Protocol):
    """Ask the model; an answer paid for in this run is never paid for again."""

    async def __call__(self, request: ChatRequest, record_ids: Sequence[str]) -> Completion:
        """Return the answer to *request*, which shows the records named."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class DreamContext:
    """What a pass may see and use for its next step: read-only, one scope, made afresh for each step.

    Args:
        scope: Whose memory.
        run_id: The run.
        as_of: The instant the run judges by.
        options: The host's options.
        cursor: Position up to which the pass has looked; 0 if it never did.
        reopened: Ids behind the cursor that it has to look at again.
        looked_at: Items it dealt with so far in this run.
        read: Reads the stores.
        similar: Finds lexical neighbours.
        declined: Looks up what people took back.
        count_history: Counts bookkeeping that is old enough to go.
        ask: Asks the model.
    """

    scope: Scope
    run_id: str
    as_of: datetime
    options: DreamOptions
    cursor: int
    reopened: frozenset[str]
    looked_at: int
    read: Read
    similar: Similar
    declined: Declined
    count_history: CountHistory
    ask: Ask


class DreamPass(Protocol):
    """One kind of housekeeping: it looks, and proposes; only the runner writes.

    A pass is asked for one step at a time. Each `propose` sees the state that the step before it left, so a run that
    was interrupted goes on simply by asking again.
    """

    name: ClassVar[str]
    requires: ClassVar[frozenset[Capability]]

    async def has_work(self, context: DreamContext) -> Work:
        """Tell what there is to do as of `context.as_of`."""
        ...

    async def propose(self, context: DreamContext) -> Proposal:
        """Return the next step."""
        ...

    def conclude(self, notes: Sequence[Notes]) -> Notes:
        """Make the report's notes of the steps' notes."""
        ...
