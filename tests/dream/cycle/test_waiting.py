"""An exchange that cannot end now waits with its answers, and a later run goes on with it without asking again."""

import itertools
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, ClassVar

import orjson
import pytest
from dreaming import VerifyingChatClient, World, codes, fresh_scope
from hypothesis import HealthCheck, given, settings, strategies as st
from interrupting import Killed, WatchedStorage, bury, count_writes, dying
from sqlalchemy import select
from talking import talk

from agentcore.domain import Capability, Level, MemoryEntry, Scope, SourceKind, SourceRef, Status
from agentcore.llm import ChatRequest, ChatRequestRefusedError, ResponseFormat
from agentcore.stores import Origin, Storage, UnitOfWork
from agentcore.stores.sql.schema import metadata
from dream.domain import (
    Batch,
    Change,
    ChangeSet,
    NextRound,
    Notes,
    Packing,
    PassReport,
    Proposal,
    Reads,
    Refused,
    Round,
    RoundKind,
    Work,
    fingerprint,
)
from dream.errors import UnknownPlanError
from dream.options import ModelOptions, OwnPasses, WaitingOptions
from dream.passes import ModelContext, arranged
from dream.passes.prompts import build_request
from dream.stores import dream_stores

YES = True
BEES, FERRY = "Ana keeps bees", "The ferry leaves at noon"
HOUR = timedelta(hours=1)


@dataclass
class Checking:
    """Notes each new entry in other words, and has the note read a second time before it is written."""

    name: ClassVar[str] = "checking"
    requires: ClassVar[frozenset[Capability]] = frozenset({Capability.LLM})
    directives: ClassVar[tuple[str, ...]] = ("memory-rules",)

    async def has_work(self, context: ModelContext) -> Work:
        return Work(len(await self._new(context)))

    async def _new(self, context: ModelContext) -> list[Any]:
        return await context.read(
            lambda view: view.entries.material(after=context.cursor, also=context.reopened, limit=99)
        )

    async def pack(self, context: ModelContext) -> Packing:
        found = await self._new(context)
        entries = await context.read(lambda view: view.entries.by_keys([one.key for one in found]))
        batches = tuple(
            Batch(number=str(number), kind="entry", members=((one.id, entries[one.key].version),))
            for number, one in enumerate(found, 1)
        )
        return Packing(batches=batches, cursor=max([context.cursor, *(one.position for one in found)]))

    async def ask(self, context: ModelContext, batch: Batch, rounds: Sequence[Round]) -> NextRound | None:
        if not rounds:
            (entry,) = await context.read(lambda view: view.entries.get_many(batch.member_ids))
            return NextRound(self._request(context, f"Note: {entry.content}"))
        waited = context.waited.get(batch.number)
        is_old = waited is not None and len(rounds) == len(waited.rounds or ())
        if rounds[-1].kind is RoundKind.QUESTION or (is_old and _verdict(rounds) is None):
            return NextRound(self._request(context, f"Is it so: {rounds[0].answer['text']}"), RoundKind.VERIFICATION)
        return None

    def _request(self, context: ModelContext, text: str) -> ChatRequest:
        form = ResponseFormat(name="answer", schema={})
        return build_request(context, directives=(), blocks=[text], answer=form, purpose=self.name)

    async def interpret(self, context: ModelContext, batch: Batch, rounds: Sequence[Round]) -> Proposal:
        waited = context.waited.get(batch.number)
        noted = (waited and waited.change_sets) or (await self._noted(context, batch, rounds),)
        verdict = _verdict(rounds)
        if verdict is None:
            return Proposal(waits=Refused.UNVERIFIED, undecided=noted)
        return Proposal(change_sets=noted if verdict else (), looked_at=batch.member_ids)

    async def _noted(self, context: ModelContext, batch: Batch, rounds: Sequence[Round]) -> ChangeSet:
        (entry,) = await context.read(lambda view: view.entries.get_many(batch.member_ids))
        made = replace(
            entry,
            id=context.new_id(),
            content=str(rounds[0].answer["text"]),
            sources=(SourceRef(SourceKind.ENTRY, entry.id),),
            level=Level.DERIVED,
            version=1,
        )
        change = Change[MemoryEntry](before=None, after=made, reason="noted in other words")
        return ChangeSet(operation="note", changes=(change,), fingerprints={made.id: fingerprint("note", made)})

    def conclude(self, _notes: Sequence[Notes]) -> Notes:
        return {}


