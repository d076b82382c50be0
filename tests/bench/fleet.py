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
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise, repeat
from pathlib import Path
from typing import Any

import orjson
import psycopg

from agentcore import AgentHostBuilder, Scope
from agentcore.testing import ChatServer, ServedRequest
from tests.bench.machine import described
from tests.postgres_server import Server

TO_WORKERS = ("kill -9", "SIGTERM", "SIGSTOP")
FAULTS = (*TO_WORKERS, "connections cut", "server restarted")
_SUBJECT = re.compile(r"Person (p\d+)")
_NEVER = 999.0
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
    worker: Callable[[int], Worker]
    workers: list[Worker] = field(default_factory=list["Worker"])
    started: list[Worker] = field(default_factory=list["Worker"])
    takeovers: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    kills: list[float] = field(default_factory=list[float])
    """When a worker was killed or halted."""
    done: Counter[str] = field(default_factory=Counter[str])

    def start(self) -> None:
        """Start a worker."""
        self.started.append(self.worker(len(self.started) + 1))
        self.workers.append(self.started[-1])

    def rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """Ask the server, which may be restarting."""
        until = time.time() + 20
        while True:
            try:
                with self.server.connect("fleet") as connection:
                    return connection.execute(statement, values).fetchall()
            except psycopg.OperationalError:
                if time.time() > until:
                    raise
            time.sleep(0.1)

    def held_by(self, pid: int) -> dict[int, int]:
        """Return the scopes that a process dreams on, with the tokens of their leases."""
        held = "SELECT scope_id, token FROM agentcore.leases WHERE name = 'dream' AND pid = %s AND expires_at > %s"
        return dict(self.rows(held, pid, int(time.time() * 1e6)))

    async def taken_over(self, kind: str, held: dict[int, int], since: float, *, within: float = 90) -> None:
        """Wait until another worker dreams on each of these scopes, or its dream had ended before."""
        left = dict(held)
        while left and time.time() - since < within:
            await asyncio.sleep(0.25)
            for key, token, is_over in await asyncio.to_thread(self.rows, _STANDING, list(left)):
                if token > left[key] or is_over:
                    self.takeovers[kind].append(time.time() - since)
                    del left[key]
        self.takeovers[kind] += [_NEVER] * len(left)
        for row in await asyncio.to_thread(self.rows, f"{_LEFT} AND s.pk = ANY(%s)", list(left)):
            print(f"  not seen after {kind}:", left[row[0]], *row, f"{time.time():.0f}", flush=True)


async def seed(url: str, scopes: int, tenants: int) -> None:
    """Have two memories in each scope, and no dream yet."""
    async with AgentHostBuilder(None, database=url).with_memory().build() as host:
        for number in range(scopes):
            memory = host.for_scope(Scope(f"tenant{number % tenants}", "agent", f"p{number}")).memory
            await memory.remember(f"Person p{number} likes green tea from Porto")
            await memory.remember(f"Person p{number} works as a carpenter in Braga")


async def refresh(url: str, scopes: int, tenants: int, until: float) -> int:
    """Tell a few scopes something new every second, so that dreams stay due."""
    told = 0
    async with AgentHostBuilder(None, database=url).with_memory().build() as host:
        while time.time() < until:
            number = random.randrange(scopes)
            try:
                scope = Scope(f"tenant{number % tenants}", "agent", f"p{number}")
                await host.for_scope(scope).memory.remember(f"Person p{number} saw film number {told}")
                told += 1
            except Exception as error:  # noqa: BLE001 - the server is restarted meanwhile
                print(f"  not remembered: {type(error).__name__}", flush=True)
            await asyncio.sleep(0.2)
    return told


