"""What reaches the app, and what is refused before."""

import asyncio
import logging
import socket
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2
import orjson
import pytest
from served import MEMORIES, RUNS, Served, served, serving_process
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Mount

from agentcore import AgentHostBuilder, Scope
from agentcore.stores.sql import FILE_NAME, SqlStorage
from agentcore.testing import ManualClock
from dream.domain.report import Outcome, RunReport
from dream.interfaces.asgi import asgi_app
from dream.stores import dream_stores

_START = datetime(2025, 6, 14, 9, tzinfo=UTC)


@pytest.fixture
async def server() -> AsyncIterator[Served]:
    async with served() as running:
        yield running


@pytest.mark.parametrize("given", ["", "Bearer", "Bearer nonsense", "Basic abc", "Bearer dream_", "Bearer é"])
async def test_nothing_is_answered_without_a_token_that_holds(server: Served, given: str):
    headers = {"Authorization": given.encode("latin-1")} if given else {}
    async with httpx2.AsyncClient(base_url=server.url) as stranger:
        answer = await stranger.get(MEMORIES, headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (401, "unauthorized")
        assert answer.headers["WWW-Authenticate"].startswith("Bearer")
        assert (await stranger.post("/mcp", headers=headers, json={})).status_code == 401
        assert (await stranger.get("/healthz")).text == "ok\n"
        assert (await stranger.get("/readyz")).text == "ready\n"


async def test_a_token_is_refused_from_the_moment_it_expires_or_is_revoked():
    clock = ManualClock(_START)
    async with served(builder=AgentHostBuilder(None, clock=clock)) as server:
        async with server.client_of("short", "read", lifetime=timedelta(hours=1)) as client:
            assert (await client.get(MEMORIES)).status_code == 200
            clock.advance(timedelta(hours=1))
            assert (await client.get(MEMORIES)).status_code == 401
        async with server.client_of("long", "read") as client:
            assert (await client.get(MEMORIES)).status_code == 200
            await server.host.tokens.revoke("long")
            assert (await client.get(MEMORIES)).status_code == 401


@pytest.mark.parametrize(
    ("right", "allowed"),
    [
        ("read", {"GET memories"}),
        ("write", {"GET memories", "POST memories"}),
        ("review", {"GET memories", "POST approve"}),
        ("admin", {"GET memories", "POST memories", "POST approve", "DELETE memory"}),
    ],
)
async def test_a_token_gives_its_rights_and_no_others(server: Served, right: str, allowed: set[str]):
    asked = {
        "GET memories": ("GET", MEMORIES, None),
        "POST memories": ("POST", MEMORIES, {"content": "Ana likes tea"}),
        "POST approve": ("POST", "/api/v1/proposals/approve", {"proposals": ["none"]}),
        "DELETE memory": ("DELETE", f"{MEMORIES}/none", None),
    }
    async with server.client_of("one", right) as client:
        answers = {name: await client.request(method, path, json=body) for name, (method, path, body) in asked.items()}
    assert {name for name, answer in answers.items() if answer.status_code != 403} == allowed
    refused = [answer.json()["code"] for answer in answers.values() if answer.status_code == 403]
    assert set(refused) <= {"not_allowed"}


async def test_pages_of_other_names_and_places_are_refused(server: Served):
    rebound = await server.client.get(MEMORIES, headers={"Host": "memory.evil.example"})
    assert (rebound.status_code, rebound.json()["code"]) == (421, "unknown_host")
    foreign = await server.client.get(MEMORIES, headers={"Origin": "https://evil.example"})
    assert (foreign.status_code, foreign.json()["code"]) == (403, "unknown_origin")
    for origin in ("null", "http://[", "localhost"):
        assert (await server.client.get(MEMORIES, headers={"Origin": origin})).status_code == 403
    own = await server.client.get(MEMORIES, headers={"Origin": server.url})
    assert own.status_code == 200
    assert "access-control-allow-origin" not in own.headers
    asked = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    assert (await server.client.options(MEMORIES, headers=asked)).status_code == 403


async def test_a_listed_page_may_call():
    page = "https://app.example.org"
    async with served(origins=frozenset({page})) as server:
        asked = await server.client.options(MEMORIES, headers={"Origin": page})
        assert (asked.status_code, asked.headers["Access-Control-Allow-Origin"]) == (204, page)
        answer = await server.client.get(MEMORIES, headers={"Origin": page})
        assert (answer.status_code, answer.headers["Access-Control-Allow-Origin"]) == (200, page)


async def test_a_body_that_is_too_long_is_refused_declared_or_not():
    async with served(body=2_000) as server:
        long = b'{"content": "%b"}' % (b"x" * 3_000)
        kind = {"Content-Type": "application/json"}

        async def chunks() -> AsyncIterator[bytes]:
            for start in range(0, len(long), 500):
                yield long[start : start + 500]

        for content in (long, chunks()):
            answer = await server.client.post(MEMORIES, content=content, headers=kind)
            assert (answer.status_code, answer.json()["code"]) == (413, "body_too_large")
        assert (await server.client.get(MEMORIES)).json()["memories"] == []


@asynccontextmanager
async def connection(server: Served, *, buffer: int = 65_536) -> AsyncIterator[tuple[Any, Any, str]]:
    """Yield a connection, and the head of a request but for its first line and its end."""
    host, _, port = server.url.removeprefix("http://").partition(":")
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
    client.connect((host, int(port)))
    reader, writer = await asyncio.open_connection(sock=client)
    try:
        yield reader, writer, f"Host: {host}\r\nAuthorization: {server.client.headers['Authorization']}\r\n"
    finally:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


@pytest.mark.parametrize("pause", [5.0, 0.05], ids=["at once", "drop by drop"])
async def test_a_client_that_sends_too_slowly_is_let_go(pause: float):
    async with served(body_time=timedelta(seconds=0.3)) as server, connection(server) as (reader, writer, head):
        writer.write(f"POST {MEMORIES} HTTP/1.1\r\n{head}Content-Length: 4000\r\n\r\n".encode())
        answer, began = asyncio.create_task(reader.readexactly(12)), asyncio.get_running_loop().time()
        while not answer.done() and asyncio.get_running_loop().time() < began + 4:
            await asyncio.wait({answer}, timeout=pause)
            writer.write(b" ")
        assert await answer == b"HTTP/1.1 408"


@pytest.mark.parametrize("told", ["", "GET / HTTP/1.1\r\nHost: "], ids=["nothing", "half a head"])
async def test_a_client_that_never_ends_its_head_is_let_go(told: str):
    async with served(head_time=timedelta(seconds=0.3)) as server:
        async with connection(server) as (reader, writer, _):
            writer.write(told.encode())
            assert (await asyncio.wait_for(reader.read(), 4)).startswith(b"HTTP/1.1 408")
        # The next head of a connection is waited for as well, and a whole one is answered.
        async with connection(server) as (reader, writer, head):
            writer.write(f"GET {MEMORIES} HTTP/1.1\r\n{head}\r\n".encode())
            assert await reader.readline() == b"HTTP/1.1 200 OK\r\n"
            writer.write(b"GET ")
            assert b"HTTP/1.1 408" in await asyncio.wait_for(reader.read(), 4)


async def test_a_client_that_does_not_read_its_answer_is_let_go(tmp_path: Path):
    async with served(tmp_path, unread_time=timedelta(seconds=0.3)) as server:
        lines = [b'{"content": "%d %b"}' % (number, b"x" * 90_000) for number in range(120)]
        asked = {"format": "memory-jsonl"}
        report = await server.client.post("/api/v1/import", params=asked, content=b"\n".join(lines))
        assert report.json()["added"] == {"entry": 120}
        async with connection(server, buffer=4_096) as (reader, writer, head):
            writer.write(f"GET /api/v1/export HTTP/1.1\r\n{head}\r\n".encode())
            assert await reader.readline() == b"HTTP/1.1 200 OK\r\n"
            await asyncio.sleep(2)  # the buffers of the server hold some megabytes
            told = await reader.read()
        assert len(told) < 120 * 90_000


async def test_too_many_requests_are_put_off_each_token_for_itself():
    async with served(per_second=0.001, burst=3) as server, server.client_of("other", "read") as other:
        answers = [await server.client.get(MEMORIES) for _ in range(5)]
        assert [answer.status_code for answer in answers] == [200, 200, 200, 429, 429]
        assert answers[-1].headers["Retry-After"] == "1"
        assert (await other.get(MEMORIES)).status_code == 200


async def test_streams_are_bounded_and_end_with_the_client():
    async with served(streams=2) as server:
        report = (await server.client.post(RUNS, json={"passes": ["exact-fold"]})).json()
        now = server.host.clock.now()
        opened = RunReport(run_id="open", scope=Scope.default(), outcome="unchanged", as_of=now, started_at=now)
        await server.host.storage.write(
            Scope.default(), lambda unit: dream_stores(unit).runs.open(opened, {"passes": []})
        )
        events = f"{RUNS}/open/events"
        async with server.client.stream("GET", events) as one, server.client.stream("GET", events) as two:
            assert (one.status_code, two.status_code) == (200, 200)
            third = await server.client.get(events)
            assert (third.status_code, third.json()["code"]) == (503, "too_many_streams")
            assert third.headers["Retry-After"]
        assert report["run_id"]
        for _ in range(100):
            async with server.client.stream("GET", events) as again:
                if again.status_code == 200:
                    break
            await asyncio.sleep(0.02)
        assert again.status_code == 200


async def test_a_stream_ends_with_its_token():
    async with served() as server, server.client_of("watcher", "read") as watcher:
        now = server.host.clock.now()
        opened = RunReport(run_id="open", scope=Scope.default(), outcome="unchanged", as_of=now, started_at=now)
        runs = server.host.storage
        await runs.write(Scope.default(), lambda unit: dream_stores(unit).runs.open(opened, {"passes": []}))
        async with watcher.stream("GET", f"{RUNS}/open/events") as stream:
            parts = stream.aiter_text()
            assert "progress" in await anext(parts)
            await server.host.tokens.revoke("watcher")
            done = replace(opened, outcome=Outcome.UNCHANGED, finished_at=now)
            await runs.write(Scope.default(), lambda unit: dream_stores(unit).runs.close(done))
            with pytest.raises(httpx2.RemoteProtocolError):
                await anext(parts)


async def test_below_a_prefix_the_door_is_guarded_as_well():
    host = AgentHostBuilder(None).with_memory().with_dreaming(in_background=False).build()
    memory = asgi_app(host)
    outer = httpx2.ASGITransport(Starlette(routes=[Mount("/memory", app=memory)]))
    async with host, memory, httpx2.AsyncClient(transport=outer, base_url="http://localhost/memory") as client:
        for method, path in (("GET", MEMORIES), ("GET", "/api/v1/openapi.json"), ("POST", "/mcp")):
            assert (await client.request(method, path)).status_code == 401
        secret, _ = await host.tokens.create("one", scopes=["*/*/*"], rights=["read"])
        answer = await client.get(MEMORIES, headers={"Authorization": f"Bearer {secret}"})
        assert answer.json() == {"memories": [], "next_cursor": None}


async def test_a_page_answers_whatever_is_neither_rest_nor_mcp_and_needs_no_token_for_it():
    async def page(scope: Any, receive: Any, send: Any) -> None:
        await PlainTextResponse(f"page {scope['path']}")(scope, receive, send)

    host = AgentHostBuilder(None).with_memory().with_dreaming(in_background=False).build()
    memory = asgi_app(host, page=page)
    transport = httpx2.ASGITransport(memory)
    async with host, memory, httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
        for path in ("/", "/runs/r1", "/app.js"):
            assert (await client.get(path)).text == f"page {path}"
        for path in (MEMORIES, "/api/v1/nothing", "/mcp"):
            assert (await client.get(path)).status_code == 401
        assert (await client.get("/healthz")).text == "ok\n"
        assert (await client.get("/", headers={"Host": "memory.evil.example"})).status_code == 421
        secret, _ = await host.tokens.create("known", scopes=["*/*/*"], rights=["read"])
        client.headers["Authorization"] = f"Bearer {secret}"
        assert (await client.get("/api/v1/nothing")).json()["code"] == "unknown_route"
        assert (await client.delete("/api/v1/status")).status_code == 405


async def test_no_secret_and_no_content_enters_the_log(server: Served, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.DEBUG)
    secret = server.client.headers["Authorization"].removeprefix("Bearer ")
    await server.client.post(MEMORIES, json={"content": "The cellar key lies below the third stone"})
    await server.client.get(f"{MEMORIES}/search", params={"query": "cellar key"})
    await server.client.post(MEMORIES, json={"content": ""})
    async with httpx2.AsyncClient(base_url=server.url) as stranger:
        await stranger.get(MEMORIES, headers={"Authorization": f"Bearer {secret}x"})
    ours = "\n".join(
        f"{record.getMessage()} {vars(record)}"
        for record in caplog.records
        if record.name.startswith(("agentcore", "dream", "uvicorn", "fastapi", "mcp"))
        and record.levelno > logging.DEBUG
    )
    assert secret not in ours
    assert "cellar" not in ours


async def test_a_database_that_is_locked_is_told_with_when_to_come_back(tmp_path: Path):
    clock = ManualClock(_START)
    storage = SqlStorage(tmp_path / FILE_NAME, clock=clock, busy_timeout=timedelta(milliseconds=50))
    async with served(builder=AgentHostBuilder(tmp_path, clock=clock).with_storage(storage)) as server:
        held = sqlite3.connect(tmp_path / FILE_NAME, isolation_level=None)
        held.execute("BEGIN IMMEDIATE")
        answer = await server.client.post(MEMORIES, json={"content": "Ana likes tea"})
        held.execute("ROLLBACK")
        held.close()
        assert (answer.status_code, answer.json()["code"]) == (503, "storage_unavailable")
        assert answer.headers["Retry-After"]
        assert str(tmp_path) not in answer.text
        assert (await server.client.get(MEMORIES)).json()["memories"] == []


async def test_what_is_no_request_is_a_problem_too(server: Served):
    host, _, port = server.url.removeprefix("http://").partition(":")
    for told in (b"nonsense\r\n\r\n", b"GET /\x00 HTTP/1.1\r\nHost: x\r\n\r\n"):
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(told)
        answer = await reader.read()
        writer.close()
        assert answer.startswith(b"HTTP/1.1 400")
        assert b'"bad_request"' in answer


def test_a_restore_makes_no_revoked_token_valid_and_no_pause_or_switch_undone(tmp_path: Path):
    data = tmp_path / "data"

    def dream(*words: object) -> str:
        command = [sys.executable, "-m", "dream", "--data", str(data), *map(str, words)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    dream("remember", "Ana sails.")
    secret = dream("token", "create", "phone", "--right", "read").strip()
    backup = orjson.loads(dream("--json", "backup"))["path"]
    dream("token", "revoke", "phone")
    dream("switch", "learning", "off")
    dream("pause")
    dream("restore-backup", backup, "--yes")
    with serving_process(tmp_path, data=data) as server, server.client(secret) as phone, server.client() as own:
        assert [client.get(MEMORIES).status_code for client in (phone, own)] == [401, 200]
    assert "waits for    learning, paused" in dream("status")
