"""Runs `dream bench`: dreams and recall measured on conversations whose answers are known."""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum
from functools import reduce
from itertools import count
from operator import add
from pathlib import Path
from typing import Annotated, Any, TypeVar

from cyclopts import Parameter

from agentcore.errors import InvalidOptionsError
from agentcore.llm.chat import ChatClient, ModelTier
from agentcore.llm.openai_client import OpenAIChatClient
from agentcore.llm.settings import ChatOptions, from_environment
from dream.domain.report import Outcome
from dream.interfaces.benchmark.asking import NAME, AnswerFolder
from dream.interfaces.benchmark.recalling import STORES, RecallResult, measure_recall
from dream.interfaces.benchmark.recordings import Quotes, RecordedClient, Recording
from dream.interfaces.benchmark.result import Cost, Result, total
from dream.interfaces.benchmark.samples import BenchmarkSample, read_questions
from dream.interfaces.benchmark.trial import SIDES, measure
from dream.interfaces.cli.errors import MissingSettingError
from dream.interfaces.cli.exit_codes import Exit
from dream.interfaces.cli.render.benchmark import benchmark_lines, recall_benchmark_lines
from dream.interfaces.cli.render.text import encodable
from dream.interfaces.cli.screen import Progress, Screen
from dream.interfaces.cli.session import CliSession, CommandSession
from dream.interfaces.exchange.formats import Format

_R = TypeVar("_R", Result, RecallResult)


class Benchmark(StrEnum):
    """What can be measured."""

    DREAM = "dream"
    RECALL = "recall"


class BenchmarkFormat(StrEnum):
    """Files that hold conversations with questions."""

    AUTO = Format.AUTO.value
    """Found out from each file."""
    LOCOMO = Format.LOCOMO.value
    CHAT_JSON = Format.CHAT_JSON.value


async def bench(
    what: Benchmark,
    /,
    *files: Path,
    file_format: Annotated[BenchmarkFormat, Parameter(name="--format")] = BenchmarkFormat.AUTO,
    samples: Annotated[list[str] | None, Parameter(name="--sample", negative="")] = None,
    model: bool = False,
    ask: Path | None = None,
    record: Path | None = None,
    replay: Path | None = None,
    session: CliSession,
) -> Exit:
    """Measure dreams, what a turn is given without and after them and what they cost; or recall, what it finds.

    All work is done in temporary folders; no memory of yours is touched.

    Args:
        what: What to measure.
        files: Files with conversations, and folders of such files; a single one may be named with --data.
        file_format: What the files are; auto finds out.
        samples: Only this sample; give the option once for each.
        model: Let the dreams ask the model that the environment names; else only the passes run that ask none.
        ask: Write what the dreams ask into files of this folder, and wait for the files with the answers.
        record: Keep the model's answers in this file; what it holds already is not asked again.
        replay: Take the model's answers from this file and ask no model.
        session: Where output goes.
    """
    asking = _asking(what, _Answerers(model=model, ask=ask, replay=replay), record)
    if not (files or session.is_data_given):
        remedy = f"name the file with the conversations, as in `dream bench {what.value} locomo10.json`"
        raise MissingSettingError(what="argument FILES", remedy=remedy)
    paths = files or (session.data_dir,)
    found = read_questions(paths, now=session.clock.now(), wanted=samples or (), file_format=Format(file_format.value))
    head = {"benchmark": what.value, "data": [encodable(str(path)) for path in paths]}
    if what is Benchmark.RECALL:
        return await _recall(session, head, found)
    return await _dream(session, head, found, asking)


@dataclass(frozen=True, slots=True, kw_only=True)
class _BenchModel:
    """Who answers the dreams.

    Args:
        options: The model; None for none.
        folder: Where answers are written by hand; None if none are.
        recording: Where its answers are kept, or come from.
    """

    options: ChatOptions | None = None
    folder: Path | None = None
    recording: Recording | None = None

    @property
    def model(self) -> str | None:
        """The name of the model that answers, or answered when its answers were recorded."""
        if self.folder is not None:
            return NAME
        if self.options is not None:
            return self.options.model_of(ModelTier.DREAMING)
        models = {str(row["model"]) for row in self.recording.answers.values()} if self.recording else set[str]()
        return ", ".join(sorted(models)) or None

    @asynccontextmanager
    async def client(self) -> AsyncGenerator[ChatClient | None]:
        """Open the connection to the model, if one is asked."""
        if self.folder is not None:
            yield AnswerFolder(self.folder)
            return
        if self.options is None:
            yield None
            return
        async with OpenAIChatClient(self.options) as client:
            yield client


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answerers:
    """Who is to answer, as the command line says it."""

    model: bool
    ask: Path | None
    replay: Path | None

    def named(self) -> list[tuple[str, object]]:
        """Return those that are given, by their options."""
        told = {
            "--model": self.model,
            "--ask": self.ask and str(self.ask),
            "--replay": self.replay and str(self.replay),
        }
        return [(name, value) for name, value in told.items() if value]


def _asking(what: Benchmark, who: _Answerers, record: Path | None) -> _BenchModel:
    """Return who answers.

    Raises:
        InvalidOptionsError: the options contradict each other.
    """
    given = [*who.named(), *([("--record", str(record))] if record else [])]
    if what is Benchmark.RECALL and given:
        name, value = given[0]
        raise InvalidOptionsError(field=name, value=value, allowed="leave it out: recall asks no model")
    if who.replay and len(given) > 1:
        raise InvalidOptionsError(field="--replay", value=str(who.replay), allowed="give it alone: no model is asked")
    if who.ask and who.model:
        raise InvalidOptionsError(field="--ask", value=str(who.ask), allowed="leave out --model: one of them answers")
    if record and not (who.model or who.ask):
        allowed = "give --model or --ask too: their answers are kept"
        raise InvalidOptionsError(field="--record", value=str(record), allowed=allowed)
    options = _configured_model() if who.model else None
    path = record or who.replay
    recording = Recording.read(path, must_exist=bool(who.replay)) if path else None
    return _BenchModel(options=options, folder=who.ask, recording=recording)


async def _dream(
    session: CommandSession, head: dict[str, Any], found: Sequence[BenchmarkSample], asking: _BenchModel
) -> Exit:
    with session.screen.progress("Asking") as progress:
        asked = _counter(progress, len(SIDES) * sum(len(sample.questions) for sample in found))
        async with asking.client() as client:
            results = [await _measured(sample, client, asking.recording, asked) for sample in found]
    model = asking.model
    session.screen.show(
        lambda: head | {"model": model} | _figures(results, total(results)),
        lambda: benchmark_lines(results, model=model, width=session.screen.width),
    )
    return verdict(session.screen, total(results).cost)


async def _measured(
    sample: BenchmarkSample, client: ChatClient | None, recording: Recording | None, asked: Callable[[], None]
) -> Result:
    if recording is None:
        return await measure(sample, model=client, asked=asked)
    recorded = RecordedClient(recording, sample.name, Quotes(sample.texts), client)
    result = await measure(sample, model=recorded, asked=asked)
    recorded.check()
    return result


async def _recall(session: CommandSession, head: dict[str, Any], found: Sequence[BenchmarkSample]) -> Exit:
    with session.screen.progress("Asking") as progress:
        asked = _counter(progress, (len(STORES) + 1) * sum(len(sample.questions) for sample in found))
        results = [await measure_recall(sample, asked=asked) for sample in found]
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
