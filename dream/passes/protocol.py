"""Defines what a pass is, what it is given, and what it keeps for the length of a run."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar, Final, Generic, Protocol, TypeVar, runtime_checkable

from agentcore.domain.capability import Capability
from agentcore.domain.conversation import Turn
from agentcore.domain.scope import Scope
from agentcore.recall.results import Hit, Neighbour, SharedTerms
from agentcore.stores.storage import ReadView
from dream.domain.change import ChangeSet
from dream.domain.cluster import SettledCluster
from dream.domain.proposal import Notes, Proposal, Work
from dream.domain.reasons import Refused
from dream.domain.rounds import NextRound, Round
from dream.domain.step import Batch, Packing, WaitingExchange
from dream.options import DreamOptions

if TYPE_CHECKING:
    from agentcore.recall.recall import Recall
    from dream.guards.names import Vocabulary
    from dream.stores import DreamReaders


T = TypeVar("T")


class PassView(ReadView, Protocol):
    """Everything a pass may read of its scope, in one consistent look; nothing in it writes."""

    @property
    def books(self) -> "DreamReaders":
        """The dream's own bookkeeping: cursors, decisions of people, promotions and so on."""
        ...


class Read(Protocol):
    """Run a function of a read-only view, off the event loop."""

    async def __call__(self, work: Callable[[PassView], T]) -> T:
        """Return what *work* returns."""
        ...


@dataclass(frozen=True, slots=True)
class ScopeRecall:
    """Looks words and entries up in the recall index of one scope; a lookup here does not count as use."""

    _recall: "Recall"
    _scope: Scope

    async def search(self, query: str, *, k: int = 10) -> Sequence[Hit]:
        """Return the *k* best active entries for *query*, best first."""
        return await self._recall.search(self._scope, query, k=k)

    async def turns(self, query: str, *, k: int = 10) -> Sequence[Turn]:
        """Return the *k* best turns of the conversation log for *query*, best first."""
        return [hit.turn for hit in await self._recall.turns.search(self._scope, query, k=k)]

    async def similar(
        self, keys: Sequence[int], *, threshold: float, limit: int, text_alone: bool = False
    ) -> Mapping[int, Sequence[Neighbour]]:
        """Return, per key, the entries above *threshold* that share most of its rare words, best first.

        Words of categories and tags count too, unless *text_alone* leaves them out.
        """
        return await self._recall.similar(self._scope, keys, threshold=threshold, limit=limit, text_alone=text_alone)

    async def sharing(self, keys: Sequence[int], *, limit: int) -> Mapping[int, Sequence["SharedTerms"]]:
        """Return, per key, the entries that share rare terms with it, those that share the rarest first."""
        return await self._recall.sharing(self._scope, keys, limit=limit)

    async def alike(self, keys: Sequence[int], *, threshold: float) -> Sequence[tuple[int, int, float]]:
        """Return each pair of *keys* above *threshold* with its similarity, the smaller key first."""
        return await self._recall.alike(self._scope, keys, threshold=threshold)

    async def count_documents(self, texts: Sequence[str]) -> Mapping[str, int]:
        """Return, per term of *texts*, in how many active entries it stands."""
        return await self._recall.count_documents(self._scope, texts)


