"""Makes what a pass may see, and caps what one step of it may do: retirements in a day, new records in a run."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from datetime import timedelta
from hashlib import blake2b
from typing import TYPE_CHECKING, TypeVar

from agentcore.domain.capability import Capability
from agentcore.domain.evidence import EvidenceVerdict
from agentcore.domain.filters import EntryFilter
from agentcore.domain.memory import MemoryEntry
from agentcore.domain.temporal import to_text
from agentcore.hosting.off_limits import off_limits_topics
from dream.cycle.review_queue import awaits_review, is_full
from dream.domain.change import FOLD
from dream.domain.declaration import Reads
from dream.domain.proposal import Refusal
from dream.domain.reasons import WAITS_FOR_QUEUE, WAITS_FOR_ROOM, Refused
from dream.domain.verification import VERIFY
from dream.options import PassMode, VerificationMode
from dream.passes import DreamContext, ModelContext, arranged
from dream.passes.protocol import ScopeRecall
from dream.stores import dream_stores, pass_view

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from agentcore.domain.scope import Scope
    from agentcore.hosting.services import HostServices
    from agentcore.stores.storage import ReadView
    from dream.domain.change import ChangeSet
    from dream.domain.proposal import Notes
    from dream.guards.names import Vocabulary
    from dream.options import ConsolidationOptions, DreamOptions
    from dream.passes.protocol import PassView
    from dream.stores import DreamStores


_DAY = timedelta(hours=24)
_TENTH = 10


@dataclass(slots=True)
class ShareCap:
    """Room for retirements in any 24 hours; lives as long as one transaction.

    Folds retire copies only, and count nothing.

    Args:
        room: Entries that may still be retired.
        taken: Entries that this step retires.
    """

    room: int
    taken: int = 0

    @classmethod
    def as_it_stands(cls, view: ReadView, books: DreamStores, options: ConsolidationOptions) -> ShareCap:
        """Return the room there is now: the cap, less what was retired in the last 24 hours."""
        active = view.entries.count(EntryFilter())
        retired = books.runs.retired_since(view.now - _DAY)
        # What was retired stood among the active ones that the share is of.
        cap = max(options.share_cap_min, int(options.share_cap * (active + retired)))
        return cls(max(0, cap - retired))

    @staticmethod
    def weight(change_set: ChangeSet) -> int:
        """Return how many entries *change_set* retires, as far as the cap counts them."""
        if change_set.operation == FOLD:
            return 0
        return sum(
            isinstance(change.before, MemoryEntry)
            and isinstance(change.after, MemoryEntry)
            and change.before.is_active
            and not change.after.is_active
            for change in change_set.changes
        )

    def admits(self, change_set: ChangeSet) -> bool:
        """Take the room that *change_set* needs; False, and nothing is taken, if there is too little."""
        weight = self.weight(change_set)
        if weight > self.room:
            return False
        self.room -= weight
        self.taken += weight
        return True


def waiting_notes(view: ReadView, options: DreamOptions, pass_name: str) -> Notes:
    """Return what of a pass waits, why and since when; of what waits for the share cap when there is more room."""
    books = dream_stores(view)
    waiting = [one.to_json() for one in books.waiting.counts() if one.pass_name == pass_name]
    oldest = books.runs.first_retired_since(view.now - _DAY) if waiting else None
    room_at = None if oldest is None else to_text(oldest + _DAY)
    room = {"share": options.consolidation.share_cap, "room_at": room_at}
    told = [one | room if one["reason"] == Refused.SHARE_CAP else one for one in waiting]
    return {"waits": told} if told else {}


def to_be_tried(view: ReadView, options: DreamOptions, pass_name: str) -> int:
    """Return how much of a pass waits that a run can try now: not what waits for room that is not there."""
    books = dream_stores(view)
    waiting = [one for one in books.waiting.counts() if one.pass_name == pass_name]
    roomless = {one.reason for one in waiting if not has_room(view, options, pass_name, one.reason)}
    return sum(one.count for one in waiting if one.reason not in roomless)


def has_room(view: ReadView, options: DreamOptions, pass_name: str, reason: str) -> bool:
    """Tell whether it is worth while to try what waits for this reason; for most reasons it is."""
    if options.mode(pass_name) is PassMode.PROPOSE or reason not in WAITS_FOR_ROOM:
        return True  # with no room in the queue, a pass that only proposes does not run at all
    if reason in WAITS_FOR_QUEUE:
        return not (is_full(view, options.review) or awaits_review(view, pass_name))
    return ShareCap.as_it_stands(view, dream_stores(view), options.consolidation).room > 0


def is_verbatim(change_set: ChangeSet) -> bool:
    """Tell whether a change set keeps a sentence as it was said, in a new entry."""
    new = (change.after for change in change_set.changes if change.before is None)
    return any(
        isinstance(entry, MemoryEntry)
        and bool(entry.evidence)
        and all(one.verdict is EvidenceVerdict.VERBATIM for one in entry.evidence)
        for entry in new
    )


@dataclass(slots=True)
class VerbatimCap:
    """Room for new entries that are kept word for word: a tenth of all that a run writes, one at least.

    Args:
        written: New records that the run wrote before this step; None for no bound.
        before: How many of them are kept word for word.
        taken: How many this step keeps so.
    """

    written: int | None
    before: int = 0
    taken: int = 0

    def admits(self, written: int) -> bool:
        """Take room for one more beside *written* new records of this step; False if there is none."""
        kept = self.before + self.taken + 1
        if self.written is not None and kept > max(1, (self.written + written + 1) // _TENTH):
            return False
        self.taken += 1
        return True


@dataclass(slots=True)
class Caps:
    """Room for what a step proposes; lives as long as one transaction.

    Args:
        share: Room for retirements; None where nothing is retired.
        outputs: New records that the run may still write; None for no bound.
        most: New records that any run may write; None for no bound.
        written: New records that this step writes.
        verbatim: Room for what is kept word for word.
    """

    share: ShareCap | None
    outputs: int | None
    most: int | None = None
    written: int = 0
    verbatim: VerbatimCap = field(default_factory=lambda: VerbatimCap(None))

    @classmethod
    def of(
        cls,
        view: ReadView,
        books: DreamStores,
        options: DreamOptions,
        run_id: str,
        change_sets: Sequence[ChangeSet],
        *,
        only_proposes: bool,
    ) -> Caps:
        """Return the room there is now for what a step of a run proposes; what waits for a person retires nothing."""
        retires = not only_proposes and any(ShareCap.weight(one) for one in change_sets)
        share = ShareCap.as_it_stands(view, books, options.consolidation) if retires else None
        steps = [step.report for step in books.runs.steps(run_id)]
        written = sum(step.outputs for step in steps)
        is_capped = options.verification is not VerificationMode.OFF
        verbatim = VerbatimCap(written if is_capped else None, sum(step.verbatim for step in steps))
        if options.max_outputs is None:
            return cls(share, None, verbatim=verbatim)
        return cls(share, max(0, options.max_outputs - written), options.max_outputs, verbatim=verbatim)

    @property
    def retired(self) -> int:
        """Entries that this step retires, as far as the cap counts them."""
        return 0 if self.share is None else self.share.taken

    def refusal(self, change_set: ChangeSet) -> Refusal | None:
        """Take the room that *change_set* needs; the cap that has too little, and then nothing is taken."""
        ids = [change.record_id for change in change_set.changes]
        new = sum(change.before is None and change.after is not None for change in change_set.changes)
        if not self._has_room(new):
            return Refusal.of(Refused.OUTPUT_CAP, ids)
        if is_verbatim(change_set) and not self.verbatim.admits(self.written):
            return Refusal.of(Refused.VERBATIM_CAP, ids)
        if self.share is not None and not self.share.admits(change_set):
            return Refusal.of(Refused.SHARE_CAP, ids)
        self.written += new
        return None

    def _has_room(self, new: int) -> bool:
        """Tell whether so many new records may be written together: more than any run may, as soon as one may."""
        if self.outputs is None or self.most is None or not new:
            return True
        room = self.outputs - self.written
        return new <= room or 0 < room <= self.most < new


T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextFactory:
    """Makes the contexts of one pass of one run; lives as long as it.

    Args:
        parts: What the host offers.
        scope: Whose memory.
        options: The host's options.
        pass_name: The pass.
        run_id: The run.
        as_of: The instant it judges by.
        reads: What the pass's cursor counts.
        log_readers: Enabled passes that read the conversation log.
        log_end: Position of the newest turn when the run began.
    """

    parts: HostServices
    scope: Scope
    options: DreamOptions
    pass_name: str
    run_id: str
    as_of: datetime
    reads: Reads = Reads.ENTRIES
    log_readers: tuple[str, ...] = ()
    log_end: int = 0

    async def plain(self, looked_at: int) -> DreamContext:
        """Return the context of a step, after *looked_at* items of the run."""

        def stand(view: PassView) -> tuple[int, frozenset[str]]:
            cursors = view.books.cursors
            return cursors.position(self.pass_name) or 0, frozenset(cursors.reopened(self.pass_name))

        cursor, reopened = await self._read(stand)
        return DreamContext(
            scope=self.scope,
            run_id=self.run_id,
            pass_name=self.pass_name,
            as_of=self.as_of,
            options=self.options,
            cursor=cursor,
            reopened=reopened,
            looked_at=looked_at,
            log_readers=self.log_readers,
            log_end=self.log_end,
            read=self._read,
            recall=ScopeRecall(self.parts.recall, self.scope),
        )

    async def _read(self, work: Callable[[PassView], T]) -> T:
        return await self.parts.storage.read(self.scope, lambda view: work(pass_view(view)))

    def _reserved(self) -> tuple[str, ...]:
        others = (slot.declaration for slot in arranged(self.options.passes))
        return tuple(found for one in others if one.name != self.pass_name for found in one.categories)

    async def with_model(
        self, looked_at: int, *, directives: Mapping[str, str], vocabulary: Vocabulary
    ) -> ModelContext:
        """Return the context of a pass that asks a model.

        Entries that it reviewed under other directives are to be looked at again: its cursor is back at 0 until it has
        packed under these.
        """
        plain = await self.plain(looked_at)
        known = {field.name: getattr(plain, field.name) for field in fields(plain)}
        mark = directives_mark(directives)

        def look(view: ReadView) -> tuple[Mapping[str, int], str | None, tuple[str, ...]]:
            books = dream_stores(view)
            topics = tuple(topic.words for topic in off_limits_topics(view))
            return books.cursors.side_positions(self.pass_name), books.ledger.fingerprint(self.pass_name), topics

        side_cursors, reviewed_under, topics = await self.parts.storage.read(self.scope, look)
        if self.reads is Reads.ENTRIES and reviewed_under not in {None, mark}:
            known["cursor"] = 0
        return ModelContext(
            **known,
            directives=directives,
            marker=fence_marker(self.run_id),
            vocabulary=vocabulary,
            new_id=self.parts.ids.new,
            side_cursors=side_cursors,
            has_model=Capability.LLM in self.parts.capabilities,
            reserved=self._reserved(),
            off_limits=topics,
        )


def directives_mark(directives: Mapping[str, str]) -> str:
    """Return what tells the texts that a pass judges by from any others; how it is verified reopens nothing."""
    told = (text for name, text in directives.items() if name != VERIFY)
    return blake2b("\x1f".join(told).encode(), digest_size=16).hexdigest()


def fence_marker(run_id: str) -> str:
    """Return what fences data in a run's prompts: as random as the run's id, which no record could know.

    Example:
        >>> len(fence_marker("4f00c2"))
        16
    """
    return blake2b(run_id.encode(), digest_size=8, person=b"fence").hexdigest()
