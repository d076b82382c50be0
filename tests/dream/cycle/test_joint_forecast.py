"""What passes would ask together is foreseen: calls, and input tokens within a tenth, of a whole first dream."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from itertools import repeat
from pathlib import Path

import pytest

from agentcore import AgentHostBuilder, Host, Scope
from agentcore.llm import ChatRequest, estimate_tokens
from agentcore.testing import ManualClock, ScriptedChatClient, SequentialIds
from dream import DreamOptions
from dream.interfaces.benchmark import scripted_answer
from dream.interfaces.cli.commands.demo import AS_OF, copy_examples
from dream.interfaces.exchange.importer import import_file
from dream.options import ReadingOptions

pytestmark = pytest.mark.slow
TALKS = Path(__file__).parents[2] / "data" / "talks"
READERS = ["fact-mining", "episodes", "skill-gaps", "preferences"]


def by_rule(request: ChatRequest) -> str:
    return scripted_answer("\n\n".join(message.content for message in request.messages))


@asynccontextmanager
async def hosted(folder: Path, now: datetime, files: list[Path]) -> AsyncIterator[tuple[Host, ScriptedChatClient]]:
    """A host that has read these files and has not dreamt."""
    chat, ids = ScriptedChatClient(repeat(by_rule)), SequentialIds()
    builder = AgentHostBuilder(folder, clock=ManualClock(now), ids=ids).with_memory().with_skills()
    builder = builder.with_conversation_log().with_feedback().with_wisps().with_tool_calls().with_llm(chat)
    options = DreamOptions(reading=ReadingOptions(batch_turns=40))
    async with builder.with_dreaming(options, in_background=False).build() as host:
        for path in files:
            await import_file(host.storage, Scope.default(), path, clock=host.clock, ids=ids)
        yield host, chat


def demo(folder: Path) -> tuple[datetime, list[Path]]:
    return AS_OF, copy_examples(folder / "examples")


def talk(name: str) -> tuple[datetime, list[Path]]:
    return datetime(2027, 1, 1, tzinfo=UTC), [TALKS / f"{name}.json"]


@pytest.mark.parametrize("what", ["demo", "team", "assistant"])
async def test_joint_questions_are_foreseen(what: str, tmp_path: Path):
    now, files = demo(tmp_path) if what == "demo" else talk(what)
    async with hosted(tmp_path / "data", now + timedelta(hours=1), files) as (host, chat):
        foreseen = [one for one in await host.dreams.forecast() if one.name in READERS and one.calls]
        await host.dreams.run()
    asked = [request for request in chat.requests if request.purpose == "reading"]
    sent = sum(estimate_tokens(message.content) for request in asked for message in request.messages)
    assert sum(one.calls for one in foreseen) == len(asked) >= (1 if what == "demo" else 5)
    assert sum(one.least_tokens for one in foreseen) == pytest.approx(sent, rel=0.1)
