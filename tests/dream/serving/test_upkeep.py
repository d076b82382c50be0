"""REST: erasures, backups, off-limits topics, the peer card, and that each write with a key is carried out once."""

import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from served import MEMORIES, RUNS, Served, served

from agentcore import AgentHostBuilder

ERASURES = "/api/v1/erasures"
BACKUPS = "/api/v1/backups"
TOPICS = "/api/v1/off-limits"
CARD = "/api/v1/card"
ANA = {"scope": "acme/agent/ana"}


@pytest.fixture
async def server() -> AsyncIterator[Served]:
    async with served() as running:
        yield running


async def remembered(server: Served, content: str, scope: str) -> None:
    answer = await server.client.post(MEMORIES, json={"content": content}, params={"scope": scope})
    assert answer.status_code == 201, answer.text


async def contents(server: Served, scope: str) -> list[str]:
    page = (await server.client.get(MEMORIES, params={"scope": scope})).json()
    return [entry["content"] for entry in page["memories"]]


def stored_in(folder: Path, name: str) -> list[str]:
    """Return the contents of entries in the one file of this name."""
    (file,) = folder.rglob(name)
    with sqlite3.connect(file) as copy:
        return [content for (content,) in copy.execute("select content from entries")]


async def test_a_scope_is_erased_once_its_name_was_repeated_and_the_certificate_stays(server: Served):
    await remembered(server, "Ana likes tea", "acme/agent/ana")
    await remembered(server, "Ben likes tea", "acme/agent/ben")
    would = (await server.client.get(f"{ERASURES}/preview", params=ANA)).json()
    assert (would["scopes"], would["removed"]["entries"]) == (["acme/agent/ana"], 1)
    slip = await server.client.post(ERASURES, params=ANA, json={"confirm": "acme/agent/ben"})
    assert (slip.status_code, slip.json()["code"]) == (409, "not_confirmed")
    assert await contents(server, "acme/agent/ana") == ["Ana likes tea"]
    assert (await server.client.get(ERASURES, params=ANA)).json() == {"erasures": []}
    done = await server.client.post(ERASURES, params=ANA, json={"confirm": "acme/agent/ana"})
    assert (done.status_code, done.json()["removed"]["entries"]) == (200, 1)
    assert done.json()["beyond_reach"]
    assert await contents(server, "acme/agent/ana") == []
    assert await contents(server, "acme/agent/ben") == ["Ben likes tea"]
    (kept,) = (await server.client.get(ERASURES, params=ANA)).json()["erasures"]
    assert (kept["scope"], kept["removed"]["entries"]) == ("acme/agent/ana", 1)
    assert kept["finished_at"] is not None


async def test_all_that_is_about_a_peer_is_erased_by_who_reaches_all_of_it(server: Served):
    for scope in ("acme/agent/ana", "acme/cook/ana", "acme/agent/ben", "other/agent/ana"):
        await remembered(server, f"Tea in {scope}", scope)
    asked = {"observed": "ana", "confirm": "ana"}
    async with server.client_of("narrow", "admin", reach="acme/agent/*") as narrow:
        refused = await narrow.post(ERASURES, params=ANA, json=asked)
    assert (refused.status_code, refused.json()["code"]) == (403, "not_allowed")
    assert "acme/*/ana" in refused.json()["detail"]
    assert await contents(server, "acme/cook/ana") == ["Tea in acme/cook/ana"]
    async with server.client_of("wide", "admin", reach="acme/*/ana") as wide:
        done = await wide.post(ERASURES, params=ANA, json=asked)
    assert sorted(done.json()["scopes"]) == ["acme/agent/ana", "acme/cook/ana"]
    left = [await contents(server, scope) for scope in ("acme/agent/ana", "acme/cook/ana")]
    assert left == [[], []]
    assert await contents(server, "acme/agent/ben") == ["Tea in acme/agent/ben"]
    assert await contents(server, "other/agent/ana") == ["Tea in other/agent/ana"]


