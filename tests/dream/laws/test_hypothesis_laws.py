"""Law 10 for hypotheses: at no point is one evidence, trigger, source of promotion, or found by recall."""

from contextlib import suppress
from datetime import timedelta
from typing import Any

from dreaming import World
from hypothesis import example, given, strategies as st
from memories import laboratory

from agentcore.domain import HypothesisDecision, HypothesisState, MemoryEntry
from agentcore.domain.hypothesis import TRANSITIONS, Hypothesis
from agentcore.errors import AgentcoreError
from dream.options import DreamOptions

ON = {"reflect": "apply", "re-evaluate": "apply", "hypotheses": "apply"}
TEXTS = (
    "Ana sold her beehives in Porto",
    "The flat in Porto has no garden for beehives",
    "Ben plays the trombone in the harbour orchestra",
    "The harbour orchestra looks for a trombone",
    "Rui plays chess on Sundays",
    "The boiler is checked each autumn",
)
WORDS = ("Ana works at Acme.", "Ana works at Globex.", "Yes, she says so.", "Ana likes tea.", "Bo lives in Porto.")
AROUND = ("Yes: {}", "{} That is true.", "I think so too. {} Right.")
numbers = st.integers(0, 30)
RISKY = ("confirm its own text", "confirm around its text", "claim its text", "propose on a guess", "recall")
"""Deeds by which a guess might come into the memory: half of all that happens."""
OTHERS = (
    *("remember", "edit", "archive", "forget", "answer"),
    *("cycle", "propose", "decide", "decide", "dream", "undo", "confirm", "confirm"),
)
deeds = st.lists(
    st.tuples(st.booleans().flatmap(lambda risky: st.sampled_from(RISKY if risky else OTHERS)), numbers, numbers),
    min_size=4,
    max_size=12,
)


def of(them: list[Any], number: int) -> Any:
    return them[number % len(them)] if them else None


async def guesses(world: World) -> list[Hypothesis]:
    return await world.dreams.hypotheses.list()


async def happen(world: World, deed: str, one: int, other: int) -> None:
    """Let a person, an agent or a dream do something; what is refused changes nothing."""
    active, told = await world.active(), await guesses(world)
    entry, guess = of(active, one), of(told, one)
    match deed:
        case "remember":
            await world.add(TEXTS[one % len(TEXTS)])
        case "cycle":
            await world.dreams.hypotheses.run()
        case "dream":
            await world.dreams.run()
        case "undo" if run := of([run for run in await world.dreams.runs() if run.changes], one):
            await world.dreams.undo(run.run_id)
        case "answer" if asked := of(await world.dreams.desk.questions(), one):
            await world.dreams.desk.answer(asked.question.id, keep=asked.question.member_ids[other % 2])
        case _ if entry:
            await meddle(world, deed, entry, of(active, other))
        case _:
            pass
    if guess:
        await decide(world, deed, guess, other, entry)


async def meddle(world: World, deed: str, entry: MemoryEntry, beside: MemoryEntry) -> None:
    match deed:
        case "edit":
            await world.dreams.desk.edit(entry.id, content=f"{entry.content} these days")
        case "archive":
            await world.dreams.desk.archive(entry.id)
        case "forget":
            await world.memory.forget(entry.id)
        case "propose":
            await propose(world, f"entry:{entry.id}", f"entry:{beside.id}")
        case _:
            pass


async def propose(world: World, *sources: str) -> None:
    await world.dreams.hypotheses.propose("Guess by hand.", what_if="What if by hand?", sources=sources)


