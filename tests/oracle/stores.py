"""The stores: what happens in each life, in the order in which they are frozen."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar

from agentcore import Scope, Status
from agentcore.domain import Capability, EntryFilter
from agentcore.domain.actor import Actor, ActorKind
from agentcore.llm import ChatRequest, Completion, FinishReason, Usage
from agentcore.stores.acting import acting_as
from dream.domain import Change, ChangeSet, Proposal, Work, fingerprint
from dream.domain.proposal import summed
from dream.options import (
    ConsolidationOptions,
    DreamOptions,
    Interval,
    ModelOptions,
    SchedulingOptions,
    WispFailureOptions,
)
from tests.oracle.life import Life, usual
from tests.oracle.model import by_demo, by_rule
from tests.oracle.ten_days import ten_days

Recipe = Callable[[Life], Awaitable[None]]

_PATIENCE = 30
"""Seconds, after which a life that waits is at fault."""
_WORKERS = 2
EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
_DEMO = datetime(2025, 10, 12, 20, tzinfo=UTC)
"""Two minutes after the last turn of the demo's conversation."""
PAIRS = (
    ("Ana is allergic to hazelnuts.", "Ana is allergic to hazelnuts and carries an EpiPen."),
    ("The office key hangs behind the kitchen door.", "The office key hangs behind the kitchen door, on a hook."),
    ("Rent is 900 euros a month.", "Rent is 950 euros a month instead of 900 euros."),
    ("The train to Porto leaves at 8:15.", "The train to Porto leaves at 8:15 from platform 3."),
)


async def fresh(life: Life) -> None:
    """Nothing is stored, and two dreams find nothing."""
    await life.dream()
    life.later(days=1)
    await life.dream()


async def imported_chat(life: Life) -> None:
    """A conversation is imported and mined by the demo's model; the second dream has nothing to do."""
    life.rule = by_demo
    life.clock.set(_DEMO)
    turns = (EXAMPLES / "conversation.jsonl").read_text("utf-8").splitlines(keepends=True)
    path = life.folder / "conversation.jsonl"
    path.write_text("".join([*turns[:40], *turns[-90:]]), encoding="utf-8")  # all of it fills half a megabyte
    await life.command("import", str(path))
    await life.dream()
    life.later(hours=4)
    await life.dream()


async def imported_memory(life: Life) -> None:
    """A memory file and a list of entries are imported; a dream without a model, then one with it."""
    life.clock.set(_DEMO)
    life.rule = None
    for name in ("MEMORY.md", "memory.jsonl"):
        await life.command("import", f"{EXAMPLES}/{name}")
    await life.dream()
    life.rule = by_demo
    life.later(hours=4)
    await life.dream()


async def skills(life: Life) -> None:
    """Skills that say the same, one that fails and is rewritten, and whose rewrite fails and is taken back."""
    async with life.host() as host:
        steps = "1. Fetch the mail.\n2. List the senders.\n3. Put invoices first."
        await host.skills.save(name="mail/digest", summary="Sum up the inbox", content=steps)
        await host.skills.save(
            name="mail/summary",
            summary="Sum up the inbox",
            content="1. Fetch the mail.\n2. Write five bullets at most.",
        )
        await host.skills.save(
            name="mail/send", summary="Send a mail", content="1. Draft the mail.\n2. Send it.", see_also=["mail/digest"]
        )
        await host.skills.save(name="travel/book", summary="Book a trip", content="Book it.")
        life.later(days=8)
        for number in range(8):
            session = f"s{number}"
            await host.skills.use("mail/send", session_id=session)
            await host.skills.use("mail/digest", session_id=session)
            if number < 2:
                said = "Show me the draft before you send anything."
                await host.feedback.append(session_id=session, kind="correction", summary=said)
            call = {"session_id": session, "tool_name": "mail.send"}
            await host.tool_calls.append(**call, succeeded=False, arguments='{"to": "ana"}', error_message="no address")
            life.later(minutes=2)
            await host.tool_calls.append(**call, succeeded=True, arguments='{"to": "ana@example.org"}')
            life.later(hours=1)
    await life.dream()
    async with life.host() as host:
        for number in range(7):
            session = f"later{number}"
            await host.skills.use("mail/send", session_id=session)
            await host.feedback.append(session_id=session, kind="thumbs_down", summary="It went out to the whole list.")
            life.later(hours=1)
    for _ in range(2):
        life.later(days=1)
        await life.dream()


