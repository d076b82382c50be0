"""Law 10 for hypotheses: at no point is one evidence, trigger, source of promotion, or found by recall."""

from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

from dreaming import World
from hypothesis import Phase, given, settings, strategies as st
from memories import laboratory

from agentcore.domain import HypothesisDecision, HypothesisState, MemoryEntry
from agentcore.domain.hypothesis import TRANSITIONS, Hypothesis
from agentcore.errors import AgentcoreError
from agentcore.hosting import Memory
from agentcore.hosting.write_behind import RecallNotes
from agentcore.workspace import GitUse, Workspaces
from dream.options import DreamOptions

ON = {"reflect": "apply", "re-evaluate": "apply", "hypotheses": "apply", "promotion": "apply"}
EAGER = {"min_score": 0, "min_recall_count": 1, "min_unique_queries": 1, "interval": "PT0S"}
"""Promotes whatever was recalled once."""
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
RISKY = ("confirm its own text", "confirm around its text", "claim its text", "propose on a guess")
"""Deeds by which a guess might come into the memory: half of all that happens."""
QUIET = frozenset({"cycle", "propose", "decide", *RISKY})
"""Deeds that make no dream due; a confirmation is a person's own words, and so may."""
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
            source = f"{('hypothesis', 'entry', 'turn')[number % 3]}:{guess.id}"
            await world.dreams.claims.assert_("Ana", "knows", "Bo", source=source)  # noqa: PT009
        case _:
            pass


async def expect_apart(world: World, told: dict[str, Hypothesis], memory: Memory, notes: RecallNotes) -> None:
    """Nothing of a guess, of those there are and those there were, is in the memory, in an answer or in MEMORY.md."""
    texts = {text for one in told.values() for text in (one.hypothesis, one.what_if)}
    for one in list(told.values())[:3]:
        found = await memory.recall(one.hypothesis, k=20, related_dreams=5)
        assert all(hit.entry.id not in told and not says(texts, hit.entry.content) for hit in found)
    await notes.flush()
    entries, claims = await world.entries(), await world.dreams.claims.list()
    for entry in entries:
        named = {ref.id for ref in (*entry.sources, *(one.source for one in entry.evidence))}
        assert told.keys().isdisjoint(named | {one.entry_id for one in entry.premises})
        assert not says(texts, entry.content, *(one.sentence or "" for one in entry.evidence))
    assert told.keys().isdisjoint(ref.id for claim in claims for ref in claim.sources)
    assert not says(texts, *(claim.quote for claim in claims))
    used = {one.entry_id for one in await memory.uses()}
    assert used
    assert told.keys().isdisjoint(used | {entry.id for entry in entries})
    documents = await world.storage.read(world.scope, lambda view: view.documents.all())
    assert not says(texts, *(one.content for one in documents))


def says(texts: set[str], *told: str) -> bool:
    return any(text in part for text in texts for part in told)


async def pending(world: World) -> tuple[int, ...]:
    """What makes a dream due: how far the order of arrival goes, how much is new, and how much people ever added."""

    def read(view: Any) -> tuple[int, ...]:
        new = view.entries.count_material(after=0, also=())
        return view.entries.last_position(), new, view.activity.explicit_entries()

    return await world.storage.read(world.scope, read)


# Without shrinking: a story has twelve deeds at most, and to make one shorter takes minutes.
@settings(laboratory(0.3), phases=[Phase.generate])
@given(deeds=deeds)
async def test_no_guess_is_ever_evidence_or_trigger_or_promoted_or_recalled(
    world: World, deeds: list[Any], tmp_path: Path
):
    world = world.elsewhere()
    folder = tmp_path / world.scope.observed
    folder.mkdir()
    world.workspaces = Workspaces(lambda _: folder, git=GitUse.OFF)
    world.options = DreamOptions.model_validate({"modes": ON, "promotion": EAGER})
    notes = RecallNotes(world.storage, clock=world.clock, keep=timedelta(days=90))
    memory = Memory(world.scope, storage=world.storage, recall=world.recall, ids=world.ids, notes=notes)
    await world.add(TEXTS[0], *TEXTS[4:])
    world.clock.advance(timedelta(days=9))
    await world.add(TEXTS[1])
    await world.dreams.hypotheses.run()
    told = {one.id: one for one in await guesses(world)}
    assert told
    await expect_apart(world, told, memory, notes)
    for deed, one, other in deeds:
        world.clock.advance(timedelta(hours=7 * one))
        due, before = await pending(world), {one.id: one for one in await guesses(world)}
        with suppress(AgentcoreError):
            await happen(world, deed, one, other)
        after = {one.id: one for one in await guesses(world)}
        if deed in QUIET:
            assert await pending(world) == due
        told |= after
        if deed != "undo":
            expect_allowed(before, after)
        await expect_apart(world, told, memory, notes)


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
