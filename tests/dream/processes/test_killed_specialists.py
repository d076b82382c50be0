"""The command killed by a signal at each question of the two specialists: the next one goes on, and pays once."""

import asyncio
import os
import signal
import sys
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from agentcore import AgentHostBuilder
from agentcore.domain import MemoryEntry, Scope
from agentcore.testing import ChatServer, ServedRequest
from tests.bench.year import YearModel

ROOT = Path(__file__).parents[3]
PASSES = ("--pass", "deduction", "--pass", "induction")
SAID = ("Lea works at the harbour office in Gdynia.", "Lea walks to work every day.", "Lea put off the bank.",
        "Lea moved the dentist.")  # fmt: skip
NEAR, LATE = "Lea lives within walking distance of the harbour office.", "Lea tends to postpone appointments."
ANSWERS: dict[str, Any] = {
    "a night": {
        "conclusions": [{"kind": "implication", "content": NEAR, "premises": SAID[:2]}],
        "card": [{"action": "add", "section": "attribute", "content": "Works at the harbour office in Gdynia.",
                  "premises": SAID[:1], "reason": "her work"}],
        "patterns": [{"content": LATE, "pattern": "tendency", "premises": SAID[2:]}],
    }
}  # fmt: skip


class Deadly:
    """A model that kills whoever asks its question of some number, before it answers; None never."""

    def __init__(self, number: int | None) -> None:
        self.model, self.number, self.victim = YearModel(ANSWERS, dream="a night"), number, 0
        self.answered: Counter[str] = Counter()
        self.asked = 0

    def __call__(self, request: ServedRequest) -> str:
        self.asked += 1
        if self.asked == self.number:
            os.kill(self.victim, signal.SIGKILL)
        else:
            self.answered[request.prompt] += 1
        return self.model(request)


async def remember(folder: Path) -> None:
    now = datetime.now(UTC)
    entries = [
        MemoryEntry(
            id=f"e{place}", scope=Scope.default(), content=text, created_at=now - timedelta(days=9 - 2 * place),
            recorded_at=now, last_seen_at=now,
        )
        for place, text in enumerate(SAID)
    ]  # fmt: skip
    async with AgentHostBuilder(folder).with_memory().build() as host:
        await host.storage.write(Scope.default(), lambda unit: unit.entries.add(entries))


async def dream(folder: Path, model: Deadly, server: ChatServer) -> int:
    """Run the command to its end, or to its death; return the code of its exit."""
    told = {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "none", "AGENTCORE_MODEL": "a-model",
            "AGENTCORE_DREAMING__PRESET": "peer", "PYTHONPATH": str(ROOT)}  # fmt: skip
    command = [sys.executable, "-m", "dream", "--data", str(folder), "run", *PASSES]
    process = await asyncio.create_subprocess_exec(
        *command, cwd=ROOT, env=os.environ | told, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    model.victim = process.pid
    out, _ = await process.communicate()
    assert process.returncode in {0, -signal.SIGKILL}, out.decode()
    return process.returncode or 0


async def known(folder: Path) -> tuple[list[str], list[str]]:
    async with AgentHostBuilder(folder).with_memory().with_dreaming(in_background=False).build() as host:
        concluded = [entry.content for entry in await host.memory.list(limit=50) if entry.is_conclusion]
        return sorted(concluded), [str(line) for line in await host.card.lines()]


@pytest.mark.slow
@pytest.mark.parametrize("number", [1, 2, 3, 4])
async def test_a_command_killed_at_any_question_of_the_two_goes_on_and_pays_once(tmp_path: Path, number: int):
    await remember(tmp_path)
    model = Deadly(number)
    async with ChatServer([model] * 9) as server:
        assert await dream(tmp_path, model, server) == -signal.SIGKILL
        assert await dream(tmp_path, model, server) == 0
        assert await dream(tmp_path, model, server) == 0
    assert await known(tmp_path) == ([NEAR, LATE], ["ATTRIBUTE: Works at the harbour office in Gdynia."])
    assert set(model.answered.values()) == {1}
    # What was asked when it died is asked again; nothing else is.
    assert model.asked == len(model.answered) + 1
