"""A fleet under fire: real workers, a real PostgreSQL, a scripted model, and everything that can go wrong with them.

`python -m tests.bench.fleet` runs 3 workers over 2,000 scopes for 30 minutes; `--seconds 60 --scopes 60` a slice of it.
Workers are killed, asked to stop, and halted until others took their dreams over; the server is restarted, and
connections are cut. Afterwards it counts: steps that were taken twice, due dreams that never came, and answers that
were paid for twice.
"""

import argparse
import asyncio
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, repeat
from pathlib import Path
from typing import Any

import orjson

from agentcore import AgentHostBuilder, Scope
from agentcore.testing import ChatServer, ServedRequest
from tests.bench.machine import described
from tests.postgres_server import Server

FAULTS = ("kill -9", "SIGTERM", "SIGSTOP", "connections cut", "server restarted")
_NOTHING = '{"toDelete": [], "toSave": []}'
_OPTIONS = """
[dreaming]
modes = {{ "*" = "off", "memory-consolidation" = "apply" }}

[dreaming.schedule]
trigger = {{ kind = "interval", every = "PT{seconds}S", initial_delay = "PT0S" }}
"""


@dataclass
class Model:
    """A model that takes its time, and counts what each scope asked and was answered."""

    seconds: float
    answered: dict[str, list[tuple[float, float]]] = field(default_factory=lambda: defaultdict(list))
    calls: int = 0

    async def answer(self, request: ServedRequest) -> str:
        self.calls += 1
        began = time.time()
        await asyncio.sleep(self.seconds * random.uniform(0.5, 1.5))
        self.answered[request.prompt].append((began, time.time()))
        return _NOTHING


class Worker:
    """One process of `dream work`."""

    def __init__(self, url: str, folder: Path, model: str, at_once: int, number: int) -> None:
        environment = {**os.environ, "AGENTCORE_MODEL": "scripted", "OPENAI_BASE_URL": model, "OPENAI_API_KEY": "none"}
        command = [sys.executable, "-m", "dream", "--data", str(folder), "work", "--database", url]
        self.log = folder / f"worker-{number}.log"
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*command, "--at-once", str(at_once)], env=environment, stdout=log, stderr=log
            )
        self.number = number

    def is_gone(self) -> bool:
        return self.process.poll() is not None


@dataclass
class Fire:
    """What was done to the fleet, and how long each dream that was hit took to be gone on with."""

    server: Server
    url: str
    takeovers: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    kills: list[tuple[float, float]] = field(default_factory=list[tuple[float, float]])
    done: Counter[str] = field(default_factory=Counter[str])

    def rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        with self.server.connect("fleet") as connection:
            return connection.execute(statement, values).fetchall()

    def held_by(self, pid: int) -> dict[int, tuple[int, int | None]]:
        """Return the scopes that a process dreams on, with the tokens of their leases and when they are due."""
        found = self.rows(f"{_LEASES} AND pid = %s AND expires_at > %s", pid, int(time.time() * 1e6))
        return {key: (token, due) for key, token, due in found}

    async def taken_over(
        self, kind: str, held: dict[int, tuple[int, int | None]], since: float, *, within: float = 90
    ) -> None:
        """Wait until another worker took each of these scopes up: it dreams there, or decided when to."""
        left = dict(held)
        while left and time.time() - since < within:
            await asyncio.sleep(0.25)
            for key, token, due in await asyncio.to_thread(self.rows, f"{_LEASES} AND scope_id = ANY(%s)", list(left)):
                if token > left[key][0] or due != left[key][1]:
                    self.takeovers[kind].append(time.time() - since)
                    del left[key]
        self.takeovers[kind] += [999.0] * len(left)


async def seed(url: str, scopes: int, tenants: int) -> None:
    """Have two memories in each scope, and no dream yet."""
    async with AgentHostBuilder(None, database=url).with_memory().build() as host:
        for number in range(scopes):
            memory = host.for_scope(Scope(f"tenant{number % tenants}", "agent", f"p{number}")).memory
            await memory.remember(f"Person {number} likes green tea from Porto")
            await memory.remember(f"Person {number} works as a carpenter in Braga")


