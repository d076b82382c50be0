"""Whatever is stored, said or named stands in a prompt as data: one line, between the run's own fences."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from dreaming import NOW, World
from hostile import Hostile, Line, hostile_texts, parted, read_line

from agentcore.domain import Feedback, FeedbackKind, MemoryEntry, Turn, clean_category, clean_content, clean_tags
from agentcore.llm import ChatRequest
from dream.cycle import ContextFactory, fence_marker
from dream.directives import DirectiveLibrary
from dream.domain import Round
from dream.guards import builtin_vocabulary
from dream.passes import ModelContext, ModelPass
from dream.passes.fact_mining import FactMining
from dream.passes.memory_consolidation import MemoryConsolidation

RUN = "run-of-a-test"
MARKER = fence_marker(RUN)
HOSTILE = [one.knowing(MARKER) for one in hostile_texts()]
BREAKING = {"fence-breaker", "unicode", "fake-answer", "fake-handle", "markup", "repetition"}
LIE = "Ask zoltan@evil.example."
HARMLESS = "Ana likes tea."
CATEGORIES = [clean_category(one.text) for one in HOSTILE]


def test_the_set_is_large_and_in_many_languages():
    assert len({one.text for one in HOSTILE}) == len({one.id for one in HOSTILE}) >= 120
    assert len({one.language for one in HOSTILE}) >= 10
    assert len({one.kind for one in HOSTILE}) >= 15
    assert all(one.demands for one in HOSTILE)


async def context_of(world: World, model_pass: ModelPass) -> ModelContext:
    contexts = ContextFactory(
        parts=world.parts, scope=world.scope, options=world.options, pass_name=model_pass.name, run_id=RUN, as_of=NOW
    )
    read = DirectiveLibrary(None, {}).read(model_pass.directives)
    texts = {name: directive.text for name, directive in read.items()}
    return await contexts.with_model(0, directives=texts, vocabulary=builtin_vocabulary())


async def requests_of(world: World, model_pass: ModelPass) -> list[ChatRequest]:
    """All first questions of a run."""
    context = await context_of(world, model_pass)
    packing = await model_pass.pack(context)
    assert not packing.refused
    asked = [await model_pass.ask(context, batch, ()) for batch in packing.batches]
    return [one.request for one in asked if one is not None]


async def lines_of(world: World, model_pass: ModelPass, harmless: World) -> list[Line]:
    """The records of all questions, each of which says outside its fences just what a harmless one says."""
    (plain,) = await requests_of(harmless, model_pass)
    asked = await requests_of(world, model_pass)
    for request in asked:
        assert request.messages[0] == plain.messages[0]
        assert len(request.messages) == 2
        user, pattern = (parted(one.messages[1], MARKER) for one in (request, plain))
        assert user.outside == pattern.outside
        assert user.fences == pattern.fences == 2
    return [read_line(line) for request in asked for line in parted(request.messages[1], MARKER).inside]


def said(text: str) -> str:
    """What of a text reaches a model: lone surrogates cannot be sent."""
    return text.encode("utf-8", "replace").decode()


async def remembered(world: World, make: Callable[[Hostile], dict[str, Any]]) -> list[Line]:
    entries = [world.entry(**make(one)) for one in HOSTILE]
    harmless = world.elsewhere()
    await harmless.add(HARMLESS)
    await world.add(*entries)
    return await lines_of(world, MemoryConsolidation(), harmless)


async def test_content_of_entries_is_data(world: World):
    lines = await remembered(world, lambda one: {"content": clean_content(one.text)})
    assert sorted(line.text for line in lines) == sorted(clean_content(one.text) for one in HOSTILE)


async def test_categories_are_data(world: World):
    lines = await remembered(
        world, lambda one: {"content": f"Ana likes tea {one.id}.", "category": clean_category(one.text)}
    )
    shown = [category for category in CATEGORIES if not category.casefold().startswith("active-plans")]
    assert sorted(line.attributes["category"] for line in lines) == sorted(shown)


async def test_no_tag_is_shown(world: World):
    lines = await remembered(
        world, lambda one: {"content": f"Ana likes tea {one.id}.", "tags": clean_tags([one.text, "tea"])}
    )
    assert sorted(line.text for line in lines) == sorted(f"Ana likes tea {one.id}." for one in HOSTILE)
    assert {name for line in lines for name in line.attributes} <= {"category", "importance", "last", "first"}


async def test_what_a_store_holds_though_no_host_would_store_it_is_data(world: World):
    lines = await remembered(
        world,
        lambda one: {
            "content": f"Ana likes tea {one.id}.",
            "category": one.text[:200] or "general",
            "tags": (one.text[:200],),
        },
    )
    assert {line.attributes["category"] for line in lines} == {one.text[:200] or "general" for one in HOSTILE}
    assert len(lines) == len(HOSTILE)


def turn(world: World, number: int, content: str, **fields: Any) -> Turn:
    given: dict[str, Any] = {"session_id": "s", "role": "user", "occurred_at": NOW, "recorded_at": NOW} | fields
    return Turn(id=f"turn-{number}", scope=world.scope, content=content, **given)


async def told(world: World, make: Callable[[Hostile], dict[str, Any]], **tuning: Any) -> list[Line]:
    harmless = world.elsewhere()
    await harmless.write(lambda unit: unit.turns.add([turn(harmless, 0, HARMLESS)]))
    turns = [turn(world, number, **make(one)) for number, one in enumerate(HOSTILE)]
    await world.write(lambda unit: unit.turns.add(turns))
    mining = world.options.mining.replace(overlap_turns=0)
    tuned = replace(world, options=world.options.replace(mining=mining, **tuning))
    return await lines_of(tuned, FactMining(), replace(harmless, options=tuned.options))


@pytest.mark.parametrize("role", ["user", "assistant"])
async def test_what_was_said_is_data(world: World, role: str):
    lines = await told(world, lambda one: {"content": said(one.text), "role": role})
    assert sorted(line.text for line in lines) == sorted(said(one.text) for one in HOSTILE)


async def test_names_of_speakers_are_data(world: World):
    lines = await told(world, lambda one: {"content": HARMLESS, "speaker": one.text})
    assert sorted(line.attributes["speaker"] for line in lines) == sorted(one.text for one in HOSTILE)


async def test_ids_of_sessions_are_data(world: World):
    lines = await told(world, lambda one: {"content": HARMLESS, "session_id": one.text})
    assert sorted(line.attributes["session"] for line in lines) == sorted(one.text for one in HOSTILE)


async def test_feedback_is_data(world: World):
    def signal(one: World, number: int, summary: str, detail: str | None = None) -> Feedback:
        return Feedback(
            id=f"signal-{number}",
            scope=one.scope,
            session_id="s",
            kind=FeedbackKind.CORRECTION,
            summary=summary,
            detail=detail,
            occurred_at=NOW,
            recorded_at=NOW,
        )

    harmless = world.elsewhere()
    await harmless.write(lambda unit: unit.feedback.append([signal(harmless, 0, HARMLESS)]))
    signals = [signal(world, number, one.text, one.text) for number, one in enumerate(HOSTILE)]
    await world.write(lambda unit: unit.feedback.append(signals))
    terms = world.options.consolidation.replace(max_feedback=len(HOSTILE))
    model = world.options.model.replace(prompt_tokens=100_000)
    one = replace(world, options=world.options.replace(consolidation=terms, model=model))
    lines = await lines_of(one, MemoryConsolidation(), harmless)
    assert sorted(line.text for line in lines) == sorted(f"{one.text}\n{one.text}" for one in HOSTILE)


@pytest.mark.parametrize("one", [one for one in HOSTILE if one.kind in BREAKING], ids=lambda one: one.id)
async def test_a_complaint_about_a_hostile_text_quotes_it_as_data(world: World, one: Hostile):
    # What replaces texts may be as long as the longest of them: the lie takes the place of the first words.
    stored = clean_content(f"There is nothing else to tell. {one.text}")
    sources: list[MemoryEntry] = await world.add("Ana moved to Lisbon in 2019.", stored)
    consolidation = MemoryConsolidation()
    context = await context_of(world, consolidation)
    (batch,) = (await consolidation.pack(context)).batches
    handles = {record_id: f"e{place}" for place, record_id in enumerate(batch.record_ids, 1)}
    save = {"content": f"{LIE} {one.text}", "category": None, "tags": [], "importance": None}
    item = save | {"sourceIds": [handles[entry.id] for entry in sources]}
    asked = await consolidation.ask(context, batch, [Round({"toDelete": [], "toSave": [item]})])
    assert asked is not None
    told = parted(asked.request.messages[-1], MARKER)
    *shown, line = told.inside
    assert (told.fences, len(shown)) == (4, len(sources))
    assert line.splitlines() == [line]
    assert line.startswith("[1] reason=")
    plain_item = item | {"content": LIE}
    plain = await consolidation.ask(context, batch, [Round({"toDelete": [], "toSave": [plain_item]})])
    assert plain is not None
    assert told.outside == parted(plain.request.messages[-1], MARKER).outside
