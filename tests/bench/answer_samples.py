"""Draws questions with what a turn was shown, so that a reader can say whether that tells the answer.

python -m tests.bench.answer_samples draw --data FILE... --count 100 --samples FILE --verdicts FILE
python -m tests.bench.answer_samples compare --verdicts FILE --labels FILE

`draw` measures the files as `dream bench dream` does, with the rules of `scripted_dream` for a model, and draws as many
answers that the benchmark's rule counts as ones that it does not, from each file alike. A line of the samples holds
`id`, `question`, `answer` and `shown`; the verdicts stand in another file. A reader writes a line
`{"id": ..., "label": true}` for each sample, without having seen the verdicts; `compare` says how often both agree.
"""

import argparse
import asyncio
import random
from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat
from pathlib import Path
from typing import Any, Final

import orjson

from agentcore.clock import SystemClock
from agentcore.llm import ChatOptions
from agentcore.testing import ChatServer, ServedRequest
from dream.interfaces.benchmark import BUDGETS, Result, measure, read_questions, scripted_answer

_MOST_TOKENS: Final = 1_000
"""Nobody reads more than that a hundred times with care."""


async def results(paths: Sequence[Path], wanted: Sequence[str]) -> dict[str, list[Result]]:
    """Measure the samples of each path."""
    found: dict[str, list[Result]] = {}
    async with ChatServer(repeat(_answered)) as server:
        model = ChatOptions(model="scripted", base_url=server.base_url)
        for path in paths:
            samples = read_questions([path], now=SystemClock().now())
            chosen = [one for one in samples if not wanted or one.name in wanted]
            found[path.stem] = [await measure(sample, model=model) for sample in chosen]
    return found


def drawn(
    measured: Mapping[str, Iterable[Result]], count: int, seed: int, besides: Iterable[Mapping[str, Any]] = ()
) -> list[dict[str, Any]]:
    """Return samples with their verdicts, as many of each kind from each data set as there are.

    Args:
        measured: The results by data set.
        count: How many.
        seed: What the chance begins with.
        besides: Verdicts on samples drawn before, whose questions are not drawn again.
    """
    chance = random.Random(seed)
    piles: list[list[dict[str, Any]]] = []
    for name, found in measured.items():
        judged = [one for result in found for one in _judged(name, result)]
        for verdict in (True, False):
            pile = [one for one in judged if one["verdict"] is verdict]
            chance.shuffle(pile)
            piles.append(pile)
    chosen: list[dict[str, Any]] = []
    asked = {(one["sample"], one["name"]) for one in besides}
    while len(chosen) < count and any(piles):
        for pile in piles:
            while pile and (pile[-1]["sample"], pile[-1]["name"]) in asked:
                pile.pop()
            if pile and len(chosen) < count:
                chosen.append(pile.pop())
                asked.add((chosen[-1]["sample"], chosen[-1]["name"]))
    chance.shuffle(chosen)
    return [{"id": f"s{number:03}", **one} for number, one in enumerate(chosen, start=1)]


def _judged(data: str, result: Result) -> Iterable[dict[str, Any]]:
    for side, answered in result.sides.items():
        for one in answered.answers:
            for budget, given in zip(BUDGETS, one.given, strict=True):
                # Where nothing of the evidence is shown no text has to be read.
                if given.found is not None and given.evidence and budget <= _MOST_TOKENS:
                    question = one.question
                    yield {
                        "question": question.text,
                        "answer": question.answer,
                        "shown": given.text,
                        "verdict": given.found > 0,
                        "data": data,
                        "sample": result.name,
                        "name": question.name,
                        "category": question.category,
                        "evidence": question.evidence,
                        "side": side,
                        "budget": budget,
                    }


def compared(verdicts: Iterable[Mapping[str, Any]], labels: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return how often verdicts and labels agree, and where not."""
    said = {one["id"]: one["label"] for one in labels}
    known = [one for one in verdicts if one["id"] in said]
    wrong = [one for one in known if said[one["id"]] is not one["verdict"]]
    told = [f"{one['id']}: the rule says {one['verdict']}, the reader {said[one['id']]}" for one in wrong]
    return [f"{len(known) - len(wrong)} of {len(known)} agree", *told]


def _answered(request: ServedRequest) -> str:
    return scripted_answer(request.prompt)


def _written(path: Path, lines: Iterable[Mapping[str, Any]]) -> None:
    path.write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in lines))


def _read(path: Path) -> list[dict[str, Any]]:
    return [orjson.loads(line) for line in path.read_bytes().splitlines() if line.strip()]


def main() -> None:
    """Read the command line and do what it says."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.answer_samples", description="Samples for a reader.")
    parser.add_argument("what", choices=["draw", "compare"])
    parser.add_argument("--data", type=Path, nargs="+", default=[], help="files or folders with questions")
    parser.add_argument("--sample", action="append", default=[], help="only this sample; once for each")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--samples", type=Path, help="where the samples go")
    parser.add_argument("--verdicts", type=Path, required=True, help="where the verdicts go, or are")
    parser.add_argument("--besides", type=Path, nargs="+", default=[], help="verdicts on samples drawn before")
    parser.add_argument("--labels", type=Path, help="what a reader said")
    asked = parser.parse_args()
    if asked.what == "compare":
        print("\n".join(compared(_read(asked.verdicts), _read(asked.labels))))
        return
    before = [one for path in asked.besides for one in _read(path)]
    chosen = drawn(asyncio.run(results(asked.data, asked.sample)), asked.count, asked.seed, before)
    _written(asked.samples, ({key: one[key] for key in ("id", "question", "answer", "shown")} for one in chosen))
    _written(asked.verdicts, ({key: value for key, value in one.items() if key != "shown"} for one in chosen))


if __name__ == "__main__":
    main()
