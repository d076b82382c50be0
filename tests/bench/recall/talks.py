"""What recall finds of conversations beside other engines, each over turns and over our passages.

python -m tests.bench.recall.talks [--locomo FILE] [--beam FILE...]

The talks of `tests/data/talks` are measured too. Every engine indexes turns as we do, with date and speaker. Over
passages a turn stands where its best passage stands, and only that passage is paid for. A turn counts as found if it is
shown, wholly or by a passage.
"""

import argparse
import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import accumulate
from math import log2
from pathlib import Path
from typing import Final, NamedTuple

from agentcore import AgentHostBuilder
from agentcore.clock import SystemClock
from agentcore.domain import Turn, spoken_line
from agentcore.hosting import Host
from agentcore.llm import estimate_tokens
from agentcore.recall import TurnOptions, cut_passages
from agentcore.testing import SequentialIds
from dream.interfaces.benchmark import AFTERWARDS, BenchmarkSample, StandingClock, read_questions
from tests.bench.machine import described
from tests.bench.recall.text_engines import DEEP, ENGINES

BUDGETS: Final = (250, 500, 1_000, 2_000)
TALKS: Final = Path(__file__).parents[2] / "data" / "talks"

OURS: Final = "ours"
ENTRIES: Final = "ours, each turn an entry"


class Shown(NamedTuple):
    """A turn as it is shown: its name, and what the text shown takes."""

    turn: str
    tokens: int


class Figures(NamedTuple):
    """What one question found, 0..1 each; of many the means."""

    at_5: float
    at_10: float
    gain: float
    within: tuple[float, ...]

    @classmethod
    def of(cls, evidence: frozenset[str], ranked: Sequence[Shown]) -> "Figures":
        """Judge a ranking."""
        found = [shown.turn in evidence for shown in ranked]
        spent = list(accumulate(shown.tokens for shown in ranked))
        gain = sum(1.0 / log2(place + 2) for place, hit in enumerate(found[:10]) if hit)
        best = sum(1.0 / log2(place + 2) for place in range(min(10, len(evidence))))
        fitting = [sum(tokens <= budget for tokens in spent) for budget in BUDGETS]
        shares = [sum(found[:depth]) / len(evidence) for depth in (5, 10, *fitting)]
        return cls(shares[0], shares[1], gain / best, tuple(shares[2:]))

    @classmethod
    def mean(cls, several: Sequence["Figures"]) -> "Figures":
        """Return the means."""
        rows = [(one.at_5, one.at_10, one.gain, *one.within) for one in several]
        means = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
        return cls(means[0], means[1], means[2], tuple(means[3:]))


def of_rivals(talk: BenchmarkSample) -> dict[str, list[Figures]]:
    """Ask each other engine each question, over turns and over passages."""
    turns = _texts(talk, passages=False)
    passages = _texts(talk, passages=True)
    found: dict[str, list[Figures]] = {}
    for name, make in ENGINES.items():
        for texts, label in ((turns, name), (passages, f"{name}, over our passages")):
            engine = make([text for _, text in texts])
            tokens = [estimate_tokens(text) for _, text in texts]
            found[label] = []
            for question in talk.questions:
                best: dict[str, Shown] = {}
                for place in engine.best(question.text):
                    turn = texts[place][0]
                    best.setdefault(turn, Shown(turn, tokens[place]))
                found[label].append(Figures.of(frozenset(question.evidence), list(best.values())))
    return found


async def of_ours(talk: BenchmarkSample) -> dict[str, list[Figures]]:
    """Ask a host each question with its defaults: its conversation log, and its memory with each turn for an entry."""
    builder = AgentHostBuilder(None, clock=StandingClock(talk.ended_at + AFTERWARDS), ids=SequentialIds())
    async with builder.with_memory().with_conversation_log().build() as host:
        names = {(await _append(host, turn)).id: name for name, turn in talk.turns.items()}
        entries = {text: name for name, text in _texts(talk, passages=False)}
        await host.memory.remember_many(list(entries))
        ways = {OURS: _of_turns(host, names), ENTRIES: _of_entries(host, entries)}
        return {
            way: [Figures.of(frozenset(one.evidence), await ask(one.text)) for one in talk.questions]
            for way, ask in ways.items()
        }


async def _append(host: Host, turn: Turn) -> Turn:
    """Log a turn as it stands in its file."""
    said = {"speaker": turn.speaker, "occurred_at": turn.occurred_at}
    return await host.conversation.append(session_id=turn.session_id, role=turn.role, content=turn.content, **said)


def _of_turns(host: Host, names: Mapping[str, str]) -> Callable[[str], Awaitable[list[Shown]]]:
    async def ask(question: str) -> list[Shown]:
        hits = await host.conversation.recall(question, DEEP)
        return [Shown(names[hit.turn.id], estimate_tokens(hit.text)) for hit in hits]

    return ask


def _of_entries(host: Host, names: Mapping[str, str]) -> Callable[[str], Awaitable[list[Shown]]]:
    async def ask(question: str) -> list[Shown]:
        hits = await host.memory.recall(question, DEEP)
        return [Shown(names[hit.entry.content], estimate_tokens(hit.passage)) for hit in hits]

    return ask


def _texts(talk: BenchmarkSample, *, passages: bool) -> list[tuple[str, str]]:
    """Return each turn's name and text, or each of its passages."""
    size = TurnOptions().passage_tokens
    found: list[tuple[str, str]] = []
    for name, turn in talk.turns.items():
        content = turn.content
        spans = cut_passages(content, size) if passages else [(0, len(content))]
        found += [(name, spoken_line(turn.speaker, content[start:end], turn.occurred_at)) for start, end in spans]
    return found


def table(name: str, measured: Mapping[str, Sequence[Figures]]) -> str:
    """Return the figures of one set of talks as a Markdown table, the best of each column in bold."""
    means = {way: Figures.mean(figures) for way, figures in measured.items()}
    rows = {way: [one.at_5, one.at_10, one.gain, *one.within] for way, one in means.items()}
    best = [max(column) for column in zip(*rows.values(), strict=True)]
    questions = len(next(iter(measured.values())))
    lines = [
        f"| {name}, {questions:,} questions | R@5 | R@10 | NDCG@10 | {' | '.join(f'{one:,}' for one in BUDGETS)} |",
        f"|---|{'---|' * (3 + len(BUDGETS))}",
    ]
    for way, row in rows.items():
        cells = [
            f"**{100 * value:.1f}**" if value == top else f"{100 * value:.1f}"
            for value, top in zip(row, best, strict=True)
        ]
        lines.append(f"| {way} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Measure what is given and the talks of this project, and print a table for each set."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.recall.talks", description="What recall finds.")
    parser.add_argument("--locomo", type=Path, help="a LoCoMo file")
    parser.add_argument("--beam", type=Path, nargs="+", default=[], help="BEAM chats, a file each")
    parser.add_argument("--talks", nargs="*", default=["assistant", "team", "family"], help="which of our own talks")
    asked = parser.parse_args()
    sets = {"LoCoMo": [asked.locomo] if asked.locomo else [], "BEAM": asked.beam}
    sets |= {name: [TALKS / f"{name}.json"] for name in asked.talks}
    print(described())
    for name, paths in sets.items():
        measured: dict[str, list[Figures]] = {}
        for talk in read_questions(paths, now=SystemClock().now()):
            for way, figures in (asyncio.run(of_ours(talk)) | of_rivals(talk)).items():
                measured.setdefault(way, []).extend(figures)
        if measured:
            print(f"\n{table(name, measured)}", flush=True)


if __name__ == "__main__":
    main()