async def refresh(url: str, scopes: int, tenants: int, until: float) -> int:
    """Tell a few scopes something new every second, so that dreams stay due."""
    told = 0
    async with AgentHostBuilder(None, database=url).with_memory().build() as host:
        while time.time() < until:
            number = random.randrange(scopes)
            try:
                scope = Scope(f"tenant{number % tenants}", "agent", f"p{number}")
                await host.for_scope(scope).memory.remember(f"Person {number} saw film number {told}")
                told += 1
            except Exception as error:  # noqa: BLE001 - the server is restarted meanwhile
                print(f"  not remembered: {type(error).__name__}", flush=True)
            await asyncio.sleep(0.2)
    return told


async def attacked(
    fire: Fire, workers: list[Worker], start: Callable[[], Worker], until: float, kinds: Sequence[str]
) -> None:
    """Do one thing after the other to the fleet until the time is over."""
    place = 0
    while time.time() < until:
        await asyncio.sleep(4)
        kind = kinds[place % len(kinds)]
        of = [(await asyncio.to_thread(fire.held_by, one.process.pid), one) for one in workers]
        held, victim = max(of, key=lambda one: len(one[0]))
        if not held:
            continue
        place += 1
        now = time.time()
        fire.done[kind] += 1
        print(f"  {kind}: worker {victim.number} with {len(held)} dreams", flush=True)
        if kind == "kill -9":
            victim.process.kill()
            fire.kills.append((now, 0.1))
        elif kind == "SIGTERM":
            victim.process.terminate()
        elif kind == "SIGSTOP":
            victim.process.send_signal(signal.SIGSTOP)
            fire.kills.append((now, 0.1))
        elif kind == "connections cut":
            await asyncio.to_thread(fire.rows, _CUT)
            fire.kills.append((now, 1.0))
            continue
        else:
            await asyncio.to_thread(fire.server.stop)
            await asyncio.to_thread(fire.server.start)
            fire.kills += [(now, 1.0), (time.time(), 1.0)]
            continue
        if kind == "SIGTERM":
            stopped = await asyncio.to_thread(_ended_within, victim.process, 30)
            fire.takeovers["SIGTERM: stopped after"].append(stopped)
        await fire.taken_over(kind, held, now)
        if kind == "SIGSTOP":
            victim.process.send_signal(signal.SIGCONT)
        else:
            workers.remove(victim)
            workers.append(start())


def _ended_within(process: "subprocess.Popen[bytes]", seconds: float) -> float:
    began = time.time()
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return 999.0
    return time.time() - began


async def settled(fire: Fire, model: Model, *, within: float) -> int:
    """Wait until nothing is due any more; return how many scopes still are."""
    until, left = time.time() + within, 1
    while time.time() < until:
        await asyncio.sleep(1)
        left = fire.rows(_UNDREAMT)[0][0]
        if not left and not model.calls - sum(map(len, model.answered.values())):
            break
    return int(left)


_LEASES = """
SELECT scope_id, token, due_at FROM agentcore.leases JOIN agentcore.schedules USING (scope_id) WHERE name = 'dream'
"""
_UNDREAMT = """
SELECT count(*) FROM agentcore.scopes s WHERE s.workspace LIKE 'tenant%%' AND (
  NOT EXISTS (SELECT 1 FROM agentcore.runs r WHERE r.scope_id = s.pk AND r.finished AND r.outcome <> 'deferred')
  OR EXISTS (
    SELECT 1 FROM agentcore.schedules d WHERE d.scope_id = s.pk AND d.due_at < extract(epoch FROM now()) * 1e6))
"""
_LEFT = """
SELECT s.observed, d.due_at, d.reason, d.offered_until, d.state, l.token, l.expires_at,
  (SELECT string_agg(r.outcome || r.finished, ' ') FROM agentcore.runs r WHERE r.scope_id = s.pk)
FROM agentcore.scopes s LEFT JOIN agentcore.schedules d ON d.scope_id = s.pk
LEFT JOIN agentcore.leases l ON l.scope_id = s.pk
WHERE s.workspace LIKE 'tenant%%' AND (NOT EXISTS (
  SELECT 1 FROM agentcore.runs r WHERE r.scope_id = s.pk AND r.finished AND r.outcome <> 'deferred')
  OR d.due_at < extract(epoch FROM now()) * 1e6)
"""
_CUT = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'fleet' AND pid <> pg_backend_pid()
"""
_TWICE = """
SELECT count(*) FROM (
  SELECT scope_id, run_id, pass_name, batch FROM agentcore.steps GROUP BY 1, 2, 3, 4, cursor_before
  HAVING count(*) > 1 AND min(cursor_before) IS NOT NULL) t
