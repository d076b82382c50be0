"""Each pass that asks a model, on a full data folder: its longest prompt, what it takes the host, and its memory.

`python -m tests.bench.passes FOLDER PASS` measures one run of one pass in this process.
"""

import resource
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass, field
from itertools import repeat
from pathlib import Path
from statistics import median
from typing import Any

from agentcore import AgentHostBuilder
from agentcore.llm import ChatRequest, estimate_tokens
from agentcore.testing import ScriptedChatClient
from dream.domain import PassOutcome
from dream.options import DreamOptions
from tests.bench import library
from tests.bench.figures import Figure
from tests.bench.obliging import PASSES, obliging
from tests.bench.processes import answer, fresh
from tests.bench.stores import Stores

_REPEATS = 3
_SECONDS = 5.0
_PEAK_MB = 400


@dataclass(slots=True)
class Asked:
    """How long questions were, in tokens."""

    first: list[int] = field(default_factory=list[int])
    repairs: list[int] = field(default_factory=list[int])
    directives: int = 0
    answering: float = 0.0

    def reply(self, request: ChatRequest) -> str:
        """Answer at once, and take down how long the question was."""
        began = time.perf_counter()
        system, *rest = (estimate_tokens(message.content) for message in request.messages)
        self.directives = max(self.directives, system)
        (self.first if len(rest) == 1 else self.repairs).append(sum(rest))
        answered = obliging(request)
        self.answering += time.perf_counter() - began
        return answered


async def measure(folder: Path, name: str) -> dict[str, Any]:
    """Run one pass once."""
    asked = Asked()
    # The budget would end a run before it has done all that a run may do.
    options = DreamOptions()
    options = options.replace(model=options.model.replace(tokens_per_run=None, tokens_per_day=None))
    builder = AgentHostBuilder(folder).with_memory().with_conversation_log().with_skills().with_feedback()
    builder = builder.with_wisps().with_llm(ScriptedChatClient(repeat(asked.reply))).with_dreaming(options)
    async with builder.build() as host:
        began, worked = time.perf_counter(), time.process_time()
        report = await host.dreams.run(passes=[name])
        seconds, worked = time.perf_counter() - began, time.process_time() - worked
    done = next(one for one in report.passes if one.name == name)
    if done.outcome is PassOutcome.FAILED or not done.accepted:
        raise RuntimeError(f"{name}: {done.reason}, {done.refused[:5]}")
    return {
        "seconds": seconds - asked.answering,
        "cpu": worked - asked.answering,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "longest": max(asked.first),
        "repair": max(asked.repairs, default=0),
        "directives": asked.directives,
        "limit": options.model.prompt_tokens,
        "calls": done.calls,
        "looked_at": done.looked_at,
        "accepted": done.accepted,
        "refused": len(done.refused),
        "backlog": done.backlog,
    }


def figures(stores: Stores) -> list[Figure]:
    """Measure each pass three times, each time in a process and on a copy of its own."""
    full = stores.folder / f"library-{stores.locomo.stem if stores.locomo else 'example'}"
    if not full.exists():
        making = Path(tempfile.mkdtemp(prefix="filling-", dir=stores.folder))
        fresh("library", making, *([] if stores.locomo is None else [stores.locomo.resolve()]))
        making.rename(full)
    found = [Figure("passes: skills, turns, feedback", library.SKILLS + library.TURNS + library.FEEDBACK, "rows")]
    for name in PASSES:
        found += _of_pass(name, [_once(full, name) for _ in range(1 if stores.quick else _REPEATS)])
    return found


def _once(full: Path, name: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="copy-", dir=full.parent) as folder:
        shutil.copytree(full, folder, dirs_exist_ok=True)
        return fresh("passes", folder, name)


def _of_pass(name: str, runs: list[dict[str, Any]]) -> list[Figure]:
    one = runs[0]
    seconds, worked = ([run[what] for run in runs] for what in ("seconds", "cpu"))
    did = f"{one['calls']} calls, {one['accepted']} changes, {one['looked_at']:,} looked at, {one['backlog']:,} left"
    return [
        Figure(f"{name}: host time ({did})", median(seconds), "s", most=_SECONDS, spread=tuple(seconds)),
        Figure("- of which the processor worked", median(worked), "s", spread=tuple(worked)),
        Figure("- longest prompt, directives aside", one["longest"], "tokens", most=one["limit"]),
        *([Figure("- longest question for a repair", one["repair"], "tokens")] if one["repair"] else []),
        Figure("- directives", one["directives"], "tokens"),
        Figure("- peak memory of the process", max(run["peak"] for run in runs), "MB", most=_PEAK_MB),
    ]


if __name__ == "__main__":
    answer(measure(Path(sys.argv[1]), sys.argv[2]))
