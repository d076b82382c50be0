"""Runs `dream bench`: dreams and recall measured on conversations whose answers are known."""

from collections.abc import Callable, Sequence
from enum import StrEnum
from functools import reduce
from itertools import count
from operator import add
from pathlib import Path
from typing import Annotated, Any, TypeVar

from cyclopts import Parameter

from agentcore.errors import InvalidOptionsError
from agentcore.llm.chat import ModelTier
from agentcore.llm.settings import ChatOptions, from_environment
from dream.domain.report import Outcome
from dream.interfaces.benchmark.recalling import STORES, RecallResult, measure_recall
from dream.interfaces.benchmark.result import Cost, Result, total
from dream.interfaces.benchmark.samples import read_locomo
from dream.interfaces.benchmark.trial import STAGES, measure
from dream.interfaces.cli.errors import MissingSettingError
from dream.interfaces.cli.exit_codes import Exit
from dream.interfaces.cli.render.benchmark import benchmark_lines, recall_benchmark_lines
from dream.interfaces.cli.render.text import encodable
from dream.interfaces.cli.screen import Progress, Screen
from dream.interfaces.cli.session import CliSession, CommandSession

_R = TypeVar("_R", Result, RecallResult)


class Benchmark(StrEnum):
    """What can be measured."""

    DREAM = "dream"
    RECALL = "recall"


class BenchmarkFormat(StrEnum):
    """Files that hold conversations with questions."""

    LOCOMO = "locomo"


async def bench(
    what: Benchmark,
    /,
    *,
    file_format: Annotated[BenchmarkFormat, Parameter(name="--format")] = BenchmarkFormat.LOCOMO,
    samples: Annotated[list[str] | None, Parameter(name="--sample", negative="")] = None,
    model: bool = False,
    session: CliSession,
) -> Exit:
    """Measure a dream, what a memory answers before and after it and what it costs; or recall, what it finds.

    The file is named with --data. All work is done in temporary folders; no memory of yours is touched.

    Args:
        what: What to measure.
        file_format: What the file is.
        samples: Only this sample; give the option once for each.
        model: Let the dream ask the model that the environment names; else only the passes run that ask none.
        session: Which file.
    """
    if not session.is_data_given:
        remedy = f"name the file with the conversations, as in `dream bench {what.value} --data locomo10.json`"
        raise MissingSettingError(what="option --data", remedy=remedy)
    if what is Benchmark.RECALL:
        if model:
            raise InvalidOptionsError(field="--model", value=True, allowed="leave it out: recall asks no model")
        return await _recall(session, file_format, samples or ())
    return await _dream(session, file_format, samples or (), _configured_model() if model else None)


async def _dream(
    session: CommandSession, file_format: BenchmarkFormat, samples: Sequence[str], chat: ChatOptions | None
) -> Exit:
    found = read_locomo(session.data_dir, now=session.clock.now(), wanted=samples)
    questions = STAGES * sum(len(sample.questions) for sample in found)
    with session.screen.progress("Asking") as progress:
        asked = _counter(progress, questions)
        results = [await measure(sample, model=chat, asked=asked) for sample in found]
    name = None if chat is None else chat.model_of(ModelTier.DREAMING)
    head = _head(Benchmark.DREAM, file_format, session.data_dir)
    session.screen.show(
        lambda: head | {"model": name} | _figures(results, total(results)),
        lambda: benchmark_lines(results, model=name, width=session.screen.width),
    )
    return verdict(session.screen, total(results).cost)


async def _recall(session: CommandSession, file_format: BenchmarkFormat, samples: Sequence[str]) -> Exit:
    found = read_locomo(session.data_dir, now=session.clock.now(), wanted=samples)
    questions = len(STORES) * sum(len(sample.questions) for sample in found)
    with session.screen.progress("Asking") as progress:
        asked = _counter(progress, questions)
        results = [await measure_recall(sample, asked=asked) for sample in found]
    head = _head(Benchmark.RECALL, file_format, session.data_dir)
    session.screen.show(
        lambda: head | _figures(results, reduce(add, results)),
        lambda: recall_benchmark_lines(results, width=session.screen.width),
    )
    return Exit.OK


def _configured_model() -> ChatOptions:
    options = from_environment()
    if options is None:
        remedy = "name the model there and its server in OPENAI_BASE_URL, or leave out --model"
        raise MissingSettingError(what="environment variable AGENTCORE_MODEL", remedy=remedy)
    return options


def _counter(progress: Progress | None, questions: int) -> Callable[[], None]:
    done = count(1)

    def tell() -> None:
        if progress is not None:
            progress(next(done), questions)

    return tell


def _head(what: Benchmark, file_format: BenchmarkFormat, path: Path) -> dict[str, Any]:
    return {"benchmark": what.value, "format": file_format.value, "data": encodable(str(path))}


def _figures(results: Sequence[_R], whole: _R) -> dict[str, Any]:
    return {"samples": [result.to_json() for result in results], "total": whole.to_json()}


def verdict(screen: Screen, cost: Cost) -> Exit:
    """Warn of what must not be, and say so in the exit code too."""
    faults = {
        "a run failed": cost.outcomes[Outcome.FAILED.value] > 0,
        "changes rest on nothing": cost.unsupported.total() > 0,
        "an undo did not bring everything back": not cost.is_undo_exact,
    }
    wrong = [fault for fault, is_there in faults.items() if is_there]
    if not wrong:
        return Exit.OK
    screen.warn(f"Something is wrong with these dreams: {', '.join(wrong)}; the figures above say where.")
    return Exit.FAILED