def _verdict(rounds: Sequence[Round]) -> bool | None:
    says = rounds[-1].answer.get("says") if rounds[-1].kind is RoundKind.VERIFICATION else None
    return says if isinstance(says, bool) else None


@dataclass
class Model:
    """Notes what it is shown, and reads it a second time as told: true, false, None for neither, or an error."""

    verdict: Any
    asked: list[str] = field(default_factory=list)

    def __call__(self, request: ChatRequest) -> Any:
        text = request.messages[-1].content.strip()
        self.asked.append(text)
        if text.startswith("Note: "):
            return orjson.dumps({"text": f"noted that {text.removeprefix('Note: ').splitlines()[0]}"}).decode()
        return self.verdict if isinstance(self.verdict, Exception) else orjson.dumps({"says": self.verdict}).decode()

    @property
    def questions(self) -> int:
        return sum(text.startswith("Note: ") for text in self.asked)

    @property
    def verifications(self) -> int:
        return len(self.asked) - self.questions


DOWN = ChatRequestRefusedError(model="m", status=400, code="bad")
"""The verifier refuses the call."""


def with_model(world: World, verdict: Any, **options: Any) -> tuple[World, Model]:
    model = Model(verdict=verdict)

    def forever() -> Any:
        while True:
            yield model

    return replace(world, chat=VerifyingChatClient(forever()), options=world.options.replace(**options)), model


async def checked(world: World) -> PassReport:
    return (await world.run_passes(Checking())).passes[0]


async def contents(world: World) -> set[str]:
    return {one.content for one in await world.active()}


NOTED = {BEES, FERRY, f"noted that {BEES}", f"noted that {FERRY}"}


@pytest.mark.parametrize("unsure", [None, DOWN], ids=["no verdict", "no answer"])
async def test_an_exchange_waits_twice_and_then_ends_and_its_question_is_asked_once(world: World, unsure: Any):
    await world.add(BEES, FERRY)
    one, model = with_model(world, unsure)
    first = await checked(one)
    assert codes(first).count("unverified") == 2
    (told,) = first.notes["waits"]
    assert (told["reason"], told["count"], told["runs"], first.backlog) == ("unverified", 2, 0, 2)
    world.clock.advance(HOUR)
    second = await checked(one)
    assert (second.notes["waits"][0]["runs"], second.notes["waits"][0]["since"]) == (1, told["since"])
    assert (model.questions, model.verifications) == (2, 4)
    assert await contents(world) == {BEES, FERRY}
    model.verdict = True
    last = await checked(one)
    assert (last.accepted, last.backlog, "waits" in last.notes) == (2, 0, False)
    assert (model.questions, model.verifications) == (2, 6)
    assert await contents(world) == NOTED
    assert (await checked(one)).calls == 0


