"""What admins change over REST: options and directives of a scope, and tokens."""

from collections.abc import AsyncIterator
from datetime import timedelta
from itertools import repeat
from pathlib import Path
from typing import Any

import httpx2
import pytest
from served import RUNS, Served, served

from agentcore import AgentHostBuilder
from agentcore.testing import ScriptedChatClient
from dream.options import DreamOptions

OPTIONS = "/api/v1/options"
EDITS = f"{OPTIONS}/edits"
DIRECTIVES = "/api/v1/directives"
TOKENS = "/api/v1/tokens"


@pytest.fixture
async def server() -> AsyncIterator[Served]:
    async with served() as running:
        yield running


async def in_force(server: Served, name: str, **scope: str) -> dict[str, Any]:
    told = (await server.client.get(OPTIONS, params=scope)).json()["options"]
    return next(one for one in told if one["name"] == name)


async def test_an_edited_option_is_in_force_at_once_with_its_author_and_is_undone(server: Served):
    async with server.client_of("marta", "admin") as marta:
        changed = await marta.patch(OPTIONS, json={"said": {"schedule.trigger.every": "6h", "alarm_after": 5}})
        assert changed.status_code == 200, changed.text
        every = await in_force(server, "schedule.trigger.every")
        assert (every["value"], every["source"]) == ("PT6H", "admin")
        assert (await server.client.get("/api/v1/status")).status_code == 200
        edits = (await marta.get(EDITS)).json()
        assert [(one["actor"], one["option"]) for one in edits["edits"]] == [
            ("token:marta", "schedule.trigger.every"),
            ("token:marta", "alarm_after"),
        ]
        await server.client.post(f"{EDITS}/1/undo")
        assert (await in_force(server, "schedule.trigger.every"))["source"] == "default"
        assert (await in_force(server, "alarm_after"))["value"] == 5
        assert (await marta.get(EDITS)).json()["edits"][-1]["actor"] == "token:everything"


async def test_an_edit_holds_for_its_scope_alone_and_after_a_restart(tmp_path: Path):
    async with served(tmp_path) as server:
        scope = {"scope": "acme/agent/ana"}
        await server.client.patch(OPTIONS, params=scope, json={"said": {"modes.preferences": "off"}})
        assert (await in_force(server, "modes.preferences", **scope))["value"] == "off"
        await server.host.tokens.revoke("everything")
    async with served(tmp_path) as server:
        assert (await in_force(server, "modes.preferences", **scope))["source"] == "admin"
        told = (await server.client.get(OPTIONS)).json()["options"]
        assert not any(one["source"] == "admin" for one in told)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"alarm_after": 0}, "greater than or equal"),
        ({"schedule.trigger.evry": "6h"}, "none of that name"),
        ({"modes.dreaming": "off"}, "There is no pass"),
        ({"sessions.every": "1h"}, "holds for the whole host"),
        ({"passes": []}, "only code can give passes"),
        ({"directive_texts.nothing": "Keep all."}, "There is no directive"),
        ({"step_size": 9}, "the code of the host says it"),
    ],
)
async def test_what_is_not_possible_is_refused_in_one_sentence_and_changes_nothing(said: dict[str, Any], why: str):
    builder = AgentHostBuilder(None).with_dreaming(DreamOptions(step_size=7), in_background=False)
    async with served(builder=builder) as server:
        answer = await server.client.patch(OPTIONS, json={"said": {"lease": "90s", **said}})
        assert answer.status_code in {404, 422}, answer.text
        assert why in answer.json()["detail"]
        assert (await server.client.get(EDITS)).json() == {"version": 0, "said": {}, "refused": {}, "edits": []}


