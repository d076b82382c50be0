"""sessions, and what show tells of a dream."""

import asyncio
import shutil
from pathlib import Path

import orjson
import pytest
from commandline import CommandLine

from agentcore import AgentHostBuilder
from agentcore.llm import ChatOptions
from agentcore.testing import ChatServer, answer, rate_limited

NAMES = ("Dream:aloud", "dream:of the sea", "notadream:1")


@pytest.fixture(scope="module")
def slept_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A memory after one dream that asked the cheaper model, was put off once, and had nothing to write."""
    folder = tmp_path_factory.mktemp("slept") / "data"

    async def sleep() -> None:
        told = answer('{"facts": []}', model="small", usage={"prompt_tokens": 2_900, "completion_tokens": 12})
        async with ChatServer([rate_limited(), told]) as server:
            options = ChatOptions(model="large", dream_model="small", base_url=server.base_url, retry_wait=0)
            builder = AgentHostBuilder(folder).with_memory().with_conversation_log().with_llm(options)
            async with builder.with_dreaming(in_background=False).build() as host:
                for place, name in enumerate(NAMES):
                    await host.conversation.append(session_id=name, role="user", content=f"I keep {place} bees.")
                await host.dreams.run(passes=["fact-mining"])

    asyncio.run(sleep())
    return folder


@pytest.fixture
def slept(cli: CommandLine, slept_folder: Path) -> CommandLine:
    shutil.copytree(slept_folder, cli.data)
    return cli


def test_dreams_are_listed_by_their_prefix_with_times_models_tokens_and_writes(slept: CommandLine):
    everything = slept.json("sessions")["sessions"]
    dream = everything[0]
    assert [one["session"] for one in everything[1:]] == list(reversed(NAMES))
    assert {(one["kind"], one["turns"]) for one in everything[1:]} == {("conversation", 1)}
    assert [one["session"] for one in slept.json("sessions", "--prefix", "dream:")["sessions"]] == [
        dream["session"],
        NAMES[1],
    ]
    assert slept.json("sessions", "--prefix", "dream:default/agent/agent:20")["sessions"] == [dream]
    assert slept.json("sessions", "--limit", "1")["sessions"] == [dream]
    wanted = {"kind": "dream", "trigger": "manual", "outcome": "completed", "is_running": False, "models": ["small"]}
    wanted |= {"calls": 2, "failed": 1, "input_tokens": 2_900, "output_tokens": 12, "wrote": False, "documents": []}
    assert dream.items() >= wanted.items()
    assert dream["session"] == f"dream:default/agent/agent:{dream['started_at']}"
    out = " ".join(slept.good("sessions", "--prefix", "dream:").split())
    assert f"{dream['session']} 20" in out
    assert "s; 2 calls to small (1 failed), 2,900 + 12 tokens; wrote nothing" in out
    assert f"{NAMES[1]} 20" in out
    assert "conversation of 1 turn" in out


def test_show_lists_every_call_of_a_dream_and_takes_its_key_as_undo_and_diff_do(slept: CommandLine):
    (dream,) = slept.json("sessions", "--limit", "1")["sessions"]
    shown = slept.json("show", dream["session"])
    assert shown == slept.json("show", dream["run_id"])
    assert shown["session"] == dream
    assert [(call["model"], call["ended"], call["failed"]) for call in shown["calls"]] == [
        ("small", "rate_limited", True),
        ("small", "stop", False),
    ]
    lines = slept.good("show", dream["session"][:-3]).splitlines()
    at = lines.index(f"Session {dream['session']}")
    assert lines[at + 2].split() == ["pass", "batch", "model", "ended", "tokens", "in", "tokens", "out"]
    assert lines[at + 3].split() == ["fact-mining", "1", "small", "failed:", "rate_limited", "~0", "~0"]
    assert lines[at + 4].split() == ["fact-mining", "1", "small", "stop", "2,900", "12"]
    assert lines[at + 5].split() == ["total", "2,900", "12"]
    assert slept.json("diff", dream["session"])["run_id"] == dream["run_id"]
    undone = slept.json("undo", dream["session"])
    assert undone["target"] == dream["run_id"]
    assert slept.json("show", undone["run_id"])["session"] is None
    assert "Session" not in slept.good("show", undone["run_id"])


def test_what_names_no_session_is_refused_in_one_sentence(dreamt: CommandLine):
    assert "no model asked; wrote 2 records changed" in " ".join(dreamt.good("sessions").split())
    dreamt.good("run")
    for words, told in (
        (["show", "dream:nowhere"], "`dream sessions --prefix dream:` lists them"),
        (["diff", "dream:"], "'dream:' fits several: give more characters, or the run's id"),
        (["sessions", "--limit", "0"], "give 1 or more"),
    ):
        refused = dreamt(*words)
        assert refused.code == 2
        assert told in refused.complaint


def test_where_there_is_no_session_one_line_says_so(slept: CommandLine):
    assert slept.good("sessions", "--prefix", "dreams:") == (
        "There is no session on default/agent/agent that begins with 'dreams:'.\n"
    )
    assert slept.json("sessions", "--prefix", "dreams:")["sessions"] == []


LIE = "Ana keeps 9 bees and pays 700 euros for each of them, every year, since the old hive burned down."


def test_show_tells_what_was_refused_whole_where_that_is_asked_for(cli: CommandLine):
    fact = {"content": LIE, "category": "general", "tags": [], "sourceTurns": ["t1"], "quote": "I keep 2 bees"}

    async def sleep() -> None:
        told = answer(orjson.dumps({"facts": [fact]}).decode())
        async with ChatServer([told, told]) as server:
            options = ChatOptions(model="small", base_url=server.base_url)
            builder = AgentHostBuilder(cli.data).with_memory().with_conversation_log().with_llm(options)
            async with builder.with_dreaming(in_background=False).build() as host:
                await host.conversation.append(session_id="s1", role="user", content="I keep 2 bees.")
                await host.dreams.run(passes=["fact-mining"])

    asyncio.run(sleep())
    (dream,) = cli.json("sessions", "--prefix", "dream:")["sessions"]
    assert "refused_texts" not in cli.json("show", dream["run_id"])
    (refused,) = cli.json("show", dream["session"], "--refused")["refused_texts"]
    assert (refused["pass"], refused["code"], refused["text"]) == ("fact-mining", "invented_detail", LIE)
    out = cli.good("show", dream["run_id"], "--refused")
    assert LIE in " ".join(out.split())
    assert "fact-mining, invented_detail: fact 1:" in out
    assert LIE not in " ".join(cli.good("show", dream["run_id"]).split())


def test_show_says_so_where_no_refused_text_is_kept(slept: CommandLine):
    (dream,) = slept.json("sessions", "--limit", "1")["sessions"]
    assert slept.json("show", dream["run_id"], "--refused")["refused_texts"] == []
    assert "No refused text of this run is kept." in slept.good("show", dream["run_id"], "--refused")
