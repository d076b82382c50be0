"""How full a turn's context is at each budget, and whether a bigger budget ever finds less.

`python -m tests.bench.budgets FILES` asks each question as `dream bench recall` does and prints, for each budget, the
median and the 10th percentile of the share of it that is used, and how many questions found more of their evidence at
the budget before. It ends with 1 if there is any of these.
"""

import argparse
import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from agentcore import AgentHostBuilder
from agentcore.testing import SequentialIds
from dream.interfaces.benchmark.qa import BUDGETS, AnsweredQuestion, ask_all
from dream.interfaces.benchmark.samples import BenchmarkSample, read_questions
from dream.interfaces.benchmark.trial import AFTERWARDS, StandingClock, import_sample
from tests.bench.figures import quantile

_NOW: Final = datetime(2030, 1, 1, tzinfo=UTC)


async def measure(sample: BenchmarkSample) -> Sequence[AnsweredQuestion]:
    """Ask the questions of a sample, whose turns are all that is known."""
    ids = SequentialIds()
    asked = replace(sample, questions=tuple(replace(one, answer=None) for one in sample.questions))
    with TemporaryDirectory() as folder:
        builder = AgentHostBuilder(Path(folder), clock=StandingClock(sample.ended_at + AFTERWARDS), ids=ids)
        async with builder.with_memory().with_conversation_log().build() as host:
            await import_sample(host, asked, ids)
            return (await ask_all(host, asked)).answers


def main() -> int:
    """Measure the files that are given and print one table."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.budgets")
    parser.add_argument("files", type=Path, nargs="+", help="what `dream bench recall` reads")
    lost = 0
    print(f"| used: median, 10th percentile, lost | {' | '.join(f'{budget:,}' for budget in BUDGETS)} |")
    print(f"|---|{'---|' * len(BUDGETS)}")
    for sample in read_questions(parser.parse_args().files, now=_NOW):
        answers = asyncio.run(measure(sample))
        less = [
            sum(one.given[place].evidence + 1e-9 < one.given[place - 1].evidence for one in answers)
            for place in range(1, len(BUDGETS))
        ]
        used = [[one.given[place].tokens / budget for one in answers] for place, budget in enumerate(BUDGETS)]
        cells = [
            f"{100 * quantile(shares, 0.5):.0f}, {100 * quantile(shares, 0.1):.0f}, {count}"
            for shares, count in zip(used, [0, *less], strict=True)
        ]
        print(f"| {sample.name}, {len(answers)} questions | {' | '.join(cells)} |", flush=True)
        lost += sum(less)
    return min(lost, 1)


if __name__ == "__main__":
    raise SystemExit(main())
