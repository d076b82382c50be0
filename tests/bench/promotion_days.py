"""Promotion over ten days, without a model: `python -m tests.bench.promotion_days --data FILE [--sample conv-41]`.

A conversation of a LoCoMo file is imported and its questions are asked, a tenth of them each day, as turns would need
their answers. Each evening a dream promotes what they recalled, into a workspace that is a repository. What people then
find there is printed; and whether a second dream changes anything, and whether taking all back leaves the files as they
were.
"""

import argparse
import asyncio
import logging
import sys
import tempfile
from datetime import timedelta
from pathlib import Path

from dulwich.porcelain import commit, init
from dulwich.repo import Repo

from agentcore import AgentHostBuilder, Host, Scope
from agentcore.clock import SystemClock
from agentcore.ids import RandomIds
from agentcore.testing import ManualClock
from dream.domain import RunReport
from dream.interfaces.benchmark import BenchmarkSample, read_locomo
from dream.interfaces.exchange import Format, import_file
from tests.bench.machine import described

_DAYS = 10
_HEAD = 14
"""Lines shown of a document."""
_PERSON = "# MEMORY.md\n\n- Ask before you book anything.\n"


class Week:
    """One memory, its workspace and its clock."""

    def __init__(self, folder: Path, sample: BenchmarkSample) -> None:
        self.workspace = folder / "workspace"
        self.workspace.mkdir()
        (self.workspace / "MEMORY.md").write_text(_PERSON, encoding="utf-8")
        init(str(self.workspace))
        commit(str(self.workspace), message=b"By hand", author=b"Ana <ana@example.org>", all=True)
        self._data = folder / "data"
        self._begin = sample.ended_at + timedelta(hours=1)
        self.clock = ManualClock(self._begin)
        self._sample = sample

    def host(self) -> Host:
        """Return the host of one part of a day."""
        builder = AgentHostBuilder(self._data, clock=self.clock).with_memory().with_conversation_log()
        return builder.with_workspace(self.workspace).with_dreaming(in_background=False).build()

    async def fill(self) -> str:
        """Import the conversation, and return what came."""
        async with self.host() as host:
            report = await import_file(
                host.storage,
                Scope.default(),
                self._sample.path,
                file_format=Format.LOCOMO,
                sample=self._sample.name,
                clock=self.clock,
                ids=RandomIds(),
            )
        return ", ".join(f"{count:,} {kind}" for kind, count in report.added.items())

    async def day(self, number: int) -> RunReport:
        """Ask a tenth of the questions, and dream at the same hour as on any day."""
        self.clock.set(self._begin + timedelta(days=number))
        async with self.host() as host:
            for question in self._sample.questions[number::_DAYS]:
                await host.memory.recall(question.text, session_id=f"day-{number}")
                self.clock.advance(timedelta(minutes=1))
        self.clock.set(self._begin + timedelta(days=number, hours=12))
        return await self.dream()

    async def dream(self) -> RunReport:
        """Dream once."""
        async with self.host() as host:
            return await host.dreams.run()

    async def undo(self, reports: list[RunReport]) -> None:
        """Take runs back, the last one first."""
        async with self.host() as host:
            for report in reversed(reports):
                await host.dreams.undo(report.run_id)

    def files(self) -> dict[str, bytes]:
        """Return the documents of the workspace."""
        return {path.name: path.read_bytes() for path in sorted(self.workspace.glob("*.md"))}

    def log(self) -> list[str]:
        """Return the commits, the newest first."""
        with Repo(str(self.workspace)) as repository:
            walked = [entry.commit for entry in repository.get_walker()]
        return [f"{one.id.decode()[:8]} {one.message.decode().splitlines()[0]}" for one in walked]


async def measure(folder: Path, sample: BenchmarkSample) -> None:
    """Live through the days and print what they leave."""
    week = Week(folder, sample)
    before = week.files()
    print(f"Imported {sample.name}: {await week.fill()}; {len(sample.questions)} questions over {_DAYS} days.")
    reports = [await week.day(number) for number in range(_DAYS)]
    for name in ("MEMORY.md", "DREAMS.md"):
        text = week.files()[name].decode().splitlines()
        print(f"\n{name}, the first {_HEAD} of {len(text)} lines:", *text[:_HEAD], sep="\n  ")
    print("\ngit log:", *week.log(), sep="\n  ")
    there = week.files(), week.log()
    again = await week.dream()
    same = (week.files(), week.log()) == there
    print(f"\nA second dream that evening: {again.outcome.value}, {again.changes} records, files as before: {same}")
    await week.undo([*reports, again])
    print(f"All taken back: files as before the first dream: {week.files() == before}; commits: {len(week.log())}")


class _Summaries(logging.Handler):
    """Prints the one line that a sweep logs."""

    def emit(self, record: logging.LogRecord) -> None:
        if record.getMessage() == "promotion_sweep":
            names = ("scanned", "promoted", "skipped", "score_range", "commit")
            print("promotion_sweep", *(f"{name}={getattr(record, name, None)}" for name in names))


def main() -> int:
    """Read the file and measure; 0 as well where there is none."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.promotion_days")
    parser.add_argument("--data", type=Path, required=True, help="a LoCoMo file")
    parser.add_argument("--sample", default="conv-41")
    asked = parser.parse_args()
    if not asked.data.exists():
        print(f"There is no {asked.data}: nothing to measure.", file=sys.stderr)
        return 0
    logging.getLogger("dream").setLevel(logging.INFO)
    logging.getLogger("dream").addHandler(_Summaries())
    print(described())
    (sample,) = read_locomo(asked.data, now=SystemClock().now(), wanted=[asked.sample])
    with tempfile.TemporaryDirectory(prefix="agentcore-promotion-") as folder:
        asyncio.run(measure(Path(folder), sample))
    return 0


if __name__ == "__main__":
    sys.exit(main())