@pytest.mark.parametrize("committed", [False, True], ids=["before a write", "after a write"])
async def test_however_a_run_is_killed_what_waits_is_neither_asked_about_again_nor_lost(
    world: World, *, committed: bool
):
    async def begun() -> tuple[World, Model]:
        one, model = with_model(replace(world, scope=fresh_scope()), None)
        await one.add(BEES, FERRY)
        return one, model

    async def lived(one: World, model: Model, dies: tuple[int, int] | None) -> None:
        for day, verdict in enumerate((None, None, True)):
            model.verdict = verdict
            if dies is not None and dies[0] == day:
                with pytest.raises((Killed, BaseExceptionGroup)):
                    await checked(dying(one, dies[1], committed=committed))
                await bury(one)
            await checked(one)

    for day in range(3):
        counted, model = await begun()
        await lived_until(counted, model, day)
        for write in range(await count_writes(counted, checked)):
            one, model = await begun()
            await lived(one, model, (day, write))
            # A call that was under way at the death is made again; what was answered and stored never is.
            assert model.questions <= 4
            stored = await calls_of(one)
            assert stored.count("question") == 2
            if await contents(one) != NOTED:  # the death took a run of its own, so the second run was the first
                await checked(one)
            assert await contents(one) == NOTED
            assert await waiting(one) == []
            assert (await checked(one)).calls == 0


async def lived_until(one: World, model: Model, day: int) -> None:
    for _ in range(day):
        await checked(one)
    model.verdict = True if day == 2 else None


async def calls_of(world: World) -> list[str | None]:
    runs = await world.dreams.runs()
    return [call.kind for run in runs for call in await world.dreams.calls(run.run_id)]


async def waiting(world: World) -> list[tuple[str, int]]:
    found = await world.storage.read(world.scope, lambda view: dream_stores(view).waiting.counts())
    return [(one.reason, one.count) for one in found]


@pytest.mark.parametrize("what", ["edited", "archived", "forgotten"])
async def test_what_waits_about_a_record_that_moved_is_dropped_and_said_so(world: World, what: str):
    bees, _ = await world.add(BEES, FERRY)
    one, model = with_model(world, None)
    await checked(one)
    if what == "edited":
        await world.change(bees, content="Ana keeps ants")
    elif what == "archived":
        await world.change(bees, status=Status.ARCHIVED, status_reason="no more", status_at=world.clock.now())
    else:
        await world.write(lambda unit: unit.forget(bees.id))
    model.verdict = True
    done = await checked(one)
    assert codes(done) == ["forgotten" if what == "forgotten" else "stale_source"]
    assert model.questions == (3 if what == "edited" else 2)
    expected = {"edited": {"Ana keeps ants", "noted that Ana keeps ants"}}.get(what, set())
    assert await contents(world) == {FERRY, f"noted that {FERRY}", *expected}
    assert await waiting(one) == []


async def test_forgotten_words_leave_the_answers_of_what_waits(world: World):
    bees, _ = await world.add(BEES, FERRY)
    one, _ = with_model(world, None)
    await checked(one)
    await world.write(lambda unit: unit.forget(bees.id))
    held = await everything(world)
    assert BEES not in held
    assert f"noted that {FERRY}" in held


async def everything(world: World) -> str:
    """All rows of the scope as one text."""

    def rows(view: Any) -> str:
        mine = [table for table in metadata.sorted_tables if "scope_id" in table.c]
        found = (select(table).where(table.c.scope_id == view.transaction.scope_id) for table in mine)
        return repr([view.transaction.connection.execute(one).all() for one in found])

    return await world.storage.read(world.scope, rows)


@pytest.mark.parametrize("while_asked", ["Note: ", "Is it so: "])
@pytest.mark.parametrize("verdict", [None, YES])
async def test_words_forgotten_while_the_model_is_asked_stay_in_no_answer(
    world: World, while_asked: str, verdict: bool | None
):
    bees, _ = await world.add(BEES, FERRY)
    one, model = with_model(world, verdict)

    async def answer(request: ChatRequest) -> Any:
        given = model(request)
        if model.asked[-1].startswith(while_asked) and BEES in model.asked[-1]:
            await world.write(lambda unit: unit.forget(bees.id))
        return given

    one = replace(one, chat=VerifyingChatClient(itertools.repeat(answer)))
    await checked(one)
    assert BEES not in await everything(world)
    model.verdict = True
    await checked(one)
    assert BEES not in await everything(world)
    assert await contents(world) == {FERRY, f"noted that {FERRY}"}
    assert await waiting(one) == []


