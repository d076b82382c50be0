"""What a pass wrote is read a second time in the exchange that wrote it, and waits with it where that cannot be had."""

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, ClassVar

import orjson
import pytest
from dreaming import World, codes, fresh_scope
from interrupting import Killed, bury, count_writes, dying

from agentcore.domain import Capability, Level, MemoryEntry, SourceKind, SourceRef
from agentcore.llm import ChatRequest, ChatRequestRefusedError, Completion, FinishReason, Usage
from agentcore.testing import ScriptedChatClient
from dream.domain import (
    Batch,
    Change,
    ChangeSet,
    NextRound,
    Notes,
    Packing,
    PassReport,
    Proposal,
    Round,
    Work,
    fingerprint,
)
from dream.domain.verification import Assertion, EvidenceLine
from dream.guards.verdict import judge
from dream.options import WaitingOptions
from dream.passes import ModelContext
from dream.passes.exchange_state import Item
from dream.passes.prompts import build_request
from dream.passes.reader_checks import FILE as CHECKS
from dream.passes.second_reading import evidence_text
from dream.passes.verified_exchange import VerifiedExchange

BEES, FERRY, VAN = "Ana keeps forty bees", "The ferry leaves at noon", "Rui would like a van"
NOTES = {BEES: "Ana has bees at home", FERRY: "At noon the boat goes", VAN: "Rui wishes for a van"}
EXAMPLES = {row["true"] for row in orjson.loads((Path(__file__).parents[3] / "directives" / CHECKS).read_bytes())}
HOUR = timedelta(hours=1)
DOWN = ChatRequestRefusedError(model="m", status=400, code="bad")


@dataclass
class Noting:
    """Notes each new entry in other words; what is denied is kept word for word."""

    name: ClassVar[str] = "noting"
    requires: ClassVar[frozenset[Capability]] = frozenset({Capability.LLM})
    directives: ClassVar[tuple[str, ...]] = ("memory-rules", "verify")
    in_parts: bool = True

    async def has_work(self, context: ModelContext) -> Work:
        return Work(len(await self._new(context)))

    async def _new(self, context: ModelContext) -> list[Any]:
        return await context.read(
            lambda view: view.entries.material(after=context.cursor, also=context.reopened, limit=99)
        )

    async def pack(self, context: ModelContext) -> Packing:
        found = await self._new(context)
        entries = await context.read(lambda view: view.entries.by_keys([one.key for one in found]))
        members = tuple((one.id, entries[one.key].version) for one in found)
        batches = (Batch(number="1", kind="entry", members=members),) if members else ()
        return Packing(batches=batches, cursor=max([context.cursor, *(one.position for one in found)]))

    async def _entries(self, context: ModelContext, batch: Batch) -> list[MemoryEntry]:
        return await context.read(lambda view: view.entries.get_many(batch.member_ids))

    def _exchange(self, context: ModelContext, batch: Batch) -> VerifiedExchange[MemoryEntry]:
        async def question(_: frozenset[str] | None) -> ChatRequest:
            lines = [f"Note: {one.content}" for one in await self._entries(context, batch)]
            return build_request(context, directives=(), blocks=lines, answer=None, purpose=self.name)  # type: ignore[arg-type]

        async def judged(answer: Any) -> Any:
            entries = {one.content: one for one in await self._entries(context, batch)}
            told = [(number, one, entries[one["of"]]) for number, one in enumerate(answer["notes"], 1)]
            return [self._item(number, one["text"], entry) for number, one, entry in told], []

        return VerifiedExchange(
            context=context,
            batch=batch,
            name="notes",
            question=question,
            judge=judged,
            repairs=0,
            in_parts=self.in_parts,
        )

    def _item(self, number: int, text: str, entry: MemoryEntry) -> Item[MemoryEntry]:
        line = EvidenceLine(text=entry.content, source=SourceRef(SourceKind.ENTRY, entry.id))
        value = replace(
            entry, content=text, sources=(SourceRef(SourceKind.ENTRY, entry.id),), level=Level.DERIVED, version=1
        )
        verdict = judge(text, [evidence_text(line)]).verdict
        return Item(number=number, value=value, verdict=verdict, assertion=Assertion(text=text, evidence=(line,)))

    async def ask(self, context: ModelContext, batch: Batch, rounds: Sequence[Round]) -> NextRound | None:
        return await self._exchange(context, batch).next_round(rounds)

    async def interpret(self, context: ModelContext, batch: Batch, rounds: Sequence[Round]) -> Proposal:
        found = await self._exchange(context, batch).outcome(rounds)
        made = [one.value for one in found.settled]
        kept = [replace(one, content=f"kept: {one.sources[0].id[:0]}{one.content[:3]}") for one in found.denied]
        sets = tuple(self._noted(context, one) for one in (*made, *kept))
        return Proposal(
            change_sets=sets,
            refused=found.refused,
            waits=found.waits,
            looked_at=() if found.waits else batch.member_ids,
            notes=found.notes,
        )

    def _noted(self, context: ModelContext, made: MemoryEntry) -> ChangeSet:
        made = replace(made, id=context.new_id())
        change = Change[MemoryEntry](before=None, after=made, reason="noted in other words")
        return ChangeSet(operation="note", changes=(change,), fingerprints={made.id: fingerprint("note", made)})

    def conclude(self, notes: Sequence[Notes]) -> Notes:
        return {"steps": [dict(one) for one in notes]}