async def feedback(life: Life) -> None:
    """Corrections in the conversation and signals about it become rules and preferences."""
    async with life.host() as host:
        await life.say(
            host, "mon", "Write to Bo about the roof.", "assistant: I sent it.", "No, never send it without asking me!"
        )
        await life.say(host, "tue", "Sum up the day.", "assistant: A long page of text.", "Too long. Shorter please.")
        signals = host.feedback
        await signals.append(session_id="mon", kind="correction", summary="Do not send mail without asking.")
        await signals.append(session_id="tue", kind="session_summary", summary="It went slowly.", rating="poor")
        await signals.append(session_id="tue", kind="tool_failure", summary="The calendar did not answer.")
        await signals.append(session_id="wed", kind="thumbs_up", summary="A good list.")
    await life.dream()
    life.later(days=1)
    async with life.host() as host:
        await life.say(
            host, "wed", "Tell me about Porto.", "assistant: Porto is a city.", "Shorter answers, as I said."
        )
    await life.dream()


async def wisps(life: Life) -> None:
    """Wisps that fail at one step teach a skill; one that keeps succeeding becomes a skill."""
    life.options = usual(wisp_failures=WispFailureOptions(promotion="store"))
    async with life.host() as host:
        content = "1. Run the step export.\n2. Group what export.rows holds."
        await host.skills.save(name="area-schedule", summary="Export the room areas", content=content)
        for number in range(4):
            await host.skills.use("area-schedule", session_id=f"s{number}")
            await _wisp(host, "export the room areas", f"s{number}", failed="export.rows does not exist")
            life.later(hours=3)
        for number in range(6):
            await _wisp(host, "post the weekly plan", f"s{number}")
            life.later(hours=3)
    await life.dream()
    life.later(days=2)
    async with life.host() as host:
        for number in range(4, 7):
            await host.skills.use("area-schedule", session_id=f"s{number}")
            await _wisp(host, "export the room areas", f"s{number}", failed="export.rows does not exist")
    await life.dream()


async def _wisp(host: Any, description: str, session: str, *, failed: str | None = None) -> None:
    told: dict[str, Any] = {"definition_body": '{"steps": [{"id": "post", "tool": "mail.send"}]}'}
    if failed is not None:
        told = {"failed_step_id": "group", "failure_category": "structural", "error_message": failed}
    await host.wisps.append(
        wisp_id=description.replace(" ", "-"),
        description=description,
        definition_hash=description.split(maxsplit=1)[0],
        succeeded=failed is None,
        step_count=2,
        steps_completed=1 if failed else 2,
        duration_ms=1_200,
        session_id=session,
        **told,
    )


async def workspace(life: Life) -> None:
    """What recall needed is promoted to MEMORY.md, told in the diary, and tidied; then one dream is taken back."""
    life.has_workspace = True
    (life.workspace / "MEMORY.md").write_text("# MEMORY.md\n\n- Ask before you book anything.\n", encoding="utf-8")
    texts = [text for pair in PAIRS for text in pair] + ["Ana plays the cello on Mondays."]
    life.options = usual(modes={"memory-consolidation": "off"})
    async with life.host() as host:
        for text in texts:
            await host.memory.remember(text, category="people/ana")
            life.later(hours=1)
    for day in range(4):
        async with life.host() as host:
            for question in ("who is allergic to hazelnuts", "where is the office key", "when is the train to Porto"):
                await host.memory.recall(question, 2, session_id=f"day{day}")
                await host.memory.recall(f"Ana: {question}, day {day}", 2, session_id=f"evening{day}")
            if day == 2:
                await host.workspace.append("Water the plants (done).", "The plants need water on Fridays.")
        life.later(hours=10)
        report = await life.dream()
        life.later(hours=12)
    async with life.host() as host:
        standing = await host.dreams.promotion()
        life.note(promotion=standing.to_json())
        await host.dreams.undo(report.run_id)
    life.later(hours=4)
    await life.dream()


