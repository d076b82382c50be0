"""A plan that is applied leaves what the run would have left, whatever its passes leave beside changes."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from itertools import repeat
from pathlib import Path
from typing import Any, ClassVar

import orjson
import pytest
from dreaming import NOW, VerifyingChatClient, World, codes, of_pass
from hypothesis import HealthCheck, given, settings, strategies as st
from interrupting import Killed, bury, count_writes, dying
from sqlalchemy import update

from agentcore.domain import Capability, MemoryEntry, Status, StoredDocument, fold_key
from agentcore.llm import ChatRequest, ResponseFormat
from agentcore.stores.sql.schema import plans
from agentcore.workspace import Workspaces
from dream.domain import (
    Batch,
    Change,
    ChangeSet,
    NextRound,
    Notes,
    Packing,
    Phase,
    PhaseHit,
    Promotion,
    Proposal,
    Reads,
    Refusal,
    Round,
    RunReport,
    SettledCluster,
    StepDraft,
    Work,
    fingerprint,
)
from dream.errors import OutdatedPlanError
from dream.options import ConsolidationOptions, DreamOptions, OwnPasses
from dream.passes import DreamContext, ModelContext
from dream.passes.prompts import build_request
from dream.stores import dream_stores

MEMORY = "MEMORY.md"
PRODUCTS = (
    "change",
    "promoting change",
    "promotion",
    "phase",
    "cluster",
    "no cluster",
    "document",
    "refusal",
    "look again",
)
steps_of_products = st.lists(st.frozensets(st.sampled_from(PRODUCTS)), min_size=1, max_size=5)


@dataclass
class Leaving:
    """Looks at one entry per step, and leaves behind what a test wishes."""

    leaves: Sequence[frozenset[str]]

    name: ClassVar[str] = "leaving"
    requires: ClassVar[frozenset[Capability]] = frozenset({Capability.MEMORY})

    async def has_work(self, context: DreamContext) -> Work:
        return Work(max(0, len(self.leaves) - context.cursor))

    async def propose(self, context: DreamContext) -> Proposal:
        place = context.cursor
        entry = await context.read(lambda view: view.entries.get(f"e{place}"))
        assert entry is not None
        wanted, sets = self.leaves[place], []
        promotion = Promotion(entry_id=entry.id, score=0.5, hits=place, run_id=context.run_id, promoted_at=NOW)
        if wanted & {"change", "promoting change"}:
            gone = replace(entry, status=Status.ARCHIVED, status_reason="left", status_at=context.as_of)
            promotions = (promotion,) if "promoting change" in wanted else ()
            sets.append(retirement(entry, gone, promotions))
        if "document" in wanted:
            sets.append(await self._line(context, entry))
        cluster = SettledCluster(fingerprint=f"c{place}", record_ids=(entry.id,), declines=1, declined_at=NOW)
        return Proposal(
            change_sets=tuple(sets),
            refused=(Refusal("broken_answer", entry.id, text=f"no, {entry.content}"),) if "refusal" in wanted else (),
            notes={"place": place},
            cursor=place + 1,
            looked_at=(entry.id,),
            reopen=(f"e{max(0, place - 1)}",) if "look again" in wanted else (),
            fingerprint=f"mark {place}",
            settled=(cluster,) if "cluster" in wanted else (),
            unsettled=(f"c{place - 1}",) if "no cluster" in wanted else (),
            promotions=(promotion,) if "promotion" in wanted and "promoting change" not in wanted else (),
            phases=(PhaseHit(entry.id, Phase.LIGHT, context.as_of),) if "phase" in wanted else (),
            done=place + 1 == len(self.leaves),
        )

    async def _line(self, context: DreamContext, entry: MemoryEntry) -> ChangeSet:
        before = await context.read(lambda view: view.documents.get(MEMORY))
        base = before or StoredDocument(id=MEMORY, scope=context.scope, content="", updated_at=context.as_of)
        text = f"{base.content}- {entry.content}\n"
        own = tuple(sorted({*base.own, fold_key(entry.content)}))
        after = replace(base, content=text, own=own, updated_at=context.as_of)
        change = Change[Any](before=before, after=after, reason="a line more")
        return ChangeSet(operation="write", changes=(change,), fingerprints={MEMORY: fingerprint("write", entry)})

    def conclude(self, notes: Sequence[Notes]) -> Notes:
        return {"places": [one["place"] for one in notes]}


def retirement(entry: MemoryEntry, gone: MemoryEntry, promotions: tuple[Promotion, ...] = ()) -> ChangeSet:
    change = Change[Any](before=entry, after=gone, reason="left behind")
    marks = {entry.id: fingerprint("leave", entry)}
    return ChangeSet(operation="leave", changes=(change,), fingerprints=marks, promotions=promotions)


async def left(world: World) -> dict[str, Any]:
    """All that a run leaves in the store and in the files, but for its id and the clock's."""

    def look(view: Any) -> dict[str, Any]:
        books = dream_stores(view)
        names = ("leaving", "asking")
        runs = [run.run_id for run in books.runs.newest(limit=10)]
        return {
            "cursors": {
                one: (books.cursors.position(one), books.cursors.reads(one)) for one in books.cursors.readers()
            },
            "reopened": {one: books.cursors.reopened(one) for one in (*names, "asking/aside")},
            "marks": {name: books.ledger.fingerprint(name) for name in names},
            "clusters": {name: books.clusters.all(name) for name in names},
            "waiting": {
                name: [
                    (one.reason, one.rounds, one.records, [held.to_json() for held in one.change_sets])
                    for one in books.waiting.of(name)
                ]
                for name in names
            },
            "phases": books.phases.standing(),
            "promotions": [
                (one.entry_id, one.score, one.hits, one.promoted_at)
                for entry_id in sorted(books.promotions.known())
                if (one := books.promotions.of(entry_id)) is not None
            ],
            "refused": [(one.code, one.text) for run in runs for one in books.refused_texts.of_run(run)],
            "failed": dict(books.attempts.failed("asking", ["q0", "q1"])),
        }

    found = await world.storage.read(world.scope, look)
    folder = None if world.workspaces is None else world.workspaces.folder(world.scope)
    files = {} if folder is None else {one.name: one.read_text() for one in sorted(folder.root.glob("*.md"))}
    return {**found, "export": await world.export(), "files": files}


