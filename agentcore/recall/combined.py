"""Ranks entries and turns together, each backed by the other."""

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from agentcore.domain.filters import TurnFilter
from agentcore.domain.memory import SourceKind, SourceRef
from agentcore.domain.scope import Scope
from agentcore.recall.entries import EntryQuery, EntrySearch, entries_found
from agentcore.recall.follow import FeedFollower, ask
from agentcore.recall.results import CombinedHit, Hit, lineages
from agentcore.recall.skills import SkillHit, SkillRecall, skills_found
from agentcore.recall.thread import RecallThread
from agentcore.recall.turns import TurnHit, TurnRecall, turns_found
from agentcore.stores.storage import ReadView, Storage

if TYPE_CHECKING:
    from agentcore.recall.turn_index import TurnIndex


_LEAST: Final = 50
"""Candidates of each kind: an entry with few of the words may have the best evidence."""

EVIDENCE_WEIGHT: Final = 0.5
"""How much the best turn an entry goes back to weighs beside the entry's own words."""
TURN_WEIGHT: Final = 0.5
"""How much a turn counts beside an entry of the same score, which says it shorter."""


@dataclass(frozen=True, slots=True)
class CombinedFound:
    """What answers a query.

    Args:
        findings: Entries and turns, best first.
        skills: Skills, best first.
        standing: Passages of turns in which a person asked for something that is to hold on, best first.
    """

    findings: list[CombinedHit]
    skills: list[SkillHit]
    standing: list[CombinedHit] = field(default_factory=list[CombinedHit])


class CombinedRecall:
    """Finds entries and turns at once; lives as long as `Recall`, which opens and closes it.

    An entry scores `(2 * own + evidence) / 3`: its recall score as a share of the best entry's, and that of the best
    turn it goes back to as a share of the best turn's. A turn scores half of its share. An entry that was not made of
    turns has its own score for evidence. How the weights were chosen stands in `docs/explanation/recall.md`.

    Args:
        storage: Where the records are.
        thread: What owns the indexes.
        entries: Finds entries.
        turns: Finds turns.
        skills: Finds skills.
    """

    def __init__(
        self,
        storage: Storage,
        thread: RecallThread,
        *,
        entries: EntrySearch,
        turns: TurnRecall,
        skills: SkillRecall,
    ) -> None:
        self._storage = storage
        self._thread = thread
        self._entries = entries
        self._turns = turns
        self._skills = skills

    async def search(
        self,
        scope: Scope,
        query: str,
        *,
        k: int,
        turns: TurnFilter | None = None,
        skills: int = 0,
        standing: int = 0,
        fill: bool = False,
    ) -> CombinedFound:
        """Return the *k* best entries and the *k* best turns for *query* in one ranking, best first.

        All of it is found in one view of the scope, on the recall thread.

        Args:
            scope: Whose records to search.
            query: What is asked, of any length; one without a word finds nothing.
            k: How many of each at most, 1 or more; never fewer than 50 are looked at.
            turns: Conditions that turns must meet.
            skills: How many skills are sought beside them.
            standing: How many standing wishes of persons are.
            fill: Whether what stands around the turns that match comes behind everything else, where these are few.

        Raises:
            InvalidOptionsError: *k* is below 1.
            HostNotStartedError: recall is not open.
        """
        question = await self._entries.question(scope, query, k=k)
        if not query.strip():
            return CombinedFound([], [])
        question = await self._entries.compared(question)
        async with AsyncExitStack() as stack:
            entry_index, of_entries = await stack.enter_async_context(self._entries.cache.held(scope))
            turn_index, of_turns = await stack.enter_async_context(self._turns.cache.held(scope))
            followers: list[FeedFollower[Any, Any]] = [of_entries, of_turns]
            skill_index = None
            if skills:
                skill_index, of_skills = await stack.enter_async_context(self._skills.cache.held(scope))
                followers.append(of_skills)

            def look(view: ReadView) -> CombinedFound:
                hits = entries_found(
                    view, entry_index, of_entries.kept, question=replace(question, k=max(question.k, _LEAST))
                )
                findings, wishes = _findings(
                    view, hits, turn_index, question, where=turns, standing=standing, fill=fill
                )
                named = skills_found(view, skill_index, query=query, k=skills) if skill_index else []
                return CombinedFound(findings, named, wishes)

            return await ask(self._storage, self._thread, scope, followers, look)


def _findings(
    view: ReadView,
    hits: Sequence[Hit],
    turn_index: "TurnIndex",
    question: EntryQuery,
    *,
    where: TurnFilter | None,
    standing: int,
    fill: bool,
) -> tuple[list[CombinedHit], list[CombinedHit]]:
    wanted = max(question.k, _LEAST)
    made_of = lineages(view, [hit.entry for hit in hits])
    named = {ref.id for refs in made_of.values() for ref in refs if ref.kind is SourceKind.TURN}
    found = turns_found(
        view, turn_index, query=question.query, k=wanted, where=where, named=named, standing=standing, fill=fill
    )
    evidence = found.scores | {hit.turn.id: hit.score for hit in found.hits}
    wishes = [CombinedHit(hit.turn, hit.score, span=hit.span) for hit in found.standing]
    beside = [CombinedHit(hit.turn, hit.score, place=place, span=hit.span) for place, hit in found.around]
    return [*_merged(hits, made_of, found.hits, evidence), *beside], wishes


def _merged(
    hits: Sequence[Hit],
    made_of: Mapping[str, frozenset[SourceRef]],
    said: Sequence[TurnHit],
    evidence: Mapping[str, float],
) -> list[CombinedHit]:
    best_entry = max((hit.score for hit in hits), default=1.0)
    best_turn = max(evidence.values(), default=1.0)
    findings = [
        CombinedHit(hit.turn, TURN_WEIGHT * hit.score / best_turn, place=place, span=hit.span)
        for place, hit in enumerate(said)
    ]
    for place, hit in enumerate(hits):
        own, sources = hit.score / best_entry, made_of[hit.entry.id]
        turns = [evidence.get(ref.id, 0.0) / best_turn for ref in sources if ref.kind is SourceKind.TURN]
        backing = max(turns) if turns else own
        score = (own + EVIDENCE_WEIGHT * backing) / (1.0 + EVIDENCE_WEIGHT)
        findings.append(CombinedHit(hit.entry, score, sources, place, hit.span))
    return sorted(findings, key=lambda one: (-one.score, one.reference))