async def attacked(fire: Fire, until: float, given: argparse.Namespace) -> None:
    """Do one thing after the other to the fleet until the time is over, each when the one before is got over."""
    place = 0
    async with asyncio.TaskGroup() as group:
        while time.time() < until:
            await asyncio.sleep(given.pause)
            kind = given.faults[place % len(given.faults)]
            of = [(await asyncio.to_thread(fire.held_by, one.process.pid), one) for one in fire.workers]
            held, victim = max(of, key=lambda one: len(one[0]))
            if not held and kind in TO_WORKERS:
                continue
            place += 1
            fire.done[kind] += 1
            print(f"  {kind}: worker {victim.number} with {len(held)} dreams at {time.time():.2f}", flush=True)
            got_over = group.create_task(_done_to(fire, kind, victim, held))
            if not given.side_by_side:
                await got_over


async def _done_to(fire: Fire, kind: str, victim: Worker, held: dict[int, int]) -> None:
    """Do one thing to a worker, or to the server, and return when its dreams are gone on with."""
    now = time.time()
    if kind == "connections cut":
        await asyncio.to_thread(fire.rows, _CUT)
        return
    if kind == "server restarted":
        await asyncio.to_thread(fire.server.stop)
        await asyncio.to_thread(fire.server.start)
        return
    fire.workers.remove(victim)
    victim.process.send_signal({"kill -9": signal.SIGKILL, "SIGTERM": signal.SIGTERM, "SIGSTOP": signal.SIGSTOP}[kind])
    if kind == "SIGSTOP":
        fire.kills.append(now)
        await fire.taken_over(kind, held, now)
        victim.process.send_signal(signal.SIGCONT)
        fire.workers.append(victim)
        return
    if kind == "kill -9":
        fire.kills.append(now)
    else:
        fire.takeovers["SIGTERM: stopped after"].append(await asyncio.to_thread(_ended_within, victim.process, 30))
    fire.start()
    await fire.taken_over(kind, held, now)


def _ended_within(process: "subprocess.Popen[bytes]", seconds: float) -> float:
    began = time.time()
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return _NEVER
    return time.time() - began


async def settled(fire: Fire, model: Model, *, within: float) -> int:
    """Wait until nothing is due any more; return how many scopes still are."""
    until, left = time.time() + within, 1
    while time.time() < until:
        await asyncio.sleep(1)
        left = len(fire.rows(_UNDREAMT))
        if not left and not model.calls - sum(map(len, model.answered.values())):
            break
    return left


