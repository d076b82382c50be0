"""Entries and turns in one ranking, each backed by the other."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from agentcore.domain.filters import TurnFilter
from agentcore.domain.memory import SourceKind, SourceRef
from agentcore.domain.scope import Scope
from agentcore.recall.finding import Finding, without_repeats_first
from agentcore.recall.hit import Hit
from agentcore.recall.lineage import lineages
from agentcore.recall.recall import Recall
from agentcore.recall.turn_recall import TurnHit
from agentcore.stores.protocols import ReadView, Storage

_LEAST: Final = 50
"""Candidates of each kind: an entry with few of the words may have the best evidence."""

EVIDENCE_WEIGHT: Final = 2.0
"""How much the best turn an entry goes back to weighs beside the entry's own words."""
TURN_WEIGHT: Final = 0.7
"""How much a turn counts beside an entry of the same score, which says it shorter."""


@dataclass(frozen=True, slots=True)
class Together:
    """Finds entries and turns at once; lives as long as recall.

    An entry scores `(own + 2 * evidence) / 3`: its recall score as a share of the best entry's, and that of the best
    turn it goes back to as a share of the best turn's. A turn scores 0.7 of its share. An entry that was not made of
    turns has its own score for evidence. The weights were chosen on LoCoMo (see `docs/explanation/recall.md`).

    Args:
        storage: Where the records are.
        recall: Finds each kind.
    """

    storage: Storage
    recall: Recall

    async def search(self, scope: Scope, query: str, *, k: int, turns: TurnFilter | None = None) -> list[Finding]:
        """Return the *k* best entries and turns for *query*, best first, repeats behind everything else.

        Args:
            scope: Whose records to search.
            query: What is asked, of any length; one without a word finds nothing.
            k: How many at most, 1 or more.
            turns: Conditions that turns must meet.

        Raises:
            InvalidOptionsError: *k* is below 1.
            HostNotStartedError: recall is not open.
        """
        hits = await self.recall.search(scope, query, k=max(k, _LEAST))
        made_of = await self.storage.read(scope, partial(_lineages, hits=hits)) if hits else {}
        named = {ref.id for refs in made_of.values() for ref in refs if ref.kind is SourceKind.TURN}
        said, evidence = await self.recall.turns.search_and_score(scope, query, named, k=max(k, _LEAST), where=turns)
        evidence |= {hit.turn.id: hit.score for hit in said}
        return without_repeats_first(_merged(hits, made_of, said, evidence))[:k]


def _lineages(view: ReadView, *, hits: Sequence[Hit]) -> dict[str, frozenset[SourceRef]]:
    return lineages(view, [hit.entry for hit in hits])


def _merged(
    hits: Sequence[Hit],
    made_of: Mapping[str, frozenset[SourceRef]],
    said: Sequence[TurnHit],
    evidence: Mapping[str, float],
) -> list[Finding]:
    best_entry = max((hit.score for hit in hits), default=1.0)
    best_turn = max(evidence.values(), default=1.0)
    findings = [Finding(hit.turn, TURN_WEIGHT * hit.score / best_turn) for hit in said]
    for hit in hits:
        own, sources = hit.score / best_entry, made_of[hit.entry.id]
        turns = [evidence.get(ref.id, 0.0) / best_turn for ref in sources if ref.kind is SourceKind.TURN]
        backing = max(turns) if turns else own
        findings.append(Finding(hit.entry, (own + EVIDENCE_WEIGHT * backing) / (1.0 + EVIDENCE_WEIGHT), sources))
    return sorted(findings, key=lambda one: (-one.score, one.reference))
