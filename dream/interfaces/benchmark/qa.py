"""Asks a memory questions as a turn would, and checks whether what the turn is given tells the answers."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from agentcore.domain.conversation import Turn, spoken_line
from agentcore.domain.filters import EntryFilter
from agentcore.domain.memory import MemoryEntry, SourceKind
from agentcore.domain.scope import Scope
from agentcore.hosting.host import Host
from agentcore.llm.chat import estimate_tokens
from agentcore.stores.storage import ReadView
from dream.interfaces.benchmark.answers import AnswerKey, Unjudged
from dream.interfaces.benchmark.samples import BenchmarkSample, SampleQuestion


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


BUDGETS: Final = (100, 250, 500, 1_000, 2_000, 4_000)
"""Numbers of tokens that a turn is given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenContext:
    """What one question was given within one budget.

    Args:
        evidence: Share of its evidence that what is shown is, or goes back to.
        found: The same, where what is shown tells the answer, else 0; None where nothing can be said of the answer.
        tokens: What is shown takes.
        text: What is shown.
    """

    evidence: float
    found: float | None
    tokens: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsweredQuestion:
    """What became of one question.

    Args:
        question: It.
        unjudged: Why nothing can be said of its answer; None if something can.
        given: What it was given, by budget.
    """

    question: SampleQuestion
    unjudged: Unjudged | None
    given: tuple[GivenContext, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """How a memory answered.

    Args:
        entries: Live entries.
        tokens: What their texts take.
        answers: One for each question.
    """

    entries: int
    tokens: int
    answers: tuple[AnsweredQuestion, ...]

    def __add__(self, other: "Side") -> "Side":
        return Side(
            entries=self.entries + other.entries,
            tokens=self.tokens + other.tokens,
            answers=self.answers + other.answers,
        )


async def ask_all(
    host: Host,
    sample: BenchmarkSample,
    *,
    before: Callable[[SampleQuestion], None] = lambda _: None,
    asked: Callable[[], None] = lambda: None,
) -> Side:
    """Ask all questions of a sample, each within every budget, through `host.context.for_turn` with its defaults.

    Every question opens a session of its own, so that nothing counts as shown before.

    Args:
        host: Holds the sample in its default scope.
        sample: What was imported.
        before: Called before each question, such as to set the clock.
        asked: Called after each question.
    """
    entries = await host.storage.read(Scope.default(), _all_entries)
    turns = await host.storage.read(Scope.default(), lambda view: _turns(view, sample.sessions))
    names, provenance = sample.names_of(turns), Provenance(entries)
    live = [entry for entry in entries if entry.is_active]
    answers: list[AnsweredQuestion] = []
    for question in sample.questions:
        before(question)
        lines = [_line(sample.turns[name]) for name in question.evidence]
        key = AnswerKey.of(question.text, question.answer, lines)
        given: list[GivenContext] = []
        for budget in BUDGETS:
            session = f"question {question.name}, {budget} tokens"
            block = await host.context.for_turn(session, question.text, budget_tokens=budget)
            shown = {names.get(turn.id) for turn in block.turns}
            for entry in (*block.always, *block.entries):
                shown |= {names.get(turn) for turn in provenance.turns(entry.id)}
            share = len(shown.intersection(question.evidence)) / len(question.evidence)
            found = None if isinstance(key, Unjudged) else share * key.is_told_by(block.text) if share else 0.0
            given.append(GivenContext(evidence=share, found=found, tokens=block.tokens, text=block.text))
        unjudged = key if isinstance(key, Unjudged) else None
        answers.append(AnsweredQuestion(question=question, unjudged=unjudged, given=tuple(given)))
        asked()
    tokens = sum(estimate_tokens(entry.content) for entry in live)
    return Side(entries=len(live), tokens=tokens, answers=tuple(answers))


def _all_entries(view: ReadView) -> list[MemoryEntry]:
    return view.entries.select(EntryFilter(statuses=frozenset()))


def _turns(view: ReadView, sessions: Iterable[str]) -> list[Turn]:
    return [turn for session in sessions for turn in view.turns.session(session)]


def _line(turn: Turn) -> str:
    return spoken_line(turn.speaker, turn.content, turn.occurred_at)