@dataclass
class Model:
    """Notes what it is shown, and reads as told: `careful`, `agrees`, `cut`, `first only`, or an error."""

    reads: Any = "careful"
    wrote: int = 0
    read: int = 0
    seen: list[str] = field(default_factory=list[str])

    def __call__(self, request: ChatRequest) -> Any:
        text = request.messages[-1].content
        if "Statements:" not in text:
            self.wrote += 1
            entries = [line.removeprefix("Note: ") for line in text.splitlines() if line.startswith("Note: ")]
            return orjson.dumps({"notes": [{"of": one, "text": NOTES[one]} for one in entries]}).decode()
        self.read += 1
        self.seen.append(text)
        if isinstance(self.reads, Exception):
            return self.reads
        if self.reads == "cut":
            return Completion(
                text='{"readings": [',
                finish_reason=FinishReason.LENGTH,
                usage=Usage(input_tokens=9_000, output_tokens=1),
                model="reader",
            )
        return orjson.dumps({"readings": list(self._readings(text))}).decode()

    def _readings(self, text: str) -> Any:
        records, statements = text.split("Statements:")
        known = {
            line[1 : line.index("]")]: orjson.loads(line[line.rindex(' "') + 1 :])
            for line in records.splitlines()
            if line.startswith("[r") and '"' in line
        }
        for line in statements.splitlines():
            if re.match(r"\[[s-z]\d", line) is None:
                continue
            content = orjson.loads(line[line.index('"') :])
            cited = re.findall(r"r\d+", line.partition(': "')[0].partition("(")[0])
            shown = [known[one] for one in cited]
            is_true = any(NOTES.get(one) == content for one in shown) or content in EXAMPLES
            if self.reads == "first only" and content in NOTES.values() and content != NOTES[BEES]:
                continue
            says = is_true or self.reads == "agrees"
            yield {
                "id": line[1 : line.index("]")],
                "reading": "says" if says else "not_said",
                "quotes": shown,
                "leftOut": [],
            }


def with_model(world: World, reads: Any = "careful", **options: Any) -> tuple[World, Model]:
    model = Model(reads)
    chat = ScriptedChatClient(itertools.repeat(model))
    return replace(world, chat=chat, options=world.options.replace(**options)), model


async def noted(world: World) -> PassReport:
    return (await world.run_passes(Noting())).passes[0]


async def contents(world: World) -> set[str]:
    return {one.content for one in await world.active()} - {*NOTES}


async def test_what_a_second_reading_finds_is_written(world: World):
    await world.add(BEES, FERRY, VAN)
    one, model = with_model(world)
    report = await noted(one)
    assert await contents(one) == {*NOTES.values()}
    assert (model.wrote, model.read, report.accepted) == (1, 1, 3)
    assert (await noted(one)).calls == 0


