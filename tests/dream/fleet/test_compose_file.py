"""The compose file's workers and database, run by its own words: they dream, held back by row-level security."""

import asyncio
import os
import re
import shlex
import signal
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from agentcore import AgentHostBuilder, Scope
from agentcore.stores.sql.engines.row_security import ROLE_VARIABLE
from agentcore.testing.contracts.samples import an_entry
from tests.postgres_server import SCOPED, Server, programs

yaml = pytest.importorskip("yaml")
pytest.importorskip("pgqueuer")
ROOT = Path(__file__).parents[3]
AT_ONCE = '[dreaming.schedule]\ntrigger = { kind = "interval", every = "PT60S", initial_delay = "PT0S" }\n'
SCOPES = [Scope("acme", "agent", "ana"), Scope("other", "agent", "ben")]
IS_OVER = "SELECT count(DISTINCT scope_id) FROM agentcore.runs WHERE finished AND outcome = 'completed'"


def environment_of(service: dict[str, Any], **given: str) -> dict[str, str]:
    """What compose sets for a service, its variables filled in, where *given* says nothing else."""
    told = dict(one.partition("=")[::2] for one in service["environment"])
    assert given.keys() <= told.keys()
    return {**{name: value for name, value in told.items() if value}, **given}


async def said(*command: str | Path, **environment: str) -> bytes:
    """What a command that succeeds prints."""
    both = {**os.environ, **environment}
    running = await asyncio.create_subprocess_exec(*command, env=both, stdout=subprocess.PIPE)
    printed, _ = await running.communicate()
    assert running.returncode == 0
    return printed


@pytest.mark.slow
async def test_the_workers_of_the_compose_file_dream_within_a_role_and_stop_in_its_grace_period(
    postgres_server: Server, new_postgres: Callable[[], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    services = yaml.safe_load((ROOT / "docs/deploy/compose.yaml").read_text())["services"]
    worker, database = services["worker"], services["database"]
    ready = database["healthcheck"]["test"][1:]
    assert await said(programs() / ready[0], *ready[1:], "-h", str(postgres_server.folder))
    shell, _, command = shlex.split(worker["command"])
    install, start = command.split(" && ")
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert re.findall(r"\[(\w+)\]", install)[0] in extras

    url = new_postgres()
    monkeypatch.setenv(ROLE_VARIABLE, SCOPED)
    async with AgentHostBuilder(None, database=url).with_memory().build() as host:
        for scope in SCOPES:
            twice = [an_entry(f"{scope.observed}{number}", scope=scope, content="Likes tea") for number in range(2)]
            await host.storage.write(scope, lambda unit: unit.entries.add(twice))  # noqa: B023 - awaited
    (tmp_path / "agentcore.toml").write_text(AT_ONCE)
    key = os.urandom(32).hex()
    told = environment_of(worker, AGENTCORE_DATABASE=url, AGENTCORE_DATA=str(tmp_path), AGENTCORE_FORGET_KEY=key)
    running = [
        await asyncio.create_subprocess_exec(shell, "-c", start, env={**os.environ, **told}, stdout=subprocess.PIPE)
        for _ in range(worker["deploy"]["replicas"])
    ]
    with postgres_server.connect(url.partition("@/")[2].partition("?")[0]) as connection:
        async with asyncio.timeout(120):
            while connection.execute(IS_OVER).fetchone() != (len(SCOPES),):
                await asyncio.sleep(0.1)
    assert len(orjson.loads(await said("dream", "--json", "fleet", **told))["workers"]) == len(running)
    async with asyncio.timeout(int(worker["stop_grace_period"].removesuffix("s"))):
        for one in running:
            one.send_signal(signal.SIGTERM)
        assert [await one.wait() for one in running] == [0] * len(running)
