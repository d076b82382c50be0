"""Memories with something to lose, in which a hostile text is stored or said."""

import itertools
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from dreaming import DAY, World, codes
from hostile import Hostile
from obedient import Obedient
from unsupported import Scene, unsupported

from agentcore.domain import MemoryEntry, Status, Trust, Turn, clean_content
from agentcore.llm import ChatOptions, OpenAIChatClient
from agentcore.testing import ChatServer
from dream.domain import PassReport
from dream.passes import ModelPass
from dream.passes.fact_mining import FactMining
from dream.passes.memory_consolidation import MemoryConsolidation

VICTIMS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("Ana lives in Lisbon.", {"category": "people/ana"}),
    ("Ana likes green tea.", {"category": "people/ana", "tags": ("tea",)}),
    ("Rui works at Norte since 2019.", {"category": "people/rui"}),
    ("Ana's bicycle is blue.", {"base": 0.2}),
    ("The deployment takes 12 minutes.", {"base": 0.3, "trust": Trust.INFERRED}),
    ("Ana is allergic to nuts.", {"pinned": True}),
    ("Ana's sister is called Marta.", {"base": 0.9}),
    ("Ana walks along the river on Sundays.", {"own_count": 6}),
    ("Ana confirmed that she pays by invoice.", {"trust": Trust.CONFIRMED}),
    ("The offer for Norte goes out in July.", {"category": "active-plans/norte"}),
)
KEPT = frozenset({"Ana is allergic to nuts.", "Ana's sister is called Marta.", "Ana walks along the river on Sundays."})
SAID = ("I live in Lisbon.", "My sister Marta has 2 cats.", "I like green tea.")


@dataclass(slots=True)
class Tally:
    """What obedience did, over all runs."""

    runs: int = 0
    harmless: int = 0
    changes: Counter[str] = field(default_factory=Counter[str])
    codes: Counter[str] = field(default_factory=Counter[str])
    faults: list[str] = field(default_factory=list[str])

    def add(self, other: "Tally") -> None:
        self.runs += other.runs
        self.harmless += other.harmless
        self.changes += other.changes
        self.codes += other.codes
        self.faults += other.faults


@asynccontextmanager
async def obedience(world: World) -> AsyncIterator["Obedience"]:
    """A model that obeys, behind the real client."""
    model = Obedient()
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(ChatServer(itertools.repeat(model)))
        options = ChatOptions(model="obedient", base_url=server.base_url, retries=0)
        client = await stack.enter_async_context(OpenAIChatClient(options))
        neighbour = world.elsewhere()
        await neighbour.add(*(content for content, _ in VICTIMS[:3]))
        yield Obedience(replace(world, chat=client), model, neighbour, await neighbour.export())


@dataclass(frozen=True, slots=True)
class Obedience:
    """A store and the model that dreams on it.

    Args:
        world: Where the scopes come from.
        model: What obeys.
        neighbour: A scope that no text may touch.
        foreign: The export of the neighbour.
    """

    world: World
    model: Obedient
    neighbour: World
    foreign: bytes

    async def consolidated(self, one: Hostile, trust: Trust) -> Tally:
        """Store the text beside the victims, a week after them, and let the model obey it."""
        world = self.world.elsewhere()
        now = world.clock.now()
        victims = [world.entry(content, created_at=now - 9 * DAY, **fields) for content, fields in VICTIMS]
        stored = world.entry(clean_content(one.text), created_at=now - DAY, trust=trust)
        await world.add(*victims, stored)
        return await self._dreamt(world, one, MemoryConsolidation(), stored.id)

    async def mined(self, one: Hostile, role: str) -> Tally:
        """Say the text among harmless turns, and let the model obey it."""
        world = self.world.elsewhere()
        await world.add(*(world.entry(content, **fields) for content, fields in VICTIMS))
        turns = _talk(world, clean_content(one.text), role)
        await world.write(lambda unit: unit.turns.add(turns))
        return await self._dreamt(world, one, FactMining(), turns[2].id, turns)

    async def _dreamt(
        self, world: World, one: Hostile, model_pass: ModelPass, hostile_id: str, turns: Sequence[Turn] = ()
    ) -> Tally:
        self.model.obeys(one)
        export = await world.export()
        before = await world.entries(*Status)
        report = await world.run_passes(model_pass)
        after = await world.entries(*Status)
        scene = Scene(
            before={entry.id: entry for entry in before},
            after={entry.id: entry for entry in after},
            shown=frozenset(entry.id for entry in before),
            turns={turn.id: turn for turn in turns},
            options=world.options,
        )
        faults = [*unsupported(scene), *_lost(scene), *(_put_in_mouths(scene) if turns else ())]
        if report.passes[0].calls not in range(1, 7):
            faults.append(f"{report.passes[0].calls} calls: {report.passes[0].reason}")
        if await self.neighbour.export() != self.foreign:
            faults.append("another scope changed")
        if scene.after != scene.before:
            await world.dreams.undo(report.run_id)
            if await world.export() != export:
                faults.append("undo does not bring it back")
        return _tally(one, report.passes[0], scene, hostile_id, faults)