"""
_OVERLAPS = """
SELECT count(*) FROM agentcore.model_calls a JOIN agentcore.model_calls b
ON a.scope_id = b.scope_id AND a.run_id = b.run_id AND a.pass_name = b.pass_name AND a.batch_key = b.batch_key
AND a.attempt = b.attempt AND a.pk < b.pk
"""


def paid_twice(model: Model, kills: list[tuple[float, float]]) -> tuple[int, int]:
    """Return how many answers were given to a question that had one, and how many of these no fault explains.

    A fault explains it that came while the first answer was being made, so that nobody heard it, or within 100 ms after
    it, before it was stored; where the database itself was away, within a second.
    """
    again = [pair for times in model.answered.values() for pair in pairwise(times)]
    explained = sum(any(began <= at <= ended + most for at, most in kills) for (began, ended), _ in again)
    return len(again), len(again) - explained


async def main(given: argparse.Namespace) -> dict[str, Any]:
    folder = _folder()
    server = Server(folder / "server", fsync="on", synchronous_commit="on", autovacuum="on", full_page_writes="on")
    server.create()
    server.start()
    url = server.database("fleet")
    data = folder / "data"
    data.mkdir()
    (data / "agentcore.toml").write_text(_OPTIONS.format(seconds=given.every))
    model, fire = Model(given.answer_seconds), Fire(server, url)
    workers: list[Worker] = []
    numbers = iter(range(1, 10_000))
    try:
        await seed(url, given.scopes, given.tenants)
        print(f"{given.scopes:,} scopes of {given.tenants} tenants; {described()}", flush=True)
        async with ChatServer(repeat(model.answer)) as chat:

            def start() -> Worker:
                return Worker(url, data, chat.base_url, given.at_once, next(numbers))

            workers += [start() for _ in range(given.workers)]
            until = time.time() + given.seconds
            told, _ = await asyncio.gather(
                refresh(url, given.scopes, given.tenants, until), attacked(fire, workers, start, until, given.faults)
            )
            left = await settled(fire, model, within=given.settles_within)
            for row in fire.rows(_LEFT) if left else ():
                print("  left:", *row, flush=True)
            for one in workers:
                one.process.terminate()
            stops = [await asyncio.to_thread(_ended_within, one.process, 30) for one in workers]
        again, unexplained = paid_twice(model, fire.kills)
        return {
            "scopes": given.scopes,
            "seconds": given.seconds,
            "dreams": fire.rows("SELECT count(*) FROM agentcore.runs WHERE finished AND outcome <> 'deferred'")[0][0],
            "told": told,
            "calls": model.calls,
            "faults": dict(fire.done),
            "steps taken twice": fire.rows(_TWICE)[0][0] + fire.rows(_OVERLAPS)[0][0],
            "scopes without a dream": left,
            "answers given again": again,
            "answers paid twice": unexplained,
            "stops": stops,
            "takeovers": {kind: _summary(times) for kind, times in sorted(fire.takeovers.items())},
        }
    finally:
        for one in workers:
            if not one.is_gone():
                one.process.send_signal(signal.SIGCONT)
                one.process.kill()
                one.process.wait()
        server.stop()
        if given.keep:
            print(folder)
        else:
            import shutil  # noqa: PLC0415

            shutil.rmtree(folder, ignore_errors=True)


def _folder() -> Path:
    """Make a folder that the user of the server may enter."""
    folder = Path(tempfile.mkdtemp(prefix="agentcore-fleet-"))
    folder.chmod(0o755)
    return folder


def _summary(times: list[float]) -> dict[str, float]:
    ordered = sorted(times) or [0.0]
    return {"count": len(times), "median": round(ordered[len(ordered) // 2], 1), "most": round(ordered[-1], 1)}


def arguments(told: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=1_800)
    parser.add_argument("--scopes", type=int, default=2_000)
    parser.add_argument("--tenants", type=int, default=20)
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--at-once", type=int, default=20)
    parser.add_argument("--every", type=int, default=60, help="seconds between two dreams of a scope")
    parser.add_argument("--answer-seconds", type=float, default=1.0)
    parser.add_argument("--settles-within", type=float, default=180)
    parser.add_argument("--faults", nargs="+", choices=FAULTS, default=FAULTS, help="done one after the other")
    parser.add_argument("--keep", action="store_true")
    return parser.parse_args(told)


if __name__ == "__main__":
    print(orjson.dumps(asyncio.run(main(arguments())), option=orjson.OPT_INDENT_2).decode())