async def proposals(life: Life) -> None:
    """All passes propose only: some are approved, some rejected, some go on waiting, and one is stale."""
    life.options = usual(modes={"*": "propose"})
    entries = await _remember(life, *(text for pair in PAIRS for text in pair), "Ana was in a bad mood.")
    async with life.host() as host:
        await life.say(host, "mon", "I moved the bees to Braga.", "We decided to sell the car.")
    await life.dream()
    async with life.host() as host:
        waiting = await host.dreams.proposals()
        ids = [one.proposal_id for one in waiting]
        await host.dreams.approve(ids[:1])
        await host.dreams.reject(ids[1:2])
        await host.memory.update(entries[2], content="The office key is lost.")
        await host.dreams.approve(ids[2:3])
    life.later(days=1)
    await life.dream()


async def undone(life: Life) -> None:
    """A run is undone and redone; then a pass and a change are undone, and an entry is restored."""
    entries = await _remember(life, *(text for pair in PAIRS for text in pair), "ana is allergic to hazelnuts")
    async with life.host() as host:
        await life.say(host, "mon", "I moved the bees to Braga.", "We decided to sell the car.")
    first = await life.dream()
    async with life.host() as host:
        undo = await host.dreams.undo(first.run_id)
    await life.dream()
    async with life.host() as host:
        await host.dreams.undo(undo.run_id)
        life.later(hours=1)
        await host.dreams.undo(first.run_id, pass_name="episodes")
        await host.dreams.undo(first.run_id, change=1)
        await host.memory.remember("The bees were moved to Guimarães.", category="people/ana")
    life.later(hours=4)
    await life.dream()
    async with life.host() as host:
        archived = await host.memory.list(status=Status.ARCHIVED)
        await host.dreams.restore(min(one.id for one in archived))
    life.later(hours=4)
    await life.dream()
    life.commands += [("why", entries[0]), ("why", entries[1]), ("show", first.run_id), ("diff", first.run_id)]
    life.commands += [("runs",), ("sessions",), ("usage",)]


async def forgotten(life: Life) -> None:
    """Texts are forgotten before and after they were merged; an undo does not bring them back."""
    life.has_workspace = True
    entries = await _remember(life, *(text for pair in PAIRS for text in pair))
    async with life.host() as host:
        await life.say(host, "mon", "I moved the bees to Braga.", "My sister has the second key.")
        gone = await host.memory.forget(entries[6])
        life.note(removed=list(gone.removed), restored=list(gone.restored))
    first = await life.dream()
    async with life.host() as host:
        gone = await host.memory.forget(entries[2])
        life.note(removed=list(gone.removed), restored=list(gone.restored))
        bees = next(one for one in await host.memory.list() if "bees" in one.content)
        await host.memory.forget(bees.id)
        await host.dreams.undo(first.run_id)
    life.later(days=1)
    await life.dream()


async def share_cap(life: Life) -> None:
    """More than a day's share would be retired: the rest waits with its answer and is made on the next days."""
    life.options = usual(consolidation=ConsolidationOptions(share_cap=0.0, share_cap_min=3))
    await _remember(life, *(text for pair in PAIRS for text in pair), "Ana was in a bad mood.")
    await life.dream()
    life.later(hours=12)
    await life.dream()
    for _ in range(2):
        life.later(hours=13)
        await life.dream()


