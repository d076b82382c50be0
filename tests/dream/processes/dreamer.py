"""A fork server: answers each line of JSON on stdin by work in a process of its own, killed as early as it is told.

What is forked has everything imported already, so that a process lives for its work alone.
"""

import asyncio
import gc
import itertools
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import orjson
from dreaming import DAY, NOW, World
from interrupting import WatchedStorage
from sqlalchemy import Engine, event

from agentcore.clock import SystemClock
from agentcore.domain import RecallHit, Scope, Status, Turn
from agentcore.hosting import ActivityRecorder, BusyAnnouncer
from agentcore.ids import RandomIds
from agentcore.llm import ChatOptions, OpenAIChatClient
from agentcore.recall import Recall
from agentcore.stores.sql import FILE_NAME, SqlStorage
from agentcore.stores.sql.stored_prompts import StoredPrompts
from agentcore.testing import ChatServer, ManualClock
from agentcore.workspace import GitUse, Workspaces
from dream.cycle import DreamListeners, DreamService, OutboxFlush, Planner
from dream.cycle.scheduling.scope_runners import ScopeRunners
from dream.domain import RunKind, RunReport
from dream.domain.usage import summed
from dream.interfaces.benchmark import scripted_answer
from dream.options import (
    ConsolidationOptions,
    DreamOptions,
    ModelOptions,
    NearDuplicateOptions,
    SchedulingOptions,
    Threshold,
)
from dream.options.levels import OptionLevels
from dream.stores import dream_stores

Task = dict[str, Any]
Answer = dict[str, Any]
OPTIONS = DreamOptions(step_size=8, near_duplicates=NearDuplicateOptions(max_entries=500))


async def fill(world: World, task: Task) -> Answer:
    """Texts of which most are copies, and old things whose time has come."""
    size = int(task.get("size", 40))
    texts = [f"Fact {n % (size // 4)} about place{n % (size // 4)}" for n in range(size)]
    await world.add(*(world.entry(text, id=f"e{n:05}", created_at=NOW + n * DAY) for n, text in enumerate(texts)))
    old = {"status": Status.ARCHIVED, "status_reason": "old", "status_at": NOW - 100 * DAY}
    await world.add(*(world.entry(f"old {n}", id=f"o{n}", created_at=NOW - 200 * DAY, **old) for n in range(8)))
    said = NOW - 100 * DAY
    turns = [
        Turn(id=f"t{n}", scope=world.scope, session_id="s", role="user", content=f"hi {n}", occurred_at=said,
             recorded_at=said) for n in range(8)
    ]  # fmt: skip
    await world.write(lambda unit: unit.turns.add(turns))
    return {"stored": size}


async def dream(world: World, task: Task) -> Answer:
    """Run a cycle; with `hold`, keep a person's turn open for so many seconds, so that the lease is held meanwhile."""
    if "hold" not in task:
        return (await world.dreams.run()).to_json()
    with world.gate.pending():
        run = asyncio.create_task(world.dreams.run())
        await asyncio.wait([run], timeout=float(task["hold"]))
    return (await run).to_json()


async def dream_slowly(world: World, task: Task) -> Answer:
    """Run a cycle whose steps take a while; tell when each was committed."""
    steps: list[float] = []
    storage = WatchedStorage(world.storage, after=lambda _: steps.append(time.time()))
    run = asyncio.create_task(replace(world, storage=storage).dreams.run())
    while not run.done():
        await asyncio.sleep(0.02)
        async with world.gate.foreground():  # steps wait for it
            await asyncio.sleep(float(task["pause"]))
    return (await run).to_json() | {"steps": steps}


async def watch(world: World, task: Task) -> Answer:
    """Let dreams start by themselves until one has ended or the time is up; with `slowly`, each write takes longer."""
    trigger = Threshold(min_new=1, cooldown=timedelta(0), idle=timedelta(seconds=float(task["idle"])))
    options = world.options.replace(lease=timedelta(seconds=3), schedule=SchedulingOptions(trigger=trigger))
    pause = float(task.get("slowly", 0))
    storage = WatchedStorage(world.storage, before=lambda _: time.sleep(pause))
    parts = replace(world, storage=storage, options=options).parts
    levels = OptionLevels(options)
    told, ended = DreamListeners(parts, levels), asyncio.Event()
    reports: list[RunReport] = []

    def keep(report: RunReport) -> None:
        reports.append(report)
        ended.set()

    told.reports.add(keep)
    runners, planner = ScopeRunners(parts, levels), Planner(levels, world.ids)
    service = DreamService.of_host(parts=parts, runners=runners, planner=planner, watch=told)
    await service.start()
    await asyncio.wait([asyncio.create_task(ended.wait())], timeout=float(task["seconds"]))
    await service.stop()
    return {
        "runs": [
            {
                "started_at": run.started_at.timestamp(),
                "finished_at": None if run.finished_at is None else run.finished_at.timestamp(),
                "outcome": run.outcome,
                "trigger": run.trigger,
                "resumed": run.resumed,
            }
            for run in reports
        ]
    }


