"""Asks a memory questions, and checks whether what it recalls goes back to the turns that answer them."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from math import ceil

from agentcore.domain.filters import EntryFilter
from agentcore.domain.memory import MemoryEntry, SourceKind
from agentcore.domain.signals import Purpose
from agentcore.domain.text import fold_key
from agentcore.hosting.memory import Memory
from agentcore.llm.chat import estimate_tokens
from agentcore.stores.storage import ReadView, Storage
from dream.interfaces.benchmark.samples import Question


class Provenance:
    """Follows entries down to the turns they were drawn from, through whatever they were made of.

    An entry is made of the entries it names as sources and of those whose observations it absorbed. The successor of an
    entry is not: what replaced a fact does not say it any longer.

    Args:
        entries: All entries of a scope, in whatever state.

    Example:
        >>> from datetime import UTC, datetime
        >>> from agentcore.domain.memory import SourceRef
        >>> from agentcore.domain.scope import Scope
        >>> said = datetime(2025, 5, 1, tzinfo=UTC)
        >>> def entry(name, *sources):
        ...     return MemoryEntry(id=name, scope=Scope.default(), content=name, created_at=said, recorded_at=said,
        ...                        last_seen_at=said, sources=tuple(map(SourceRef.parse, sources)))
        >>> provenance = Provenance([entry("a", "turn:1"), entry("b", "turn:2"), entry("ab", "entry:a", "entry:b")])
        >>> sorted(provenance.turns("ab"))
        ['1', '2']
    """

    def __init__(self, entries: Iterable[MemoryEntry]) -> None:
        self._entries = {entry.id: entry for entry in entries}
        self._known: dict[str, frozenset[str]] = {}

    def turns(self, entry_id: str) -> frozenset[str]:
        """Return the ids of the turns that an entry goes back to; none for an entry that is not there."""
        if entry_id not in self._known:
            self._known[entry_id] = self._follow(entry_id)
        return self._known[entry_id]

    def _follow(self, entry_id: str) -> frozenset[str]:
        found: set[str] = set()
        seen = {entry_id}
        ahead = [entry_id]
        while ahead:
            entry = self._entries.get(ahead.pop())
            if entry is None:
                continue
            found.update(source.id for source in entry.sources if source.kind is SourceKind.TURN)
            parents = {source.id for source in entry.sources if source.kind is SourceKind.ENTRY}
            parents.update(absorbed for absorbed, _ in entry.absorbed)
            ahead += parents - seen
            seen |= parents
        return frozenset(found)


DEPTHS = (5, 10)
"""Numbers of entries read."""
BUDGETS = (250, 500, 1_000, 2_000)
"""Numbers of tokens read."""

_MARGIN = 1.25
"""How many more entries are recalled at first than would fill the greatest budget if all were of the mean length."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsweredQuestion:
    """What became of one question.

    Args:
        category: The question's.
        kept: Share of its evidence that any live entry goes back to.
        at: By depth, the share that the best entries go back to.
        within: By budget, the share that the best entries go back to which fit into it.
        hits: Ids of the best entries, as many as the greatest depth.
        stale: By depth, how many of the best entries a dream replaces by another.
    """

    category: int
    kept: float
    at: tuple[float, ...]
    within: tuple[float, ...]
    hits: tuple[str, ...]
    stale: tuple[int, ...] = (0,) * len(DEPTHS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A memory as it stood at one moment, and how it answered.

    Args:
        entries: Live entries.
        tokens: What their texts take.
        repeated: Those whose text an earlier one of the same category has too.
        answers: One for each question.
    """

    entries: int
    tokens: int
    repeated: int
    answers: tuple[AnsweredQuestion, ...]

    def judged(self, replaced: Collection[str]) -> "Stage":
        """Return the stage with its stale hits counted: those whose entry is among *replaced*."""
        return replace(
            self,
            answers=tuple(
                replace(one, stale=tuple(sum(hit in replaced for hit in one.hits[:depth]) for depth in DEPTHS))
                for one in self.answers
            ),
        )

    def __add__(self, other: "Stage") -> "Stage":
        return Stage(
            entries=self.entries + other.entries,
            tokens=self.tokens + other.tokens,
            repeated=self.repeated + other.repeated,
            answers=self.answers + other.answers,
        )


async def ask_all(
    storage: Storage,
    memory: Memory,
    questions: Sequence[Question],
    turn_ids: Mapping[str, str],
    asked: Callable[[], None],
) -> Stage:
    """Ask all questions of one scope's memory as it stands.

    Args:
        storage: Where it is kept.
        memory: Answers by its own recall.
        questions: What to ask.
        turn_ids: The stored turns' ids by their dialogue ids.
        asked: Called after each question.
    """
    entries = await storage.read(memory.scope, _all_entries)
    live = [entry for entry in entries if entry.is_active]
    provenance = Provenance(entries)
    reached = frozenset[str]().union(*(provenance.turns(entry.id) for entry in live))
    tokens = sum(estimate_tokens(entry.content) for entry in live)
    depth = DEPTHS[-1] + ceil(_MARGIN * BUDGETS[-1] * len(live) / max(1, tokens))
    answers: list[AnsweredQuestion] = []
    for question in questions:
        gold = frozenset(turn_ids[one] for one in question.evidence)
        ranked = await _ranked(memory, question.text, depth)
        answers.append(_answered(question.category, gold, reached, ranked, provenance))
        asked()
    return Stage(
        entries=len(live),
        tokens=tokens,
        repeated=len(live) - len({(entry.category, fold_key(entry.content)) for entry in live}),
        answers=tuple(answers),
    )


def _all_entries(view: ReadView) -> list[MemoryEntry]:
    return view.entries.select(EntryFilter(statuses=frozenset()))


async def _ranked(memory: Memory, text: str, depth: int) -> list[MemoryEntry]:
    """Return the best *depth* entries, or as many as it takes to exceed every budget."""
    while True:
        found = [hit.entry for hit in await memory.recall(text, k=depth, purpose=Purpose.PREVIEW)]
        if len(found) < depth or sum(estimate_tokens(entry.content) for entry in found) > BUDGETS[-1]:
            return found
        depth *= 2


def _answered(
    category: int,
    gold: frozenset[str],
    reached: frozenset[str],
    ranked: Sequence[MemoryEntry],
    provenance: Provenance,
) -> AnsweredQuestion:
    shares = [0.0]
    found = frozenset[str]()
    for entry in ranked:
        found |= provenance.turns(entry.id) & gold
        shares.append(len(found) / len(gold))
    spent = list(accumulate(estimate_tokens(entry.content) for entry in ranked))
    return AnsweredQuestion(
        category=category,
        kept=len(gold & reached) / len(gold),
        at=tuple(shares[min(depth, len(ranked))] for depth in DEPTHS),
        within=tuple(shares[sum(one <= budget for one in spent)] for budget in BUDGETS),
        hits=tuple(entry.id for entry in ranked[: DEPTHS[-1]]),
    )