class Interrupted(WatchedStorage):
    """Does something else just before one write, counted from 0, and may die just after it."""

    def __init__(self, storage: Storage, number: int, other: Callable[[UnitOfWork], object], *, dies: bool) -> None:
        super().__init__(storage, after=self._die if dies else None)
        self._number = number
        self._other = other

    async def write(self, scope: Scope, work: Callable[[UnitOfWork], Any], *, origin: Origin = Origin.HOST) -> Any:
        if self.writes == self._number:
            await self._storage.write(scope, self._other)
        return await super().write(scope, work, origin=origin)

    def _die(self, number: int) -> None:
        if number == self._number:
            self.is_dead = True
            raise Killed


@pytest.mark.parametrize("dies", [False, True], ids=["and it goes on", "and it dies after the second"])
@pytest.mark.parametrize("day", [0, 1])
async def test_words_forgotten_between_whichever_two_writes_of_a_run_stay_nowhere(
    world: World, day: int, *, dies: bool
):
    async def lived(number: int) -> int:
        one, model = with_model(replace(world, scope=fresh_scope()), None)
        bees, _ = await one.add(BEES, FERRY)
        for _ in range(day):
            await checked(one)
        storage = Interrupted(one.storage, number, lambda unit: unit.forget(bees.id), dies=dies)
        with suppress(Killed, BaseExceptionGroup):
            await checked(replace(one, storage=storage))
        if storage.writes > number:
            assert BEES not in await everything(one), f"before write {number}"
            await bury(one)
            model.verdict = True
            await checked(one)
            await checked(one)
            assert BEES not in await everything(one), f"before write {number}"
            assert await contents(one) == {FERRY, f"noted that {FERRY}"}
        return storage.writes

    for number in range(await lived(1_000)):
        await lived(number)


@dataclass
class LookingUp(Checking):
    """Shows an entry more when it has a note read a second time."""

    beside: MemoryEntry | None = None

    async def ask(self, context: ModelContext, batch: Batch, rounds: Sequence[Round]) -> NextRound | None:
        asked = await super().ask(context, batch, rounds)
        if asked is None or self.beside is None or asked.kind is RoundKind.QUESTION:
            return asked
        return replace(asked, shown=((self.beside.id, self.beside.version),))


async def test_words_that_a_later_round_was_shown_and_that_are_forgotten_meanwhile_do_not_wait(world: World):
    await world.add(BEES)
    one, model = with_model(world, None)
    await checked(one)
    (ferry,) = await world.add(FERRY)
    one.clock.advance(HOUR)

    async def answer(request: ChatRequest) -> Any:
        given = model(request)
        if not model.asked[-1].startswith("Is it so: noted that Ana"):
            return given
        await world.write(lambda unit: unit.forget(ferry.id))
        return orjson.dumps({"says": None, "because": FERRY}).decode()

    asking = replace(one, chat=VerifyingChatClient(itertools.repeat(answer)))
    await asking.run_passes(LookingUp(beside=ferry))
    assert FERRY not in await everything(world)
    await checked(with_model(world, YES)[0])
    await checked(with_model(world, YES)[0])
    assert await contents(world) == {BEES, f"noted that {BEES}"}


async def test_a_plan_is_not_kept_if_words_are_forgotten_while_it_is_made(world: World):
    bees, _ = await world.add(BEES, FERRY)
    only = {"passes": OwnPasses().append(Checking()), "modes": {"*": "off", "checking": "apply"}}
    one, model = with_model(world, YES, **only)

    async def answer(request: ChatRequest) -> Any:
        given = model(request)
        if model.asked[-1].startswith(f"Is it so: noted that {BEES}"):
            await world.write(lambda unit: unit.forget(bees.id))
        return given

    one = replace(one, chat=VerifyingChatClient(itertools.repeat(answer)))
    plan = await one.dreams.plan()
    assert BEES not in await everything(world)
    with pytest.raises(UnknownPlanError):
        await one.dreams.run(plan=plan.plan_id)