async def chat(world: World, task: Task) -> Answer:
    """Say something every so often; tell when the last was said."""
    said = 0.0
    for number in range(int(task["times"])):
        await asyncio.sleep(float(task["every"]))
        now = world.clock.now()
        turn = Turn(id=world.ids.new(), scope=world.scope, session_id="s", role="user", content=f"Hello {number}.",
                    occurred_at=now, recorded_at=now)  # fmt: skip
        await world.write(lambda unit, turn=turn: unit.turns.add([turn]))
        said = now.timestamp()
    return {"said": said}


async def touch(world: World, task: Task) -> Answer:
    """Be active on a channel that stores nothing, without a pause."""
    recorder = ActivityRecorder(storage=world.storage, clock=world.clock)
    await recorder.start()
    end = time.time() + float(task["seconds"])
    while time.time() < end:
        recorder.touch(world.scope)
        await asyncio.sleep(0.002)
    await recorder.stop()
    return {}


async def serve(world: World, task: Task) -> Answer:
    """Serve a person for so many seconds; tell from when to when."""
    announcer = BusyAnnouncer(storage=world.storage, clock=world.clock, gate=world.gate, holder=world.holder)
    await announcer.start()
    async with world.gate.foreground():
        began = time.time()
        await asyncio.sleep(float(task["seconds"]))
    ended = time.time()
    await asyncio.sleep(1)
    await announcer.stop()
    return {"began": began, "ended": ended}


async def storm(world: World, task: Task) -> Answer:
    """Serve many people one after the other, for a moment each; tell how long entering took, and what was written."""
    storage = WatchedStorage(world.storage)
    announcer = BusyAnnouncer(storage=storage, clock=world.clock, gate=world.gate, holder=world.holder)
    await announcer.start()
    took: list[float] = []
    began = time.perf_counter()
    for _ in range(int(task["times"])):
        turn = world.gate.foreground()
        entered = time.perf_counter()
        await turn.__aenter__()
        took.append((time.perf_counter() - entered) * 1_000)
        await asyncio.sleep(0.001)
        await turn.__aexit__(None, None, None)
        await asyncio.sleep(0.001)
    seconds = time.perf_counter() - began
    await announcer.stop()
    return {"milliseconds": took, "writes": storage.writes, "seconds": seconds}


async def undo(world: World, _task: Task) -> Answer:
    """Take back the oldest run."""
    return (await world.dreams.undo((await world.dreams.runs())[-1].run_id)).to_json()


async def remember(world: World, task: Task) -> Answer:
    """Say the same known texts over and over, as a person does; return how long each took, in milliseconds."""
    took: list[float] = []
    for number in range(int(task["times"])):
        began = time.perf_counter()
        await world.memory.remember(task["text"] if number % 2 else f"News number {number}")
        took.append((time.perf_counter() - began) * 1_000)
        await asyncio.sleep(0.005)
    return {"milliseconds": took}


async def look(world: World, _task: Task) -> Answer:
    """Tell whether somebody dreams."""
    return {"held": (await world.dreams.status()).lease is not None}


async def count(world: World, task: Task) -> Answer:
    """Count what is active, and how often one text and all texts were said."""
    active = await world.active()
    return {
        "active": len(active),
        "total": sum(entry.reinforcement_count for entry in active),
        "reinforcements": sum(entry.reinforcement_count for entry in active if entry.content == task["text"]),
    }


async def talk(world: World, task: Task) -> Answer:
    """Conversations in which people tell of themselves, and memories of which every other says nearly the same."""
    sessions = int(task.get("size", 8))
    said = [
        Turn(id=f"t{session:02}{n}", scope=world.scope, session_id=f"s{session}", role="user",
             speaker=f"Person{session}",
             content=f"I moved to house number {session}{n} on Orchard Road because of the garden there.",
             occurred_at=NOW + session * DAY, recorded_at=NOW + session * DAY)
        for session in range(sessions) for n in range(3)
    ]  # fmt: skip
    await world.write(lambda unit: unit.turns.add(said))
    texts = [f"The {kind} of room {n} is kept by the warden in the tower" for n in range(sessions) for kind in _KEPT]
    await world.add(*(world.entry(text, id=f"e{n:03}", created_at=NOW) for n, text in enumerate(texts)))
    return {"turns": len(said), "entries": len(texts)}


_KEPT = ("key", "spare key")


