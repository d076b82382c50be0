from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from agentcore import AgentHostBuilder
from agentcore.domain import Capability
from agentcore.errors import InvalidOptionsError
from agentcore.llm import ChatNotConfiguredError, ChatOptions, OpenAIChatClient
from agentcore.testing import ManualClock, ScriptedChatClient


class HostedChat(ScriptedChatClient):
    def __init__(self) -> None:
        super().__init__([])
        self.log: list[str] = []

    async def start(self) -> None:
        self.log.append("start")

    async def stop(self) -> None:
        self.log.append("stop")


@pytest.fixture(autouse=True)
def _bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AGENTCORE_MODEL", "AGENTCORE_DREAM_MODEL", "OPENAI_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def chat_of(builder: AgentHostBuilder) -> Any:
    return builder.build()._parts.chat


def test_a_client_is_taken_as_it_is():
    client = ScriptedChatClient([])
    host = AgentHostBuilder(None).with_llm(client).build()
    assert host._parts.chat is client
    assert Capability.LLM in host.capabilities


async def test_a_client_with_start_and_stop_lives_as_long_as_the_host():
    client = HostedChat()
    async with AgentHostBuilder(None).with_memory().with_llm(client).build():
        assert client.log == ["start"]
    assert client.log == ["start", "stop"]


async def test_a_client_that_is_also_a_service_of_the_host_starts_once():
    client = HostedChat()
    async with AgentHostBuilder(None).with_llm(client).with_service(client).build():
        pass
    assert client.log == ["start", "stop"]


async def test_options_make_a_client_that_has_a_model_for_dreams():
    options = ChatOptions(model="large", dream_model="tiny", base_url="http://127.0.0.1:9/v1")
    client = chat_of(AgentHostBuilder(None).with_llm(options))
    assert isinstance(client, OpenAIChatClient)
    assert client.options == options


def test_nothing_means_the_environment_and_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "agentcore.toml").write_text('[llm]\nmodel = "tiny"\nretries = 1\n', "utf-8")
    monkeypatch.setenv("AGENTCORE_MODEL", "large")
    client = chat_of(AgentHostBuilder(tmp_path).with_llm())
    assert (client.options.model, client.options.retries) == ("large", 1)


def test_nothing_configured_is_refused_with_the_ways_to_do_so(tmp_path: Path):
    with pytest.raises(ChatNotConfiguredError, match=r"AGENTCORE_MODEL.*agentcore\.toml.*with_llm"):
        AgentHostBuilder(tmp_path).with_llm().build()
    with pytest.raises(ChatNotConfiguredError, match="choose a data directory"):
        AgentHostBuilder(None).with_llm().build()


def test_settings_that_cannot_be_are_refused_together_with_the_rest(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AGENTCORE_MODEL", "tiny")
    monkeypatch.setenv("AGENTCORE_RETRIES", "many")
    with pytest.raises(ExceptionGroup) as caught:
        AgentHostBuilder(" ").with_llm().build()
    assert [type(error) for error in caught.value.exceptions] == [InvalidOptionsError, InvalidOptionsError]


def test_something_else_is_refused():
    with pytest.raises(InvalidOptionsError, match="with_llm"):
        chat_of(AgentHostBuilder(None).with_llm("gpt"))


def test_the_hosts_clock_waits_between_tries():
    clock = ManualClock(datetime(2025, 6, 14, tzinfo=UTC))
    client = chat_of(AgentHostBuilder(None, clock=clock).with_llm(ChatOptions(model="tiny")))
    assert client._clock is clock