def at_home(world: World, root: Path) -> World:
    """The world with a folder of its own, in which a person has written."""
    folder = root / world.scope.observed
    folder.mkdir(exist_ok=True)
    (folder / MEMORY).write_text("# Notes\n\n- Ana sails\n")
    return replace(world, workspaces=Workspaces(lambda _: folder))


async def filled(world: World, count: int) -> World:
    await world.add(*(world.entry(f"note {place}", id=f"e{place}", created_at=NOW) for place in range(count)))
    return world


def told(report: RunReport) -> tuple[Any, ...]:
    mine = of_pass(report, "leaving")
    notes = {name: note for name, note in mine.notes.items() if name != "commit"}
    return mine.outcome, mine.reason, mine.accepted, mine.looked_at, mine.refused, notes


def only(own: Any, **options: Any) -> DreamOptions:
    return DreamOptions(passes=OwnPasses().append(own), modes={"*": "off", own.name: "apply"}, **options)


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(leaves=steps_of_products)
async def test_a_plan_applied_leaves_what_the_run_would_have_left(
    world: World, tmp_path: Path, leaves: list[frozenset[str]]
):
    world.options = only(Leaving(leaves))
    whole = at_home(await filled(world.elsewhere(), len(leaves)), tmp_path)
    ran = await whole.dreams.run()
    planned = at_home(await filled(world.elsewhere(), len(leaves)), tmp_path)
    plan = await planned.dreams.plan()
    applied = await planned.dreams.run(plan=plan.plan_id)
    assert await left(planned) == await left(whole)
    assert told(applied) == told(ran)
    await planned.dreams.undo(applied.run_id)
    await whole.dreams.undo(ran.run_id)
    assert await left(planned) == await left(whole)


@dataclass
class Asking:
    """Asks two questions, the second for a reader of its own, and retires two entries by each answer."""

    name: ClassVar[str] = "asking"
    requires: ClassVar[frozenset[Capability]] = frozenset({Capability.LLM})
    directives: ClassVar[tuple[str, ...]] = ("memory-rules",)
    side_readers: ClassVar[dict[str, Reads]] = {"aside": Reads.FEEDBACK}

    async def has_work(self, context: ModelContext) -> Work:
        left = max(0, 9 - context.cursor) + max(0, 7 - context.side_cursors["aside"])
        return Work(left + len(context.reopened))

    async def pack(self, context: ModelContext) -> Packing:
        left = tuple((one, 1) for one in ("q0", "q1") if context.cursor < 9 or one in context.reopened)
        first = (Batch(number="1", kind="question", members=left),) if left else ()
        aside = Batch(number="2", kind="question", members=(("f", 1),), reader="aside", cursor=7)
        return Packing(batches=(*first, aside) if context.side_cursors["aside"] < 7 else first, cursor=9)

    async def ask(self, context: ModelContext, batch: Batch, rounds: Sequence[Round]) -> NextRound | None:
        form = ResponseFormat(name="answer", schema={})
        question = build_request(context, directives=(), blocks=[batch.number], answer=form, purpose=self.name)
        return None if rounds else NextRound(question)

    async def interpret(self, context: ModelContext, batch: Batch, _rounds: Sequence[Round]) -> Proposal:
        ids = ("e2", "e3") if batch.reader else ("e0", "e1")
        entries = await context.read(lambda view: view.entries.get_many(ids))
        gone = {"status": Status.ARCHIVED, "status_reason": "left", "status_at": NOW}
        sets = [
            retirement(one, replace(one, **gone)) for one in sorted(entries, key=lambda one: one.id) if one.is_active
        ]
        return Proposal(change_sets=tuple(sets), looked_at=batch.member_ids)

    def conclude(self, _notes: Sequence[Notes]) -> Notes:
        return {}


