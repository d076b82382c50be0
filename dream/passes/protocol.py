"""The contract of a pass."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar, Protocol, TypeVar, runtime_checkable
from zoneinfo import ZoneInfo

from agentcore.domain.capability import Capability
from agentcore.domain.scope import Scope
from agentcore.llm.chat import ChatRequest
from agentcore.recall.results import Neighbour
from agentcore.stores.storage import ReadView
from dream.domain.batch import Answer, Batch, Packing
from dream.domain.change import ChangeSet
from dream.domain.cluster import SettledCluster
from dream.domain.log_standing import LogStanding
from dream.domain.phases import PhaseStanding
from dream.domain.proposal import HistoryKind, Notes, Proposal, Work
from dream.domain.reasons import Refused
from dream.domain.recalls import RecallColumns
from dream.options import DreamOptions

if TYPE_CHECKING:
    from dream.guards.vocabulary import Vocabulary

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


class Alike(Protocol):
    """Tell which of a few entries share most of their rare words."""

    async def __call__(self, keys: Sequence[int], *, threshold: float) -> Sequence[tuple[int, int, float]]:
        """Return each pair of *keys* above *threshold* with its similarity, the smaller key first."""
        ...


class Declined(Protocol):
    """Look up what people took back, and, for passes that ask no model, what they have yet to decide."""

    async def __call__(self, fingerprints: Collection[str]) -> Mapping[str, Refused]:
        """Return those of *fingerprints* that must not be proposed, each with the reason."""
        ...


class CountHistory(Protocol):
    """Count bookkeeping that is old enough to go."""

    async def __call__(self, what: HistoryKind, before: datetime) -> int:
        """Return how much of it ended before that instant."""
        ...


class CountDocuments(Protocol):
    """Look up how common terms are."""

    async def __call__(self, texts: Sequence[str]) -> Mapping[str, int]:
        """Return, per term of *texts*, in how many active entries it stands."""
        ...


class ReadLog(Protocol):
    """Look up how far the conversation log was read."""

    async def __call__(self) -> LogStanding:
        """Return how far each enabled reader of turns is, and where the log ended when the run began."""
        ...


class Recalls(Protocol):
    """Look up what needs recalled."""

    async def __call__(self, zone: ZoneInfo, *, since: datetime | None = None) -> RecallColumns:
        """Return how often each entry was recalled after *since* up to `as_of`, days being those of *zone*."""
        ...


class Promoted(Protocol):
    """Look up what was promoted."""

    async def __call__(self) -> Mapping[str, datetime]:
        """Return the ids of all entries that ever were, and when."""
        ...


class Phases(Protocol):
    """Look up what earlier sweeps and thematic summaries met."""

    async def __call__(self) -> Mapping[str, PhaseStanding]:
        """Return, by id, how often they met each entry; those they never met are left out."""
        ...


class Settled(Protocol):
    """Look up what was left as it is."""

    async def __call__(self) -> list[SettledCluster]:
        """Return the clusters that the pass settled, longest ago first."""
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
        declined: Looks up what people took back, or have yet to decide.
        count_history: Counts bookkeeping that is old enough to go.
        read_log: Looks up how far the conversation log was read.
        recalls: Looks up what needs recalled.
        promoted: Looks up what was promoted to MEMORY.md.
        phases: Looks up what earlier sweeps and thematic summaries met.
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
    read_log: ReadLog
    recalls: Recalls
    promoted: Promoted
    phases: Phases


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelContext(DreamContext):
    """What a model pass may see and use besides.

    Args:
        alike: Tells which of a few entries are alike.
        count_documents: Looks up how common terms are.
        directives: The text of each of its directives by name, frozen for the run.
        marker: What fences data in this run's prompts: random, so that no record can know it.
        vocabulary: Which words the coverage guard takes for ordinary.
        new_id: Returns a fresh record id.
        side_cursors: Positions of the pass's own other readers by name (`Batch.reader`); 0 where one never looked.
        settled: Returns the clusters it left as they are, longest ago first.
        withheld: Looks up what people took back or have yet to decide: for changes that need no answer.
        has_model: Whether there is a model to ask, for a pass that does not require one.
        reserved: Categories that other passes alone write.
    """

    alike: Alike
    count_documents: CountDocuments
    directives: Mapping[str, str]
    marker: str
    vocabulary: "Vocabulary"
    new_id: Callable[[], str]
    side_cursors: Mapping[str, int]
    settled: Settled
    withheld: Declined
    has_model: bool
    reserved: Sequence[str]


class DreamPass(Protocol):
    """One kind of housekeeping: it looks, and proposes; only the runner writes.

    A pass is asked for one step at a time. Each `propose` sees the state that the step before it left, so a run that
    was interrupted goes on simply by asking again.

    What else it declares is optional; `dream.passes.declared` has it, with what counts for a pass that does not say:

    - `reads`: what its cursor counts (`dream.domain.declaration.Reads`), entries by default.
    - `side_readers`: what its other readers count, by the name that `Batch.reader` gives them.
    - `categories`: categories that it alone writes, with all below them: mined facts go elsewhere.
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


@runtime_checkable
class CountsChanges(Protocol):
    """A pass that counts its changes for the report; one that has no such method is not asked."""

    def made(self, change_sets: Sequence[ChangeSet]) -> Notes:
        """Return the counts of changes that were made: what was refused, or waits for room, is not among them."""
        ...


@runtime_checkable
class ModelPass(Protocol):
    """A pass whose steps are answered batches; the runner owns the calls.

    In a run it packs once. The runner freezes the packing, asks about several batches at once (`request`), stores
    each answer before anything else happens, asks again where the pass wants a repair (`review`), and then, batch by
    batch in the order of the packing, commits what `interpret` makes of the answers. Answers that are broken, cut off
    or empty never reach the pass: the runner refuses them, and halves a batch whose answer or prompt was too long.
    """

    name: ClassVar[str]
    requires: ClassVar[frozenset[Capability]]
    directives: ClassVar[tuple[str, ...]]
    """Names of the directives it sends, such as `memory-rules` and `dream`; they are frozen when a run begins."""

    async def has_work(self, context: ModelContext, /) -> Work:
        """Tell what there is to do as of `context.as_of`."""
        ...

    async def pack(self, context: ModelContext, /) -> Packing:
        """Partition what is new into batches; makes no call."""
        ...

    async def request(self, context: ModelContext, batch: Batch, /) -> ChatRequest | None:
        """Return the question about *batch*; None if nothing of it is left as it was packed. Same batch, same text."""
        ...

    async def review(self, context: ModelContext, batch: Batch, answer: Answer, /) -> ChatRequest | None:
        """Return a question that asks for a repair of *answer*; None if it needs none, or is beyond it."""
        ...

    async def interpret(self, context: ModelContext, batch: Batch, answers: Sequence[Answer], /) -> Proposal:
        """Return what the answers (the first, then the repaired one if there is one) change.

        Its `cursor`, `backlog` and `done` are not used; its `looked_at` are the members that are settled: what it
        leaves out is looked at again by the next run.
        """
        ...

    def conclude(self, notes: Sequence[Notes]) -> Notes:
        """Make the report's notes of the notes of packing and batches."""
        ...
