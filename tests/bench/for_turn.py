"""What a turn is given of earlier conversation at each budget: how much of a question's evidence is shown.

python -m tests.bench.for_turn --locomo FILE
python -m tests.bench.for_turn --beam FILE...

A conversation is logged turn by turn, and each question asked in a session of its own, a day after the last turn, with
the defaults of `host.context.for_turn`. A turn counts as found if it is shown, wholly or in part.
"""

import argparse
import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from agentcore import AgentHostBuilder
from agentcore.domain import spoken_line
from agentcore.hosting import TurnContext
from agentcore.testing import SequentialIds
from dream.interfaces.benchmark import AFTERWARDS, StandingClock, read_questions
from tests.bench.machine import described

BUDGETS: Final = (250, 500, 1_000, 2_000, 4_000)
LONG: Final = 1_000
"""Characters from which on it matters which part of a turn is shown."""
_NOW: Final = datetime(2030, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Talk:
    """A conversation: its turns by their own names as `append` takes them, and questions with the turns that answer."""

    turns: Mapping[str, Mapping[str, Any]]
    questions: Sequence[tuple[str, frozenset[str]]]


@dataclass(frozen=True, slots=True)
class Given:
    """What one question was given within one budget.

    Args:
        found: The share of its evidence that is shown.
        tokens: What the block takes.
        long: Turns of more than `LONG` characters that are shown.
        passages: Those of them of which another part than the beginning is shown.
    """

    found: float
    tokens: int
    long: int
    passages: int


def read_talks(paths: Sequence[Path]) -> list[Talk]:
    """Read the conversations of LoCoMo files and of chat JSON: BEAM's, or the talks of `tests/data/talks`."""
    logged = ("session_id", "role", "speaker", "content", "occurred_at")
    return [
        Talk(
            {name: {key: getattr(turn, key) for key in logged} for name, turn in sample.turns.items()},
            [(one.text, frozenset(one.evidence)) for one in sample.questions],
        )
        for sample in read_questions(paths, now=_NOW)
    ]


async def measure(talk: Talk) -> dict[int, list[Given]]:
    """Log the conversation and ask each question with each budget."""
    ended = max(turn["occurred_at"] for turn in talk.turns.values())
    builder = AgentHostBuilder(None, clock=StandingClock(ended + AFTERWARDS), ids=SequentialIds())
    async with builder.with_memory().with_conversation_log().build() as host:
        names = {(await host.conversation.append(**turn)).id: name for name, turn in talk.turns.items()}
        given: dict[int, list[Given]] = {budget: [] for budget in BUDGETS}
        for place, (question, evidence) in enumerate(talk.questions):
            for budget in BUDGETS:
                block = await host.context.for_turn(f"{place}, {budget}", question, budget_tokens=budget)
                if block.tokens > budget:
                    raise AssertionError(f"The budget of {budget} was exceeded: {block.tokens}")
                shown = {names[turn.id] for turn in block.turns}
                given[budget].append(Given(len(shown & evidence) / len(evidence), block.tokens, *_parts(block)))
    return given


def _parts(block: TurnContext) -> tuple[int, int]:
    """Return how many long turns are shown, and of how many of them another part than the beginning."""
    lines = {line.removeprefix("- ") for line in block.text.splitlines()}
    long = [turn for turn in block.turns if len(turn.content) > LONG]
    heads = [" ".join(spoken_line(turn.speaker, turn.content, turn.occurred_at).split())[:100] for turn in long]
    return len(long), sum(not any(line.startswith(head) for line in lines) for head in heads)


def row(name: str, given: Mapping[int, Sequence[Given]]) -> str:
    """Return the figures of one data set as rows of a Markdown table."""
    questions = len(given[BUDGETS[0]])
    found = [f"{100 * sum(one.found for one in all_) / questions:.1f}" for all_ in given.values()]
    tokens = [f"{sum(one.tokens for one in all_) / questions:,.0f}" for all_ in given.values()]
    long = [sum(one.long for one in all_) for all_ in given.values()]
    passages = [sum(one.passages for one in all_) for all_ in given.values()]
    parts = [
        f"{100 * part / whole:.0f} of {whole:,}" if whole else "" for part, whole in zip(passages, long, strict=True)
    ]
    return "\n".join(
        f"| {' | '.join([what, *cells])} |"
        for what, cells in (
            (f"{name}, {questions:,} questions: evidence shown, %", found),
            ("- tokens used", tokens),
            ("- long turns shown by another part than their beginning, %", parts),
        )
    )


def main() -> None:
    """Measure the files that are given and print one table."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.for_turn", description="Evidence within budgets.")
    parser.add_argument("--locomo", type=Path, help="a LoCoMo file")
    parser.add_argument("--beam", type=Path, nargs="+", default=[], help="BEAM chats, a file each")
    asked = parser.parse_args()
    if not (asked.locomo or asked.beam):
        parser.error("name a file, with --locomo or --beam")
    print(f"{described()}\n\n| tokens | {' | '.join(f'{budget:,}' for budget in BUDGETS)} |")
    print(f"|---|{'---|' * len(BUDGETS)}")
    sets = {"LoCoMo": read_talks([asked.locomo]) if asked.locomo else [], "BEAM": read_talks(asked.beam)}
    for name, talks in sets.items():
        given: dict[int, list[Given]] = {budget: [] for budget in BUDGETS}
        for talk in talks:
            for budget, answers in asyncio.run(measure(talk)).items():
                given[budget] += answers
        if talks:
            print(row(name, given), flush=True)


if __name__ == "__main__":
    main()
