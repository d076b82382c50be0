"""Log consumption: turns stay until every enabled reader has read them, whatever fails."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import orjson
import pytest
from dreaming import VerifyingChatClient, World, codes, of_pass
from interrupting import Killed, WatchedStorage, bury
from wishing import Wishful

from agentcore.domain import Capability, Turn
from agentcore.llm import ChatRequest, ChatRequestRefusedError, ChatUnreachableError
from dream.domain import Change, ChangeSet, Proposal, RunReport, Work
from dream.domain.declaration import Reads, readers_of
from dream.options import ConsumptionPolicy, DreamOptions, LogOptions, MiningOptions
from dream.passes import ORDER, DreamContext, DreamPass, ModelContext
from dream.passes.fact_mining import FactMining
from dream.passes.log_consumption import LogConsumption
from dream.stores import dream_stores

NOTHING = orjson.dumps({"facts": []}).decode()


async def said(world: World, *texts: str, session: str = "s1") -> list[Turn]:
    turns = [
        Turn(
            id=world.ids.new(),
            scope=world.scope,
            session_id=session,
            role="user",
            content=text,
            occurred_at=world.clock.now(),
            recorded_at=world.clock.now(),
        )
        for text in texts
    ]
    await world.write(lambda unit: unit.turns.add(turns))
    return turns


async def unread(world: World) -> set[str]:
    """What turns say that nobody has consumed."""
    records = await world.storage.read(world.scope, lambda view: list(view.records()))
    return {one.content for one in records if isinstance(one, Turn) and one.consumed_at is None}


def hearing(world: World, *replies: Any, **options: Any) -> World:
    return replace(world, chat=VerifyingChatClient(replies), options=DreamOptions(**options))


async def night(world: World, *replies: Any, passes: Sequence[DreamPass] = (), **options: Any) -> RunReport:
    heard = hearing(world, *(replies or (NOTHING,) * 9), **options)
    return await heard.run_passes(FactMining(), *passes, LogConsumption())


class SecondReader:
    """Reads turns beside fact mining, to where it is told."""

    name: ClassVar[str] = "skill-gaps"
    requires: ClassVar[frozenset[Capability]] = frozenset()
    reads: ClassVar[Reads] = Reads.TURNS

    def __init__(self, *, most: int) -> None:
        self.most = most

    async def has_work(self, _context: DreamContext) -> Work:
        return Work(1)

    async def propose(self, context: DreamContext) -> Proposal:
        found = await context.read(lambda view: view.turns.material(after=0, also=(), limit=self.most))
        return Proposal(cursor=found[-1].position if found else 0)

    def conclude(self, _notes: Any) -> Any:
        return {}


class Raising(SecondReader):
    """A reader that fails before it has read anything."""

    async def propose(self, _context: DreamContext) -> Proposal:
        raise RuntimeError("out of order")


class Needy(SecondReader):
    """A reader that requires what the host has not."""

    requires: ClassVar[frozenset[Capability]] = frozenset({Capability.WISPS})


async def test_what_every_reader_has_read_is_consumed_and_stays_in_the_log(world: World):
    turns = await said(world, "I moved to Lisbon.", "I like tea.")
    report = await night(world)
    done = of_pass(report, "log-consumption")
    assert (done.accepted, done.notes) == (2, {"consumed": 2, "waiting": 0})
    stored = await world.storage.read(world.scope, lambda view: view.turns.get_many([turn.id for turn in turns]))
    assert [turn.consumed_at for turn in stored] == [report.as_of] * 2
    assert {turn.content for turn in stored} == {"I moved to Lisbon.", "I like tea."}


async def test_law_14_a_failing_pass_keeps_its_turns(world: World):
    await said(world, "I moved to Lisbon.")
    report = await night(world, ChatRequestRefusedError(model="m", status=400, code="no"))
    assert codes(of_pass(report, "fact-mining")) == ["call_failed"]
    assert of_pass(report, "log-consumption").accepted == 0
    assert await unread(world) == {"I moved to Lisbon."}
    assert of_pass(await night(world), "log-consumption").accepted == 1
    assert await unread(world) == set()


async def test_law_14_a_reader_that_raises_keeps_every_turn_however_often(world: World):
    await said(world, "I moved to Lisbon.")
    for _ in range(7):
        report = await night(world, passes=[Raising(most=9)])
        assert of_pass(report, "skill-gaps").outcome == "failed"
    assert await unread(world) == {"I moved to Lisbon."}


async def test_a_turn_waits_for_the_slowest_reader(world: World):
    await said(world, "one", "two", "three")
    assert of_pass(await night(world, passes=[SecondReader(most=1)]), "log-consumption").accepted == 1
    assert await unread(world) == {"two", "three"}
    await night(world, passes=[SecondReader(most=9)])
    assert await unread(world) == set()


async def test_a_reader_that_is_switched_off_or_lacks_something_is_not_waited_for(world: World):
    await said(world, "one")
    await night(world, passes=[SecondReader(most=0)], modes={"skill-gaps": "off"})
    assert await unread(world) == set()
    await said(world, "two")
    poor = replace(world, capabilities=frozenset({Capability.MEMORY, Capability.CONVERSATION}))
    await night(poor, passes=[Needy(most=0)])
    assert await unread(world) == set()


async def test_without_any_reader_the_log_is_left_alone(world: World):
    await said(world, "one")
    report = await world.run_passes(FactMining(), LogConsumption())
    assert [(one.outcome, one.reason) for one in report.passes] == [
        ("skipped", "missing: llm"),
        ("unchanged", "no_work"),
    ]
    assert await unread(world) == {"one"}


async def test_a_reader_that_was_not_asked_for_is_waited_for_all_the_same(world: World):
    await said(world, "one")
    heard = hearing(world, NOTHING)
    await heard.dreams.run(passes=["log-consumption"])
    assert await unread(world) == {"one"}


async def test_a_turn_that_fails_five_nights_is_consumed_without_its_reader_and_reported(world: World):
    await said(world, "cursed")
    for place in range(1, 6):
        report = await night(world, "not JSON")
        assert bool(await unread(world)) is (place < 5), place
    assert of_pass(report, "log-consumption").notes == {"consumed": 1, "waiting": 0, "given_up": {"fact-mining": 1}}
    (row,) = [row for row in await world.journal() if row.pass_name == "log-consumption"]
    assert row.reason == "fact-mining failed on it too often"
    after = of_pass(await night(world, "not JSON"), "fact-mining")
    assert (after.calls, after.reason) == (0, "no_work")


async def test_the_bound_on_attempts_is_an_option(world: World):
    await said(world, "cursed")
    for _ in range(2):
        await night(world, "not JSON", log=LogOptions(attempts=2))
    assert await unread(world) == set()


async def test_a_model_out_of_reach_is_no_attempt(world: World):
    await said(world, "patient")
    gone = ChatUnreachableError(model="m", base_url="http://127.0.0.1:9", tries=1, was_connected=False)
    for _ in range(7):
        await night(world, gone)
    assert await unread(world) == {"patient"}


async def test_after_the_cycle_what_was_read_is_consumed_whatever_the_outcome(world: World):
    await said(world, "one", "two")
    log = LogOptions(policy=ConsumptionPolicy.AFTER_CYCLE)
    report = await night(world, "not JSON", log=log)
    assert codes(of_pass(report, "fact-mining")) == ["answer_unreadable"]
    assert await unread(world) == set()


async def test_after_the_cycle_what_nobody_came_to_stays(world: World):
    await said(world, "one", "two", "three")
    log = LogOptions(policy=ConsumptionPolicy.AFTER_CYCLE)
    await night(world, log=log, mining=MiningOptions(max_turns=2))
    assert await unread(world) == {"three"}


@pytest.mark.parametrize("policy", ConsumptionPolicy)
async def test_turns_said_during_a_run_are_never_touched_by_it(world: World, policy: ConsumptionPolicy):
    """Not even if a reader of that very run has read them."""
    await said(world, "before")

    async def speak() -> None:
        await said(world, "meanwhile")

    talkative = Wishful(lambda _: Proposal(), interfere=speak)
    heard = hearing(world, *(NOTHING,) * 9, log=LogOptions(policy=policy))
    report = await heard.run_passes(talkative, FactMining(), LogConsumption())
    assert of_pass(report, "fact-mining").looked_at == 2
    assert await unread(world) == {"meanwhile"}
    await night(world, log=LogOptions(policy=policy))
    assert await unread(world) == set()


async def test_a_resumed_run_ends_the_log_where_it_began(world: World):
    await said(world, "before")

    watched = WatchedStorage(world.storage)

    def die(_: ChatRequest) -> str:
        watched.is_dead = True
        raise Killed

    with pytest.raises(Killed):
        await replace(hearing(world, die), storage=watched).run_passes(FactMining(), LogConsumption())
    await bury(world)
    await said(world, "after the crash")
    report = await night(world)
    assert report.resumed
    assert await unread(world) == {"after the crash"}


async def test_unchanged_input_costs_nothing(world: World):
    await said(world, "one", "two")
    await night(world)
    before = await world.export()
    report = await night(world)
    assert (of_pass(report, "log-consumption").reason, await world.export()) == ("no_work", before)


async def test_undo_brings_the_log_back_byte_for_byte(world: World):
    await said(world, "one", "two")
    before = await world.export()
    report = await night(world)
    assert await world.export() != before
    await world.dreams.undo(report.run_id)
    assert await world.export() == before


async def test_undo_of_the_pass_alone_asks_no_model_again_and_is_not_redone(world: World):
    await said(world, "one", "two")
    first = await night(world)
    await world.dreams.undo(first.run_id, pass_name="log-consumption")
    assert await unread(world) == {"one", "two"}
    for _ in range(2):
        report = await night(world)
        assert of_pass(report, "fact-mining").calls == 0
        assert await unread(world) == {"one", "two"}
    assert of_pass(report, "log-consumption").reason == "no_work"


async def test_undo_leaves_alone_what_retention_has_removed(world: World):
    first, _ = await said(world, "one", "two")
    report = await night(world)
    await world.write(lambda unit: unit.turns.delete([first.id]))
    undone = await world.dreams.undo(report.run_id, pass_name="log-consumption")
    assert (undone.changes, codes(undone.passes[0])) == (1, ["purged"])
    assert await unread(world) == {"two"}


async def test_the_journal_keeps_no_second_copy_of_what_was_said(world: World):
    await said(world, "my very own words")
    await night(world)
    rows = [row for row in await world.journal() if row.kind == "turn"]
    assert [row.operation for row in rows] == ["consume"]
    assert not any("words" in str(row.to_json()) for row in rows)


async def test_a_plan_consumes_what_it_said(world: World):
    await said(world, "one", "two")
    heard = hearing(world, *(NOTHING,) * 9, modes=dict.fromkeys(["episodes", "skill-gaps", "preferences"], "off"))
    order = await heard.dreams.plan(passes=["fact-mining", "log-consumption"])
    assert await unread(world) == {"one", "two"}
    applied = await heard.dreams.run(plan=order.plan_id)
    assert (of_pass(applied, "log-consumption").accepted, await unread(world)) == (2, set())


async def test_many_turns_go_in_steps_and_held_ones_wait_their_time(world: World):
    turns = await said(world, *(f"turn {number}" for number in range(23)))
    held = {turn.id for turn in turns[::4]}
    heard = hearing(world, *(NOTHING,) * 9, step_size=5)
    await heard.run_passes(FactMining())
    await world.write(lambda unit: dream_stores(unit).cursors.reopen("fact-mining", held))
    silent = replace(heard, options=heard.options.replace(step_size=5))

    class Standing(FactMining):
        async def has_work(self, _context: ModelContext) -> Work:
            return Work(0)

    report = await silent.run_passes(Standing(), LogConsumption())
    assert of_pass(report, "log-consumption").notes == {"consumed": 17, "waiting": 6}
    assert len(await unread(world)) == 6
    report = await silent.run_passes(Standing(), LogConsumption())
    assert of_pass(report, "log-consumption").reason == "no_work"
    await world.write(lambda unit: dream_stores(unit).cursors.settle("fact-mining", held))
    report = await silent.run_passes(Standing(), LogConsumption())
    assert of_pass(report, "log-consumption").notes == {"consumed": 6, "waiting": 0}
    assert await unread(world) == set()


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"content": "something else"}, id="other words"),
        pytest.param({"session_id": "elsewhere"}, id="another session"),
        pytest.param({}, id="not read"),
    ],
)
async def test_no_pass_changes_what_was_said(world: World, change: dict[str, Any]):
    (turn,) = await said(world, "I like tea.")
    before = await world.export()
    forged = replace(turn, **({"consumed_at": world.clock.now()} if change else {}), **change)
    forging = ChangeSet(operation="forge", changes=(Change[Turn](before=turn, after=forged, reason="a test"),))
    report = await world.run_passes(Wishful(lambda _: Proposal(change_sets=(forging,))))
    assert (codes(report.passes[0]), await world.export()) == (["mismatched"], before)


async def test_the_log_is_consumed_after_the_last_reader_in_the_order_of_passes(world: World):
    names = [one.name for one in (await world.dreams.run()).passes]
    reading = readers_of(place.declaration for place in ORDER)
    readers = [names.index(name) for name in names if reading[name] is Reads.TURNS]
    assert readers
    assert names.index("log-consumption") > max(readers)
