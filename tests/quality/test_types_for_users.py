"""What a strict type checker says of the code of those who use the packages."""

import inspect
from importlib.resources import files
from pathlib import Path
from typing import get_type_hints

import pytest

from agentcore.hosting import Context, Conversation, FeedbackLog, Memory, Skills, ToolCallLog, WispLog
from tests.quality.typechecking import marked_lines, refused_lines

HOST = """
from agentcore import AgentHostBilder  # refused
from agentcore import AgentHostBuilder, Host
from agentcore.llm import ChatOptionz  # refused
from dream import DreamOptionz  # refused
from dream import DreamOptions, RunReport


async def serve(folder: str) -> RunReport:
    builder = AgentHostBuilder(folder).with_memory().with_dreaming(DreamOptions(protected_categories=("legal",)))
    async with builder.build() as host:
        await host.memory.remember("Ana moved to Porto", categry="people")  # refused
        return await host.dreams.run()
"""

CHAT_LOOP = """
from agentcore import AgentTools
from openai import AsyncOpenAI
from openai.types.chat import ChatCompletionMessageParam


async def chat(client: AsyncOpenAI, tools: AgentTools, messages: list[ChatCompletionMessageParam]) -> str:
    completion = await client.chat.completions.create(model="m", messages=messages, tools=tools.schemas)
    message = completion.choices[0].message
    for tool_call in message.tool_calls or []:
        messages.append(await tools.answer(tool_call))
    return message.content or ""
"""

OWN_PASS = """
from collections.abc import Mapping, Sequence

from agentcore.domain.capability import Capability
from dream import DreamOptions
from dream.domain.proposal import Proposal, Work
from dream.passes import DreamContext


class Sweep:
    name = "sweep"
    requires = frozenset({Capability.MEMORY})

    async def has_work(self, context: DreamContext) -> Work:
        return Work(0)

    async def propose(self, context: DreamContext) -> Proposal:
        return Proposal()

    def conclude(self, notes: Sequence[Mapping[str, object]]) -> Mapping[str, object]:
        return {}


options = DreamOptions()
options.replace(passes=options.passes.append(Sweep()))
"""


@pytest.mark.parametrize("package", ["agentcore", "dream"])
def test_each_package_says_that_it_is_typed(package: str):
    assert files(package).joinpath("py.typed").is_file()


def test_a_strict_type_checker_refuses_wrong_names_in_a_users_code_and_nothing_else(tmp_path: Path):
    codes = {"a host": HOST, "a chat loop": CHAT_LOOP, "a pass of one's own": OWN_PASS}
    found = refused_lines(codes, tmp_path)
    assert {name: set(lines) for name, lines in found.items()} == {
        name: marked_lines(code) for name, code in codes.items()
    }, found


@pytest.mark.parametrize("service", [Memory, Conversation, Context, Skills, FeedbackLog, WispLog, ToolCallLog])
def test_who_reads_type_hints_at_run_time_gets_those_of_a_service(service: type):
    """Frameworks that make a tool of a method read them so."""
    methods = [one for name, one in vars(service).items() if inspect.isfunction(one) and not name.startswith("_")]
    assert methods
    for method in methods:
        assert get_type_hints(method)["return"] is not None
