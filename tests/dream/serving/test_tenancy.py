"""Two tenants of one server: nothing of the other's is in any answer, header, error or log."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
import mcp
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from mcp.client.streamable_http import streamable_http_client
from openapi_routes import Route, routes
from served import MEMORIES, RUNS, ServedProcess, serving_process

from dream.interfaces.mcp.server import TOOLS

_SECRET = "zebrafish-under-the-third-stone"
_OTHERS = "acme/agent/ben"
_MINE = "umbra/agent/ana"
_SCOPES = st.sampled_from([None, _MINE, _OTHERS, "acme/*/*", "*/*/*"])
_HEADERS = st.sampled_from([{}, {"Idempotency-Key": _SECRET.upper()}, {"If-Match": '"1"'}])


@dataclass(frozen=True)
class Tenants:
    """A tenant who keeps secrets, and another one who is curious.

    Args:
        server: The server.
        owner: Client of the one.
        curious: Client of the other.
        curious_token: Its secret.
        ids: Ids of the owner's records, by the parameter of a route that they could stand for.
    """

    server: ServedProcess
    owner: httpx2.Client
    curious: httpx2.Client
    curious_token: str
    ids: dict[str, list[str]]

    @asynccontextmanager
    async def over_mcp(self, scope: str) -> AsyncIterator[mcp.Client]:
        """Yield an MCP client of the curious one, on a scope."""
        headers = {"Authorization": f"Bearer {self.curious_token}"}
        async with httpx2.AsyncClient(headers=headers) as http:
            transport = streamable_http_client(f"{self.server.url}/mcp?scope={scope}", http_client=http)
            async with mcp.Client(transport) as client:
                yield client

    def leaks(self, told: str, asked: str) -> list[str]:
        """Return what a text tells of the owner that the curious one did not say itself."""
        known = [_SECRET, "acme", *(one for some in self.ids.values() for one in some)]
        return [word for word in known if word in told.lower() and word not in asked.lower()]


def _filled(client: httpx2.Client) -> dict[str, list[str]]:
    entry = client.post(MEMORIES, json={"content": f"The key is {_SECRET}", "category": _SECRET}).json()
    said = {"role": "user", "content": f"I said {_SECRET}"}
    turn = client.post(f"/api/v1/conversations/{_SECRET}/turns", json=said).json()
    client.put(f"/api/v1/skills/{_SECRET}", json={"summary": _SECRET, "content": _SECRET})
    client.post("/api/v1/feedback", json={"session_id": _SECRET, "kind": "correction", "summary": _SECRET})
    run = client.post(RUNS, json={}, headers={"Idempotency-Key": _SECRET}).json()
    while client.get(f"{RUNS}/{run['run_id']}").json()["state"] != "finished":
        time.sleep(0.05)
    plan = client.post("/api/v1/plans", json={}).json()
    return {
        "memory_id": [entry["id"]],
        "turn_id": [turn["id"]],
        "run_id": [run["run_id"]],
        "proposal_id": [plan["plan_id"]],
    }


@pytest.fixture(scope="module")
def tenants(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tenants]:
    with serving_process(tmp_path_factory.mktemp("tenants")) as server:
        owners = server.token("owner", "--reach", _OTHERS, "--right", "admin")
        secret = server.token("curious", "--reach", "umbra/*/*", "--reach", _MINE, "--right", "admin")
        with server.client(owners) as owner, server.client(secret) as curious:
            yield Tenants(server, owner, curious, secret, _filled(owner))


@pytest.mark.parametrize("route", routes(), ids=str)
@settings(deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_no_route_tells_anything_of_another_tenant(tenants: Tenants, route: Route, data: st.DataObject):
    path, params, body = route.drawn(data, tenants.ids)
    scope = data.draw(_SCOPES, label="scope")
    params |= {"scope": scope or _MINE}
    headers = data.draw(_HEADERS, label="headers")
    request = tenants.curious.build_request(route.method, path, params=params, json=body, headers=headers)
    answer = tenants.curious.send(request)
    asked = f"{request.url}{body}{headers}"
    assert tenants.leaks(f"{answer.text}{dict(answer.headers)}", asked) == []
    assert answer.status_code < 500, answer.text
    # What lists the scopes that a token reaches is about none of them.
    if scope not in {None, _MINE} and not path.endswith("/scopes"):
        assert answer.status_code in {400, 403, 404, 405, 422}


def _arguments(ids: dict[str, list[str]]) -> dict[str, dict[str, Any]]:
    """Return for each tool what a curious client would give it; a new tool has to come in."""
    entry, run, proposal = ids["memory_id"][0], ids["run_id"][0], ids["proposal_id"][0]
    return {
        "remember": {"content": "Ana likes tea"},
        "recall": {"query": "key"},
        "recall_memory": {"query": "key"},
        "forget": {"id": entry, "begins": "The key is zebr"},
        "context_for_turn": {"session_id": "s", "message": "What is the key?"},
        "read_document": {},
        "edit_document": {"text": "Ana likes tea."},
        "my_stats": {},
        "why": {"id": entry},
        "plan": {},
        "show_run": {"run_id": run},
        "undo_run": {"run_id": run},
        "schedule_dream": {},
        "review": {"action": "approve", "proposals": [proposal, entry]},
        "questions": {},
        "answer_question": {"question_id": entry, "how": "keep", "value": entry},
        "confirm_memory": {"id": entry},
        "show_card": {},
        "set_card_line": {"line": "IDENTITY: Name is Ana.", "replaces": entry},
        "remove_card_line": {"line": entry},
        "session_peers": {"session_id": _SECRET},
        "join_session": {"session_id": _SECRET, "peer": "agent", "observe_others": True},
        "leave_session": {"session_id": _SECRET, "peer": "agent"},
        "say_in_session": {"session_id": _SECRET, "content": "Ana likes tea"},
        "dreaming_status": {},
        "run_dreaming_cycle": {},
        "run_dream": {},
        "list_dreams": {},
        "get_dream": {"dream_id": entry},
        "resolve_dream_feedback": {"dream_id": entry, "decision": "reject"},
        "reflect_memories": {},
    }


def test_every_tool_is_tried_by_a_curious_tenant(tenants: Tenants):
    assert set(_arguments(tenants.ids)) == {tool.name for tool in TOOLS}


@pytest.mark.parametrize("resource", ["dream://documents/MEMORY.md", "dream://runs/newest", "dream://runs/{run_id}"])
def test_no_resource_tells_anything_of_another_tenant(tenants: Tenants, resource: str):
    uri = resource.format(run_id=tenants.ids["run_id"][0])

    async def read(scope: str) -> str:
        async with tenants.over_mcp(scope) as client:
            try:
                return (await client.read_resource(uri)).model_dump_json()
            except mcp.MCPError as error:
                return str(error)

    for scope in (_MINE, _OTHERS):
        assert tenants.leaks(asyncio.run(read(scope)), uri) == []


@pytest.mark.parametrize("tool", [tool.name for tool in TOOLS])
def test_no_tool_tells_anything_of_another_tenant(tenants: Tenants, tool: str):
    asked = _arguments(tenants.ids)[tool]

    async def call(scope: str) -> mcp.types.CallToolResult:
        async with tenants.over_mcp(scope) as client:
            return await client.call_tool(tool, asked)

    for scope in (_MINE, _OTHERS):
        answer = asyncio.run(call(scope))
        assert tenants.leaks(answer.model_dump_json(), str(asked)) == []
        assert answer.is_error or scope == _MINE


def test_after_all_that_the_log_is_silent_and_nothing_of_the_owner_is_lost(tenants: Tenants):
    lines = tenants.server.log.read_text(encoding="utf-8").splitlines()
    runs = [line for line in lines if " dream_ended " in line]
    assert tenants.leaks("\n".join(line for line in lines if line not in runs), "") == []
    # The line of a run names its scope and its id, for whoever runs the server, and nothing that is remembered.
    assert set(tenants.leaks("\n".join(runs), "")) <= {"acme", *tenants.ids["run_id"]}
    (entry,) = tenants.owner.get(MEMORIES, params={"scope": _OTHERS}).json()["memories"]
    assert entry["id"] == tenants.ids["memory_id"][0]
