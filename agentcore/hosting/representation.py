"""Puts together what is known of a peer: what was said and what was concluded, each conclusion with its premises."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypedDict, TypeVar

from agentcore.domain.card import CardLine
from agentcore.domain.conclusion import Premise
from agentcore.domain.filters import EntryFilter
from agentcore.domain.memory import Level, MemoryEntry, SourceKind
from agentcore.domain.records import entry_json
from agentcore.domain.scope import Scope
from agentcore.llm.chat import estimate_tokens
from agentcore.recall.recall import Recall
from agentcore.stores.storage import ReadView, Storage

LEVELS: Final = (Level.EXPLICIT, Level.DERIVED, Level.DEDUCTIVE, Level.INDUCTIVE)
"""What a representation holds unless it is told otherwise."""
Shown = TypeVar("Shown")
LOOKED_THROUGH: Final = 500
"""Entries that a representation, or a recall within some sessions, is chosen from at most."""


class Wanted(TypedDict, total=False):
    """What a representation is to hold; whatever is not named is as `Memory.representation` has it."""

    levels: Iterable[Level | str]
    """Only what is known in these ways."""
    budget_tokens: int
    """Tokens of its text at most."""
    sessions: Iterable[str] | None
    """Only what goes back to these conversations, and to no other one."""


@dataclass(frozen=True, slots=True)
class HeldEntry:
    """One entry of a representation.

    Args:
        entry: It.
        premises: What a conclusion rests on, each with its entry, which is None if it was purged; empty for the others.
    """

    entry: MemoryEntry
    premises: tuple[tuple[Premise, MemoryEntry | None], ...] = ()

    @property
    def line(self) -> str:
        """It as a prompt shows it: what it says, how that is known, and what it rests on."""
        entry = self.entry
        if not entry.is_conclusion:
            return f"- {entry.content}"
        sure = "" if entry.pattern is None else f" {entry.pattern.value}, confidence {entry.confidence}"
        told = "; ".join(
            f"{'against: ' if one.against else ''}{found.content}" for one, found in self.premises if found is not None
        )
        return f"- {entry.content} [{entry.level.value}{sure}; from: {told}]"

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values, the premises with what they say."""
        told = [
            {"entry_id": one.entry_id, "against": one.against, "content": None if found is None else found.content}
            for one, found in self.premises
        ]
        return {**entry_json(self.entry), "premises": told} if told else entry_json(self.entry)


@dataclass(frozen=True, slots=True)
class Representation:
    """What is known of a peer, the most relevant first, within a budget.

    Args:
        scope: Whose view of whom.
        held: The entries.
        text: All of it, as a prompt shows it.
        tokens: What the text costs.
        card: The lines of the card that the text begins with.
    """

    scope: Scope
    held: tuple[HeldEntry, ...]
    text: str
    tokens: int
    card: tuple[CardLine, ...] = ()


async def represent(
    storage: Storage,
    recall: Recall,
    scope: Scope,
    *,
    query: str | None,
    levels: Collection[Level],
    budget_tokens: int,
    sessions: Collection[str] | None,
) -> Representation:
    """Return what is known; see `Memory.representation`."""
    found = await recall.search(scope, query, k=LOOKED_THROUGH) if query else None
    ranked = None if found is None else [hit.entry for hit in found]

    def read(view: ReadView) -> tuple[list[CardLine], list[HeldEntry]]:
        entries = ranked if ranked is not None else view.entries.select(EntryFilter(), limit=LOOKED_THROUGH)
        wanted = [entry for entry in entries if entry.level in levels]
        card = view.card.lines()
        if sessions is not None:
            wanted = within(view, wanted, sessions)
            card = [line for line in card if line.premises and {one.session for one in line.premises} <= set(sessions)]
        return card, held_entries(view, wanted)

    card, held = await storage.read(scope, read)
    shown = list(_fitting(card, str, budget_tokens))
    left = budget_tokens - sum(estimate_tokens(f"{line}\n") for line in shown)
    fitting = list(_fitting(held, lambda one: one.line, left))
    text = "\n".join([*map(str, shown), *(one.line for one in fitting)])
    return Representation(scope, tuple(fitting), text, estimate_tokens(text) if text else 0, tuple(shown))


def held_entries(view: ReadView, entries: Sequence[MemoryEntry]) -> list[HeldEntry]:
    """Return entries with what they rest on."""
    named = {one.entry_id for entry in entries for one in entry.premises}
    premises = {entry.id: entry for entry in view.entries.get_many(named)}
    return [HeldEntry(one, tuple((each, premises.get(each.entry_id)) for each in one.premises)) for one in entries]


def within(view: ReadView, entries: Sequence[MemoryEntry], sessions: Collection[str]) -> list[MemoryEntry]:
    """Return the entries that go back to these conversations and to no other one."""
    heard = _heard_in(view, entries)
    return [entry for entry in entries if heard[entry.id] and heard[entry.id] <= set(sessions)]


def _heard_in(view: ReadView, entries: Sequence[MemoryEntry]) -> Mapping[str, set[str]]:
    """Return the conversations that each entry goes back to: those of a conclusion are those of its premises."""
    cited = {
        entry.id: {ref.id for ref in (*entry.sources, *(one.source for one in entry.evidence)) if _is_turn(ref.kind)}
        for entry in entries
    }
    turns = {turn.id: turn.session_id for turn in view.turns.get_many({one for ids in cited.values() for one in ids})}
    return {
        entry.id: {turns[one] for one in cited[entry.id] if one in turns} | {one.session for one in entry.premises}
        for entry in entries
    }


def _is_turn(kind: SourceKind) -> bool:
    return kind is SourceKind.TURN


def _fitting(items: Iterable[Shown], line_of: Callable[[Shown], str], budget_tokens: int) -> Iterable[Shown]:
    used = 0
    for one in items:
        used += estimate_tokens(f"{line_of(one)}\n")
        if used > budget_tokens:
            return
        yield one