_STANDING = """
SELECT l.scope_id, l.token, NOT (d.state::json->>'is_running')::bool AND d.due_at > extract(epoch FROM now()) * 1e6
  AND NOT EXISTS (
  SELECT 1 FROM agentcore.runs r WHERE r.scope_id = l.scope_id AND NOT r.finished)
FROM agentcore.leases l JOIN agentcore.schedules d USING (scope_id) WHERE l.name = 'dream' AND l.scope_id = ANY(%s)
"""
_LEFT = """
SELECT s.pk, s.observed, d.due_at, d.reason, d.offered_until, d.state, l.token, l.expires_at,
  (SELECT string_agg(r.outcome || r.finished, ' ') FROM agentcore.runs r WHERE r.scope_id = s.pk)
FROM agentcore.scopes s LEFT JOIN agentcore.schedules d ON d.scope_id = s.pk
LEFT JOIN agentcore.leases l ON l.scope_id = s.pk
WHERE s.workspace LIKE 'tenant%%'
"""
_UNDREAMT = f"""
{_LEFT} AND (NOT EXISTS (
  SELECT 1 FROM agentcore.runs r WHERE r.scope_id = s.pk AND r.finished AND r.outcome <> 'deferred')
  OR EXISTS (
    SELECT 1 FROM agentcore.schedules d WHERE d.scope_id = s.pk AND d.due_at < extract(epoch FROM now()) * 1e6))
"""
_STORED = """
SELECT s.observed, c.answered_at::float8 / 1e6 FROM agentcore.model_calls c JOIN agentcore.scopes s ON s.pk = c.scope_id
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


def paid_twice(model: Model, kills: list[float], *, stored_within: float) -> tuple[int, list[str]]:
    """Return how many answers were given to a question that had one, and those that no kill or halt explains.

    One explains it that came while the first answer was being made, so that nobody heard it, or so soon after it that
    it was not stored. A database that goes away explains none: the answer is kept until it is back.
    """
    again = [(asked, pair) for asked, times in model.answered.items() for pair in pairwise(times)]
    unexplained = [
        f"{_SUBJECT.findall(asked)[:1]} {began:.2f}-{ended:.2f}, again {since:.2f}-{until:.2f}"
        for asked, ((began, ended), (since, until)) in again
        if not any(began <= at <= ended + stored_within for at in kills)
    ]
    return len(again), unexplained


def stored_after(model: Model, stored: list[tuple[str, float]]) -> dict[str, float]:
    """Return how many milliseconds after an answer was given the transaction began that stored it."""
    at = defaultdict[str, list[float]](list)
    for name, second in stored:
        at[name].append(second)
    waits: list[float] = []
    for asked, times in model.answered.items():
        for _, ended in times:
            later = [one - ended for one in at[_SUBJECT.findall(asked)[0]] if one >= ended]
            waits += [1_000 * min(later)] if later else []
    ordered = sorted(waits) or [0.0]
    return {f"{share:.0%}": round(ordered[int(share * (len(ordered) - 1))]) for share in (0.5, 0.9, 0.99, 1)}


async def main(given: argparse.Namespace) -> dict[str, Any]:
    folder = _folder()
    server = Server(folder / "server", fsync="on", synchronous_commit="on", autovacuum="on", full_page_writes="on")
    server.create()
    server.start()
    url = server.database("fleet")
    data = folder / "data"
    data.mkdir()
    (data / "agentcore.toml").write_text(_OPTIONS.format(seconds=given.every))
    model = Model(given.answer_seconds)
    chat = ChatServer(repeat(model.answer))
    fire = Fire(server, lambda number: Worker(url, data, chat.base_url, given.at_once, number))
    try:
        await seed(url, given.scopes, given.tenants)
        print(f"{given.scopes:,} scopes of {given.tenants} tenants; {described()}", flush=True)
        async with chat:
            for _ in range(given.workers):
                fire.start()
            while not model.calls:
                await asyncio.sleep(0.1)
            until = time.time() + given.seconds
            told, _ = await asyncio.gather(
                refresh(url, given.scopes, given.tenants, until), attacked(fire, until, given)
            )
            left = await settled(fire, model, within=given.settles_within)
            for row in fire.rows(_UNDREAMT) if left else ():
                print("  left:", *row, flush=True)
            for one in fire.workers:
                one.process.terminate()
            stops = [await asyncio.to_thread(_ended_within, one.process, 30) for one in fire.workers]
        again, unexplained = paid_twice(model, fire.kills, stored_within=given.stored_within)
        for one in unexplained:
            print("  paid twice:", one, flush=True)
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
            "answers paid twice": len(unexplained),
            "answers stored after, ms": stored_after(model, fire.rows(_STORED)),
            "stops": stops,
            "takeovers": {kind: _summary(times) for kind, times in sorted(fire.takeovers.items())},
        }
    finally:
        for one in fire.started:
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
    return {
        "count": len(times),
        **{f"{share:.0%}": round(ordered[int(share * (len(ordered) - 1))], 1) for share in (0.5, 0.9, 1)},
        "not seen": sum(one >= _NEVER for one in times),
    }


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
    parser.add_argument("--pause", type=float, default=4, help="seconds before each fault")
    parser.add_argument("--side-by-side", action="store_true", help="wait for no fault to be got over")
    parser.add_argument("--stored-within", type=float, default=0.1, help="seconds in which a kill may cost an answer")
    parser.add_argument("--keep", action="store_true")
    return parser.parse_args(told)


if __name__ == "__main__":
    print(orjson.dumps(asyncio.run(main(arguments())), option=orjson.OPT_INDENT_2).decode())