async def think(world: World, task: Task) -> Answer:
    """Run a cycle with the model at an address; with `turns`, a person comes in so often at random instants.

    With `calls_per_day`, one call at a time within that bound.
    """
    client = OpenAIChatClient(ChatOptions(base_url=task["base_url"], model="scripted", retries=0))
    await client.start()
    options = world.options.replace(
        model=ModelOptions(
            prompt_tokens=500,
            calls_in_flight=1 if "calls_per_day" in task else 4,
            calls_per_day=task.get("calls_per_day"),
        ),
        consolidation=ConsolidationOptions(batch_entries=6, share_cap=1.0),
    )
    thinking = replace(world, chat=client, options=options, shares_endpoint="turns" in task)
    async with asyncio.TaskGroup() as group:
        run = group.create_task(thinking.dreams.run())
        chance = random.Random(task.get("seed"))
        for _ in range(int(task.get("turns", 0))):
            await asyncio.sleep(chance.uniform(0.0, 0.04))
            async with world.gate.foreground():
                await asyncio.sleep(chance.uniform(0.0, 0.02))
    await client.stop()
    return run.result().to_json()


async def usage(world: World, _task: Task) -> Answer:
    """What all calls cost."""
    (total,) = summed(await world.dreams.usage())
    return total.to_json()


async def asked(world: World, _task: Task) -> Answer:
    """The prompts of model calls that are on record."""

    def prompts(view: Any) -> list[str]:
        stored = StoredPrompts(view.transaction).all()
        return ["\n".join(text for _, text in messages) for _, messages in stored]

    return {"prompts": await world.storage.read(world.scope, prompts)}


async def essence(world: World, _task: Task) -> Answer:
    """What the memory says and from where, whatever ids a dream gave; and who still has to look at what."""
    entries = await world.entries(*Status)
    names = {entry.id: entry.content for entry in entries}
    known = sorted(
        [entry.content, entry.status.value, entry.own_count,
         sorted([names[other], count] for other, count in entry.absorbed),
         sorted(names.get(source.id, source.id) for source in entry.sources), names.get(entry.successor or "")]
        for entry in entries
    )  # fmt: skip

    def waiting(view: Any) -> dict[str, list[str]]:
        cursors = dream_stores(view).cursors
        return {reader: sorted(names.get(one, one) for one in cursors.pending(reader)) for reader in cursors.readers()}

    return {"known": known, "waiting": await world.storage.read(world.scope, waiting)}


async def need(world: World, task: Task) -> Answer:
    """Remember things, and need each of them four times."""
    _share(Path(task["folder"], "workspace"))
    entries = await world.add(*(world.entry(f"Fact {n} about place{n}", id=f"e{n}") for n in range(4)))
    hits = [
        RecallHit(entry_id=entry.id, query=f"q{n % 3}", score=1.0, rank=1, recalled_at=NOW - n * DAY)
        for entry in entries
        for n in range(4)
    ]
    await world.write(lambda unit: unit.recall_hits.append(hits))
    return {"stored": len(entries)}


def _share(folder: Path) -> None:
    folder.mkdir()
    (folder / "MEMORY.md").write_text("- Bo wrote this himself\r\n", newline="")


async def promote(world: World, task: Task) -> Answer:
    """Open a host with a workspace and promote; a store that has done so is left as it is."""
    folder = Path(task["folder"], "workspace")
    world.workspaces = Workspaces(lambda _: folder, GitUse.INIT)
    await OutboxFlush(world.parts, OptionLevels(world.options)).start()
    if "undone" in task:
        runs = [run for run in await world.dreams.runs() if run.changes and run.kind is RunKind.DREAM]
        await world.dreams.undo(runs[0].run_id)
    else:
        await world.dreams.run(passes=["promotion"])

    def look(view: Any) -> tuple[int, int]:
        books = dream_stores(view)
        return books.promotions.count(), len(books.outbox.waiting())

    promoted, waiting = await world.storage.read(world.scope, look)
    return {"promoted": promoted, "waiting": waiting}


WORK: dict[str, Callable[[World, Task], Awaitable[Answer]]] = {
    "fill": fill,
    "dream": dream,
    "dream_slowly": dream_slowly,
    "watch": watch,
    "chat": chat,
    "touch": touch,
    "serve": serve,
    "storm": storm,
    "undo": undo,
    "remember": remember,
    "look": look,
    "talk": talk,
    "think": think,
    "essence": essence,
    "asked": asked,
    "usage": usage,
    "count": count,
    "need": need,
    "promote": promote,
}


