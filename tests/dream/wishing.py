"""Passes that do what a test wishes, well-behaved or not."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from agentcore.domain.capability import Capability
from agentcore.domain.memory import MemoryEntry
from agentcore.llm.chat import ChatMessage, ChatRequest, ChatRole
from dream.domain.proposal import Notes, Proposal, Work
from dream.passes import DreamContext

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


class Zealous(Wishful):
    """Calls itself retention."""

    name: ClassVar[str] = "retention"


@dataclass
class Curious:
    """Asks the model one question per step, and keeps the answers as notes."""

    questions: Sequence[str]
    after_answer: Callable[[int], Awaitable[Any]] | None = None

    name: ClassVar[str] = "curious"
    requires: ClassVar[frozenset[Capability]] = frozenset({Capability.LLM})

    async def has_work(self, context: DreamContext) -> Work:
        return Work(len(self.questions) - context.cursor)

    async def propose(self, context: DreamContext) -> Proposal:
        place = context.cursor
        request = ChatRequest(
            messages=(ChatMessage(ChatRole.USER, self.questions[place]),), max_output_tokens=50, purpose=self.name
        )
        answer = await context.ask(request, [])
        if self.after_answer is not None:
            await self.after_answer(place)
        done = place + 1 == len(self.questions)
        return Proposal(notes={"answer": answer.text}, cursor=place + 1, done=done)

    def conclude(self, notes: Sequence[Notes]) -> Notes:
        return {"answers": [note["answer"] for note in notes]}
