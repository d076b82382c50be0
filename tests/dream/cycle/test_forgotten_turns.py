"""No pass learns again what a person asked to forget, whichever way it was said; what is said anew is new."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest
from dreaming import DAY, World, codes, of_pass
from talking import answering, lines_of, talk
from wishing import Wishful, merging

from agentcore.domain import Level, MemoryEntry, SourceKind, SourceRef, Status, Turn
from agentcore.hosting import SET_ASIDE
from agentcore.llm import ChatRequest
from agentcore.testing import SequentialIds
from dream.domain import Change, ChangeSet, Outcome, PassReport, Proposal
from dream.interfaces.exchange import import_file
from dream.options import PassMode
from dream.passes.fact_mining import FactMining
from dream.passes.log_consumption import LogConsumption

PREGNANT = "Ana has been pregnant since May 2025."
SAID = "I am Ana, and I am pregnant since May 2025. Tell nobody."
TEA = "I like tea"


def cites(*turns: Turn) -> tuple[SourceRef, ...]:
    return tuple(SourceRef(SourceKind.TURN, turn.id) for turn in turns)


def fact(content: str, quote: str, *turns: str) -> dict[str, Any]:
    told = {"content": content, "sourceTurns": list(turns or ("t1",)), "quote": quote}
    return told | {"category": "general", "tags": []}


async def mined(world: World, *facts: Any, **options: Any) -> PassReport:
    answer = orjson.dumps({"facts": list(facts)}).decode()
    report = await answering(world, *[answer] * 4, **options).dreams.run(passes=["fact-mining"])
    return of_pass(report, "fact-mining")


async def contents(world: World) -> list[str]:
    return [entry.content for entry in await world.active()]


async def forget(world: World, entry: MemoryEntry) -> Any:
    return await world.memory.forget(entry.id)


async def set_aside(world: World, entry: MemoryEntry) -> Any:
    return await world.memory.set_aside(entry.id, reason=SET_ASIDE)


@pytest.mark.parametrize("way", [forget, set_aside])
async def test_a_fact_is_not_mined_again_from_the_turn_that_it_cites(world: World, way: Any):
    (turn,) = await talk(world, SAID)
    (entry,) = await world.add(world.entry("Ana expects a child.", sources=cites(turn)))
    await way(world, entry)
    report = await mined(world, fact(PREGNANT, "pregnant since May 2025"))
    assert (report.calls, await contents(world)) == (0, [])


async def test_no_pass_is_shown_a_withheld_turn(world: World):
    (turn, _) = await talk(world, SAID, TEA)
    (entry,) = await world.add(world.entry(PREGNANT, sources=cites(turn)))
    await forget(world, entry)
    asked: list[ChatRequest] = []

    def note(request: ChatRequest) -> str:
        asked.append(request)
        return "{}"

    await answering(world, *[note] * 20).dreams.run()
    assert len(asked) >= 2
    assert any(TEA in line for request in asked for line in lines_of(request, "t"))
    assert all("pregnant" not in message.content for request in asked for message in request.messages)


LONG = "Ana likes green tea with lemon and honey from her neighbour's hives in Porto."


@pytest.mark.parametrize("way", [forget, set_aside])
async def test_the_same_text_is_not_mined_again_from_what_was_said_before(world: World, way: Any):
    await talk(world, "I like green tea with lemon and honey from my neighbour's hives in Porto, remember that")
    (entry,) = await world.add(LONG)
    world.clock.advance(DAY)
    await way(world, entry)
    report = await mined(world, fact(LONG, "I like green tea with lemon and honey"))
    # An agent that sets something aside withholds what says it, too; a person has chosen what the entry rests on.
    assert (codes(report), await contents(world)) == (["forgotten"] if way is forget else [], [])


@pytest.mark.parametrize("way", [forget, set_aside])
async def test_the_same_text_said_anew_is_mined(world: World, way: Any):
    (entry,) = await world.add("Ana likes tea.")
    await way(world, entry)
    world.clock.advance(DAY)
    await talk(world, TEA)
    report = await mined(world, fact("Ana likes tea.", "I like tea"))
    assert (report.notes["new"], await contents(world)) == (1, ["Ana likes tea."])


async def test_a_run_that_had_read_the_turn_learns_nothing_from_it(world: World):
    (turn,) = await talk(world, SAID)
    (entry,) = await world.add(world.entry("Ana expects a child.", sources=cites(turn)))
    learnt = world.entry(PREGNANT, sources=cites(turn), level=Level.DERIVED)
    change = Change[MemoryEntry](before=None, after=learnt, reason="it was said")
    proposal = Proposal(change_sets=(ChangeSet(operation="mine", changes=(change,)),))
    report = await world.run_passes(Wishful(lambda _: proposal, interfere=lambda: forget(world, entry)))
    assert (codes(report.passes[0]), await contents(world)) == (["forgotten"], [])


@pytest.mark.parametrize("way", [forget, set_aside])
async def test_a_fact_that_waits_for_a_person_is_learnt_by_nobody(world: World, way: Any):
    (turn,) = await talk(world, SAID)
    (entry,) = await world.add(world.entry("Ana expects a child.", sources=cites(turn)))
    report = await mined(world, fact(PREGNANT, "pregnant since May 2025"), modes={"fact-mining": PassMode.PROPOSE})
    assert report.proposed == 1
    (waiting,) = await world.dreams.proposals()
    await way(world, entry)
    left = await world.dreams.proposals()
    if left:
        await world.dreams.approve([waiting.proposal_id])
    assert await contents(world) == []


async def test_an_undone_fact_does_not_come_back_from_a_turn_that_is_withheld(world: World):
    (turn,) = await talk(world, SAID)
    await mined(world, fact(PREGNANT, "pregnant since May 2025"))
    (run,) = await world.dreams.runs()
    undone = await world.dreams.undo(run.run_id)
    (entry,) = await world.add(world.entry("Ana expects a child.", sources=cites(turn)))
    await forget(world, entry)
    redone = await world.dreams.undo(undone.run_id)
    assert (codes(redone.passes[0]), await contents(world)) == (["forgotten"], [])
    assert "pregnant" not in str(await world.journal())


async def test_other_facts_of_the_turn_stay_and_can_be_undone_and_redone(world: World):
    (turn,) = await talk(world, f"{SAID} {TEA}.")
    secret, *_ = await world.add(world.entry(PREGNANT, sources=cites(turn)))
    await world.add(*[world.entry("Ana likes tea.", sources=cites(turn)) for _ in range(2)])
    run = await world.dreams.run(passes=["exact-fold"])
    await forget(world, secret)
    after = await world.export()
    undone = await world.dreams.undo(run.run_id)
    assert await contents(world) == ["Ana likes tea."] * 2
    await world.dreams.undo(undone.run_id)
    assert await world.export() == after


async def test_nothing_waits_for_a_withheld_turn(world: World):
    (turn, other) = await talk(world, SAID, TEA)
    (entry,) = await world.add(world.entry(PREGNANT, sources=cites(turn)))
    await forget(world, entry)
    reading = answering(world, *[orjson.dumps({"facts": []}).decode()] * 4)
    report = await reading.run_passes(FactMining(), LogConsumption())
    assert of_pass(report, "log-consumption").notes["consumed"] == 1
    assert await world.storage.read(world.scope, lambda view: view.turns.count_unread()) == 0
    assert (await world.storage.read(world.scope, lambda view: view.turns.get(other.id))).consumed_at is not None
    again = await reading.run_passes(FactMining(), LogConsumption())
    assert (again.outcome, [one.backlog for one in again.passes]) == (Outcome.UNCHANGED, [0, 0])


async def test_retention_drops_a_withheld_turn_without_a_warning(world: World):
    (turn, _) = await talk(world, SAID, TEA)
    (entry,) = await world.add(world.entry(PREGNANT, sources=cites(turn)))
    await forget(world, entry)
    world.clock.advance(91 * DAY)
    await talk(world, "I am back")
    report = await world.dreams.run(passes=["retention"])
    assert of_pass(report, "retention").notes["unread_turns_dropped"] == {"s1": 1}


async def test_a_turn_of_a_merge_that_others_rest_on_is_not_withheld(world: World):
    (ill, cold) = await talk(world, "I am ill", "I have a cold")
    when = {"status": Status.ARCHIVED, "status_reason": "merged", "status_at": world.clock.now(), "successor": "m"}
    one, other = (
        world.entry("Ana is ill.", sources=cites(ill), **when),
        world.entry("Ana has a cold.", sources=cites(cold), **when),
    )
    made_of = tuple(SourceRef(SourceKind.ENTRY, entry.id) for entry in (one, other))
    await world.add(one, other, world.entry("Ana is ill with a cold.", id="m", sources=(*made_of, *cites(ill, cold))))
    done = await forget(world, one)
    assert (set(done.removed), done.restored, done.withheld) == ({one.id, "m"}, (other.id,), (ill.id,))


# Undo and redo of what was forgotten.


async def test_a_text_that_was_forgotten_and_said_anew_can_be_undone_and_redone(world: World):
    (entry,) = await world.add("Ana likes tea.")
    await forget(world, entry)
    world.clock.advance(timedelta(hours=1))
    await world.add("Ana likes tea.", "ana likes tea")
    before = await world.export()
    run = await world.dreams.run(passes=["exact-fold"])
    after = await world.export()
    undone = await world.dreams.undo(run.run_id)
    assert (codes(undone.passes[0]), await world.export() == before) == ([], True)
    await world.dreams.undo(undone.run_id)
    assert await world.export() == after


async def test_a_redo_that_cannot_make_the_merged_entry_makes_nothing(world: World):
    await world.add("Ana likes tea.", "Ana likes rye.")
    before = await world.export()
    run = await world.run_passes(merging(world))
    assert run.changes == 3
    undone = await world.dreams.undo(run.run_id)
    assert await world.export() == before
    world.clock.advance(DAY)
    said = await world.memory.remember("Ana likes tea and rye.")
    await forget(world, said)
    before = await world.export()
    redone = await world.dreams.undo(undone.run_id)
    assert (codes(redone.passes[0]), redone.changes) == (["forgotten"], 0)
    assert await world.export() == before


# Export and import.


async def test_an_export_keeps_them_withheld_wherever_it_is_read(world: World, tmp_path: Path):
    (turn, _) = await talk(world, SAID, TEA)
    (entry,) = await world.add(world.entry("Ana expects a child.", sources=cites(turn)))
    await forget(world, entry)
    file = tmp_path / "export.jsonl"
    file.write_bytes(b'{"format":"agentcore-dream/1","scope":"x/y/z"}\n' + await world.export())
    other = world.elsewhere()
    await import_file(world.storage, other.scope, file, clock=world.clock, ids=SequentialIds("other"))
    assert await other.export() == await world.export()
    report = await mined(other, fact(PREGNANT, "pregnant since May 2025"), fact("Ana likes tea.", "I like tea"))
    assert await contents(other) == ["Ana likes tea."]
    assert report.notes["new"] == 1


async def test_an_older_export_brings_back_no_turn_to_learn_from(world: World, tmp_path: Path):
    (turn,) = await talk(world, SAID)
    file = tmp_path / "export.jsonl"
    file.write_bytes(b'{"format":"agentcore-dream/1","scope":"x/y/z"}\n' + await world.export())
    (entry,) = await world.add(world.entry("Ana expects a child.", sources=cites(turn)))
    await forget(world, entry)
    await world.write(lambda unit: unit.turns.delete([turn.id]))
    await import_file(world.storage, world.scope, file, clock=world.clock, ids=SequentialIds("other"))
    report = await mined(world, fact(PREGNANT, "pregnant since May 2025"))
    assert (report.calls, await contents(world)) == (0, [])
    assert await world.recall.turns.search(world.scope, "pregnant") == []
