"""Told, remembered, forgotten: whatever dreams, imports, undo and redo try afterwards, it is nowhere."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson
from dreaming import DAY, World, codes
from talking import answering, talk
from wishing import Wishful

from agentcore.domain import Level, MemoryEntry
from agentcore.errors import LeaseLostError
from agentcore.testing import SequentialIds
from dream.domain import Change, ChangeSet, Proposal
from dream.interfaces.exchange import import_file

SAID = "I am Ana, and I am pregnant since May 2025. Tell nobody."
AGAIN = "As I said, I am pregnant since May 2025, tell nobody."
TEA = "I like tea."
WORDINGS = (
    "Ana has been pregnant since May 2025.",
    "Ana is expecting a baby since May 2025.",
    "Since May 2025 Ana is pregnant.",
    "Ana is with child.",
    "Ana will be a mother.",
)


def facts(*contents: str) -> str:
    told: list[dict[str, Any]] = [
        {"content": one, "sourceTurns": ["t1"], "quote": "pregnant since May 2025", "category": "general", "tags": []}
        for one in contents
    ]
    return orjson.dumps({"facts": told}).decode()


async def everything(world: World) -> str:
    """All that is stored and exported, and all that recall tells."""
    hits = await world.recall.search(world.scope, "pregnant since May 2025 baby mother", k=50)
    said = await world.recall.turns.search(world.scope, "pregnant since May 2025", k=50)
    told = [hit.entry.content for hit in hits] + [hit.turn.content for hit in said]
    return "\n".join([(await world.export()).decode(), str(await world.journal()), *told])


async def test_what_was_forgotten_is_nowhere_whatever_is_tried_afterwards(world: World, tmp_path: Path):
    await talk(world, SAID, AGAIN, TEA)
    mined = await answering(world, *[facts(WORDINGS[0])] * 4).dreams.run(passes=["fact-mining"])
    (entry,) = await world.active()
    undone = await world.dreams.undo(mined.run_id)
    redone = await world.dreams.undo(undone.run_id)
    older = tmp_path / "older.jsonl"
    older.write_bytes(b'{"format":"agentcore-dream/1","scope":"x/y/z"}\n' + await world.export())
    assert "pregnant" in await everything(world)

    world.clock.advance(DAY)
    done = await world.memory.forget(entry.id, turns="all")
    assert len(done.redacted) == 2
    assert "pregnant" not in await everything(world)

    for day in range(10):
        world.clock.advance(DAY)
        await answering(world, *[facts(WORDINGS[day % len(WORDINGS)])] * 20).dreams.run()
    await import_file(world.storage, world.scope, older, clock=world.clock, ids=SequentialIds("again"))
    for run in (mined, undone, redone):
        taken = await world.dreams.undo(run.run_id)
        assert set(codes(taken.passes[0])) <= {"forgotten"}
    told = await everything(world)
    assert [word for word in ("pregnant", "baby", "with child", "mother") if word in told] == []
    assert TEA in told


async def test_a_dream_is_stopped_by_the_erasure_of_its_scope_and_writes_nothing_into_it(world: World):
    kept = world.elsewhere()
    await kept.add("Ben sings.")
    before = await kept.export()
    await world.add("Ana likes tea.", "Ana likes rye.")
    learnt = world.entry("Ana likes tea and rye.", level=Level.DERIVED)
    change = Change[MemoryEntry](before=None, after=learnt, reason="both were said")
    proposal = Proposal(change_sets=(ChangeSet(operation="merge", changes=(change,)),))

    async def erase() -> None:
        await world.write(lambda unit: unit.erasure.begin())
        await world.write(lambda unit: unit.erasure.finish())

    with suppress(LeaseLostError):
        await world.run_passes(Wishful(lambda _: proposal, interfere=erase))
    assert await world.entries() == []
    assert await world.journal() == []
    assert await kept.export() == before
