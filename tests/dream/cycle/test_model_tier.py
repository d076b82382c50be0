"""Dreams ask the model of the tier `dreaming` where one is configured, and nobody else does."""

from itertools import repeat

import pytest

from agentcore import AgentHostBuilder, Host
from agentcore.llm import ChatMessage, ChatOptions, ChatRequest, ChatRole, OpenAIChatClient
from agentcore.testing import ChatServer, answer
from dream.domain import UsageKey

PROMPT = (ChatMessage(ChatRole.USER, "Hello."),)


async def dreamt(host: Host) -> list[str]:
    """Dream about what was said; return the models that the records of its calls name."""
    await host.conversation.append(session_id="s1", role="user", content="I moved to Lisbon in May.")
    await host.dreams.run(passes=["fact-mining"])
    return [row.model or "" for row in await host.dreams.usage(by=[UsageKey.MODEL])]


@pytest.mark.parametrize(("configured", "asked"), [({"dream_model": "small"}, "small"), ({}, "large")])
async def test_dreams_ask_the_model_of_their_tier_and_the_agent_goes_on_asking_the_default(
    configured: dict[str, str], asked: str
):
    async with ChatServer(repeat(answer('{"facts": []}', model=""))) as server:
        client = OpenAIChatClient(ChatOptions(model="large", base_url=server.base_url, **configured))
        builder = AgentHostBuilder(None).with_memory().with_conversation_log().with_llm(client)
        async with builder.with_dreaming(in_background=False).build() as host:
            own = ChatRequest(messages=PROMPT, max_output_tokens=9, purpose="turn")
            await client.complete(own)
            assert await dreamt(host) == [asked]
            await client.complete(own)
        assert [request.model for request in server.requests] == ["large", asked, "large"]


async def test_the_environment_names_both_models_and_the_record_the_one_that_answered(
    monkeypatch: pytest.MonkeyPatch,
):
    async with ChatServer(repeat(answer('{"facts": []}', model="small-2025-06-01"))) as server:
        for name, value in (("MODEL", "large"), ("DREAM_MODEL", "small")):
            monkeypatch.setenv(f"AGENTCORE_{name}", value)
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        builder = AgentHostBuilder(None).with_memory().with_conversation_log().with_llm()
        async with builder.with_dreaming(in_background=False).build() as host:
            assert await dreamt(host) == ["small-2025-06-01"]
        assert {request.model for request in server.requests} == {"small"}