def answering(world: World, *answers: str) -> World:
    """Answer the first batch by the first of *answers*, whichever question comes first, and so on."""

    def answer(request: ChatRequest) -> str:
        return answers[int(request.messages[-1].content.strip()[-1]) % len(answers) - 1]

    return replace(world, chat=VerifyingChatClient(repeat(answer)))


GOOD = orjson.dumps({"text": "yes"}).decode()


@pytest.mark.parametrize("answers", [(GOOD, GOOD), ("no answer", GOOD)])
async def test_a_plan_applied_keeps_cursors_directives_failures_and_what_has_no_room(
    world: World, answers: tuple[str, ...]
):
    cap = ConsolidationOptions(share_cap=0.0, share_cap_min=1)
    options = only(Asking(), consolidation=cap)
    world.options = options.replace(model=options.model.replace(calls_in_flight=1))
    whole = answering(await filled(world.elsewhere(), 4), *answers)
    ran = await whole.dreams.run()
    assert "share_cap" in codes(of_pass(ran, "asking"))
    planned = answering(await filled(world, 4), *answers)
    plan = await planned.dreams.plan()
    assert codes(of_pass(plan.report, "asking")) == codes(of_pass(ran, "asking"))
    applied = await planned.dreams.run(plan=plan.plan_id)
    assert codes(of_pass(applied, "asking")) == codes(of_pass(ran, "asking"))
    assert await left(planned) == await left(whole)


class PromotingTwice(Leaving):
    """Counts each entry as promoted twice in a step."""

    async def propose(self, context: DreamContext) -> Proposal:
        proposal = await super().propose(context)
        (once,) = proposal.promotions
        return replace(proposal, promotions=(once, replace(once, score=0.9)))


async def test_an_entry_that_a_step_promotes_twice_counts_as_promoted_once(world: World):
    await filled(world, 1)
    world.options = only(PromotingTwice([frozenset({"promotion"})]))
    done = of_pass(await world.dreams.run(), "leaving")
    assert (done.outcome.value, done.reason) == ("unchanged", "nothing_to_change")
    assert [score for _, score, _, _ in (await left(world))["promotions"]] == [0.5]


async def test_a_plan_that_a_kill_broke_off_leaves_nothing_unread(world: World):
    world.options = only(Asking()).replace(model=DreamOptions().model.replace(calls_in_flight=1))

    async def planned(one: World) -> tuple[World, str]:
        one = answering(await filled(one, 4), GOOD)
        return one, (await one.dreams.plan()).plan_id

    counted, first = await planned(world.elsewhere())
    writes = await count_writes(counted, lambda one: one.dreams.run(plan=first))
    for write in range(writes):
        one, plan_id = await planned(world.elsewhere())
        with pytest.raises(Killed):
            await dying(one, write, committed=True).dreams.run(plan=plan_id)
        await bury(one)
        await one.dreams.run()
        assert await one.active() == [], write
        assert (await left(one))["reopened"]["asking"] == [], write


async def test_a_plan_of_an_earlier_version_is_refused_in_one_sentence(world: World):
    await filled(world, 1)
    world.options = only(Leaving([frozenset({"change"})]))
    plan = await world.dreams.plan()
    old = orjson.dumps({"rows": [], "cursors": {}, "settled": {}}).decode()
    await world.write(lambda unit: unit.transaction.connection.execute(update(plans).values(changes=old)))
    with pytest.raises(OutdatedPlanError, match="make a new one with `dream plan`"):
        await world.dreams.run(plan=plan.plan_id)


async def test_a_plan_of_a_pass_that_is_gone_is_refused_in_one_sentence(world: World):
    await filled(world, 1)
    world.options = only(Leaving([frozenset({"change"})]))
    plan = await world.dreams.plan()
    world.options = DreamOptions()
    with pytest.raises(OutdatedPlanError, match="with a pass that is gone"):
        await world.dreams.run(plan=plan.plan_id)


def test_a_plan_keeps_every_field_of_a_proposal_and_of_a_step():
    assert Proposal().to_json().keys() == {one.name for one in fields(Proposal)}
    kept = StepDraft(proposal=Proposal()).to_json().keys()
    assert kept == {one.name for one in fields(StepDraft)} - {"is_planned", "exchange"}  # see `waits`
