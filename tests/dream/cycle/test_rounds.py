"""An exchange with the model has rounds: ask, look something up, write, have it verified."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import orjson
import pytest
from dreaming import VerifyingChatClient, World, codes, fresh_scope
from interrupting import Killed, bury, count_writes, dying

from agentcore.domain import Capability, Level, MemoryEntry, SourceKind, SourceRef
from agentcore.llm import ChatRequest, ResponseFormat
from dream.domain import (
    Batch,
    Change,
    ChangeSet,
    NextRound,
    Notes,
    Packing,
    PassReport,
    Proposal,
    Refused,
    Round,
    RoundKind,
    Work,
    fingerprint,
)
from dream.options import ModelOptions
from dream.passes import ModelContext
from dream.passes.prompts import build_request
from dream.stores import dream_stores

BEES, HONEY, FERRY, FARES = "Ana keeps bees", "Ana keeps honey in Porto", "The ferry leaves", "The ferry costs two"


@dataclass
class Connecting:
    """Connects each new entry with what recall finds for it, if a second reading says that they belong together."""

    name: ClassVar[str] = "connecting"
    requires: ClassVar[frozenset[Capability]] = frozenset({Capability.LLM})
    directives: ClassVar[tuple[str, ...]] = ("memory-rules",)
    never_ends: bool = False
    asked: list[tuple[str, int]] = field(default_factory=list)

    async def has_work(self, context: ModelContext) -> Work:
        return Work(len(await self._new(context)))

    async def _new(self, context: ModelContext) -> list[Any]:
        return await context.read(
            lambda view: view.entries.material(after=context.cursor, also=context.reopened, limit=99)
        )

    async def pack(self, context: ModelContext) -> Packing:
        found = await self._new(context)
        batches = tuple(
            Batch(number=str(number), kind="entry", members=((one.id, 1),)) for number, one in enumerate(found, 1)
        )
        return Packing(batches=batches, cursor=max([context.cursor, *(one.position for one in found)]))

    async def ask(self, context: ModelContext, batch: Batch, rounds: Sequence[Round]) -> NextRound | None:
        self.asked.append((batch.number, len(rounds)))
        (entry,) = await context.read(lambda view: view.entries.get_many(batch.member_ids))
        if not rounds:
            return NextRound(self._request(context, f"What shall be looked up for: {entry.content}?"))
        if len(rounds) == 1 or self.never_ends:
            hits = await context.recall.search(str(rounds[0].answer["lookUp"]), k=9)
            # Batches run side by side: what is looked up must not depend on whether another one is committed yet.
            found = [one.entry for one in hits if one.entry.id != entry.id and one.entry.level is Level.EXPLICIT]
            request = self._request(context, f"Connect: {' | '.join([entry.content, *(one.content for one in found)])}")
            return NextRound(request, RoundKind.LOOKUP, tuple((one.id, one.version) for one in found))
        if len(rounds) == 2:
            return NextRound(self._request(context, f"Is it so: {rounds[1].answer['text']}"), RoundKind.VERIFICATION)
        return None

    def _request(self, context: ModelContext, text: str) -> ChatRequest:
        answer = ResponseFormat(name="answer", schema={})
        return build_request(context, directives=(), blocks=[text], answer=answer, purpose=self.name)

    async def interpret(self, context: ModelContext, batch: Batch, rounds: Sequence[Round]) -> Proposal:
        if len(rounds) < 3 or not rounds[2].answer.get("says"):
            return Proposal(looked_at=batch.member_ids)
        versions = dict([*batch.members, *rounds[1].shown])
        entries = await context.read(lambda view: view.entries.get_many(list(versions)))
        as_shown = [one for one in entries if one.version == versions[one.id] and one.is_active]
        made = _connection(context, as_shown, str(rounds[1].answer["text"]))
        return Proposal(change_sets=(made,) if len(as_shown) > 1 else (), looked_at=batch.member_ids)

    def conclude(self, _notes: Sequence[Notes]) -> Notes:
        return {}


def _connection(context: ModelContext, sources: Sequence[MemoryEntry], text: str) -> ChangeSet:
    first = min(sources, key=lambda one: one.id)
    made = replace(
        first,
        id=context.new_id(),
        content=text,
        base=min(one.base for one in sources),
        trust=min(one.trust for one in sources),
        sources=tuple(sorted(SourceRef(SourceKind.ENTRY, one.id) for one in sources)),
        level=Level.DERIVED,
        version=1,
    )
    change = Change[MemoryEntry](before=None, after=made, reason="both tell of one thing")
    return ChangeSet(operation="connect", changes=(change,), fingerprints={made.id: fingerprint("connect", made)})


def _last(request: ChatRequest) -> str:
    return request.messages[-1].content


def answering(request: ChatRequest) -> str:
    """Look up the entry's first words; connect with what is shown; say yes."""
    text = _last(request)
    if "What shall be looked up" in text:
        words = text.split("looked up for: ")[1].split("?")[0]
        return orjson.dumps({"lookUp": words}).decode()
    if "Connect: " in text:
        connected = text.split("Connect: ")[1].split("\n")[0].replace(" | ", "; ")
        return orjson.dumps({"text": connected}).decode()
    return orjson.dumps({"says": True}).decode()