async def test_an_edit_is_judged_over_the_tables_of_its_scope_and_what_the_file_makes_void_voids_nothing_else(
    tmp_path: Path,
):
    scope, file = {"scope": "acme/rex/ana"}, tmp_path / "agentcore.toml"
    file.write_text('[scopes."acme/*/*".dreaming]\npreset = "peer"\n')
    async with served(tmp_path) as server:
        said = {"alarm_after": 5, "schedule.trigger.min_new": 3}
        changed = await server.client.patch(OPTIONS, params=scope, json={"said": said})
        assert (changed.status_code, changed.json()["refused"]) == (200, {})
        for name, value in said.items():
            told = await in_force(server, name, **scope)
            assert (told["value"], told["source"]) == (value, "admin")
        await server.host.tokens.revoke("everything")
    file.write_text("")
    async with served(tmp_path) as server:
        changed = await server.client.patch(OPTIONS, params=scope, json={"said": {"lease": "90s"}})
        assert changed.status_code == 200, changed.text
        (refused,) = changed.json()["refused"].items()
        assert refused[0] == "schedule.trigger.min_new"
        assert "none of that name" in refused[1]
        for name in ("alarm_after", "lease"):
            assert (await in_force(server, name, **scope))["source"] == "admin"
        again = await server.client.patch(OPTIONS, params=scope, json={"said": {"schedule.trigger.min_new": 3}})
        assert again.status_code == 422
        assert (await server.client.get(DIRECTIVES, params=scope)).status_code == 200
        await server.client.patch(OPTIONS, params=scope, json={"leave": ["schedule.trigger.min_new"]})
        assert (await server.client.get(EDITS, params=scope)).json()["refused"] == {}


async def test_code_stands_above_what_an_admin_said_before(tmp_path: Path):
    async with served(tmp_path) as server:
        await server.client.patch(OPTIONS, json={"said": {"alarm_after": 5, "lease": "90s"}})
        await server.host.tokens.revoke("everything")
    builder = AgentHostBuilder(tmp_path).with_dreaming(DreamOptions(alarm_after=9), in_background=False)
    async with served(builder=builder) as server:
        assert ((await in_force(server, "alarm_after"))["value"], (await in_force(server, "lease"))["value"]) == (
            9,
            "PT1M30S",
        )


async def test_an_edit_over_newer_ones_is_refused_and_says_whose_they_are(server: Served):
    tag = (await server.client.get(EDITS)).headers["ETag"]
    async with server.client_of("marta", "admin") as marta:
        await marta.patch(OPTIONS, json={"said": {"alarm_after": 5}})
    late = await server.client.patch(OPTIONS, json={"said": {"alarm_after": 6}}, headers={"If-Match": tag})
    assert late.status_code == 412
    assert "token:marta edited last" in late.json()["detail"]
    await server.client.patch(OPTIONS, json={"said": {"alarm_after": 7}})
    assert (await server.client.post(f"{EDITS}/1/undo")).status_code == 412


async def test_a_directive_is_checked_edited_and_reset(server: Served):
    one = f"{DIRECTIVES}/dream"
    before = (await server.client.get(one)).json()
    assert (before["origin"], before["text"]) == ("built-in", before["built_in"])
    checked = (await server.client.post(f"{one}/check", json={"text": "Keep everything."})).json()
    assert checked["finding"]["verdict"] == "note"
    assert (await server.client.post(f"{one}/check", json={"text": "Say \x07."})).status_code == 422
    tag = f'"{before["hash"]}"'
    written = await server.client.put(one, json={"text": "Keep everything."}, headers={"If-Match": tag})
    assert (written.json()["origin"], written.json()["text"]) == ("admin", "Keep everything.")
    late = await server.client.put(one, json={"text": "Keep nothing."}, headers={"If-Match": tag})
    assert (late.status_code, late.json()["code"]) == (412, "stale_version")
    listed = (await server.client.get(DIRECTIVES)).json()["directives"]
    assert [one["name"] for one in listed if one["origin"] == "admin"] == ["dream"]
    assert (await server.client.delete(one)).json()["origin"] == "built-in"
    assert (await server.client.delete(one)).status_code == 422
    assert (await server.client.get(f"{DIRECTIVES}/nothing")).status_code == 404


async def test_an_edited_directive_is_what_the_model_is_told_next():
    model = ScriptedChatClient(repeat("{}"))
    async with served(builder=AgentHostBuilder(None).with_llm(model)) as server:
        await server.client.put(f"{DIRECTIVES}/dream", json={"text": "Keep every boat."})
        for content in ("Ana likes tea.", "Ana likes green tea."):
            await server.client.post("/api/v1/memories", json={"content": content})
        await server.finished(await server.client.post(RUNS, json={"passes": ["memory-consolidation"]}))
    assert any("Keep every boat." in message.content for one in model.requests for message in one.messages)