async def decide(world: World, deed: str, guess: Hypothesis, number: int, entry: MemoryEntry | None) -> None:
    resolve, words = world.dreams.hypotheses.resolve, WORDS[number % len(WORDS)]
    match deed:
        case "recall":
            await world.memory.recall(guess.hypothesis, related_dreams=5)
        case "propose on a guess" if entry:
            await propose(world, f"entry:{entry.id}", f"hypothesis:{guess.id}")
        case "decide":
            await resolve(guess.id, list(HypothesisDecision)[number % 3], feedback=words)
        case "confirm":
            await resolve(guess.id, "promote_candidate", feedback=words)
        case "confirm its own text":
            await resolve(guess.id, "promote_candidate", feedback=(guess.hypothesis, guess.what_if)[number % 2])
        case "confirm around its text":
            await resolve(guess.id, "promote_candidate", feedback=AROUND[number % 3].format(guess.hypothesis))
        case "claim its text":
            source = f"hypothesis:{guess.id}"
            await world.dreams.claims.assert_("Ana", "knows", "Bo", source=source)  # noqa: PT009
        case _:
            pass


async def expect_apart(world: World, told: dict[str, Hypothesis]) -> None:
    """Nothing of a guess, of those there are and those there were, is in the memory."""
    entries, view = await world.entries(), await world.dreams.claims.list()
    texts = {text for one in told.values() for text in (one.hypothesis, one.what_if)}
    for entry in entries:
        named = {ref.id for ref in (*entry.sources, *(one.source for one in entry.evidence))}
        assert told.keys().isdisjoint(named | {one.entry_id for one in entry.premises})
        said = (entry.content, *(one.sentence or "" for one in entry.evidence))
        assert not any(text in part for text in texts for part in said)
    assert told.keys().isdisjoint(ref.id for claim in view for ref in claim.sources)
    assert not any(text in claim.quote for text in texts for claim in view)
    used = {one.entry_id for one in await world.memory.uses()}
    assert told.keys().isdisjoint(used | {entry.id for entry in entries})
    for one in list(told.values())[:3]:
        found = await world.recall.search(world.scope, one.hypothesis, k=20)
        assert all(hit.entry.id not in told and one.hypothesis not in hit.entry.content for hit in found)


async def pending(world: World) -> tuple[int, ...]:
    """What makes a dream due: how far the order of arrival goes, and how much is new to whoever reads it."""

    def read(view: Any) -> tuple[int, ...]:
        return view.entries.last_position(), view.entries.count_material(after=0, also=())

    return await world.storage.read(world.scope, read)


@laboratory(0.3)
@example(deeds=[("confirm its own text", 0, 0), ("claim its text", 0, 0), ("dream", 0, 0)])
@example(deeds=[("propose on a guess", 0, 0), ("confirm", 0, 0), ("cycle", 0, 0), ("undo", 0, 0), ("dream", 0, 0)])
@given(deeds=deeds)
async def test_no_guess_is_ever_evidence_or_trigger_or_promoted_or_recalled(world: World, deeds: list[Any]):
    world = world.elsewhere()
    world.options = DreamOptions.model_validate({"modes": ON})
    await world.add(TEXTS[0], *TEXTS[4:])
    world.clock.advance(timedelta(days=9))
    await world.add(TEXTS[1])
    await world.dreams.hypotheses.run()
    told = {one.id: one for one in await guesses(world)}
    assert told
    for deed, one, other in deeds:
        world.clock.advance(timedelta(hours=7 * one))
        due, before = await pending(world), {one.id: one for one in await guesses(world)}
        with suppress(AgentcoreError):
            await happen(world, deed, one, other)
        after = {one.id: one for one in await guesses(world)}
        if deed in {"cycle", "propose", "propose on a guess", "decide", *RISKY}:
            assert await pending(world) == due
        told |= after
        if deed != "undo":
            expect_allowed(before, after)
        await expect_apart(world, told)


def expect_allowed(before: dict[str, Hypothesis], after: dict[str, Hypothesis]) -> None:
    """Each went where the table lets it go; one deed is a step or, in a dream, a few."""
    for name in before.keys() & after.keys():
        reach, ahead = {before[name].state}, [before[name].state]
        while ahead:
            new = TRANSITIONS[ahead.pop()] - reach
            reach |= new
            ahead += new
        assert after[name].state in reach
        if before[name].state in {HypothesisState.REJECTED, HypothesisState.PROMOTED}:
            assert after[name].state is before[name].state