async def test_a_backup_is_made_while_the_memory_is_in_use_and_holds_all_scopes(tmp_path: Path):
    async with served(tmp_path / "data") as server:
        await remembered(server, "Ana likes tea", "acme/agent/ana")
        assert (await server.client.get(BACKUPS)).json() == {"backups": []}
        async with server.client_of("narrow", "admin", reach="acme/*/*") as narrow:
            for refused in (await narrow.post(BACKUPS, params=ANA), await narrow.get(BACKUPS, params=ANA)):
                assert (refused.status_code, refused.json()["code"]) == (403, "not_allowed")
        made = await server.client.post(BACKUPS)
        assert made.status_code == 201, made.text
        told = made.json()
        assert (told["entries"], str(tmp_path) in made.text) == (1, False)
        (listed,) = (await server.client.get(BACKUPS)).json()["backups"]
        assert listed["name"] == told["name"]
    assert stored_in(tmp_path, told["name"]) == ["Ana likes tea"]


async def test_a_memory_that_is_in_no_file_is_not_backed_up(server: Served):
    refused = await server.client.post(BACKUPS)
    assert refused.status_code == 503
    assert refused.headers["Retry-After"]


async def test_a_topic_is_put_off_limits_reworded_and_allowed_again_by_an_administrator(server: Served):
    key = {"Idempotency-Key": "health"}
    made = await server.client.post(TOPICS, json={"words": "my health"}, headers=key)
    assert (made.status_code, made.json()["words"]) == (201, "my health")
    again = await server.client.post(TOPICS, json={"words": "my health"}, headers=key)
    assert (again.json(), again.headers["Idempotency-Replayed"]) == (made.json(), "true")
    same = await server.client.post(TOPICS, json={"words": "My  Health"})
    assert same.json()["id"] == made.json()["id"]
    place = f"{TOPICS}/{made.json()['id']}"
    async with server.client_of("writer", "write") as writer:
        assert (await writer.post(TOPICS, json={"words": "money"})).status_code == 403
        assert (await writer.delete(place)).status_code == 403
        assert [one["words"] for one in (await writer.get(TOPICS)).json()["topics"]] == ["my health"]
    assert (await server.client.get(TOPICS, params=ANA)).json() == {"topics": []}
    assert (await server.client.patch(place, params=ANA, json={"words": "x"})).status_code == 404
    assert (await server.client.patch(place, json={"words": "money"})).json()["words"] == "money"
    gone = {"Idempotency-Key": "gone"}
    assert (await server.client.delete(place, headers=gone)).json() == {"removed": made.json()["id"]}
    assert (await server.client.delete(place, headers=gone)).json() == {"removed": made.json()["id"]}
    assert (await server.client.delete(place)).status_code == 404
    assert (await server.client.get(TOPICS)).json() == {"topics": []}
    late = await server.client.post(TOPICS, json={"words": "my health"}, headers=key)
    assert (late.status_code, late.json()["code"]) == (404, "unknown_record")
    assert (await server.client.get(TOPICS)).json() == {"topics": []}