async def perform(task: Task) -> Answer:
    """Open the store in the task's folder, do its work, and write the export where it is asked for."""
    clock: Any = SystemClock() if task.get("real_time") else ManualClock(NOW)
    storage = SqlStorage(task.get("database") or Path(task["folder"]) / FILE_NAME, clock=clock)
    await storage.start()
    recall = Recall(storage)
    await recall.start()
    options = OPTIONS.model_copy(update={"step_size": int(task.get("step_size", OPTIONS.step_size))})
    world = World(storage, recall, clock, ids=RandomIds(), scope=Scope.default(), options=options)
    world.holder = world.ids.new()
    if "at" in task:
        await asyncio.sleep(task["at"] - time.time())
    answer = await WORK[task["work"]](world, task)
    if "export" in task:
        await asyncio.to_thread(Path(task["export"]).write_bytes, await world.export())
        answer["journal"] = await images(world)
    await recall.stop()
    await storage.stop()
    return answer


async def images(world: World) -> list[tuple[str, str, str | None, str | None]]:
    """What the journal says of each record, oldest first."""
    return [(row.operation, row.record_id, row.before, row.after) for row in await world.journal()]


class Doom:
    """Counts statements, and kills the process at one of them."""

    def __init__(self, at: int | None) -> None:
        self._at = at
        self.count = 0

    def begin(self) -> None:
        event.listen(Engine, "before_cursor_execute", lambda *_: self._tick())
        event.listen(Engine, "commit", lambda *_: self._tick())
        sys.addaudithook(self._heard)

    def _heard(self, name: str, told: tuple[Any, ...]) -> None:
        """Count what is done to the files of a workspace, its repository among them."""
        if name in {"open", "os.rename", "os.remove", "os.mkdir"} and "/workspace" in str(told[0]):
            self._tick()

    def _tick(self) -> None:
        self.count += 1
        if self.count == self._at:
            os.kill(os.getpid(), signal.SIGKILL)


def child(task: Task, pipe: int) -> None:
    """Do the work of one task and answer through the pipe; never returns."""
    status = 1
    try:
        doom = Doom(task.get("statement"))
        doom.begin()
        answer = asyncio.run(perform(task)) | {"statements": doom.count}
        os.write(pipe, orjson.dumps(answer))
        status = 0
    except BaseException as error:  # noqa: BLE001 - whatever it was, the parent has to hear of it
        os.write(pipe, orjson.dumps({"error": f"{type(error).__name__}: {error}"}))
    finally:
        os._exit(status)


def read_all(pipe: int) -> bytes:
    parts: list[bytes] = []
    while part := os.read(pipe, 1 << 20):
        parts.append(part)
    os.close(pipe)
    return b"".join(parts)


def begin(task: Task) -> tuple[int, int]:
    """Fork a process for the task; return its id and the pipe it answers through."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        child(task, writing)
    os.close(writing)
    return pid, reading


def finish(pid: int, pipe: int) -> Answer:
    """Wait for the answer and the end of a process."""
    text = read_all(pipe)
    _, status = os.waitpid(pid, 0)
    ended = {"pid": pid, "killed": os.WIFSIGNALED(status)}
    return ended | (orjson.loads(text) if text else {})


def serve() -> None:
    """Answer until stdin ends; a task with `wait` false is answered at once, `join` waits for it, `kill` ends it."""
    running: dict[int, int] = {}
    for line in sys.stdin.buffer:
        task: Task = orjson.loads(line)
        if "join" in task:
            answer = finish(task["join"], running.pop(task["join"]))
        elif "kill" in task:
            os.kill(task["kill"], task.get("by", signal.SIGKILL))
            answer = finish(task["kill"], running.pop(task["kill"]))
        else:
            began = time.perf_counter()
            pid, pipe = begin(task)
            if "after" in task:
                time.sleep(task["after"])
                os.kill(pid, signal.SIGKILL)
            if task.get("wait", True):
                answer = finish(pid, pipe) | {"seconds": time.perf_counter() - began}
            else:
                running[pid] = pipe
                answer = {"pid": pid}
        sys.stdout.buffer.write(orjson.dumps(answer) + b"\n")
        sys.stdout.buffer.flush()


def warm_up() -> None:
    """Do everything once: what is imported only when it is needed is then there before the first fork."""
    with tempfile.TemporaryDirectory() as folder:
        for work in ("fill", "dream", "undo", "need", "promote"):
            asyncio.run(perform({"folder": folder, "work": work, "size": 8}))
        asyncio.run(think_once(Path(folder) / "thinking"))
    gc.collect()
    gc.freeze()  # what is never looked at in a fork is never copied for it


async def think_once(folder: Path) -> None:
    """Have a model asked, as a dream asks it."""
    async with ChatServer(itertools.repeat(lambda request: scripted_answer(request.prompt))) as server:
        task = {"folder": folder, "base_url": server.base_url, "size": 2}
        for work in ("talk", "think", "essence"):
            await perform(task | {"work": work})


if __name__ == "__main__":
    warm_up()
    serve()