async def scopes(life: Life) -> None:
    """Three scopes of one store dream apart; of one a plan is made, something moves, and the plan is applied."""
    ana, bo = Scope("home", "agent", "ana"), Scope("home", "agent", "bo")
    life.scopes = [Scope.default(), ana, bo]
    for scope in life.scopes:
        await _remember(life, *(text for pair in PAIRS[:3] for text in pair), scope=scope)
    async with life.host() as host:
        await life.say(host, "mon", "I moved the bees to Braga.", scope=ana)
        await host.configure(bo, dream=False)
    await life.dream(ana)
    life.note(switched_off=(await life.dream(bo)).to_json())
    async with life.host() as host:
        dreams = host.dreams
        plan = await dreams.plan()
        life.note(plan=plan.to_json())
        key = next(one for one in await host.memory.list() if one.content == PAIRS[1][0])
        await host.memory.update(key.id, content="The office key is lost.")
        await dreams.run(plan=plan.plan_id)
    life.later(hours=4)
    await life.dream()


class ScratchSweep:
    """An own pass: archives scratch notes that nobody mentioned for 30 days."""

    name: ClassVar[str] = "scratch-sweep"
    requires: ClassVar[frozenset[Capability]] = frozenset({Capability.MEMORY})

    async def has_work(self, context: Any) -> Work:
        return Work(len(await self._due(context)))

    async def propose(self, context: Any) -> Proposal:
        due = await self._due(context)
        sets = tuple(self._archived(entry, context.as_of) for entry in due)
        return Proposal(change_sets=sets, looked_at=tuple(entry.id for entry in due), notes={"swept": len(due)})

    def conclude(self, notes: Any) -> Any:
        return summed(notes, "swept")

    async def _due(self, context: Any) -> list[Any]:
        found = await context.read(lambda view: view.entries.select(EntryFilter(category="scratch")))
        marks = {entry.id: fingerprint("sweep", entry) for entry in found}
        withheld = await context.withheld(marks.values())
        old = [entry for entry in found if (context.as_of - entry.last_seen_at).days > 30]
        return [entry for entry in old if marks[entry.id] not in withheld]

    def _archived(self, entry: Any, as_of: datetime) -> ChangeSet:
        reason = "a scratch note, not mentioned for 30 days"
        retired = replace(entry, status=Status.ARCHIVED, status_reason=reason, status_at=as_of)
        change = Change(before=entry, after=retired, reason=reason)
        return ChangeSet(operation="sweep", changes=(change,), fingerprints={entry.id: fingerprint("sweep", entry)})


async def own_pass(life: Life) -> None:
    """A pass of the host's own retires scratch notes, one of which a person wants back; retention purges the others."""
    life.options = usual(passes=DreamOptions().passes.insert_after("exact-fold", ScratchSweep()))
    async with life.host() as host:
        for text in ("Try the blue one.", "Call back on Monday."):
            await host.memory.remember(text, category="scratch")
        await host.memory.remember("Ana plays the cello.", category="people/ana")
        await life.say(host, "mon", "I moved the bees to Braga.")
    await life.dream()
    life.later(days=31)
    report = await life.dream()
    async with life.host() as host:
        life.note(swept=report.to_json(), rows=[row.to_json() for row in await host.dreams.diff(report.run_id)])
        life.note(undone=(await host.dreams.undo(report.run_id, change=1)).to_json())
    # Retention takes the notes that stayed archived, and the runs with them; after so long a person has to ask for it.
    life.later(days=91)
    with acting_as(Actor(ActorKind.PERSON)):
        await life.dream()


