"""Dreams that ask a model: what they cost the host, how busy they keep a server, and how many tokens they take.

`python -m tests.bench.model FOLDER at-once|served` measures one filled folder in this process.
"""

import re
import sys
import time
from collections.abc import Iterable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import repeat
from pathlib import Path
from typing import Any

import orjson

from agentcore import AgentHostBuilder, Host, Scope
from agentcore.llm import ChatClient, ChatOptions, ChatRequest, Completion, OpenAIChatClient, estimate_tokens
from agentcore.stores import ReadView
from agentcore.testing import ChatServer, ScriptedChatClient, ServedRequest
from dream.domain import PassOutcome, PassReport
from dream.options import DreamOptions
from tests.bench.figures import Figure
from tests.bench.processes import answer, fresh
from tests.bench.stores import Stores

_LINE = re.compile(r'^\[([et]\d+)\] .*?("(?:[^"\\]|\\.)*")$', re.MULTILINE)
_SIZE = 10_000
_CANDIDATES = 1_000
_ASKED_OF_A_SERVER = 4_000
_TURNS = 1_000
_LATENCY = timedelta(milliseconds=200)
_IN_FLIGHT = 8
_SECONDS = 1.5
_BUSY = 0.9
_CONSOLIDATION, _MINING = "memory-consolidation", "fact-mining"


def consolidating(prompt: str) -> str:
    """A model that joins the first four records two by two, word for word, and drops the next one."""
    shown = [(handle, orjson.loads(text)) for handle, text in _LINE.findall(prompt)]
    if shown and shown[0][0].startswith("t"):
        return _remembering(shown)
    pairs = [shown[0:2], shown[2:4]] if len(shown) > 5 else []
    saves = [
        {
            "content": " ".join(text for _, text in pair),
            "category": None,
            "tags": [],
            "importance": None,
            "sourceIds": [handle for handle, _ in pair],
        }
        for pair in pairs
    ]
    return orjson.dumps({"toDelete": [handle for handle, _ in shown[4:5]] if pairs else [], "toSave": saves}).decode()


def _remembering(shown: Iterable[tuple[str, str]]) -> str:
    """Remember every fourth turn, as it stands."""
    facts = [
        {"content": text, "category": "general", "tags": [], "sourceTurns": [handle], "quote": text[:80]}
        for handle, text in list(shown)[::4]
    ]
    return orjson.dumps({"facts": facts}).decode()


@dataclass(slots=True)
class Watched:
    """A client that writes down when its calls were under way, and what they asked."""

    client: ChatClient
    calls: list[tuple[float, float]] = field(default_factory=list[tuple[float, float]])
    fixed: int = 0
    variable: int = 0

    async def complete(self, request: ChatRequest) -> Completion:
        """Ask, and take the time."""
        system, *rest = (estimate_tokens(message.content) for message in request.messages)
        self.fixed += system
        self.variable += sum(rest)
        began = time.perf_counter()
        completion = await self.client.complete(request)
        self.calls.append((began, time.perf_counter()))
        return completion

    @property
    def seconds(self) -> float:
        """From the begin of the first call to the end of the last."""
        return max(end for _, end in self.calls) - min(begin for begin, _ in self.calls)

    @property
    def busyness(self) -> float:
        """The share of the places in flight that were taken in that time."""
        return sum(end - begin for begin, end in self.calls) / (_IN_FLIGHT * self.seconds)


async def measure(folder: Path, how: str) -> dict[str, Any]:
    """Run the passes on the folder, with a model that answers at once or with a server that takes its time."""
    if how == "at-once":
        watched = Watched(ScriptedChatClient(repeat(lambda request: consolidating(request.messages[1].content))))
        return await _at_once(folder, watched)
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(ChatServer(repeat(_served), latency=_LATENCY))
        options = ChatOptions(model="scripted", base_url=server.base_url)
        client = await stack.enter_async_context(OpenAIChatClient(options))
        return await _busy(folder, Watched(client))


def _served(request: ServedRequest) -> str:
    return consolidating(request.prompt)


