"""REST: the library's operations with its records as they are."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from served import MEMORIES, RUNS, Served, served
from sqlalchemy import select

from agentcore import AgentHostBuilder, Scope
from agentcore.stores.sql.schema import receipts
from dream.cycle.running.run_envelope import dream_lease
from dream.domain.report import RunKind, RunReport
from dream.options import DreamOptions
from dream.stores import dream_stores

TEA = "Ana likes green tea"
SECRET = "Ana's password is hunter2"


@pytest.fixture
async def server() -> AsyncIterator[Served]:
    async with served() as running:
        yield running


async def remembered(server: Served, content: str = TEA, **more: Any) -> dict[str, Any]:
    answer = await server.client.post(MEMORIES, json={"content": content, **more})
    assert answer.status_code == 201, answer.text
    return answer.json()


async def test_a_memory_is_remembered_found_changed_archived_restored_and_forgotten(server: Served):
    client, entry = server.client, await remembered(server, tags=["drinks"], category="people/ana")
    place = f"{MEMORIES}/{entry['id']}"
    hits = (await client.get(f"{MEMORIES}/search", params={"query": "what tea does Ana like"})).json()["hits"]
    assert [hit["entry"]["id"] for hit in hits] == [entry["id"]]
    changed = (await client.patch(place, json={"content": "Ana likes black tea", "pinned": True})).json()
    assert (changed["content"], changed["pinned"], changed["tags"]) == ("Ana likes black tea", True, ["drinks"])
    assert (await client.post(f"{place}/archive", json={"reason": "no longer"})).json()["status"] == "archived"
    assert (await client.post(f"{place}/restore")).json()["outcome"] == "completed"
    why = (await client.get(f"{place}/why")).json()
    assert ("token:everything", "added") in [(write["actor"], write["action"]) for write in why["writes"]]
    assert (await client.get(f"{place}/forgetting")).json()["removed"] == [entry["id"]]
    assert (await client.delete(place)).json()["removed"] == [entry["id"]]
    gone = await client.get(place)
    assert (gone.status_code, gone.json()["code"]) == (404, "unknown_record")


async def test_a_change_is_refused_where_somebody_changed_the_record_since(server: Served):
    entry = await remembered(server)
    place = f"{MEMORIES}/{entry['id']}"
    seen = (await server.client.get(place)).headers["ETag"]
    await server.client.patch(place, json={"pinned": True})
    late = await server.client.patch(place, json={"pinned": False}, headers={"If-Match": seen})
    assert (late.status_code, late.json()["code"]) == (412, "stale_version")
    newer = (await server.client.get(place)).headers["ETag"]
    assert (late.json()["sent"], late.json()["present"], late.headers["ETag"]) == (seen, newer, newer)
    assert (await server.client.get(place)).json()["pinned"]
    now = (await server.client.get(place)).headers["ETag"]
    assert (await server.client.patch(place, json={"pinned": False}, headers={"If-Match": now})).status_code == 200
    assert (await server.client.delete(place, headers={"If-Match": seen})).status_code == 412


async def test_an_edit_by_hand_is_a_run_and_an_undo_without_a_body_takes_it_back(server: Served):
    entry = await remembered(server)
    place, key = f"{MEMORIES}/{entry['id']}", {"Idempotency-Key": "edit"}
    seen = (await server.client.get(place)).headers["ETag"]
    for path, body in (
        ("edit", {"content": "Ana likes coffee.", "pinned": True, "why": "She said so."}),
        ("set-aside", {}),
    ):
        run = (await server.client.post(f"{place}/{path}", json=body, headers=key)).json()
        assert (run["kind"], run["actor"]) == ("edit", "token:everything")
        late = await server.client.post(f"{place}/{path}", json=body, headers={"If-Match": seen})
        assert (late.status_code, late.json()["code"]) == (412, "stale_version")
        assert (await server.client.post(f"{place}/{path}", json=body, headers=key)).json()["run_id"] == run["run_id"]
        undone = await server.client.post(f"{RUNS}/{run['run_id']}/undo")
        assert (undone.status_code, undone.json()["changes"]) == (200, 1)
        memory = (await server.client.get(place)).json()
        assert (memory["content"], memory["pinned"], memory["status"]) == (TEA, False, "active")
        key = {"Idempotency-Key": "set-aside"}


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", MEMORIES, {"content": TEA}),
        ("POST", "/api/v1/conversations/s1/turns", {"role": "user", "content": TEA}),
        ("POST", "/api/v1/feedback", {"session_id": "s1", "kind": "correction", "summary": TEA}),
        ("PUT", "/api/v1/skills/kitchen/tea", {"summary": "Brew tea", "content": "Boil water."}),
    ],
)
async def test_a_request_is_carried_out_once_however_often_it_is_sent(
    server: Served, method: str, path: str, body: dict[str, Any]
):
    key = {"Idempotency-Key": "once"}
    first = await server.client.request(method, path, json=body, headers=key)
    revision = await server.host.storage.read(Scope.default(), lambda view: view.revision)
    again = await asyncio.gather(*(server.client.request(method, path, json=body, headers=key) for _ in range(5)))
    assert {(answer.status_code, answer.json()["id"]) for answer in again} == {(first.status_code, first.json()["id"])}
    assert {answer.headers["Idempotency-Replayed"] for answer in again} == {"true"}
    assert await server.host.storage.read(Scope.default(), lambda view: view.revision) == revision
    other = await server.client.request(method, path, json=body | {"content": "other", "summary": "other"}, headers=key)
    assert other.status_code == 422


async def test_a_forget_leaves_no_hash_of_the_request_that_said_it_and_no_repetition_says_it_again(server: Served):
    key, body = {"Idempotency-Key": "once"}, {"content": TEA}
    made = (await server.client.post(MEMORIES, json=body, headers=key)).json()["id"]
    await server.host.memory.forget(made)
    kept = select(receipts.c.digest)
    found = await server.host.storage.read(
        Scope.default(), lambda view: view.transaction.connection.execute(kept).scalars().all()
    )
    assert found == [""]
    again = await server.client.post(MEMORIES, json=body, headers=key)
    assert (again.status_code, TEA in again.text) == (404, False)
    assert await server.host.memory.list() == []


async def test_requests_at_once_with_one_key_are_carried_out_once(server: Served):
    send = [server.client.post(MEMORIES, json={"content": TEA}, headers={"Idempotency-Key": "k"}) for _ in range(8)]
    answers = await asyncio.gather(*send)
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert {answer.json()["reinforcement_count"] for answer in answers} == {1}


async def test_pages_follow_one_another_while_memories_come_and_go(server: Served):
    entries = [await remembered(server, f"House {number} has a garden") for number in range(7)]
    seen, cursor = [], None
    while True:
        params = {"limit": 3} | ({} if cursor is None else {"cursor": cursor})
        page = (await server.client.get(MEMORIES, params=params)).json()
        seen += [entry["id"] for entry in page["memories"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
        await remembered(server, f"Meanwhile {len(seen)}")
        await remembered(server, entries[0]["content"])
        await server.client.delete(f"{MEMORIES}/{seen[-1]}")
    assert seen == [entry["id"] for entry in reversed(entries)]
    assert (await server.client.get(MEMORIES, params={"cursor": "no"})).json()["code"] == "invalid_cursor"


async def test_a_dream_is_a_resource_that_can_be_watched_and_undone(server: Served):
    one = await remembered(server, TEA, category="a")
    two = await remembered(server, TEA, category="b")
    await server.client.patch(f"{MEMORIES}/{two['id']}", json={"category": "a"})
    begun = await server.client.post(RUNS, json={"passes": ["exact-fold"]}, headers={"Idempotency-Key": "dream"})
    run_id = begun.json()["run_id"]
    events = []
    async with server.client.stream("GET", f"{RUNS}/{run_id}/events") as stream:
        assert stream.headers["Content-Type"].startswith("text/event-stream")
        async for line in stream.aiter_lines():
            if line.startswith("event: "):
                events.append(line.removeprefix("event: "))
            if line.startswith("data: ") and events[-1] == "done":
                report = orjson.loads(line.removeprefix("data: "))
    assert events[-1] == "done"
    assert (report["run_id"], report["outcome"]) == (run_id, "completed")
    changes = (await server.client.get(f"{RUNS}/{run_id}/changes")).json()["changes"]
    assert {change["id"] for change in changes} == {one["id"], two["id"]}
    again = await server.client.post(RUNS, json={"passes": ["exact-fold"]}, headers={"Idempotency-Key": "dream"})
    assert again.json()["run_id"] == run_id
    undone = await server.client.post(f"{RUNS}/{run_id}/undo", json={}, headers={"Idempotency-Key": "undo"})
    assert undone.json()["kind"] == "undo"
    repeated = await server.client.post(f"{RUNS}/{run_id}/undo", json={}, headers={"Idempotency-Key": "undo"})
    assert repeated.json()["run_id"] == undone.json()["run_id"]
    listed = (await server.client.get(RUNS)).json()["runs"]
    assert [run["kind"] for run in listed] == ["undo", "dream"]
    assert (await server.client.get(f"{MEMORIES}/{two['id']}")).json()["status"] == "active"


@pytest.mark.parametrize("kind", [RunKind.DREAM, RunKind.PLAN, RunKind.REVIEW])
async def test_a_run_beside_another_is_refused_with_the_id_of_that(server: Served, kind: RunKind):
    now = server.host.clock.now()
    report = RunReport(run_id="other", scope=Scope.default(), kind=kind, outcome="unchanged", as_of=now, started_at=now)
    await server.host.storage.write(
        Scope.default(), lambda unit: dream_stores(unit).runs.open(report, {"passes": ["exact-fold"]})
    )
    parts = server.host._parts
    async with dream_lease(parts, Scope.default(), DreamOptions().lease):
        refused = await server.client.post(RUNS, json={})
    assert (refused.status_code, refused.json()["code"], refused.json()["run_id"]) == (409, "lease_held", "other")


async def test_of_dreams_asked_for_at_once_one_begins_and_the_others_are_told_its_id(server: Served):
    await remembered(server)
    for _ in range(3):
        answers = await asyncio.gather(*(server.client.post(RUNS, json={}) for _ in range(4)))
        begun = [answer for answer in answers if answer.status_code == 202]
        held = [answer for answer in answers if answer.status_code == 409]
        ids = [answer.json()["run_id"] for answer in begun]
        assert len(set(ids)) == len(ids) > 0
        assert len(begun) + len(held) == 4
        assert {answer.json()["run_id"] for answer in held if "run_id" in answer.json()} <= set(ids)
        for answer in begun:
            await server.finished(answer)
        listed = [run["run_id"] for run in (await server.client.get(RUNS)).json()["runs"]]
        assert sorted(listed[: len(ids)]) == sorted(ids)


async def test_a_dream_asked_for_twice_at_once_with_one_key_begins_once(server: Served):
    await remembered(server)
    key = {"Idempotency-Key": "tonight"}
    answers = await asyncio.gather(*(server.client.post(RUNS, json={}, headers=key) for _ in range(4)))
    answers.append(await server.client.post(RUNS, json={}, headers=key))
    assert {answer.json().get("run_id") for answer in answers if answer.status_code == 202} == {
        answers[-1].json()["run_id"]
    }
    assert answers[-1].headers["Idempotency-Replayed"] == "true"
    assert len((await server.client.get(RUNS)).json()["runs"]) == 1


async def test_a_plan_is_applied_exactly(server: Served):
    await remembered(server, TEA, category="a")
    two = await remembered(server, TEA, category="b")
    await server.client.patch(f"{MEMORIES}/{two['id']}", json={"category": "a"})
    plan = (await server.client.post("/api/v1/plans", json={})).json()
    assert plan["changes"]
    done = await server.finished(await server.client.post(RUNS, json={"plan": plan["plan_id"]}))
    assert done["changes"] > 0


async def test_a_proposal_is_approved_once(tmp_path: Path):
    options = DreamOptions(modes={"exact-fold": "propose"})
    builder = AgentHostBuilder(tmp_path).with_dreaming(options, in_background=False)
    async with served(builder=builder) as server:
        await remembered(server, TEA, category="a")
        two = await remembered(server, TEA, category="b")
        await server.client.patch(f"{MEMORIES}/{two['id']}", json={"category": "a"})
        await server.finished(await server.client.post(RUNS, json={}))
        (proposal,) = (await server.client.get("/api/v1/proposals")).json()["proposals"]
        key = {"Idempotency-Key": "yes"}
        body = {"proposals": [proposal["proposal_id"]]}
        first = await server.client.post("/api/v1/proposals/approve", json=body, headers=key)
        again = await server.client.post("/api/v1/proposals/approve", json=body, headers=key)
        assert first.json()["changes"] > 0
        assert again.json()["run_id"] == first.json()["run_id"]
        assert (await server.client.get("/api/v1/proposals")).json() == {"proposals": []}


async def test_an_export_is_a_stream_that_an_import_takes(server: Served):
    await remembered(server)
    exported = (await server.client.get("/api/v1/export")).content
    assert [orjson.loads(line).get("content") for line in exported.splitlines()[1:2]] == [TEA]
    other = {"scope": "default/agent/ben"}
    report = (await server.client.post("/api/v1/import", params=other, content=exported)).json()
    assert report["added"] == {"entry": 1}
    assert (await server.client.post("/api/v1/import", params=other, content=exported)).json()["known"] == {"entry": 1}
    broken = await server.client.post("/api/v1/import", params=other, content=b"{")
    assert broken.status_code == 422
    assert broken.json()["detail"].startswith("The file, line 1: ")


async def test_a_scope_is_told_switched_paused_and_asked_to_dream(server: Served):
    await remembered(server)
    client = server.client
    assert (await client.get("/api/v1/status")).json()["entries"]["active"] == 1
    assert (await client.post("/api/v1/schedule/pause")).json()["paused"]
    refused = await client.post(RUNS, json={})
    assert (refused.status_code, refused.json()["code"]) == (409, "paused")
    assert not (await client.post("/api/v1/schedule/resume")).json()["paused"]
    assert (await client.post("/api/v1/schedule")).json()["reason"] is None
    assert (await client.post("/api/v1/schedule")).json()["reason"] == "already_pending"
    assert (await client.get("/api/v1/schedule")).json()["requested_at"] is not None
    assert (await client.put("/api/v1/switches", json={"learning": False})).json()["learning"] is False
    assert (await client.put("/api/v1/switches", json={"session_id": "s1", "dream": False})).json()["dream"] is False
    assert (await client.get("/api/v1/usage")).json()["total"]["calls"] == 0
    sources = {one["source"] for one in (await client.get("/api/v1/options")).json()["options"]}
    assert "default" in sources
    status = (await client.get("/api/v1/dreaming/status")).json()["data"]
    assert set(status) == {"effective_config", "latest_run", "pending_count"}
    assert status["effective_config"]["enabled"] is True


async def test_what_was_said_is_listed_and_gives_a_turn_its_context(server: Served):
    for number in range(3):
        said = {"role": "user", "content": f"Turn {number}", "speaker": "Ana"}
        assert (await server.client.post("/api/v1/conversations/s1/turns", json=said)).status_code == 201
    page = (await server.client.get("/api/v1/conversations/s1/turns", params={"limit": 2})).json()
    assert [turn["content"] for turn in page["turns"]] == ["Turn 2", "Turn 1"]
    assert (await server.client.get("/api/v1/conversations")).json()["sessions"][0]["turns"] == 3
    await remembered(server)
    asked = {"session_id": "s2", "message": "Which tea for Ana?", "budget_tokens": 300}
    context = (await server.client.post("/api/v1/context", json=asked)).json()
    assert TEA in context["text"]
    assert context["tokens"] <= 300
    gone = (await server.client.delete("/api/v1/conversations/s1")).json()
    assert len(gone["withheld"]) == 3


async def test_a_skill_is_written_found_and_explained(server: Served):
    body = {"summary": "Brew tea", "content": "Boil water."}
    assert (await server.client.put("/api/v1/skills/kitchen/tea", json=body)).status_code == 200
    assert (await server.client.get("/api/v1/skills/kitchen/tea")).json()["content"] == "Boil water."
    found = (await server.client.get("/api/v1/skills", params={"query": "brew"})).json()["skills"]
    assert [skill["name"] for skill in found] == ["kitchen/tea"]
    told = (await server.client.get("/api/v1/skill-history/kitchen/tea")).json()
    assert told["writes"][0]["actor"] == "token:everything"
    assert (await server.client.get("/api/v1/skills/kitchen/coffee")).status_code == 404


async def test_a_document_is_read_and_edited(tmp_path: Path):
    builder = AgentHostBuilder(tmp_path / "data").with_workspace(tmp_path / "notes")
    (tmp_path / "notes").mkdir()
    async with served(builder=builder) as server:
        items = "/api/v1/documents/MEMORY.md/items"
        assert (await server.client.post(items, json={"texts": ["Ana likes tea."]})).status_code == 201
        await server.client.patch(items, json={"old": "Ana likes tea.", "new": "Ana likes coffee."})
        assert "Ana likes coffee." in (await server.client.get("/api/v1/documents/MEMORY.md")).json()["text"]
        assert (await server.client.get("/api/v1/documents/..%2Fsecret")).status_code in {404, 422}


async def test_a_secret_is_refused_with_its_kind_and_never_stored_or_repeated(tmp_path: Path):
    builder = AgentHostBuilder(tmp_path / "data").with_workspace(tmp_path / "notes")
    (tmp_path / "notes").mkdir()
    async with served(builder=builder) as server:
        client, items = server.client, "/api/v1/documents/MEMORY.md/items"
        tea = (await client.post(MEMORIES, json={"content": TEA})).json()["id"]
        for refusal in (
            await client.post(MEMORIES, json={"content": SECRET}),
            await client.patch(f"{MEMORIES}/{tea}", json={"content": SECRET}),
            await client.post(items, json={"texts": [TEA, SECRET]}),
        ):
            assert (refusal.status_code, refusal.json()["code"]) == (422, "secret")
            assert "a password" in refusal.json()["detail"]
            assert "hunter2" not in refusal.text
        assert [one["content"] for one in (await client.get(MEMORIES)).json()["memories"]] == [TEA]
        assert (await client.get("/api/v1/documents/MEMORY.md")).json()["text"] == ""


async def test_a_fault_is_one_sentence_with_a_code(server: Served):
    client, sent = server.client, {"headers": {"Content-Type": "application/json"}}
    for answer, status, code in (
        (await client.get("/api/v1/nothing"), 404, "unknown_route"),
        (await client.post("/api/v1/usage"), 405, "method_not_allowed"),
        (await client.post(MEMORIES, content=b"{", **sent), 400, "invalid_json"),
        (await client.post(MEMORIES, json={"content": ""}), 422, "invalid_request"),
        (await client.post(MEMORIES, json={"content": TEA, "subject_time": "soon"}), 422, "invalid_subject_time"),
        (await client.get(MEMORIES, params={"scope": "x"}), 422, "invalid_scope"),
        (await client.get(f"{RUNS}/none"), 404, "unknown_run"),
        (await client.get("/api/v1/proposals/none"), 404, "unknown_proposal"),
    ):
        problem = answer.json()
        assert (answer.status_code, problem["code"]) == (status, code)
        assert answer.headers["Content-Type"] == "application/problem+json"
        assert problem["detail"].endswith(".")
        assert "Traceback" not in answer.text


async def test_a_person_answers_questions_confirms_merges_and_tells_apart(server: Served):
    day = "Ben plays the trombone in the Lisbon harbour orchestra on"
    one, other = await remembered(server, f"{day} Fridays"), await remembered(server, f"{day} Mondays")
    tea = await remembered(server, "Ana drinks tea")  # rare words are rare among others
    await server.finished(await server.client.post(RUNS, json={}))
    (question,) = (await server.client.get("/api/v1/questions")).json()["questions"]
    assert {member["id"] for member in question["members"]} == {one["id"], other["id"]}
    place, key = f"/api/v1/questions/{question['id']}", {"Idempotency-Key": "answer"}
    first = await server.client.post(f"{place}/answer", json={"keep": one["id"]}, headers=key)
    again = await server.client.post(f"{place}/answer", json={"keep": one["id"]}, headers=key)
    assert first.json()["run_id"] == again.json()["run_id"] != ""
    late = await server.client.post(f"{place}/answer", json={"dismiss": True})
    assert (late.status_code, late.json()["code"]) == (409, "answered_question")
    assert (await server.client.get(place)).json()["state"] == "resolved"
    coffee = await remembered(server, "Ana drinks green tea")
    await server.client.post(f"{MEMORIES}/{tea['id']}/confirm", json={"why": "She said so."})
    assert (await server.client.get(f"{MEMORIES}/{tea['id']}")).json()["trust"] == "confirmed"
    pair = {"memories": [tea["id"], coffee["id"]]}
    assert (await server.client.post("/api/v1/distinctions", json=pair)).json()["kind"] == "edit"
    assert (await server.client.post("/api/v1/merges", json=pair)).json()["changes"] > 0
    assert (await server.client.get(f"{MEMORIES}/{coffee['id']}")).json()["status"] != "active"
