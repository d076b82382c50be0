"""Passes that do what a test wishes, well-behaved or not."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from dreaming import World

from agentcore.domain import Capability, Level, MemoryEntry, SourceKind, SourceRef, Status
from agentcore.llm import ChatRequest, ResponseFormat
from dream.domain import Batch, Change, ChangeSet, NextRound, Notes, Packing, Proposal, Round, RoundKind, Work
from dream.passes import DreamContext, ModelContext
from dream.passes.prompts import build_request, repair_request

Wish = Callable[[Sequence[MemoryEntry]], Proposal]
EVERYTHING = 10_000


def nothing(_: Sequence[MemoryEntry]) -> Proposal:
    """Wish for nothing."""
    return Proposal()


async def active_entries(context: DreamContext) -> list[MemoryEntry]:
    """The active entries that people brought, in the order of arrival."""
    found = await context.read(lambda view: view.entries.material(after=0, also=(), limit=EVERYTHING))
    entries = await context.read(lambda view: view.entries.by_keys([item.key for item in found]))
    return [entries[item.key] for item in found]


@dataclass
class Wishful:
    """Proposes what a test wishes for the active entries, oldest first; `interfere` is awaited in between."""

    wish: Wish
    interfere: Callable[[], Awaitable[Any]] | None = None
    asked: list[int] = field(default_factory=list)

    name: ClassVar[str] = "wishful"
    requires: ClassVar[frozenset[Capability]] = frozenset()

    async def has_work(self, _context: DreamContext) -> Work:
        return Work(1)

    async def propose(self, context: DreamContext) -> Proposal:
        entries = await active_entries(context)
        if self.interfere is not None:
            await self.interfere()
        self.asked.append(len(entries))
        return self.wish(entries)

    def conclude(self, notes: Sequence[Notes]) -> Notes:
        return notes[-1]


def merging(world: World, text: str = "Ana likes tea and rye.") -> Wishful:
    """A pass that puts the first two entries that people brought into one."""

    def wish(found: Sequence[MemoryEntry]) -> Proposal:
        one, *others = found[:2]
        merged = replace(
            one,
            id=world.ids.new(),
            content=text,
            base=min(entry.base for entry in found[:2]),
            trust=min(entry.trust for entry in found[:2]),
            sources=tuple(sorted(SourceRef(SourceKind.ENTRY, entry.id) for entry in found[:2])),
            level=Level.DERIVED,
            own_count=0,
            absorbed=tuple(sorted((entry.id, entry.own_count) for entry in found[:2])),
            version=1,
        )
        retired = {"status": Status.ARCHIVED, "status_reason": "merged", "successor": merged.id}
        changes = [Change[MemoryEntry](before=None, after=merged, reason="one text for two")]
        for entry in (one, *others):
            gone = replace(entry, **retired, status_at=world.clock.now())
            changes.append(Change(before=entry, after=gone, reason="merged"))
        return Proposal(change_sets=(ChangeSet(operation="merge", changes=tuple(changes)),))

    return Wishful(lambda found: wish(found) if len(found) > 1 else Proposal())


class Zealous(Wishful):
    """Calls itself retention, and purges as it does."""

    name: ClassVar[str] = "retention"
    purges: ClassVar[bool] = True


@dataclass
class Curious:
    """Asks the model one question per batch, and keeps the answers as notes.

    Answers are JSON with a `text`; a text of `again` is asked to be repaired once.
    """

    questions: Sequence[str]
    after_answer: Callable[[int], Awaitable[Any]] | None = None
    propose: Callable[[ModelContext, str], Awaitable[Proposal]] | None = None
    per_batch: int = 1

    name: ClassVar[str] = "curious"
    requires: ClassVar[frozenset[Capability]] = frozenset({Capability.LLM})
    directives: ClassVar[tuple[str, ...]] = ("memory-rules",)

    async def has_work(self, context: ModelContext) -> Work:
        return Work(len(self.questions) - context.cursor + len(context.reopened))

    async def pack(self, context: ModelContext) -> Packing:
        places = [*sorted(int(one) for one in context.reopened), *range(context.cursor, len(self.questions))]
        groups = [places[start : start + self.per_batch] for start in range(0, len(places), self.per_batch)]
        batches = tuple(
            Batch(number=str(number), kind="question", members=tuple((str(place), 1) for place in group))
            for number, group in enumerate(groups, 1)
        )
        return Packing(batches=batches, cursor=len(self.questions), notes={"asked": len(batches)})

    async def ask(self, context: ModelContext, batch: Batch, rounds: Sequence[Round]) -> NextRound | None:
        first = self.question(context, batch)
        if not rounds:
            return NextRound(first)
        if len(rounds) == 1 and rounds[0].answer.get("text") == "again":
            return NextRound(repair_request(first, rounds[0].answer, "say more"), RoundKind.REPAIR)
        return None

    def question(self, context: ModelContext, batch: Batch) -> ChatRequest:
        asked = " and ".join(self.questions[int(place)] for place in batch.member_ids)
        return build_request(
            context, directives=(), blocks=[asked], answer=ResponseFormat(name="answer", schema={}), purpose=self.name
        )

    async def interpret(self, context: ModelContext, batch: Batch, rounds: Sequence[Round]) -> Proposal:
        text = str(rounds[-1].answer.get("text"))
        if self.after_answer is not None:
            await self.after_answer(int(batch.member_ids[0]))
        proposal = Proposal() if self.propose is None else await self.propose(context, text)
        return replace(proposal, notes={"answer": text}, looked_at=batch.member_ids)

    def conclude(self, notes: Sequence[Notes]) -> Notes:
        return {"answers": [note["answer"] for note in notes if "answer" in note]}
