"""A server that is killed at any instant: the client sends its request again with its key, and finds it done once."""

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
from served import MEMORIES, RUNS, serving_process

_BODY = {"content": "Ana likes green tea", "category": "people/ana"}


@pytest.mark.parametrize("seed", range(3))
def test_a_write_that_was_cut_off_is_done_once(tmp_path: Path, seed: int):
    chance = Random(seed)
    with serving_process(tmp_path) as server, server.client() as client:
        client.get(MEMORIES)

        def kill() -> None:
            time.sleep(chance.uniform(0, 0.03))
            os.kill(server.process.pid, signal.SIGKILL)

        threading.Thread(target=kill).start()
        sent = []
        try:
            for number in range(1_000):
                sent.append(number)
                body = _BODY | {"content": f"House {number} has a garden"}
                client.post(MEMORIES, json=body, headers={"Idempotency-Key": f"house-{number}"})
        except httpx2.TransportError:
            pass
        server.process.wait(30)
    with serving_process(tmp_path) as server, server.client() as client:
        for number in sent:
            body = _BODY | {"content": f"House {number} has a garden"}
            answer = client.post(MEMORIES, json=body, headers={"Idempotency-Key": f"house-{number}"})
            assert answer.status_code == 201
            assert (answer.json()["content"], answer.json()["reinforcement_count"]) == (body["content"], 1)
        assert len(client.get(MEMORIES, params={"limit": 500}).json()["memories"]) == min(len(sent), 500)


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
        while (run := client.get(f"{RUNS}/{run_id}").json())["state"] != "finished":
            assert client.post(RUNS, json={}).status_code in {202, 409}
            time.sleep(0.1)
        assert run["resumed"] or run["outcome"] in {"completed", "unchanged"}
        dreams = [one for one in client.get(RUNS).json()["runs"] if one["kind"] == "dream"]
        assert [one["run_id"] for one in dreams].count(run_id) == 1