async def test_a_person_edits_the_peer_card_and_sees_what_stood_on_it(server: Served):
    lines, key = f"{CARD}/lines", {"Idempotency-Key": "rui"}
    body = {"line": "RELATIONSHIP: Married to Rui.", "why": "She said so."}
    first = await server.client.post(lines, json=body, headers=key)
    again = await server.client.post(lines, json=body, headers=key)
    assert first.json()["run_id"] == again.json()["run_id"] != ""
    card = (await server.client.get(CARD)).json()
    (line,) = card["lines"]
    assert (line["section"], line["content"], line["pinned"]) == ("relationship", "Married to Rui.", True)
    assert line["set_by"] == "token:everything"
    other = {"line": "RELATIONSHIP: Divorced from Rui.", "replaces": line["id"]}
    assert (await server.client.post(lines, json=other)).json()["changes"] == 2
    history = (await server.client.get(f"{CARD}/history")).json()["lines"]
    assert [one["status"] for one in history] == ["active", "superseded"]
    (now,) = (await server.client.get(CARD)).json()["lines"]
    removed = await server.client.delete(f"{lines}/{now['id']}")
    assert removed.json()["changes"] == 1
    assert (await server.client.get(CARD)).json()["lines"] == []
    await server.client.post(f"{RUNS}/{removed.json()['run_id']}/undo", json={})
    assert [one["id"] for one in (await server.client.get(CARD)).json()["lines"]] == [now["id"]]
    for answer, status in (
        (await server.client.post(lines, json={"line": "Married to Rui."}), 422),
        (await server.client.post(lines, json={"line": "IDENTITY: Password is hunter2xQ9!"}), 422),
        (await server.client.delete(f"{lines}/none"), 404),
        (await server.client.delete(f"{lines}/{now['id']}", params=ANA), 404),
    ):
        assert answer.status_code == status, answer.text
    async with server.client_of("writer", "write") as writer:
        assert (await writer.post(lines, json=body)).status_code == 403


async def test_a_plan_that_is_asked_for_twice_with_one_key_is_made_once(server: Served):
    await remembered(server, "Ana likes tea", "default/agent/agent")
    key = {"Idempotency-Key": "look"}
    first = await server.client.post("/api/v1/plans", json={}, headers=key)
    again = await server.client.post("/api/v1/plans", json={}, headers=key)
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json() == again.json()
    assert again.headers["Idempotency-Replayed"] == "true"
    await server.finished(await server.client.post(RUNS, json={"plan": first.json()["plan_id"]}))
    applied = await server.client.post("/api/v1/plans", json={}, headers=key)
    assert (applied.status_code, applied.json()["code"]) == (404, "unknown_plan")
    assert (await server.client.post("/api/v1/plans", json={})).json()["plan_id"] != first.json()["plan_id"]


async def test_an_item_that_is_added_twice_with_one_key_stands_in_the_document_once(tmp_path: Path):
    (tmp_path / "notes").mkdir()
    builder = AgentHostBuilder(tmp_path / "data").with_workspace(tmp_path / "notes")
    async with served(builder=builder) as server:
        items = "/api/v1/documents/MEMORY.md/items"

        async def twice(method: str, body: dict[str, Any], name: str) -> str:
            for _ in range(2):
                answer = await server.client.request(method, items, json=body, headers={"Idempotency-Key": name})
                assert answer.status_code in {200, 201}, answer.text
            assert answer.headers["Idempotency-Replayed"] == "true"
            return answer.json()["text"]

        assert (await twice("POST", {"texts": ["Ana likes tea."]}, "add")).count("Ana likes tea.") == 1
        changed = await twice("PATCH", {"old": "Ana likes tea.", "new": "Ana likes coffee."}, "change")
        assert (changed.count("coffee"), changed.count("tea")) == (1, 0)


async def test_a_switch_that_somebody_turned_since_is_not_turned_back_by_a_repetition(server: Served):
    off, paused = {"Idempotency-Key": "off"}, {"Idempotency-Key": "pause"}
    assert not (await server.client.put("/api/v1/switches", json={"dream": False}, headers=off)).json()["dream"]
    assert (await server.client.post("/api/v1/schedule/pause", headers=paused)).json()["paused"]
    await server.client.put("/api/v1/switches", json={"dream": True})
    await server.client.post("/api/v1/schedule/resume")
    again = await server.client.put("/api/v1/switches", json={"dream": False}, headers=off)
    assert (again.json()["dream"], again.headers["Idempotency-Replayed"]) == (True, "true")
    assert not (await server.client.post("/api/v1/schedule/pause", headers=paused)).json()["paused"]
    assert not (await server.client.get("/api/v1/status")).json()["paused"]
