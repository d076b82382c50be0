"""A server whose disk is full, whose database is locked or gone: it says when to come back, nothing is half done."""

import resource
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import httpx2
import pytest
from served import MEMORIES, RUNS, ServedProcess, serving_process

from agentcore.stores.sql import FILE_NAME

_WRITES: tuple[tuple[str, str, str, dict[str, str]], ...] = (
    ("POST", MEMORIES, "content", {}),
    ("POST", "/api/v1/conversations/s/turns", "content", {"role": "user"}),
    ("PUT", "/api/v1/skills/tea", "content", {"summary": "Brew tea"}),
    ("POST", "/api/v1/feedback", "detail", {"session_id": "s", "kind": "correction", "summary": "no"}),
)


def written(client: httpx2.Client, key: str) -> httpx2.Response:
    """Send the write of a key: of which kind it is, and the number of it."""
    kind, _, number = key.partition("-")
    method, path, field, more = _WRITES[int(kind)]
    body = {**more, field: f"Number {number}. " * 5_000}
    return client.request(method, path, json=body, headers={"Idempotency-Key": key})


def stored(client: httpx2.Client) -> list[bytes]:
    """Return the records of the scope, without those lines that tell of the export itself."""
    return client.get("/api/v1/export").content.splitlines()[1:-1]


def filled(client: httpx2.Client) -> dict[str, httpx2.Response]:
    """Write until each kind of write is refused, with keys; return the refusals by key."""
    refused: dict[str, httpx2.Response] = {}
    for kind in range(len(_WRITES)):
        for number in range(300):
            answer = written(client, f"{kind}-{number}")
            if answer.status_code >= 300:
                refused[f"{kind}-{number}"] = answer
                break
    return refused


def check_refusals(server: ServedProcess, client: httpx2.Client, refused: dict[str, httpx2.Response]) -> None:
    assert len(refused) == len(_WRITES)
    for answer in refused.values():
        assert (answer.status_code, answer.json()["code"]) == (507, "storage_unavailable"), answer.text
        assert answer.headers["Retry-After"]
        assert str(server.data) not in answer.text
    assert client.get(f"{MEMORIES}/search", params={"query": "tea"}).status_code == 200
    assert client.post(RUNS, json={}).status_code in {503, 507}


def check_all_is_whole(server: ServedProcess, client: httpx2.Client, before: list[bytes], keys: list[str]) -> None:
    """Find what was stored before, and each refused write carried out once when it is sent again."""
    assert set(before) <= set(stored(client))
    for key in keys:
        for _ in range(2):
            again = written(client, key)
            assert again.status_code in {200, 201}, again.text
        assert again.headers["Idempotency-Replayed"] == "true"
    with sqlite3.connect(server.data / FILE_NAME) as database:
        assert database.execute("pragma integrity_check").fetchall() == [("ok",)]
    assert "Traceback" not in server.log.read_text(encoding="utf-8")


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    """Mount a disk of its own, where this may be done."""
    folder.mkdir()
    mount, umount = shutil.which("mount"), shutil.which("umount")
    if mount is None or umount is None:
        pytest.skip("there is no command to mount a disk with")
    made = subprocess.run(
        [mount, "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], capture_output=True, check=False
    )
    if made.returncode:
        pytest.skip("only root may mount a disk")
    try:
        yield folder
    finally:
        subprocess.run([umount, "-l", folder], check=True)


def test_on_a_full_disk_writes_are_refused_whole_reads_are_answered_and_space_makes_all_well(tmp_path: Path):
    with (
        small_disk(tmp_path / "disk", "6m") as disk,
        serving_process(tmp_path, data=disk / "data") as server,
        server.client() as client,
    ):
        client.post(MEMORIES, json={"content": "Ana likes tea"})
        refused = filled(client)
        before = stored(client)
        check_refusals(server, client, refused)
        assert stored(client) == before
        unready = client.get("/readyz")
        assert (unready.status_code, unready.headers["Retry-After"]) == (503, "2")
        assert unready.text == "not ready: The disk of the server is full: nothing was changed, try again later.\n"
        examined = subprocess.run(
            [sys.executable, "-m", "dream", "--data", server.data, "doctor"],
            capture_output=True,
            text=True,
            check=False,
        )
        told = " ".join(examined.stdout.split())
        assert (examined.returncode, "cannot grow because the disk is full: free some space" in told) == (1, True), told
        subprocess.run(["mount", "-o", "remount,size=64m", disk], check=True)
        assert client.get("/readyz").text == "ready\n"
        check_all_is_whole(server, client, before, list(refused))


def test_a_file_that_may_not_grow_is_told_as_well(tmp_path: Path):
    with serving_process(tmp_path) as server, server.client() as client:
        client.post(MEMORIES, json={"content": "Ana likes tea"})
        before = stored(client)
        limit = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (2_000_000, limit[1]))
        refused = filled(client)
        assert {answer.status_code for answer in refused.values()} <= {503, 507}
        assert all(answer.headers["Retry-After"] for answer in refused.values())
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, limit)
        check_all_is_whole(server, client, before, list(refused))


def test_a_server_whose_database_a_later_version_upgraded_says_so_and_stops(tmp_path: Path):
    with serving_process(tmp_path) as server, server.client() as client:
        client.post(MEMORIES, json={"content": "Ana likes tea"})
        with closing(sqlite3.connect(server.data / FILE_NAME)) as database, database:
            database.execute("UPDATE alembic_version SET version_num = '9999'")
        unready = client.get("/readyz")
        assert (unready.status_code, "A later version upgraded the database" in unready.text) == (503, True)
        client.post("/api/v1/schedule")  # which wakes what looks at the schedules
        assert server.process.wait(30) == 1
    assert "has schema 9999, which this version does not know: upgrade" in server.log.read_text(encoding="utf-8")


def test_a_database_that_another_process_holds_is_told_and_written_when_it_is_free(tmp_path: Path):
    with serving_process(tmp_path) as server, server.client() as client:
        client.post(MEMORIES, json={"content": "Ana likes tea"})
        held = sqlite3.connect(server.data / FILE_NAME, isolation_level=None)
        held.execute("BEGIN IMMEDIATE")
        answer = client.post(MEMORIES, json={"content": "Ben likes tea"}, headers={"Idempotency-Key": "ben"})
        assert (answer.status_code, answer.json()["code"]) == (503, "storage_unavailable")
        assert answer.headers["Retry-After"]
        assert len(client.get(MEMORIES).json()["memories"]) == 1
        held.execute("ROLLBACK")
        held.close()
        again = client.post(MEMORIES, json={"content": "Ben likes tea"}, headers={"Idempotency-Key": "ben"})
        assert again.json()["reinforcement_count"] == 1


def test_a_database_that_was_taken_away_is_told_and_nothing_is_written_to_nowhere(tmp_path: Path):
    with serving_process(tmp_path) as server, server.client() as client:
        client.post(MEMORIES, json={"content": "Ana likes tea"})
        away = tmp_path / "away"
        server.data.rename(away)
        answer = client.post(MEMORIES, json={"content": "Ben likes tea"})
        assert (answer.status_code, answer.json()["code"]) == (503, "storage_unavailable"), answer.text
        assert answer.headers["Retry-After"]
        assert client.get("/readyz").status_code == 503
        assert client.get("/healthz").status_code == 200
        away.rename(server.data)
        assert client.post(MEMORIES, json={"content": "Ben likes tea"}).status_code == 201
        assert client.get("/readyz").status_code == 200
