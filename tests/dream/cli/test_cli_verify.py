"""verify: judges what is stored and unverified."""

import asyncio
from datetime import UTC, datetime
from itertools import repeat

import pytest
from commandline import CommandLine, Told

from agentcore.clock import SystemClock
from agentcore.domain import MemoryEntry, Scope, SourceKind, SourceRef, Turn
from agentcore.stores.sql import SqlStorage
from agentcore.testing import ChatServer

NOW = datetime(2025, 5, 1, tzinfo=UTC)


def _stored(cli: CommandLine, content: str, said: str) -> None:
    """Store an entry with the turn that it names."""

    async def work() -> None:
        storage = SqlStorage(cli.database, clock=SystemClock())
        await storage.start()
        scope, at = Scope.default(), {"occurred_at": NOW, "recorded_at": NOW}
        turn = Turn(id="t" * 32, scope=scope, session_id="s", role="user", speaker="Ana", content=said, **at)
        entry = MemoryEntry(
            id="e" * 32,
            scope=scope,
            content=content,
            sources=(SourceRef(SourceKind.TURN, turn.id),),
            created_at=NOW,
            recorded_at=NOW,
            last_seen_at=NOW,
        )
        await storage.write(scope, lambda unit: (unit.turns.add([turn]), unit.entries.add([entry])))
        await storage.stop()

    asyncio.run(work())


def test_what_words_prove_is_verified_without_a_model_and_undone(cli: CommandLine):
    cli("remember", "Bo sails on Sundays")
    _stored(cli, "Green tea is what I drink now.", "I have given up coffee. Green tea is what I drink now.")
    before = cli("export").out
    done = cli("--json", "verify", "--existing").document
    (one,) = done["passes"]
    assert (one["notes"]["proven"], one["calls"]) == (1, 0)
    assert "Green tea is what I drink now." in cli("why", "e" * 32).out
    cli("undo", done["run_id"])
    assert cli("export").out == before


def test_the_forecast_asks_nobody(cli: CommandLine):
    cli("remember", "Bo sails on Sundays")
    _stored(cli, "Ana gave coffee up.", "No coffee for me any more.")
    told = cli("verify", "--existing", "--forecast")
    assert (told.code, "nobody was asked" in told.out) == (0, True)
    (one,) = cli("--json", "verify", "--existing", "--forecast").document["passes"]
    assert (one["calls"], one["backlog"]) == (1, 0)


def test_it_says_what_it_needs(cli: CommandLine):
    assert "--existing" in cli("verify").complaint
    assert "give 0 tokens or more" in cli("verify", "--existing", "--budget", "-1").complaint


async def _examined(cli: CommandLine, monkeypatch: pytest.MonkeyPatch, answer: str) -> tuple[Told, ChatServer]:
    cli.make_folder()
    async with ChatServer(repeat(answer)) as server:
        monkeypatch.setenv("AGENTCORE_MODEL", "tiny")
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        told = await asyncio.to_thread(cli, "--json", "doctor", "--model")
    return told, server


async def test_the_doctor_tells_the_cost_and_finds_what_the_model_is_good_for(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
):
    told, server = await _examined(cli, monkeypatch, "I would rather not.")
    assert (told.code, "asked six times at most" in told.err.splitlines()[0]) == (1, True)
    found = {one["subject"]: one["verdict"] for one in told.document["findings"]}
    assert (found["model json"], found["model context"]) == ("wrong", "wrong")
    assert (told.document["model"]["mode"], told.document["model"]["calls"]) == ("strict", server.calls)


def test_the_doctor_asks_no_model_where_none_is_configured(cli: CommandLine):
    cli.make_folder()
    told = cli("doctor", "--model")
    assert (told.code, "No model is configured" in told.err) == (2, True)
