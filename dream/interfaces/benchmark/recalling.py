"""Measures recall on its own: what turns, notes and both find for each question, and what a turn is given of that."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from math import ceil, log2
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, TypeAlias

from agentcore.domain.filters import EntryFilter
from agentcore.domain.memory import SourceKind, SourceRef
from agentcore.domain.scope import Scope
from agentcore.domain.signals import Purpose
from agentcore.hosting.builder import AgentHostBuilder
from agentcore.hosting.host import Host
from agentcore.llm.chat import estimate_tokens
from agentcore.recall.results import CombinedHit, lineages
from agentcore.stores.storage import ReadView
from agentcore.testing.ids import SequentialIds
from dream.interfaces.benchmark.qa import BUDGETS, AnsweredQuestion, Side, ask_all
from dream.interfaces.benchmark.result import Share, by_category
from dream.interfaces.benchmark.samples import BenchmarkSample, Faults, SampleQuestion
from dream.interfaces.benchmark.trial import AFTERWARDS, StandingClock, import_sample

DEPTHS: Final = (5, 10, 20, 50)
"""Numbers of records read."""
GAIN_DEPTH: Final = 10
"""How far down NDCG looks."""
STORES: Final = ("turns", "notes", "both")
"""What is asked, in this order: the conversation, the entries, and both in one ranking."""

_MARGIN: Final = 1.5
_DIGITS: Final = 6

_Ask: TypeAlias = Callable[[str, int], Awaitable[Sequence[CombinedHit]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionOutcome:
    """What became of one question.

    Args:
        category: The question's.
        at: By depth, the share of its evidence that the best records go back to.
        gain: NDCG at 10: a record counts if it goes back to evidence that no better one did.
        within: By budget, the share that the best records go back to which fit into it.
    """

    category: str
    at: tuple[float, ...]
    gain: float
    within: tuple[float, ...]

    @classmethod
    def of(cls, question: SampleQuestion, gold: frozenset[str], ranked: Sequence[CombinedHit]) -> "QuestionOutcome":
        """Judge what was found for a question whose evidence are the turns *gold*."""
        found = frozenset[str]()
        shares, gain = [0.0], 0.0
        for place, one in enumerate(ranked):
            new = (_turns(one) & gold) - found
            found |= new
            shares.append(len(found) / len(gold))
            if new and place < GAIN_DEPTH:
                gain += 1.0 / log2(place + 2)
        spent = list(accumulate(estimate_tokens(one.text) for one in ranked))
        best = sum(1.0 / log2(place + 2) for place in range(min(GAIN_DEPTH, len(gold))))
        return cls(
            category=question.category,
            at=tuple(shares[min(depth, len(ranked))] for depth in DEPTHS),
            gain=gain / best,
            within=tuple(shares[sum(one <= budget for one in spent)] for budget in BUDGETS),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """What one of `STORES` answered.

    Args:
        records: How many there are.
        tokens: What their texts take.
        answers: One for each question.
    """

    records: int
    tokens: int
    answers: tuple[QuestionOutcome, ...]

    def __add__(self, other: "Store") -> "Store":
        return Store(
            records=self.records + other.records,
            tokens=self.tokens + other.tokens,
            answers=self.answers + other.answers,
        )

    def groups(self) -> dict[str, list[QuestionOutcome]]:
        """The answers of all questions, of those that are not adversarial, and by category, where there are any."""
        return by_category([(one.category, one) for one in self.answers])

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        groups = {name.replace(" ", "_"): figures(answers) for name, answers in self.groups().items()}
        return {"records": self.records, "tokens": self.tokens, **groups}


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallResult:
    """The figures of one sample, or of several together.

    Args:
        name: The sample's.
        stores: What each of `STORES` answered.
        given: What `host.context.for_turn` gives of both.
        faults: What is wrong with the file's evidence.
    """

    name: str
    stores: Mapping[str, Store]
    given: Side
    faults: Faults

    @property
    def questions(self) -> int:
        """Questions asked."""
        return len(self.stores[STORES[0]].answers)

    def __add__(self, other: "RecallResult") -> "RecallResult":
        stores = {name: store + other.stores[name] for name, store in self.stores.items()}
        given = self.given + other.given
        return RecallResult(name="all", stores=stores, given=given, faults=self.faults + other.faults)

    def given_groups(self) -> dict[str, "GivenFigures"]:
        """Return what a turn is given, by the same groups as `Store.groups`."""
        groups = by_category([(one.question.category, one) for one in self.given.answers])
        return {name: GivenFigures.of(answers) for name, answers in groups.items()}

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "sample": self.name,
            "questions": {"asked": self.questions, **self.faults.to_json()},
            **{name: store.to_json() for name, store in self.stores.items()},
            "for_turn": {name.replace(" ", "_"): one.to_json() for name, one in self.given_groups().items()},
        }


@dataclass(frozen=True, slots=True)
class GivenFigures:
    """What turns are given, by budget.

    Args:
        evidence: Evidence that is shown, or that what is shown goes back to.
        tokens: Mean of the tokens that this takes.
    """

    evidence: Mapping[int, Share]
    tokens: Mapping[int, float]

    @classmethod
    def of(cls, answers: Sequence[AnsweredQuestion]) -> "GivenFigures":
        """Summarise one or more questions."""
        given = {budget: [one.given[place] for one in answers] for place, budget in enumerate(BUDGETS)}
        return cls(
            {budget: Share.of([one.evidence for one in all_]) for budget, all_ in given.items()},
            {budget: sum(one.tokens for one in all_) / len(all_) for budget, all_ in given.items()},
        )

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "within_tokens": {str(budget): share.to_json() for budget, share in self.evidence.items()},
            "tokens": {str(budget): round(tokens, 1) for budget, tokens in self.tokens.items()},
        }


def figures(answers: Sequence[QuestionOutcome]) -> dict[str, Any]:
    """Summarise one or more answers as plain JSON values."""
    return {
        "questions": len(answers),
        "at_records": {
            str(depth): Share.of([one.at[place] for one in answers]).to_json() for place, depth in enumerate(DEPTHS)
        },
        "ndcg_at_10": round(sum(one.gain for one in answers) / len(answers), _DIGITS),
        "within_tokens": {
            str(budget): Share.of([one.within[place] for one in answers]).to_json()
            for place, budget in enumerate(BUDGETS)
        },
    }


async def measure_recall(sample: BenchmarkSample, *, asked: Callable[[], None] = lambda: None) -> RecallResult:
    """Measure what recall finds in one sample, in a temporary folder, which is gone afterwards.

    Everything happens a day after the sample's last turn: the same file gives the same figures.

    Args:
        sample: What to measure.
        asked: Called after each question of each store, and after it was asked for a turn.
    """
    ids = SequentialIds()
    with TemporaryDirectory(prefix="dream-bench-") as folder:
        builder = AgentHostBuilder(Path(folder), clock=StandingClock(sample.ended_at + AFTERWARDS), ids=ids)
        async with builder.with_memory().with_conversation_log().build() as host:
            await import_sample(host, sample, ids)
            return await _RecallTrial(sample, host, asked).result()


@dataclass(frozen=True, slots=True)
class _RecallTrial:
    """The questions of one sample, asked of each store through the calls that a host has."""

    sample: BenchmarkSample
    host: Host
    asked: Callable[[], None]

    async def result(self) -> RecallResult:
        gold = await self.host.storage.read(Scope.default(), self._turn_ids)
        records = await self.host.storage.read(Scope.default(), self._records)
        asks: dict[str, _Ask] = {"turns": self._of_turns, "notes": self._of_notes, "both": self.host.context.recall}
        held = {"turns": records[0], "notes": records[1], "both": [*records[0], *records[1]]}
        stores = {name: await self._store(held[name], asks[name], gold) for name in STORES}
        given = await ask_all(self.host, self._without_answers(), asked=self.asked)
        return RecallResult(name=self.sample.name, stores=stores, given=given, faults=self.sample.faults)

    def _without_answers(self) -> BenchmarkSample:
        """Return the sample with questions of which nothing but the evidence is looked for, which takes no time."""
        return replace(self.sample, questions=tuple(replace(one, answer=None) for one in self.sample.questions))

    async def _store(self, held: Sequence[CombinedHit], ask: _Ask, gold: Mapping[str, str]) -> Store:
        tokens = sum(estimate_tokens(one.text) for one in held)
        depth = DEPTHS[-1] + ceil(_MARGIN * BUDGETS[-1] * len(held) / max(1, tokens))
        answers: list[QuestionOutcome] = []
        for question in self.sample.questions:
            ranked = await _ranked(ask, question.text, depth)
            answers.append(QuestionOutcome.of(question, frozenset(gold[one] for one in question.evidence), ranked))
            self.asked()
        return Store(records=len(held), tokens=tokens, answers=tuple(answers))

    async def _of_turns(self, query: str, k: int) -> Sequence[CombinedHit]:
        return [
            CombinedHit(hit.turn, hit.score, span=hit.span) for hit in await self.host.conversation.recall(query, k)
        ]

    async def _of_notes(self, query: str, k: int) -> Sequence[CombinedHit]:
        hits = await self.host.memory.recall(query, k, purpose=Purpose.PREVIEW)
        entries = [hit.entry for hit in hits]
        made_of = await self.host.storage.read(Scope.default(), lambda view: lineages(view, entries))
        return [CombinedHit(hit.entry, hit.score, made_of[hit.entry.id], span=hit.span) for hit in hits]

    def _turn_ids(self, view: ReadView) -> dict[str, str]:
        """Return the stored turns' ids by their names."""
        stored = [turn for session in self.sample.sessions for turn in view.turns.session(session)]
        return {name: turn_id for turn_id, name in self.sample.names_of(stored).items()}

    def _records(self, view: ReadView) -> tuple[list[CombinedHit], list[CombinedHit]]:
        turns = [turn for session in self.sample.sessions for turn in view.turns.session(session)]
        entries = view.entries.select(EntryFilter())
        return [CombinedHit(turn, 1.0) for turn in turns], [CombinedHit(entry, 1.0) for entry in entries]


async def _ranked(ask: _Ask, text: str, depth: int) -> Sequence[CombinedHit]:
    """Return the best *depth* records, or as many as it takes to exceed every budget."""
    while True:
        found = await ask(text, depth)
        if len(found) < depth or sum(estimate_tokens(one.text) for one in found) > BUDGETS[-1]:
            return found
        depth *= 2


def _turns(finding: CombinedHit) -> frozenset[str]:
    refs: frozenset[SourceRef] = finding.goes_back_to | {finding.reference}
    return frozenset(ref.id for ref in refs if ref.kind is SourceKind.TURN)
