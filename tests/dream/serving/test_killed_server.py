"""A server that is killed at any instant: the client sends its request again with its key, and finds it done once."""

import asyncio
import os
import signal
import threading
import time
from contextlib import suppress
from pathlib import Path
from random import Random

import httpx2
import orjson
import pytest
from served import MEMORIES, RUNS, ServedProcess, served, serving_process

from agentcore import AgentHostBuilder
from dream.domain import Proposal
from dream.passes import DreamContext
from dream.passes.exact_fold import ExactFold

_BODY = {"content": "Ana likes green tea", "category": "people/ana"}


_POINTS = int(os.environ.get("AGENTCORE_KILLS", "3"))
"""Kills of each kind, on one data directory; AGENTCORE_KILLS=12 takes five minutes on a busy machine."""


def _kill_soon(server: ServedProcess, seconds: float) -> threading.Thread:
    def kill() -> None:
        time.sleep(seconds)
        os.kill(server.process.pid, signal.SIGKILL)

    killing = threading.Thread(target=kill)
    killing.start()
    return killing


def _written(client: httpx2.Client, number: int) -> httpx2.Response:
    body = _BODY | {"content": f"House {number} has a garden"}
    return client.post(MEMORIES, json=body, headers={"Idempotency-Key": f"house-{number}"})


def test_a_write_that_was_cut_off_is_done_once(tmp_path: Path):
    chance, number, cut_off = Random(20), 0, []
    for _ in range(_POINTS):
        with serving_process(tmp_path, data=tmp_path / "data") as server, server.client() as client:
            for one in cut_off:
                answer = _written(client, one)
                assert (answer.status_code, answer.json()["reinforcement_count"]) == (201, 1)
            client.get(MEMORIES)
            killing = _kill_soon(server, chance.uniform(0, 0.03))
            cut_off = []
            with suppress(httpx2.TransportError):
                while True:
                    number += 1
                    cut_off.append(number)
                    assert _written(client, number).status_code == 201
            killing.join()
            server.process.wait(30)
    with serving_process(tmp_path, data=tmp_path / "data") as server, server.client() as client:
        for one in cut_off:
            assert _written(client, one).json()["reinforcement_count"] == 1
        stored = [orjson.loads(line) for line in client.get("/api/v1/export").iter_lines()]
        houses = [one["content"] for one in stored if "House" in one.get("content", "")]
        assert len(houses) == len(set(houses)) == number


def test_a_dream_that_was_cut_off_is_done_once(tmp_path: Path):
    chance = Random(21)
    for point in range(_POINTS):
        key = {"Idempotency-Key": f"night-{point}"}
        with serving_process(tmp_path, data=tmp_path / "data") as server, server.client() as client:
            for number in range(40):
                house = {"content": f"House {point}.{number} has a garden", "category": "houses"}
                client.post(MEMORIES, json=house)
            killing = _kill_soon(server, chance.uniform(0, 0.12))
            known = None
            with suppress(httpx2.TransportError):
                known = client.post(RUNS, json={}, headers=key).json()["run_id"]
                with client.stream("GET", f"{RUNS}/{known}/events") as stream:
                    list(stream.iter_lines())
            killing.join()
            server.process.wait(30)
        with serving_process(tmp_path, data=tmp_path / "data") as server, server.client() as client:
            found = _begun_or_resumed(client, key)
            assert known in {None, found}
            listed = [run["run_id"] for run in client.get(RUNS, params={"limit": 500}).json()["runs"]]
            assert len(listed) == len(set(listed)) == point + 1


def _begun_or_resumed(client: httpx2.Client, key: dict[str, str]) -> str:
    """Ask with the key until the dream is over, as a client does that got no answer, and return its id."""
    while True:
        answer = client.post(RUNS, json={}, headers=key)
        assert answer.status_code in {202, 409}, answer.text
        if answer.status_code == 202 and client.get(answer.headers["Location"]).json()["state"] == "finished":
            return answer.json()["run_id"]
        time.sleep(0.05)


async def test_a_dream_that_a_stop_of_the_server_breaks_off_is_asked_for_so_that_the_next_one_goes_on_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    async def endless(_pass: ExactFold, _context: DreamContext) -> Proposal:
        await asyncio.Event().wait()
        raise AssertionError

    monkeypatch.setattr(ExactFold, "propose", endless)
    async with served(tmp_path) as server:
        for category in "ab":
            await server.client.post(MEMORIES, json=_BODY | {"category": category})
        run_id = (await server.client.post(RUNS, json={})).json()["run_id"]
    async with AgentHostBuilder(tmp_path).with_memory().with_dreaming(in_background=False).build() as host:
        status = await host.dreams.status()
        assert (status.interrupted, status.schedule.reason) == (run_id, "manual")


def test_a_dream_that_was_cut_off_while_it_was_watched_is_done_once(tmp_path: Path):
    lines = [
        orjson.dumps({"content": f"House {number // 2} has a garden", "category": f"c{number % 2}"})
        for number in range(3_000)
    ]
    key = {"Idempotency-Key": "monday"}
    with serving_process(tmp_path) as server, server.client() as client:
        client.post("/api/v1/import", params={"format": "memory-jsonl"}, content=b"\n".join(lines))
        run_id = client.post(RUNS, json={}, headers=key).json()["run_id"]
        with suppress(httpx2.TransportError), client.stream("GET", f"{RUNS}/{run_id}/events") as stream:
            events = stream.iter_lines()
            next(events)
            server.process.kill()
            list(events)
        server.process.wait(30)
    with serving_process(tmp_path) as server, server.client() as client:
        again = client.post(RUNS, json={}, headers=key)
        assert again.json()["run_id"] == run_id
        assert _begun_or_resumed(client, key) == run_id
        run = client.get(f"{RUNS}/{run_id}").json()
        assert run["resumed"] or run["outcome"] in {"completed", "unchanged"}
        dreams = [one for one in client.get(RUNS).json()["runs"] if one["kind"] == "dream"]
        assert [one["run_id"] for one in dreams].count(run_id) == 1