async def _at_once(folder: Path, watched: Watched) -> dict[str, Any]:
    async with _host(folder, watched, _CANDIDATES) as host:
        await host.memory.recall("anything")  # the index is built before the clock runs
        consolidated = await _timed(host, _CONSOLIDATION)
        tokens = {"fixed": watched.fixed, "variable": watched.variable}
        await _talk(host)
        mined = await _timed(host, _MINING)
    return {"consolidation": consolidated, "mining": mined, **tokens}


async def _busy(folder: Path, watched: Watched) -> dict[str, Any]:
    async with _host(folder, watched, _ASKED_OF_A_SERVER) as host:
        await host.memory.recall("anything")
        done = await _timed(host, _CONSOLIDATION)
    served = len(watched.calls) * _LATENCY.total_seconds() / (_IN_FLIGHT * watched.seconds)
    return done | {"busyness": watched.busyness, "served": served, "asking": watched.seconds}


def _host(folder: Path, client: ChatClient, candidates: int) -> Host:
    options = DreamOptions()
    options = options.replace(
        model=options.model.replace(calls_in_flight=_IN_FLIGHT, tokens_per_run=None, tokens_per_day=None),
        consolidation=options.consolidation.replace(max_entries=candidates),
    )
    builder = AgentHostBuilder(folder).with_memory().with_conversation_log()
    return builder.with_llm(client).with_dreaming(options).build()


async def _timed(host: Host, name: str) -> dict[str, Any]:
    began, worked = time.perf_counter(), time.process_time()
    report = await host.dreams.run(passes=[name])
    seconds, worked = time.perf_counter() - began, time.process_time() - worked
    done = next(one for one in report.passes if one.name == name)
    if done.outcome is PassOutcome.FAILED or not done.accepted:
        raise RuntimeError(f"{name}: {done.reason}, {done.refused[:5]}")
    return {"seconds": seconds, "cpu": worked, **_counts(done)}


def _counts(done: PassReport) -> dict[str, Any]:
    return {
        "looked_at": done.looked_at,
        "accepted": done.accepted,
        "calls": done.calls,
        "input_tokens": done.input_tokens,
        "output_tokens": done.output_tokens,
    }


async def _talk(host: Host) -> None:
    """Log as many turns as the folder has entries with other words."""

    def texts(view: ReadView) -> list[str]:
        found = view.entries.material(after=_SIZE // 2, also=(), limit=_TURNS)
        return [entry.content for entry in view.entries.by_keys([item.key for item in found]).values()]

    for number, text in enumerate(await host.storage.read(Scope.default(), texts)):
        await host.conversation.append(session_id=f"s{number // 50}", role="user", content=text, speaker="Ana")


def figures(stores: Stores) -> list[Figure]:
    """Measure each in a process of its own, on a store of 10,000 entries."""
    with stores.copied(_SIZE) as folder:
        at_once = fresh("model", folder, "at-once")
    with stores.copied(_SIZE) as folder:
        served = fresh("model", folder, "served")
    consolidation, mining = at_once["consolidation"], at_once["mining"]
    told = f"model dreams, {_CANDIDATES:,} candidates"
    return [
        Figure(
            f"{told}: consolidation by a model that answers at once ({consolidation['calls']} calls)",
            consolidation["seconds"] * 1_000 / consolidation["looked_at"],
            "s",
            most=_SECONDS,
        ),
        Figure("- of which the processor worked", consolidation["cpu"] * 1_000 / consolidation["looked_at"], "s"),
        Figure("- changes", consolidation["accepted"]),
        Figure(
            f"- mining {_TURNS:,} turns ({mining['calls']} calls, {mining['accepted']} facts)",
            mining["seconds"] * 1_000 / mining["looked_at"],
            "s",
            most=_SECONDS,
        ),
        Figure("- prompts of the consolidation, directives included", at_once["fixed"] + at_once["variable"], "tokens"),
        Figure("- prompts without the directives", at_once["variable"], "tokens"),
        Figure("- answers", consolidation["output_tokens"], "tokens"),
        Figure(f"- share of 8 calls in flight taken, {served['calls']} of 200 ms", served["busyness"], least=_BUSY),
        Figure("- share in which the server worked at 8", served["served"]),
    ]


if __name__ == "__main__":
    answer(measure(Path(sys.argv[1]), sys.argv[2]))
