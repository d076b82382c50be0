"""Sessions of several peers over REST and MCP: who takes part, what they say, and who may change that."""

from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from served import Served, served
from test_mcp import done, over_http, refused

TRIP = "/api/v1/conversations/trip"
CLUB = {"scope": "club/agent/agent"}


@pytest.fixture
async def server() -> AsyncIterator[Served]:
    async with served() as running:
        yield running


async def put(client: httpx2.AsyncClient, peer: str, **holds: Any) -> httpx2.Response:
    return await client.put(f"{TRIP}/peers/{peer}", json=holds, params=CLUB)


async def say(client: httpx2.AsyncClient, peer: str, text: str, **more: Any) -> httpx2.Response:
    return await client.post(f"{TRIP}/peers/{peer}/turns", json={"content": text}, params=CLUB, **more)


async def heard(server: Served, scope: str) -> list[str]:
    turns = await server.client.get(f"{TRIP}/turns", params={"scope": scope})
    return [turn["content"] for turn in turns.json()["turns"]]


async def names(client: httpx2.AsyncClient) -> list[str]:
    listed = await client.get(f"{TRIP}/peers", params=CLUB)
    return [peer["name"] for peer in listed.json()["peers"]]


async def test_what_a_peer_says_reaches_those_who_observe_it(server: Served):
    await put(server.client, "ana")
    await put(server.client, "guide", observe_others=True)
    told = (await put(server.client, "cleo", observe_me=False)).json()
    assert told["peers"] == [
        {"name": "ana", "observe_me": None, "observe_others": False},
        {"name": "cleo", "observe_me": False, "observe_others": False},
        {"name": "guide", "observe_me": None, "observe_others": True},
    ]
    turn = (await say(server.client, "ana", "I am allergic to walnuts.")).json()
    assert (turn["scope"], turn["observers"]) == ("club/ana/ana", ["guide"])
    assert (await say(server.client, "cleo", "I stay at home.")).json()["observers"] == []
    await server.host._parts.fan_out.catch_up()
    assert await heard(server, "club/guide/ana") == ["I am allergic to walnuts."]
    assert await heard(server, "club/guide/cleo") == []
    gone = await server.client.delete(f"{TRIP}/peers/ana", params=CLUB)
    assert [peer["name"] for peer in gone.json()["peers"]] == ["cleo", "guide"]
    assert (await say(server.client, "ana", "Bye.")).status_code == 404


async def test_what_is_sent_again_with_one_key_is_carried_out_once(server: Served):
    key = {"headers": {"Idempotency-Key": "once"}}
    await put(server.client, "ana")
    first, again = [await say(server.client, "ana", "Hello.", **key) for _ in range(2)]
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json() == again.json()
    assert await heard(server, "club/ana/ana") == ["Hello."]
    out = {"headers": {"Idempotency-Key": "out"}, "params": CLUB}
    left = [await server.client.delete(f"{TRIP}/peers/ana", **out) for _ in range(2)]
    assert [one.status_code for one in left] == [200, 200]
    assert left[1].headers["Idempotency-Replayed"] == "true"


async def test_who_may_not_be_observed_anywhere_is_not_until_a_session_says_so(server: Served):
    answer = await server.client.put("/api/v1/peers/ana", json={"observe_me": False}, params=CLUB)
    assert answer.json() == {"name": "ana", "observe_me": False}
    await put(server.client, "guide", observe_others=True)
    await put(server.client, "ana")
    assert (await say(server.client, "ana", "A secret of mine.")).json()["observers"] == []
    await put(server.client, "ana", observe_me=True)
    assert (await say(server.client, "ana", "Tell everybody.")).json()["observers"] == ["guide"]
    assert (await server.client.get("/api/v1/peers/ana", params=CLUB)).json()["observe_me"] is False


async def test_a_token_of_one_peer_speaks_for_it_alone_and_observes_nobody(server: Served):
    async with server.client_of("of-ana", "write", reach="club/ana/ana") as ana:
        own = {"params": {"scope": "club/ana/ana"}}
        await put(server.client, "ben")
        assert (await ana.get(f"{TRIP}/peers", **own)).json()["peers"] == []
        listens = await ana.put(f"{TRIP}/peers/ana", json={"observe_others": True}, **own)
        assert (listens.status_code, listens.json()["code"]) == (403, "not_allowed")
        assert "club/*/*" in listens.json()["detail"]
        assert (await ana.put(f"{TRIP}/peers/ana", json={}, **own)).status_code == 200
        told = (await ana.get(f"{TRIP}/peers", **own)).json()["peers"]
        assert [peer["name"] for peer in told] == ["ana", "ben"]
        said = await ana.post(f"{TRIP}/peers/ana/turns", json={"content": "Hello."}, **own)
        assert said.status_code == 201
        for answer in (
            await ana.post(f"{TRIP}/peers/ben/turns", json={"content": "I am Ben."}, **own),
            await ana.delete(f"{TRIP}/peers/ben", **own),
            await ana.put("/api/v1/peers/ben", json={"observe_me": True}, **own),
            await ana.get("/api/v1/peers/ben", **own),
        ):
            assert answer.status_code == 403
    assert await names(server.client) == ["ana", "ben"]


async def test_a_session_is_switched_off_in_the_whole_workspace_by_who_reaches_it(server: Served):
    off = {"session_id": "trip", "whole_workspace": True, "learning": False}
    switched = await server.client.put("/api/v1/switches", json=off, params=CLUB)
    assert (switched.json()["level"], switched.json()["learning"]) == ("shared_session", False)
    assert (await server.host.session("trip", workspace="club")).learning is False
    whole = {"whole_workspace": True, "dream": False}
    assert (await server.client.put("/api/v1/switches", json=whole, params=CLUB)).json()["level"] == "workspace"
    async with server.client_of("part", "admin", reach="club/ana/*") as part:
        answer = await part.put("/api/v1/switches", json=whole, params={"scope": "club/ana/ana"})
        assert answer.status_code == 403


async def test_an_agent_speaks_in_a_session_as_the_peer_whose_memory_it_has(server: Served):
    async with over_http(server, server.client, "?scope=club/guide/guide") as guide:
        await done(guide, "join_session", session_id="trip", peer="guide")
        told = await done(guide, "join_session", session_id="trip", peer="ana", observe_others=True)
        assert [peer["name"] for peer in told["peers"]] == ["ana", "guide"]
        said = await done(guide, "say_in_session", session_id="trip", content="We meet at nine.")
        assert said["observers"] == ["ana"]
        assert await heard(server, "club/guide/guide") == ["We meet at nine."]
        await done(guide, "leave_session", session_id="trip", peer="guide")
        assert "'guide' fits none" in await refused(guide, "say_in_session", session_id="trip", content="Hm.")
    async with over_http(server, server.client, "?scope=club/guide/ana") as about:
        said = await refused(about, "say_in_session", session_id="trip", content="I am Ana.")
        assert "nobody speaks there" in said