async def test_what_waited_for_as_many_runs_as_the_options_allow_falls_away_and_is_read_anew(world: World):
    await world.add(BEES)
    one, model = with_model(world, None, waiting=WaitingOptions(runs=2, within=timedelta(days=9)))
    for _ in range(3):
        await checked(one)
    assert (model.questions, model.verifications) == (1, 3)
    model.verdict = True
    done = await checked(one)
    assert codes(done) == ["waited_too_long"]
    assert (model.questions, done.accepted) == (2, 1)


async def test_what_waited_longer_than_the_options_allow_falls_away_and_is_read_anew(world: World):
    await world.add(BEES)
    one, model = with_model(world, None)
    await checked(one)
    world.clock.advance(timedelta(hours=47))
    assert codes(await checked(one)) == ["unverified"]
    world.clock.advance(HOUR)
    assert codes(await checked(one)) == ["waited_too_long", "unverified"]
    assert model.questions == 2


async def test_a_budget_that_ends_between_two_rounds_leaves_the_answers_to_the_next_run(world: World):
    await world.add(BEES)
    other, _ = with_model(replace(world, scope=fresh_scope()), YES)
    await other.add(BEES)
    asked = (await checked(other)).rounds[0].input_tokens
    # What is set aside for the question is almost all there is.
    tight, model = with_model(world, YES, model=ModelOptions(answer_tokens=100, tokens_per_run=asked + 120))
    first = await checked(tight)
    assert (first.reason, codes(first), model.questions) == ("run_budget", ["unverified"], 1)
    free, model = with_model(world, YES)
    assert ((await checked(free)).accepted, model.questions, model.verifications) == (1, 0, 1)


async def test_a_plan_carries_what_waits_and_its_application_asks_nothing(world: World):
    await world.add(BEES, FERRY)
    only = {"passes": OwnPasses().append(Checking()), "modes": {"*": "off", "checking": "apply"}}
    one, model = with_model(world, None, **only)
    plan = await one.dreams.plan()
    assert await waiting(one) == []
    applied = await one.dreams.run(plan=plan.plan_id)
    assert codes(next(done for done in applied.passes if done.name == "checking")) == ["unverified"] * 2
    assert (model.questions, await waiting(one)) == (2, [("unverified", 2)])
    model.verdict = True
    assert (await checked(one)).accepted == 2
    assert model.questions == 2


async def test_a_forecast_counts_the_next_question_about_what_waits(world: World):
    await world.add(BEES)
    only = {"passes": OwnPasses().append(Checking()), "modes": {"*": "off", "checking": "apply"}}
    one, _ = with_model(world, None, **only)
    (before,) = await one.dreams.forecast()
    assert (before.calls, before.most_calls) == (1, one.options.model.max_rounds)
    assert before.least_tokens < before.most_tokens
    await one.dreams.run()
    (after,) = await one.dreams.forecast()
    assert (after.calls, after.reason) == (1, None)


async def test_undo_takes_back_what_waits_and_the_next_run_reads_it_anew(world: World):
    await world.add(BEES, FERRY)
    before = await world.export()
    one, model = with_model(world, None)
    first = await one.run_passes(Checking())
    assert b'"pending"' in await world.export()
    await one.dreams.undo(first.run_id)
    assert (await waiting(one), await world.export()) == ([], before)
    model.verdict = True
    assert ((await checked(one)).accepted, model.questions) == (2, 4)


async def test_undo_of_the_run_that_ended_it_does_not_make_it_wait_again(world: World):
    await world.add(BEES)
    one, model = with_model(world, None)
    await checked(one)
    model.verdict = True
    ended = await one.run_passes(Checking())
    await one.dreams.undo(ended.run_id)
    assert (await contents(one), await waiting(one)) == ({BEES}, [])
    await checked(one)
    assert await contents(one) == {BEES}