async def test_tokens_are_made_within_reach_told_once_and_revoked(server: Served):
    async with server.client_of("acme", "admin", reach="acme/*/*") as acme:
        acme.params = {"scope": "acme/agent/ana"}
        made = await acme.post(TOKENS, json={"name": "ana", "scopes": ["acme/agent/ana"], "rights": ["read"]})
        secret = made.json()["secret"]
        assert made.status_code == 201
        assert [one["name"] for one in (await acme.get(TOKENS)).json()["tokens"]] == ["acme", "acme.ana"]
        assert secret not in (await acme.get(TOKENS)).text
        for scopes in (["*/*/*"], ["acme/*/*", "umbra/agent/ana"]):
            refused = await acme.post(TOKENS, json={"name": "wide", "scopes": scopes})
            assert "does not reach all" in refused.json()["detail"]
        assert (await acme.delete(f"{TOKENS}/everything")).status_code == 404
        async with httpx2.AsyncClient(base_url=server.url, headers={"Authorization": f"Bearer {secret}"}) as ana:
            assert (await ana.get(RUNS)).status_code == 200
            assert (await ana.get(TOKENS)).status_code == 403
            assert (await acme.delete(f"{TOKENS}/acme.ana")).json()["revoked_at"]
            assert (await ana.get(RUNS)).status_code == 401


async def test_no_token_outlives_the_one_that_made_it(server: Served):
    away = {"name": "acme.away", "scopes": ["umbra/agent/ana"], "rights": ["read"]}
    assert (await server.client.post(TOKENS, json=away)).status_code == 201
    async with server.client_of("acme", "admin", reach="acme/*/*", lifetime=timedelta(days=1)) as acme:
        acme.params = {"scope": "acme/agent/ana"}
        ends = (await acme.get(TOKENS)).json()["tokens"][0]["expires_at"]
        for name, days in (("ever", None), ("long", 30)):
            asked = {"name": name, "scopes": ["acme/*/*"], "rights": ["admin"], "days": days}
            assert (await acme.post(TOKENS, json=asked)).json()["expires_at"] == ends
        await acme.delete(f"{TOKENS}/acme")
    told = (await server.client.get(TOKENS)).json()["tokens"]
    assert {one["name"] for one in told if not one["revoked_at"]} == {"everything", "acme.away"}


async def test_the_name_of_a_revoked_token_reaches_no_token_of_somebody_else(server: Served):
    async with server.client_of("acme", "admin", reach="acme/*/*") as acme:
        acme.params = {"scope": "acme/agent/ana"}
        await acme.post(TOKENS, json={"name": "ana", "scopes": ["acme/agent/ana"]})
        await acme.delete(f"{TOKENS}/acme.ana")
        await server.client.post(TOKENS, json={"name": "acme.ana", "scopes": ["umbra/agent/ana"]})
        await acme.delete(f"{TOKENS}/acme.ana")
    held = [one["name"] for one in (await server.client.get(TOKENS)).json()["tokens"] if not one["revoked_at"]]
    assert "acme.ana" in held


async def test_making_a_token_tells_nothing_of_names_beyond_reach(server: Served):
    async with server.client_of("acme", "admin", reach="acme/*/*") as acme:
        acme.params = {"scope": "acme/agent/ana"}
        await server.client.post(TOKENS, json={"name": "taken", "scopes": ["umbra/agent/ana"]})
        for name in ("taken", "everything", "free"):
            made = await acme.post(TOKENS, json={"name": name, "scopes": ["acme/agent/ana"]})
            assert (made.status_code, made.json()["name"]) == (201, f"acme.{name}")
            again = await acme.post(TOKENS, json={"name": name, "scopes": ["acme/agent/ana"]})
            assert (again.status_code, "revoke it first" in again.json()["detail"]) == (409, True)


async def test_only_an_admin_sees_or_changes_the_configuration(server: Served):
    async with server.client_of("reader", "write", "review") as reader:
        for path in (EDITS, DIRECTIVES, TOKENS):
            assert (await reader.get(path)).status_code == 403
        assert (await reader.patch(OPTIONS, json={"said": {"lease": "90s"}})).status_code == 403