def with_model(world: World, answer: Any = answering, **model: Any) -> World:
    def forever() -> Any:
        while True:
            yield answer

    return replace(
        world, chat=VerifyingChatClient(forever()), options=world.options.replace(model=ModelOptions(**model))
    )


async def connected(world: World, **wishes: Any) -> PassReport:
    return (await world.run_passes(Connecting(**wishes))).passes[0]


async def contents(world: World) -> set[str]:
    return {one.content for one in await world.active()}


async def test_a_pass_looks_something_up_and_has_it_verified_in_a_third_round(world: World):
    await world.add(BEES, HONEY)
    one = with_model(world)
    done = await connected(one)
    assert await contents(world) == {BEES, HONEY, f"{BEES}; {HONEY}", f"{HONEY}; {BEES}"}
    assert [(cost.number, cost.calls) for cost in done.rounds] == [(1, 2), (2, 2), (3, 2)]
    assert sum(cost.input_tokens for cost in done.rounds) == done.input_tokens
    assert sum(cost.output_tokens for cost in done.rounds) == done.output_tokens
    (run,) = await world.dreams.runs()
    kinds = [call.kind for call in await world.dreams.calls(run.run_id)]
    assert sorted(filter(None, kinds)) == ["lookup"] * 2 + ["question"] * 2 + ["verification"] * 2


async def test_a_step_keeps_what_each_round_showed(world: World):
    bees, honey = await world.add(BEES, HONEY)
    await connected(with_model(world))
    (run,) = await world.dreams.runs()
    steps = await world.storage.read(world.scope, lambda view: dream_stores(view).runs.steps(run.run_id))
    rounds = [[(one.kind.value, one.shown) for one in step.report.rounds] for step in steps if step.report.rounds]
    assert rounds == [
        [("question", ()), ("lookup", ((other.id, other.version),)), ("verification", ())] for other in (honey, bees)
    ]


async def test_a_pass_that_never_ends_its_exchange_is_asked_no_further_and_that_is_told(world: World):
    await world.add(BEES, HONEY)
    one = with_model(world, max_rounds=2)
    done = await connected(one, never_ends=True)
    assert (done.calls, codes(done)) == (4, [Refused.TOO_MANY_ROUNDS] * 2)
    assert await contents(world) == {BEES, HONEY}
    assert (await connected(one)).calls == 0


async def test_every_round_is_charged_to_the_budget(world: World):
    await world.add(BEES, HONEY)
    free = await connected(with_model(replace(world, scope=fresh_scope())))
    assert free.calls == 0
    whole = await connected(with_model(world))
    spent = whole.input_tokens + whole.output_tokens
    tight = replace(world, scope=fresh_scope())
    await tight.add(BEES, HONEY)
    done = await connected(with_model(tight, answer_tokens=100, tokens_per_run=spent // 2 + 100))
    assert (done.reason, done.input_tokens + done.output_tokens <= spent // 2 + 100) == ("run_budget", True)


async def stored_calls(world: World) -> int:
    """How many answers are on record."""
    told = [call for run in await world.dreams.runs() for call in await world.dreams.calls(run.run_id)]
    return len([call for call in told if not call.failed])


@pytest.mark.parametrize("committed", [False, True], ids=["before a write", "after a write"])
async def test_however_a_run_is_killed_between_rounds_no_answered_round_is_asked_twice(
    world: World, *, committed: bool
):
    async def begun() -> World:
        one = with_model(replace(world, scope=fresh_scope()))
        await one.add(BEES, HONEY, FERRY, FARES)
        return one

    whole = await begun()
    writes = await count_writes(whole, connected)
    for write in range(writes):
        one = await begun()
        with pytest.raises((Killed, BaseExceptionGroup)):
            await connected(dying(one, write, committed=committed))
        answered, asked = await stored_calls(one), len(one.chat.requests)
        await bury(one)
        await connected(one)
        assert len(one.chat.requests) - asked == len(whole.chat.requests) - answered
        assert set(map(_last, one.chat.requests)) == set(map(_last, whole.chat.requests))
        assert await contents(one) == await contents(whole)
        assert (await connected(one)).calls == 0


async def test_a_record_that_was_looked_up_and_is_edited_after_a_kill_is_dropped_alone(world: World):
    for write in range(99):
        one = replace(world, scope=fresh_scope())
        honey, faro = await one.add(HONEY, "Ana keeps a boat in Faro")
        await connected(with_model(one, '{"lookUp": "", "text": "", "says": false}'))
        (bees,) = await one.add(BEES)
        one, before = with_model(one), await stored_calls(one)
        with pytest.raises((Killed, BaseExceptionGroup)):
            await connected(dying(one, write, committed=True))
        await bury(one)
        if await stored_calls(one) == before + 3:
            break
    assert len(await one.active()) == 3
    await one.change(honey, content="Ana sold the honey")
    assert (await connected(one)).calls == len(one.chat.requests) == 3
    (made,) = [entry for entry in await one.active() if entry.level is Level.DERIVED]
    assert made.sources == tuple(sorted(SourceRef(SourceKind.ENTRY, source.id) for source in (bees, faro)))