async def test_an_export_has_what_waits_as_yet_to_be_read(world: World):
    (bees,) = await world.add(BEES)
    one, model = with_model(world, None)
    await checked(one)
    pending = {"kind": "pending", "reader": "checking", "id": bees.id}
    assert pending in [orjson.loads(line) for line in (await world.export()).splitlines()]
    model.verdict = True
    await checked(one)
    assert pending not in [orjson.loads(line) for line in (await world.export()).splitlines()]


class CheckingTurns(Checking):
    """Reads turns instead, and writes nothing."""

    name: ClassVar[str] = "checking-turns"
    reads: ClassVar[Reads] = Reads.TURNS

    async def _new(self, context: ModelContext) -> list[Any]:
        return await context.read(
            lambda view: view.turns.material(after=context.cursor, also=context.reopened, limit=99)
        )

    async def pack(self, context: ModelContext) -> Packing:
        found = await self._new(context)
        batches = tuple(Batch(number=one.id, kind="turn", members=((one.id, 1),)) for one in found)
        return Packing(batches=batches, cursor=max([context.cursor, *(one.position for one in found)]))

    async def ask(self, context: ModelContext, batch: Batch, rounds: Sequence[Round]) -> NextRound | None:
        if rounds:
            return await super().ask(context, batch, rounds)
        (said,) = await context.read(lambda view: view.turns.get_many(batch.member_ids))
        return NextRound(self._request(context, f"Note: {said.content}"))

    async def interpret(self, _context: ModelContext, batch: Batch, rounds: Sequence[Round]) -> Proposal:
        if _verdict(rounds) is None:
            return Proposal(waits=Refused.UNVERIFIED)
        return Proposal(looked_at=batch.member_ids)


async def test_a_turn_is_not_consumed_as_long_as_something_of_it_waits(world: World):
    await talk(world, "I keep bees.")
    one, model = with_model(world, None)
    consumption = next(slot.dream_pass for slot in arranged(OwnPasses()) if slot.name == "log-consumption")

    async def unread() -> int:
        await one.run_passes(CheckingTurns(), consumption)
        return await one.storage.read(one.scope, lambda view: view.turns.count_unread())

    assert (await unread(), await unread()) == (1, 1)
    model.verdict = True
    assert (await unread(), model.questions) == (0, 1)


async def test_what_waits_about_a_turn_that_is_withheld_is_dropped(world: World):
    (said,) = await talk(world, "I keep bees.")
    (entry,) = await world.add(replace(world.entry("Ana keeps bees"), sources=(SourceRef(SourceKind.TURN, said.id),)))
    one, model = with_model(world, None)
    await one.run_passes(CheckingTurns())
    await world.write(lambda unit: unit.forget(entry.id))
    done = (await one.run_passes(CheckingTurns())).passes[0]
    assert (codes(done), model.questions, await waiting(one)) == (["forgotten"], 1, [])


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    days=st.lists(
        st.tuples(st.sampled_from([None, True, False, DOWN]), st.sampled_from(["", "edit", "forget"])), max_size=5
    )
)
async def test_whatever_the_verifier_says_each_text_is_asked_about_once_while_it_waits_and_ends_sometime(
    world: World, days: list[tuple[Any, str]]
):
    one, model = with_model(replace(world, scope=fresh_scope()), None, waiting=WaitingOptions(runs=9))
    bees, _ = await one.add(BEES, FERRY)
    texts = 2
    for verdict, happens in days:
        model.verdict = verdict
        await checked(one)
        there = {entry.id: entry for entry in await one.active()}
        if happens == "edit" and bees.id in there:
            await one.change(bees, content=f"{there[bees.id].content} still")
            texts += 1
        elif happens == "forget" and bees.id in there:
            await one.write(lambda unit: unit.forget(bees.id))
    model.verdict = True
    await checked(one)
    assert model.questions <= texts
    assert await waiting(one) == []
    assert (await checked(one)).calls == 0
