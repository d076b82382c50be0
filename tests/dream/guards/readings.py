"""The readings of `data/readings.txt`: honest rewordings and texts with one wrong value, judged as facts or merges."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from agentcore.domain import Scope, Trust, Turn
from dream.guards import builtin_vocabulary, coverage
from dream.passes import PromptTurn
from dream.passes.conversation import StatementRules, TurnEvidence, evidence_of, judged_by_words, line_of
from dream.passes.fact_mining import Fact, FactItem, fact_of
from dream.passes.second_reading import evidence_text

FILE = Path(__file__).parent / "data" / "readings.txt"


@dataclass(frozen=True, slots=True)
class Reading:
    """What was said, what a model makes of it, and whether that is so."""

    kind: str
    language: str
    said_on: str
    said: str
    text: str
    honest: bool

    def why_refused(self) -> str:
        """Return what the guards say against it; empty if it is accepted."""
        if self.said_on == "-":
            found = coverage([self.said], self.text, builtin_vocabulary())
            return "; ".join(map(str, (*found.lost, *found.invented)))
        said, _, cited = self.said.partition(" @")
        shown = list(_shown(said.split(" // "), datetime.fromisoformat(self.said_on).replace(hour=9, tzinfo=UTC)))
        chosen = [shown[int(cited) - 1]] if cited else shown
        handles = tuple(one.handle for one in chosen)
        item = FactItem(
            number=1, content=self.text, category=None, tags=None, handles=handles, quote=chosen[0].turn.content
        )
        by_handle = {one.handle: one for one in shown}
        found = evidence_of(item, by_handle, frozenset(by_handle))
        said_by = tuple(evidence_text(line_of(one.turn)) for one in shown)
        rules = StatementRules(builtin_vocabulary(), (), 0.8, said_by)
        fact = fact_of(item, found, shown, rules) if isinstance(found, TurnEvidence) else found
        refusal = judged_by_words(fact, rules).refusal if isinstance(fact, Fact) else fact
        return "" if refusal is None else refusal.detail


def _shown(said: list[str], at: datetime) -> Iterator[PromptTurn]:
    for place, text in enumerate(said):
        speaker, _, content = text.rpartition("Ben: ")
        assistant = text.startswith("assistant: ")
        turn = Turn(
            id=f"turn-{place}",
            scope=Scope.default(),
            session_id="s1",
            role="assistant" if assistant else "user",
            speaker=None if assistant else "Ben" if speaker or text.startswith("Ben: ") else "Ana",
            content=content.removeprefix("assistant: "),
            occurred_at=at + timedelta(minutes=place),
            recorded_at=at + timedelta(minutes=place),
            trust=Trust.INFERRED if assistant else Trust.STATED,
        )
        yield PromptTurn(f"t{place + 1}", turn, is_new=True, place=place)


def readings() -> list[Reading]:
    """Read the file."""
    found: list[Reading] = []
    for line in FILE.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        kind, language, said_on, said, *texts = line.split(" | ")
        found += [Reading(kind, language, said_on, said, text[2:], text.startswith("+ ")) for text in texts]
    return found