@pytest.mark.parametrize(
    ("reads", "code", "calls"),
    [(DOWN, "unverified", 1), ("agrees", "verifier_unreliable", 2), ("cut", "verifier_unreliable", 4)],
    ids=["is down", "agrees with all", "is cut off"],
)
async def test_what_was_not_read_waits_and_the_next_run_has_it_read_without_asking_the_writer_again(
    world: World, reads: Any, code: str, calls: int
):
    await world.add(BEES, FERRY, VAN)
    one, model = with_model(world, reads)
    first = await noted(one)
    assert code in codes(first)
    assert (model.wrote, model.read, first.accepted, await contents(one)) == (1, calls, 0, set())
    (told,) = first.notes["waits"]
    assert (told["reason"], told["count"]) == (code, 1)
    world.clock.advance(HOUR)
    model.reads = "careful"
    done = await noted(one)
    assert (model.wrote, done.accepted, "waits" in done.notes) == (1, 3, False)
    assert await contents(one) == {*NOTES.values()}
    assert (await noted(one)).calls == 0


async def test_what_waited_as_long_as_it_may_takes_the_fallback_and_is_not_asked_about_again(world: World):
    await world.add(BEES, FERRY)
    one, model = with_model(world, "agrees", waiting=WaitingOptions(runs=2, within=timedelta(days=9)))
    for _ in range(3):
        await noted(one)
        world.clock.advance(HOUR)
    asked = model.read
    done = await noted(one)
    assert codes(done) == ["waited_too_long"] * 2
    assert await contents(one) == {"kept: Ana", "kept: At "}
    assert (model.wrote, model.read) == (1, asked)
    assert "waits" not in done.notes
    assert (await noted(one)).calls == 0


async def test_a_budget_that_the_question_used_up_leaves_the_second_reading_to_the_next_run(world: World):
    await world.add(BEES, FERRY, VAN)
    one, model = with_model(world, model={"tokens_per_run": 9_000})
    whole = await noted(replace(one, scope=fresh_scope()))
    assert (whole.calls, model.read) == (0, 0)
    found = await noted(one)
    question, reading = found.rounds
    assert (question.kind, reading.kind) == ("question", "verification")
    used = question.input_tokens + question.output_tokens
    assert used + reading.input_tokens + reading.output_tokens == found.input_tokens + found.output_tokens
    other, model = with_model(world.elsewhere(), model={"tokens_per_run": used + reading.input_tokens})
    await other.add(BEES, FERRY, VAN)
    done = await noted(other)
    assert (model.read, done.accepted) == (0, 0)


async def test_what_is_decided_is_written_once_while_the_rest_waits(world: World):
    await world.add(BEES, FERRY, VAN)
    one, model = with_model(world, "first only", model={"tokens_per_run": None})
    stopped = replace(one, chat=ScriptedChatClient([model, model, DOWN]))
    first = await noted(stopped)
    assert (first.accepted, await contents(one)) == (1, {NOTES[BEES]})
    model.reads = "careful"
    second = await noted(one)
    assert (model.wrote, second.accepted) == (1, 2)
    assert sorted(entry.content for entry in await world.active()) == sorted([*NOTES, *NOTES.values()])


async def test_where_what_is_decided_would_change_what_waits_all_of_it_is_written_at_the_end(world: World):
    await world.add(BEES, FERRY, VAN)
    one, model = with_model(world, "first only")
    stopped = replace(one, chat=ScriptedChatClient([model, model, DOWN]))
    assert (await stopped.run_passes(Noting(in_parts=False))).passes[0].accepted == 0
    model.reads = "careful"
    assert (await one.run_passes(Noting(in_parts=False))).passes[0].accepted == 3
    assert await contents(one) == {*NOTES.values()}


@pytest.mark.parametrize("committed", [False, True], ids=["before a write", "after a write"])
async def test_however_a_run_is_killed_no_round_is_paid_for_twice_and_nothing_is_written_twice(
    world: World, *, committed: bool
):
    async def begun() -> tuple[World, Model]:
        one, model = with_model(replace(world, scope=fresh_scope()))
        await one.add(BEES, FERRY)
        return one, model

    counted, _ = await begun()
    for write in range(await count_writes(counted, noted)):
        one, _ = await begun()
        with pytest.raises((Killed, BaseExceptionGroup)):
            await noted(dying(one, write, committed=committed))
        await bury(one)
        await noted(one)
        await noted(one)
        assert await contents(one) == {NOTES[BEES], NOTES[FERRY]}
        runs = await one.dreams.runs()
        kinds = [call.kind for run in runs for call in await one.dreams.calls(run.run_id)]
        assert sorted(filter(None, kinds)) == ["question", "verification"], f"killed at write {write}"