async def bad_answers(life: Life) -> None:
    """A model that is cut off, talks, names what it was not shown, and fails; then a budget; then it behaves."""
    life.rule = _badly
    await _remember(life, *(text for pair in PAIRS for text in pair))
    async with life.host() as host:
        await life.say(host, "mon", "I moved the bees to Braga.", "We decided to sell the car.")
    await life.dream()
    life.rule = by_rule
    life.later(hours=4)
    life.options = usual(model=ModelOptions(calls_in_flight=1, tokens_per_run=8_000))
    await life.dream()
    life.options = usual()
    life.later(hours=4)
    await life.dream()


async def _remember(life: Life, *texts: str, scope: Scope | None = None) -> list[str]:
    """Remember texts more than a day apart, so that a later one may supersede an earlier one; return their ids."""
    async with life.host() as host:
        memory = host.memory if scope is None else host.for_scope(scope).memory
        ids: list[str] = []
        for text in texts:
            ids.append((await memory.remember(text, category="people/ana", tags=["home"])).id)
            life.later(hours=30)
        return ids


def _badly(request: ChatRequest) -> str | Completion:
    """Answer as no model should; what is cut off is asked for again in halves."""
    has_bees, has_car = (word in request.messages[1].content for word in ("bees", "car"))
    if request.purpose == "fact-mining" and has_bees and has_car:
        usage = Usage(input_tokens=3_900, output_tokens=400)
        return Completion(text='{"facts": [', finish_reason=FinishReason.LENGTH, usage=usage, model="small")
    if request.purpose == "memory-consolidation":
        return '{"toDelete": ["e99"], "toSave": [{"content": "x", "sourceIds": ["e98"]}]}'
    return "I would rather not." if has_bees else '{"toSave": "none"}'


async def evaluated(life: Life) -> None:
    """A conversation at rest is rated by the model, without any dream; the next dream learns from it."""
    model, never = ModelOptions(calls_in_flight=1), Interval(initial_delay=timedelta(days=300))
    life.options = DreamOptions(model=model, schedule=SchedulingOptions(trigger=never))
    async with life.host() as host:
        await life.say(host, "mon", "Write to Bo.", "assistant: Who is Bo?", "Bo Berg, the roofer.", "assistant: Done.")
    life.later(hours=2)
    async with asyncio.timeout(_PATIENCE), life.host(in_background=True) as host:
        while life.clock.sleepers < _WORKERS:  # one looks for conversations at rest, one for what is due
            await asyncio.sleep(0.005)
        life.later(minutes=5)
        while not await host.feedback.count():
            await asyncio.sleep(0.005)
    await life.dream()


async def interrupted(life: Life) -> None:
    """A dream is stopped while a pass waits for its answer; the next goes on and pays for no answer twice."""
    dreams: list[asyncio.Task[Any]] = []

    async def stop(request: ChatRequest) -> str:
        if request.purpose == "episodes" and not dreams[0].cancelling():
            dreams[0].cancel()
            await asyncio.Event().wait()
        return by_rule(request)

    life.rule = stop
    await _remember(life, *(text for pair in PAIRS for text in pair))
    async with life.host() as host:
        await life.say(host, "mon", "I moved the bees to Braga.", "We decided to sell the car.")
        dreams.append(asyncio.ensure_future(host.dreams.run()))
        await asyncio.wait(dreams)
        life.note(was_stopped=dreams[0].cancelled())
    life.later(hours=1)
    await life.dream()


STORES: Mapping[str, Recipe] = {
    "fresh": fresh,
    "imported-chat": imported_chat,
    "imported-memory": imported_memory,
    "skills": skills,
    "feedback": feedback,
    "wisps": wisps,
    "workspace": workspace,
    "proposals": proposals,
    "undone": undone,
    "forgotten": forgotten,
    "share-cap": share_cap,
    "scopes": scopes,
    "own-pass": own_pass,
    "bad-answers": bad_answers,
    "evaluated": evaluated,
    "interrupted": interrupted,
    "ten-days": ten_days,
}
"""Each store's recipe by the name of its frozen file."""
