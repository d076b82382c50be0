"""The answer desk: a person or another program answers a dream's questions, a file for each."""

import asyncio
from itertools import repeat
from pathlib import Path

from agentcore.llm import ChatMessage, ChatOptions, ChatRequest, ChatRole, OpenAIChatClient, ResponseFormat
from agentcore.testing import ChatServer
from tests.bench.answer_desk import AnswerDesk

POLL = 0.01


def asked(text: str, mark: str = "m1") -> ChatRequest:
    form = ResponseFormat(name="facts", schema={"type": "object", "properties": {"facts": {"type": "array"}}})
    prompt = (ChatMessage(ChatRole.SYSTEM, "Find facts."), ChatMessage(ChatRole.USER, f"<<<{mark}\n{text}\n{mark}>>>"))
    return ChatRequest(messages=prompt, max_output_tokens=100, purpose="a-pass", response_format=form)


async def waiting(desk: AnswerDesk, count: int) -> list[str]:
    async with asyncio.timeout(20):
        while len(found := desk.waiting()) < count:
            await asyncio.sleep(POLL)
    return found


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def test_requests_wait_together_and_each_gets_the_answer_written_for_it(tmp_path: Path):
    desk = AnswerDesk(tmp_path / "desk", POLL)
    async with ChatServer(repeat(desk.answer)) as server:
        client = OpenAIChatClient(ChatOptions(model="desk", base_url=server.base_url))
        async with client, asyncio.TaskGroup() as tasks:
            calls = [tasks.create_task(client.complete(asked(f"turn {number}"))) for number in range(20)]
            for name in reversed(await waiting(desk, 20)):
                question = (desk.folder / f"{name}.request.txt").read_text("utf-8")
                assert "Find facts." in question
                assert '"facts"' in question
                (desk.folder / f"{name}.answer.txt").write_text(question.split("<<<m1\n")[1].split("\n")[0], "utf-8")
    assert [call.result().text for call in calls] == [f"turn {number}" for number in range(20)]
    assert desk.waiting() == []


async def test_a_question_asked_again_by_another_run_has_its_answer_already(tmp_path: Path):
    desk = AnswerDesk(tmp_path, POLL)
    for mark in ("m1", "m2"):
        async with ChatServer(repeat(desk.answer)) as server:
            client = OpenAIChatClient(ChatOptions(model="desk", base_url=server.base_url))
            async with client, asyncio.TaskGroup() as tasks:
                call = tasks.create_task(client.complete(asked("turn 1", mark)))
                if mark == "m1":
                    (name,) = await waiting(desk, 1)
                    (tmp_path / f"{name}.answer.txt").write_text("said once", "utf-8")
        assert call.result().text == "said once"
    assert names(tmp_path) == [f"{name}.answer.txt", f"{name}.request.txt"]
