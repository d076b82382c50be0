from datetime import timedelta

import orjson
import pytest
from dreaming import DAY, NOW, World

from agentcore import Actor, ActorKind, acting_as
from agentcore.domain import EvidenceVerdict, SourceKind, SourceRef, Status, Turn
from agentcore.errors import UnknownRecordError
from agentcore.testing.contracts.samples import some_evidence
from dream.domain import RunKind

TEA = "Ana likes tea"


def said(world: World, name: str, *, minute: int = 0) -> Turn:
    at = NOW + timedelta(minutes=minute)
    return Turn(id=name, scope=world.scope, session_id="s1", role="user", content=name, occurred_at=at, recorded_at=at)


async def test_why_tells_what_happened_to_an_entry_and_in_which_run(world: World):
    tea, copy = await world.add(TEA, TEA)
    run = await world.dreams.run()
    undone = await world.dreams.undo(run.run_id)
    history = await world.dreams.why(copy.id)
    assert history.entry == copy
    assert [(row.run_id, row.reason) for row in history.rows] == [
        (run.run_id, f"duplicate of {tea.id}"),
        (undone.run_id, f"undo: duplicate of {tea.id}"),
    ]


async def test_why_follows_provenance_down_to_the_turns_in_the_order_they_were_said(world: World):
    turns = [said(world, "later", minute=9), said(world, "earlier")]
    await world.write(lambda unit: unit.turns.add(turns))
    one, other = (
        world.entry(f"fact {turn.id}", sources=(SourceRef(SourceKind.TURN, turn.id),), created_at=NOW) for turn in turns
    )
    merge = world.entry("both facts", sources=tuple(sorted(SourceRef(SourceKind.ENTRY, e.id) for e in (one, other))))
    top = world.entry("the gist", sources=(SourceRef(SourceKind.ENTRY, merge.id),))
    await world.add(one, other, merge, top)
    history = await world.dreams.why(top.id)
    assert [entry.id for entry in history.ancestors] == [merge.id, *sorted([one.id, other.id])]
    assert [turn.content for turn in history.turns] == ["earlier", "later"]
    assert [entry.id for entry in (await world.dreams.why(one.id)).descendants] == [merge.id]


async def test_why_finds_what_an_entry_absorbed_and_the_turns_behind_it(world: World):
    await world.write(lambda unit: unit.turns.add([said(world, "t1")]))
    tea, copy = await world.add(
        TEA, world.entry(TEA, sources=(SourceRef(SourceKind.TURN, "t1"),), created_at=NOW + DAY)
    )
    await world.dreams.run()
    history = await world.dreams.why(tea.id)
    assert [entry.id for entry in history.ancestors] == [copy.id]
    assert [turn.id for turn in history.turns] == ["t1"]


async def test_why_an_entry_is_gone_is_told_after_it_was_purged(world: World):
    old = {"status": Status.ARCHIVED, "status_reason": "old", "status_at": NOW - 100 * DAY}
    (entry,) = await world.add(world.entry("old", **old))
    await world.dreams.run()
    history = await world.dreams.why(entry.id)
    assert history.entry is None
    assert [row.operation for row in history.rows] == ["purge"]


async def test_why_shows_the_sentences_that_an_entry_rests_on_after_their_turns_are_gone(world: World):
    evidence = some_evidence("I drink tea.", said_at=NOW, speaker="Ana", verdict=EvidenceVerdict.PROVEN)
    (tea,) = await world.add(world.entry(TEA, evidence=(evidence,)))
    history = await world.dreams.why(tea.id)
    assert history.entry is not None
    assert history.entry.evidence == (evidence,)
    document = orjson.loads(orjson.dumps(history.to_json()))
    assert document["verdict"] == "proven"
    assert document["entry"]["evidence"][0]["sentence"] == "I drink tea."


async def test_an_entry_of_which_nothing_is_known_is_refused_as_everywhere(world: World):
    with pytest.raises(UnknownRecordError, match="'nobody' fits none in this scope"):
        await world.dreams.why("nobody")


