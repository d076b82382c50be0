"""Answers written by hand: each request of a dream is a file, and waits for the file with its answer."""

import asyncio
from datetime import timedelta
from pathlib import Path

from agentcore.llm import ChatMessage, ChatRequest, ChatRole, ResponseFormat
from dream.interfaces.benchmark.asking import AnswerFolder

POLL = timedelta(milliseconds=10)


def asked(text: str, mark: str = "m1") -> ChatRequest:
    form = ResponseFormat(name="facts", schema={"type": "object", "properties": {"facts": {"type": "array"}}})
    prompt = (ChatMessage(ChatRole.SYSTEM, "Find facts."), ChatMessage(ChatRole.USER, f"<<<{mark}\n{text}\n{mark}>>>"))
    return ChatRequest(messages=prompt, max_output_tokens=100, purpose="a-pass", response_format=form)


def requests(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.request.md"))


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def waiting(folder: Path, count: int) -> list[Path]:
    async with asyncio.timeout(20):
        while len(found := requests(folder)) < count:
            await asyncio.sleep(POLL.total_seconds())
    return found


def answer(request: Path, text: str) -> None:
    request.with_name(request.name.replace(".request.md", ".answer.txt")).write_text(text, "utf-8")


async def test_requests_wait_together_and_each_gets_the_answer_written_for_it(tmp_path: Path):
    client = AnswerFolder(tmp_path / "asked", POLL)
    async with asyncio.TaskGroup() as tasks:
        calls = [tasks.create_task(client.complete(asked(f"turn {number}"))) for number in range(20)]
        for path in reversed(await waiting(tmp_path / "asked", 20)):
            question = path.read_text("utf-8")
            assert "Find facts." in question
            assert '"facts"' in question
            answer(path, question.split("<<<m1\n")[1].split("\n")[0])
    assert [call.result().text for call in calls] == [f"turn {number}" for number in range(20)]
    assert all(call.result().usage.input_tokens > 0 for call in calls)


async def test_a_question_asked_again_by_another_run_has_its_answer_already(tmp_path: Path):
    for mark in ("m1", "m2"):
        client = AnswerFolder(tmp_path, POLL)
        async with asyncio.TaskGroup() as tasks:
            call = tasks.create_task(client.complete(asked("turn 1", mark)))
            if mark == "m1":
                (path,) = await waiting(tmp_path, 1)
                answer(path, "said once")
        assert call.result().text == "said once"
    assert names(tmp_path) == ["001.answer.txt", "001.request.md"]