@dataclass(frozen=True, slots=True, kw_only=True)
class DreamContext:
    """What a pass may see and use for its next step: read-only, one scope, made afresh for each step.

    Args:
        scope: Whose memory.
        run_id: The run.
        pass_name: The pass.
        as_of: The instant the run judges by.
        options: The host's options.
        cursor: Position up to which the pass has looked; 0 if it never did.
        reopened: Ids behind the cursor that it has to look at again.
        looked_at: Items it dealt with so far in this run.
        log_readers: Enabled passes that read the conversation log.
        log_end: Position of the newest turn when the run began: what came since is not this run's.
        read: Reads the stores and the bookkeeping.
        recall: Looks words and entries up in the recall index.
    """

    scope: Scope
    run_id: str
    pass_name: str
    as_of: datetime
    options: DreamOptions
    cursor: int
    reopened: frozenset[str]
    looked_at: int
    log_readers: tuple[str, ...]
    log_end: int
    read: Read
    recall: ScopeRecall

    async def declined(self, fingerprints: Collection[str]) -> set[str]:
        """Return those of *fingerprints* that a person took back: no dream does them again."""
        return await self.read(lambda view: view.books.decisions.declined(fingerprints))

    async def withheld(self, fingerprints: Collection[str]) -> Mapping[str, Refused]:
        """Return those that must not be proposed, each with the reason: declined, or waiting for a person.

        For changes that need no model: without it they would be found again at each step.
        """
        return await self.read(lambda view: view.books.decisions.withheld(fingerprints))

    async def waiting(self) -> frozenset[str]:
        """Return ids of what exchanges are about that earlier runs left waiting: a run goes on with them by itself."""
        return await self.read(lambda view: view.books.waiting.members(self.pass_name))

    async def settled(self) -> list[SettledCluster]:
        """Return the clusters that the pass left as they are, longest ago first."""
        return await self.read(lambda view: view.books.clusters.all(self.pass_name))


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelContext(DreamContext):
    """What a model pass may see and use besides.

    Args:
        directives: The text of each of its directives by name, frozen for the run.
        marker: What fences data in this run's prompts: random, so that no record can know it.
        vocabulary: Which words the coverage guard takes for ordinary.
        new_id: Returns a fresh record id.
        side_cursors: Positions of the pass's own other readers by name (`Batch.reader`); 0 where one never looked.
        has_model: Whether there is a model to ask, for a pass that does not require one.
        reserved: Categories that other passes alone write.
        off_limits: Topics about which nothing is to be kept, in the person's words.
        waited: Exchanges that earlier runs left waiting and this one goes on with, by the number of the batch.
    """

    directives: Mapping[str, str]
    marker: str
    vocabulary: "Vocabulary"
    new_id: Callable[[], str]
    side_cursors: Mapping[str, int]
    has_model: bool
    reserved: Sequence[str]
    off_limits: tuple[str, ...] = ()
    waited: Mapping[str, WaitingExchange] = field(default_factory=dict[str, WaitingExchange])


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

    In a run it packs once. The runner freezes the packing and has an exchange with the model about each batch, several
    at once: round by round it asks what the pass says (`ask`: a question, a lookup, a repair, a second reading) and
    stores each answer before anything else happens. Then, batch by batch in the order of the packing, it commits what
    `interpret` makes of the rounds. Answers that are broken, cut off or empty never reach the pass: the runner refuses
    them, and halves a batch whose answer or prompt was too long.
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

    async def ask(self, context: ModelContext, batch: Batch, rounds: Sequence[Round], /) -> NextRound | None:
        """Return the next question about *batch*, after the answered *rounds*; None if the exchange is over.

        With no round yet, None means that nothing of the batch is left as it was packed. The same batch and rounds give
        the same question. Between two rounds the pass may look anything up in *context*; what the next question shows
        of it goes into `NextRound.shown`. After `options.model.max_rounds` rounds no further one is asked.
        """
        ...

    async def interpret(self, context: ModelContext, batch: Batch, rounds: Sequence[Round], /) -> Proposal:
        """Return what the answers of the exchange change.

        The last rounds may be missing: a repair that the budget had no room for, or what was beyond the bound.
        Its `cursor`, `backlog` and `done` are not used; its `looked_at` are the members that are settled: what it
        leaves out is looked at again by the next run.

        With `waits` the exchange is kept with its answers, its members are settled, and the next run goes on with it:
        it calls `ask` and `interpret` with the rounds there are, and `context.waited` has the exchange as it waited.
        """
        ...

    def conclude(self, notes: Sequence[Notes]) -> Notes:
        """Make the report's notes of the notes of packing and batches."""
        ...


_RUNS_REMEMBERED: Final = 16
"""Several scopes dream at once, and each time a scope is asked for its work counts as a run."""


class RunMemo(Generic[T]):
    """Keeps one value for each of the latest runs; lives as long as its pass.

    Questions are put together side by side: whoever needs the value while it is worked out waits for it. A run that
    another process resumes works the value out anew, so it must follow from what the run froze: the instant it judges
    by, and records that its batches name with their versions.
    """

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[Scope, str], T] = OrderedDict()
        self._under_way: dict[tuple[Scope, str], asyncio.Lock] = {}

    async def of(self, context: DreamContext, make: Callable[[], Awaitable[T]]) -> T:
        """Return the value of the run, made by *make* if there is none yet."""
        key = (context.scope, context.run_id)
        if key in self._known:
            self._known.move_to_end(key)
            return self._known[key]
        # A lock belongs to an event loop, so it lasts no longer than the making.
        async with self._under_way.setdefault(key, asyncio.Lock()):
            try:
                if key not in self._known:
                    self._known[key] = await make()
            finally:
                self._under_way.pop(key, None)
            value = self._known[key]
            while len(self._known) > _RUNS_REMEMBERED:
                self._known.popitem(last=False)
            return value