async def test_why_stays_within_its_scope(world: World):
    (tea, _) = await world.add(TEA, TEA)
    await world.dreams.run()
    with pytest.raises(UnknownRecordError):
        await world.elsewhere().dreams.why(tea.id)


async def test_the_history_is_one_json_document(world: World):
    (tea, _) = await world.add(TEA, TEA)
    await world.dreams.run()
    document = orjson.loads(orjson.dumps((await world.dreams.why(tea.id)).to_json()))
    assert document["id"] == tea.id
    assert document["entry"]["reinforcement_count"] == 2
    assert document["history"][0]["before"]["content"] == TEA


async def test_entries_that_name_each_other_do_not_trap_the_search(world: World):
    first = world.entry("first", id="a", sources=(SourceRef(SourceKind.ENTRY, "b"),))
    second = world.entry("second", id="b", sources=(SourceRef(SourceKind.ENTRY, "a"),))
    await world.add(first, second)
    assert [entry.id for entry in (await world.dreams.why("a")).ancestors] == ["b"]


async def test_the_status_counts_what_the_scope_holds(world: World):
    await world.write(lambda unit: unit.turns.add([said(world, "t1"), said(world, "t2")]))
    await world.write(lambda unit: unit.turns.mark_consumed(["t1"], NOW))
    await world.add(TEA, TEA, "Ben bakes rye")
    await world.dreams.run()
    status = await world.dreams.status()
    assert status.entries == {"active": 2, "superseded": 0, "archived": 1}
    assert (status.turns, status.unread_turns, status.skills) == (2, 1, 0)
    assert status.backlog == {}
    assert orjson.dumps(status.to_json())


async def test_the_last_run_is_the_last_dream_and_no_undo_or_restore(world: World):
    _, copy = await world.add(TEA, TEA)
    run = await world.dreams.run()
    undone = await world.dreams.undo(run.run_id)
    await world.dreams.undo(undone.run_id)
    await world.dreams.restore(copy.id)
    status = await world.dreams.status()
    assert status.last_run == run
    plan = await world.dreams.plan()
    await world.dreams.run(plan=plan.plan_id)
    last = (await world.dreams.status()).last_run
    assert last is not None
    assert last.kind is RunKind.PLAN


async def test_the_status_of_a_scope_that_holds_nothing(world: World):
    status = await world.dreams.status()
    assert (status.entries, status.last_run, status.paused, status.revision) == (
        {"active": 0, "superseded": 0, "archived": 0},
        None,
        False,
        0,
    )


async def test_the_status_tells_of_a_pause_and_of_who_dreams(world: World):
    await world.dreams.pause()
    await world.write(lambda unit: unit.leases.acquire("dream", holder="x", duration=DAY))
    status = await world.dreams.status()
    assert status.paused
    assert status.lease is not None
    assert status.to_json()["dreaming"] == {"pid": status.lease.pid, "host": status.lease.host}


async def test_unread_material_is_told_as_backlog_before_any_run(world: World):
    await world.add(TEA, TEA)
    assert (await world.dreams.status()).backlog == {"exact-fold": 2, "near-duplicates": 2}


async def test_why_names_the_pass_that_changed_an_entry_and_who_asked_for_the_run(world: World):
    _, copy = await world.add(TEA, TEA)
    with acting_as(Actor(ActorKind.PERSON, "ana")):
        run = await world.dreams.run()
    with acting_as(Actor(ActorKind.TOKEN, "laptop")):
        undone = await world.dreams.undo(run.run_id)
    told = (await world.dreams.why(copy.id)).to_json()
    assert [(row["run_id"], row["actor"], told["asked_by"][row["run_id"]]) for row in told["history"]] == [
        (run.run_id, "pass:exact-fold", "person:ana"),
        (undone.run_id, "token:laptop", "token:laptop"),
    ]
    assert [(write["actor"], write["action"]) for write in told["writes"]] == [("host", "added")]
