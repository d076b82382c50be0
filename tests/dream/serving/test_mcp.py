"""MCP: the official client drives every tool, over HTTP and over stdio."""

import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import mcp
import pytest
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from served import Served, served

from agentcore import AgentHostBuilder
from dream.interfaces.mcp.server import TOOLS

TEA = "Ana likes green tea"


@asynccontextmanager
async def over_http(server: Served, http: httpx2.AsyncClient, query: str = "") -> AsyncIterator[mcp.Client]:
    async with mcp.Client(streamable_http_client(f"{server.url}/mcp{query}", http_client=http)) as client:
        yield client


def on_stdio(folder: Path, *options: str) -> mcp.Client:
    arguments = ["-m", "dream", "--data", str(folder), "--workspace", str(folder), "mcp", *options]
    return mcp.Client(stdio_client(StdioServerParameters(command=sys.executable, args=arguments)))


async def done(client: mcp.Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool, and return what it says by its schema."""
    answer = await client.call_tool(tool, arguments)
    assert not answer.is_error, answer.content
    assert answer.structured_content is not None
    return answer.structured_content


async def refused(client: mcp.Client, tool: str, **arguments: Any) -> str:
    answer = await client.call_tool(tool, arguments)
    assert answer.is_error
    return answer.content[0].text


async def drive_every_tool(client: mcp.Client) -> None:
    called: set[str] = set()

    async def call(tool: str, **arguments: Any) -> dict[str, Any]:
        called.add(tool)
        return await done(client, tool, **arguments)

    made = await call("remember", content=TEA, category="people/ana", tags=["drinks"], importance="high")
    assert (await call("recall", query="what tea"))["memories"][0]["id"] == made["id"]
    assert (await call("recall_memory", query="what tea", limit=3))["results"][0]["content"] == TEA
    assert TEA in (await call("context_for_turn", session_id="s1", message="Which tea does Ana like?"))["text"]
    assert (await call("my_stats"))["memories"]["active"] == 1
    why = await call("why", id=made["id"])
    assert why["writes"][0]["action"] == "added"
    assert (await call("plan"))["plan_id"]
    run = await call("run_dream", max_outputs=5)
    assert run["state"] == "finished"
    assert (await call("show_run", run_id=run["run_id"]))["run_id"] == run["run_id"]
    assert (await call("undo_run", run_id=run["run_id"]))["kind"] == "undo"
    assert (await call("dreaming_status"))["pending_count"] == 0
    assert (await call("review"))["proposals"] == []
    assert (await call("confirm_memory", id=made["id"], why="She said so."))["kind"] == "edit"
    await call("remember", content="Ben plays the trombone in the Lisbon harbour orchestra on Fridays")
    await call("remember", content="Ben plays the trombone in the Lisbon harbour orchestra on Mondays")
    await call("run_dream")
    (question,) = (await call("questions"))["questions"]
    await call("answer_question", question_id=question["id"], how="distinct", why="He plays on both.")
    assert (await call("questions"))["questions"] == []
    await call("set_card_line", line="IDENTITY: Name is Ana.", why="She said so.")
    (line,) = (await call("show_card"))["lines"]
    assert (line["content"], line["pinned"]) == ("Name is Ana.", True)
    await call("remove_card_line", line=line["id"])
    assert (await call("show_card"))["lines"] == []
    await call("join_session", session_id="trip", peer="agent")
    assert (await call("session_peers", session_id="trip"))["peers"][0]["name"] == "agent"
    assert (await call("say_in_session", session_id="trip", content="We meet at nine."))["observers"] == []
    assert (await call("leave_session", session_id="trip", peer="agent"))["peers"] == []
    cycle = await call("run_dreaming_cycle", reflect_enabled=True, reevaluate_enabled=False)
    assert (cycle["reflect_ran"], cycle["reevaluate_ran"], cycle["dream_ran"]) == (True, False, True)
    passes = [one for one in (await call("show_run", run_id=cycle["run_id"]))["passes"] if one["outcome"] != "skipped"]
    assert {one["name"] for one in passes} == {"reflect", "hypotheses"}
    assert (await call("list_dreams", status="proposed"))["dreams"] == []
    assert (await call("reflect_memories"))["undecided"] == 0
    for tool, more in (("get_dream", {}), ("resolve_dream_feedback", {"decision": "reject"})):
        called.add(tool)
        assert "none in this scope" in await refused(client, tool, dream_id="nothing", **more)
    assert (await call("schedule_dream"))["reason"] in {None, "already_pending"}
    await call("edit_document", text="Ana likes tea.", section="People")
    await call("edit_document", text="Ana likes coffee.", old="Ana likes tea.")
    assert "Ana likes coffee." in (await call("read_document"))["text"]
    assert (await call("forget", id=made["id"], begins=TEA))["set_aside"] == made["id"]
    assert (await call("recall", query="what tea"))["memories"] == []
    assert called == {tool.name for tool in TOOLS}


async def test_the_official_client_drives_every_tool_over_http(tmp_path: Path):
    (tmp_path / "notes").mkdir()
    builder = AgentHostBuilder(tmp_path).with_workspace(tmp_path / "notes")
    async with served(builder=builder) as server, over_http(server, server.client) as client:
        await drive_every_tool(client)
        entry = next(one for one in await server.host.memory.list(status=None) if one.content == TEA)
        why = await done(client, "why", id=entry.id)
        assert {write["actor"] for write in why["writes"]} == {"token:everything"}


async def test_the_official_client_drives_every_tool_on_stdio(tmp_path: Path):
    async with on_stdio(tmp_path) as client:
        await drive_every_tool(client)


async def test_every_tool_says_what_it_takes_gives_and_does(tmp_path: Path):
    (tmp_path / "notes").mkdir()
    builder = AgentHostBuilder(tmp_path).with_workspace(tmp_path / "notes")
    async with served(builder=builder) as server, over_http(server, server.client) as client:
        tools = (await client.list_tools()).tools
    assert [tool.name for tool in tools] == [tool.name for tool in TOOLS]
    for tool in tools:
        assert tool.description
        assert tool.output_schema
        assert tool.annotations.title
        taken = dict(tool.input_schema.get("properties", {}))
        assert "ctx" not in taken
        assert all(one.get("description") for one in taken.values()), tool.name
        assert tool.annotations.read_only_hint or tool.name in {
            "remember", "forget", "edit_document", "plan", "undo_run", "schedule_dream", "run_dreaming_cycle",
            "run_dream", "answer_question", "confirm_memory", "review", "set_card_line", "remove_card_line",
            "resolve_dream_feedback", "join_session", "leave_session", "say_in_session",
        }  # fmt: skip


async def test_without_a_workspace_no_tools_for_documents_are_listed(tmp_path: Path):
    async with served(tmp_path) as server, over_http(server, server.client) as client:
        offered = {tool.name for tool in (await client.list_tools()).tools}
    assert {tool.name for tool in TOOLS} - offered == {"read_document", "edit_document"}


async def test_what_a_tool_cannot_do_it_says_in_a_sentence(tmp_path: Path):
    async with served(tmp_path) as server, over_http(server, server.client) as client:
        assert "There is no memory none" in await refused(client, "why", id="none")
        assert "Unknown tool" in await refused(client, "read_document")
        assert "begins" in await refused(client, "forget", id="none")
        assert "The argument dream_id is wrong" in await refused(client, "get_dream", dream_id="")
        assert "The argument limit is wrong" in await refused(client, "list_dreams", limit=101)
        said = await refused(client, "recall", query=5, k=99)
        assert said == (
            "The argument query is wrong: Input should be a valid string. "
            "The argument k is wrong: Input should be less than or equal to 20."
        )
        assert "No proposal was named" in await refused(client, "review", action="approve")
        assert "Unknown tool" in await refused(client, "obey")


async def test_a_secret_is_not_remembered_and_its_refusal_says_which_kind_it_is(tmp_path: Path):
    async with served(tmp_path) as server, over_http(server, server.client) as client:
        said = await refused(client, "remember", content="Ana's password is hunter2")
        assert "The text seems to hold a password" in said
        assert said.endswith("(code: secret)")
        assert "hunter2" not in said


async def test_what_a_tool_says_names_tools_and_no_commands(tmp_path: Path):
    async with served(tmp_path) as server, over_http(server, server.client) as client:
        unknown = [
            await refused(client, "show_run", run_id="none"),
            await refused(client, "undo_run", run_id="none"),
            await refused(client, "answer_question", question_id="none", how="dismiss"),
            await refused(client, "review", action="approve", proposals=["none"]),
        ]
        await server.client.post("/api/v1/schedule/pause")
        paused = await refused(client, "run_dream")
        assert "(paused: whoever runs the server lifts it)" in paused
        assert "with the tool `schedule_dream`" in paused
        rested = (await server.client.get("/api/v1/questions/none")).json()["detail"]
    assert "the resource `dream://runs/newest` lists them" in unknown[0]
    assert "the tool `questions` shows them" in unknown[2]
    assert "the tool `review` shows them" in unknown[3]
    assert "`GET /questions` shows them" in rested
    assert [said for said in (*unknown, paused, rested) if "`dream " in said] == []


async def test_a_plan_is_told_in_short_with_a_sentence_first(tmp_path: Path):
    async with served(tmp_path) as server, over_http(server, server.client) as client:
        for place in range(30):
            words = " ".join(f"{word}{place}" for word in ("trombone", "harbour", "orchestra", "lisbon", "rehearsal"))
            for text in (f"On Fridays Ben plays {words}", f"Ben plays {words} on Fridays"):
                await server.host.memory.remember(text)
        answer = await client.call_tool("plan", {})
        assert len(answer.content[0].text) < 20_000
        made = answer.structured_content
        assert next(iter(made)) == "summary"
        assert made["summary"].startswith("It would change ")
        assert (len(made["changes_planned"]), made["changes_left_out"] > 0) == (10, True)
        more = await done(client, "plan", most_changes=12)
        assert len(more["changes_planned"]) == 12


async def test_resources_and_the_prompt_are_there(tmp_path: Path):
    (tmp_path / "notes").mkdir()
    builder = AgentHostBuilder(tmp_path).with_workspace(tmp_path / "notes")
    async with served(builder=builder) as server, over_http(server, server.client) as client:
        await done(client, "edit_document", text="Ana likes tea.")
        listed = [str(one.uri) for one in (await client.list_resources()).resources]
        assert listed == ["dream://documents/MEMORY.md", "dream://documents/DREAMS.md", "dream://runs/newest"]
        for uri in listed:
            assert (await client.read_resource(uri)).contents
        text = (await client.read_resource("dream://documents/MEMORY.md")).contents[0].text
        assert "Ana likes tea." in text
        run = await done(client, "run_dream")
        newest = (await client.read_resource("dream://runs/newest")).contents[0].text
        assert run["run_id"] in newest
        assert run["run_id"] in (await client.read_resource(f"dream://runs/{run['run_id']}")).contents[0].text
        prompt = (await client.get_prompt("use_memory")).messages[0].content.text
        assert all(f"`{name}`" in prompt for name in ("recall", "remember", "forget"))


async def test_a_token_reaches_with_tools_what_it_reaches_with_rest(tmp_path: Path):
    async with served(tmp_path) as server, server.client_of("reader", "read", reach="acme/agent/ana") as reader:
        async with over_http(server, reader) as client:
            assert "right to write" in await refused(client, "remember", content=TEA)
            assert (await done(client, "recall", query="tea"))["memories"] == []
        async with over_http(server, reader, "?scope=acme/agent/ben") as client:
            with pytest.raises(mcp.MCPError):
                await client.read_resource("dream://runs/newest")
            assert "does not reach this scope" in await refused(client, "recall", query="tea")


@pytest.mark.parametrize(
    ("options", "offered"),
    [
        (("--read-only",), {tool.name for tool in TOOLS if tool.is_read_only}),
        (("--tools", "recall", "--tools", "remember"), {"recall", "remember"}),
        (("--read-only", "--tools", "recall", "--tools", "remember"), {"recall"}),
    ],
)
async def test_an_agent_is_offered_what_the_command_says(tmp_path: Path, options: tuple[str, ...], offered: set[str]):
    async with on_stdio(tmp_path, *options) as client:
        assert {tool.name for tool in (await client.list_tools()).tools} == offered
        if "--read-only" in options:
            assert "Unknown tool" in await refused(client, "forget", id="a", begins="b")


async def test_a_server_that_is_read_only_lets_no_token_change_anything(tmp_path: Path):
    async with served(tmp_path, read_only=True) as server, over_http(server, server.client) as client:
        assert (await done(client, "review"))["proposals"] == []
        assert "right to review" in await refused(client, "review", action="reject", proposals=["any"])


async def test_there_is_no_stream_to_open(tmp_path: Path):
    async with served(tmp_path) as server:
        answer = await server.client.get("/mcp", headers={"Accept": "text/event-stream"})
    assert (answer.status_code, answer.headers["Allow"]) == (405, "POST")


def test_a_tool_that_does_not_exist_is_refused_before_anything_is_served(tmp_path: Path):
    command = [sys.executable, "-m", "dream", "--data", str(tmp_path), "mcp", "--tools", "obey"]
    ended = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "choose among remember" in ended.stderr
