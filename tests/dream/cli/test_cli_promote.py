"""promote, and what the doctor says of it."""

import asyncio
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from commandline import CommandLine

from agentcore.clock import SystemClock
from agentcore.domain import RecallHit, Scope
from agentcore.stores.sql import SqlStorage

NOW = datetime.now(UTC)


def _need(cli: CommandLine, *wanted: tuple[str, int]) -> None:
    """Have entries recalled so often, each time by another of two queries and a day apart."""

    async def work() -> None:
        storage = SqlStorage(cli.database, clock=SystemClock())
        await storage.start()
        hits = [
            RecallHit(
                entry_id=entry, query=f"q{n % 2}", score=1.0, rank=1, recalled_at=NOW - timedelta(days=n, minutes=1)
            )
            for entry, times in wanted
            for n in range(times)
        ]
        await storage.write(Scope.default(), lambda unit: unit.recall_hits.append(hits))
        await storage.stop()

    asyncio.run(work())


def test_promotion_is_explained_made_and_told_of(cli: CommandLine, tmp_path: Path):
    ana = cli("--json", "remember", "Ana keeps bees").document["id"]
    bo = cli("--json", "remember", "Bo sails on Sundays").document["id"]
    assert "no entry was recalled yet" in cli("doctor").out
    _need(cli, (ana, 2), (bo, 1))
    doctor = cli("doctor")
    assert doctor.code == 0
    assert "min_recall_count 3 (the most is 2)" in " ".join(doctor.out.split())
    _need(cli, (ana, 4))
    folder = tmp_path / "workspace"
    folder.mkdir()
    told = cli("--workspace", folder, "promote", "--explain")
    assert "the next sweep promotes it" in told.out
    assert "not yet: min_recall_count, min_unique_queries" in told.out
    explained = cli("--workspace", folder, "--json", "promote", bo[:8], "--explain").document
    (one,) = explained["candidates"]
    assert [gate["gate"] for gate in one["gates"] if not gate["met"]] == ["min_recall_count", "min_unique_queries"]
    assert set(one["components"]) == {"frequency", "relevance", "recency", "diversity", "consolidation"}
    assert cli("--workspace", folder, "promote").code == 0
    assert "Ana keeps bees _(score=" in (folder / "MEMORY.md").read_text()
    assert "promoted on" in cli("promote", ana, "--explain").out
    status = cli("--json", "status").document
    assert status["last_dream_at"] == status["last_run"]["finished_at"]
    run = cli("--json", "runs").document["runs"][0]["run_id"]
    assert cli("--workspace", folder, "undo", run).code == 0
    assert not (folder / "MEMORY.md").exists()


def test_a_full_memory_is_told_before_anything_is_promoted(cli: CommandLine, tmp_path: Path):
    folder = tmp_path / "workspace"
    folder.mkdir()
    (folder / "MEMORY.md").write_text("- " + "Bo wrote this himself and wants to keep it. " * 600 + "\n")
    ana = cli.json("remember", "Ana keeps bees")["id"]
    _need(cli, (ana, 6))
    cli.good("--workspace", folder, "run")
    told = " ".join(cli.good("--workspace", folder, "promote", "--explain").split())
    assert "1 entry waits for room in MEMORY.md: it has 26,4" in told
    assert "the next sweep promotes it" not in told
    doctor = " ".join(cli.good("--workspace", folder, "doctor").split())
    assert "1 entry waits for room in MEMORY.md" in doctor
    assert "raise documents.size_cap" in doctor


def test_a_mistake_is_told_in_a_sentence(cli: CommandLine, tmp_path: Path):
    ana = cli("--json", "remember", "Ana keeps bees").document["id"]
    assert "--explain" in cli("promote", ana).complaint
    assert "does not exist; create it first" in cli("--workspace", tmp_path / "missing", "run").complaint


def test_promotion_needs_a_workspace_and_the_doctor_says_what_is_wrong_with_one(cli: CommandLine, tmp_path: Path):
    cli.good("remember", "Ana keeps bees")
    refused = cli("promote")
    assert (refused.code, refused.complaint[:25]) == (2, "The workspace is missing:")
    assert "writable, with MEMORY.md" not in cli("--workspace", tmp_path, "doctor").out
    (tmp_path / "MEMORY.md").write_text("- tea\n")
    assert "writable, with MEMORY.md" in cli("--workspace", tmp_path, "doctor").out
    (tmp_path / "MEMORY.md").write_bytes(b"\xff")
    sick = cli("--workspace", tmp_path, "doctor")
    assert (sick.code, "byte 1 is not UTF-8; save it as UTF-8" in " ".join(sick.out.split())) == (1, True)


def test_a_run_says_in_words_why_it_made_no_commit(cli: CommandLine, tmp_path: Path):
    pytest.importorskip("dulwich")
    _need(cli, (cli.json("remember", "Ana keeps bees")["id"], 4))
    folder = tmp_path / "workspace"
    (folder / ".git").mkdir(parents=True)
    git = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "x"], ["checkout", "-q", "--detach"]):
        subprocess.run([*git, *words], check=True)
    told = " ".join(cli.good("--workspace", folder, "promote").split())
    assert "not committed: no branch is checked out; the next commit takes it along (git_detached_head)" in told
