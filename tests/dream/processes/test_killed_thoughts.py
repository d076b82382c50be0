"""A process killed or disturbed while a model thinks for it: no answer is paid twice, nothing lost, nothing doubled."""

import asyncio
import itertools
import random
import shutil
import signal
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from killing import ForkServer

from agentcore.testing import ChatServer, ServedRequest
from dream.interfaces.benchmark import scripted_answer

POINTS = 5
LATENCY = timedelta(milliseconds=15)


class Thinker:
    """Work that asks a model, done in processes of its own on copies of one store."""

    def __init__(self, server: ForkServer, folder: Path, model: ChatServer) -> None:
        self._server = server
        self._folder = folder
        self._model = model

    async def ask(self, **task: Any) -> Any:
        # The model answers on this loop meanwhile.
        return await asyncio.to_thread(lambda: self._server.ask(base_url=self._model.base_url, **task))

    async def fill(self) -> None:
        await self.ask(folder=self._folder / "template", work="talk")

    def copy(self, name: str) -> Path:
        return Path(shutil.copytree(self._folder / "template", self._folder / name))

    async def finish(self, copy: Path) -> Any:
        """Think until nothing is left to think about; return what is known then."""
        for _ in range(3):
            await self.ask(folder=copy, work="think")
        known = await self.ask(folder=copy, work="essence")
        return known["known"], known["waiting"]

    async def paid(self, copy: Path) -> set[str]:
        """The prompts whose answers are on record."""
        return set((await self.ask(folder=copy, work="asked"))["prompts"])

    def asked(self) -> Counter[str]:
        """How often each prompt has come in."""
        return Counter(request.prompt for request in self._model.requests)


def rules(request: ServedRequest) -> str:
    return scripted_answer(request.prompt)


def model() -> ChatServer:
    return ChatServer(itertools.repeat(rules), latency=LATENCY)


@pytest.mark.parametrize("seed", range(1))
async def test_a_dream_killed_while_a_model_thinks_pays_for_no_answer_twice(
    server: ForkServer, tmp_path: Path, seed: int
):
    chance = random.Random(f"thoughts {seed}")
    async with model() as asked:
        thinker = Thinker(server, tmp_path, asked)
        await thinker.fill()
        whole = thinker.copy("whole")
        plain = await thinker.ask(folder=whole, work="think")
        truth = await thinker.finish(whole)
        assert len(truth[0]) > 24
        assert [prompt for prompt in thinker.asked() if prompt.count('# Part "') > 1]
        killed = 0
        for point in range(POINTS):
            copy = thinker.copy(f"copy{point}")
            dead = await thinker.ask(folder=copy, work="think", after=chance.uniform(0.0, plain["seconds"]))
            killed += dead["killed"]
            paid, before = await thinker.paid(copy), thinker.asked()
            assert await thinker.finish(copy) == truth, point
            after = thinker.asked()
            assert {prompt for prompt in paid if after[prompt] != before[prompt]} == set(), point
    assert killed > POINTS / 2


async def test_calls_of_killed_processes_count_in_the_budget_of_the_day_and_in_usage(
    server: ForkServer, tmp_path: Path
):
    heard = asyncio.Queue[None]()

    async def never(_: ServedRequest) -> str:
        heard.put_nowait(None)
        await asyncio.Event().wait()
        return ""

    async with ChatServer(itertools.repeat(never)) as asked:
        thinker = Thinker(server, tmp_path, asked)
        await thinker.fill()
        dreaming = {"folder": tmp_path / "template", "work": "think", "calls_per_day": 3}
        for by in (signal.SIGKILL, signal.SIGTERM, signal.SIGKILL):
            begun = await thinker.ask(**dreaming, wait=False)
            await asyncio.wait_for(heard.get(), 60)
            await thinker.ask(kill=begun["pid"], by=by)
        last = await thinker.ask(**dreaming)
        assert asked.calls == 3
        spent = await thinker.ask(folder=tmp_path / "template", work="usage")
    assert (spent["calls"], spent["failed"], spent["unanswered"]) == (3, 3, 3)
    assert spent["unanswered_tokens"] == spent["input_tokens"] + spent["output_tokens"] > 3_000
    told = {"calls": 3, "tokens": spent["unanswered_tokens"]}
    assert told in [one["notes"].get("no_answer") for one in last["passes"]]
    assert "day_calls" in [one["reason"] for one in last["passes"]]


@pytest.mark.parametrize("seed", range(1))
async def test_a_dream_that_people_disturb_comes_to_the_same_end(server: ForkServer, tmp_path: Path, seed: int):
    async with model() as asked:
        thinker = Thinker(server, tmp_path, asked)
        await thinker.fill()
        truth = await thinker.finish(thinker.copy("truth"))
        calls = asked.calls
        copy = thinker.copy("disturbed")
        report = await thinker.ask(folder=copy, work="think", turns=12, seed=seed)
        given_up = sum(item["calls"] for item in report["passes"]) - len(await thinker.paid(copy))
        assert await thinker.finish(copy) == truth
        assert asked.calls - calls <= len(await thinker.paid(copy)) + given_up