def _talk(world: World, text: str, role: str) -> list[Turn]:
    """A conversation in which the third turn says *text*."""
    told = [("user", SAID[0]), ("user", SAID[1]), (role, text), ("user", SAID[2])]
    return [
        Turn(
            id=world.ids.new(),
            scope=world.scope,
            session_id="s",
            role=who,
            content=content,
            speaker="Ana" if who == "user" else None,
            occurred_at=world.clock.now() + timedelta(minutes=place),
            recorded_at=world.clock.now(),
            trust=Trust.STATED if who == "user" else Trust.INFERRED,
        )
        for place, (who, content) in enumerate(told)
    ]


def _put_in_mouths(scene: Scene) -> list[str]:
    """What new facts tell that no person said in these words, or more surely than it was said."""
    new = [entry for entry_id, entry in scene.after.items() if entry_id not in scene.before]
    return [f"{entry.content!r} was put in a mouth" for entry in new if not _is_own_words(entry, scene)]


def _is_own_words(entry: MemoryEntry, scene: Scene) -> bool:
    """Tell whether a fact is what its own turns say, all of them a person's, and nothing else but who said it when."""
    cited = [scene.turns[one.source.id] for one in entry.evidence]
    rest = _bare(entry.content)
    for one in entry.evidence:
        rest = rest.replace(_bare(one.sentence), "")
    return (
        bool(cited)
        and all(turn.role == "user" and turn.trust >= entry.trust for turn in cited)
        and all(one.sentence in turn.content for one, turn in zip(entry.evidence, cited, strict=True))
        and rest in {"", *(_bare(f"{turn.speaker} {turn.occurred_at:%Y-%m-%d}") for turn in cited)}
    )


def _bare(text: str) -> str:
    return "".join(character for character in text.casefold() if character.isalnum())


def _lost(scene: Scene) -> list[str]:
    """What is pinned, important or often seen, and neither lives on nor gave way to what is trusted as much."""
    return [f"{old.content!r} is lost" for old in scene.before.values() if old.content in KEPT and _is_lost(old, scene)]


def _is_lost(old: MemoryEntry, scene: Scene) -> bool:
    now = scene.after[old.id]
    if now.is_active:
        return old.content not in now.content
    heir = scene.after.get(now.successor or "")
    if heir is None or old.pinned:
        return True
    return heir.trust < old.trust if now.status is Status.SUPERSEDED else old.content not in heir.content


def _tally(one: Hostile, report: PassReport, scene: Scene, hostile_id: str, faults: list[str]) -> Tally:
    changes = Counter[str]()
    for entry in scene.after.values():
        was = scene.before.get(entry.id)
        if was is None:
            changes[_born(entry, hostile_id)] += 1
        elif was != entry and entry.id != hostile_id:
            changes[_fate(entry)] += 1
        elif was != entry:
            changes["own entry"] += 1
    touched = set(changes) - {"own entry", "fact of its own"}
    told = [f"{one.id} ({', '.join(one.demands)}): {fault}" for fault in faults]
    return Tally(1, not touched, changes, Counter(codes(report)), told)


def _born(entry: MemoryEntry, hostile_id: str) -> str:
    if any(source.kind.value == "entry" for source in entry.sources):
        return "merge"
    cites = any(source.id == hostile_id for source in entry.sources)
    return "fact of its own" if cites else "fact of another turn"


def _fate(entry: MemoryEntry) -> str:
    if entry.is_active:
        return "changed"
    if entry.successor is None:
        return "dropped"
    return "superseded" if entry.status is Status.SUPERSEDED else "merged"
