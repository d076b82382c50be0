"""What came after a hypothesis: listed without a model, weighed with one, and counted only where it is independent."""

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest
from dreaming import World, codes, fresh_scope, of_pass

from agentcore.domain import HypothesisState, Level, SourceRef, Trust
from agentcore.domain.hypothesis import Bearing, Hypothesis
from agentcore.llm import ChatRequest
from agentcore.testing import ScriptedChatClient
from dream.domain.report import PassOutcome, RunReport
from dream.interfaces.exchange.export import export_scope
from dream.interfaces.exchange.importer import import_file
from dream.options import DreamOptions

ON = {"*": "off", "re-evaluate": "apply", "hypotheses": "apply"}
HIVES = "Ana sold her beehives in Porto"
FLAT = "The flat in Porto has no garden for beehives"
OTHERS = ("Rui plays chess on Sundays", "The boiler is checked each autumn", "Bo learns Finnish at night school")
LATER = "Ana said that beehives have no place in Porto without a garden"
QUOTE = "beehives have no place in Porto"


@pytest.fixture
async def world(world: World) -> World:
    """A world with one hypothesis about two records, which the host worded."""
    world.options = DreamOptions.model_validate({"modes": ON})
    await world.add(HIVES, *OTHERS)
    world.clock.advance(timedelta(days=9))
    await world.add(FLAT)
    await world.dreams.run()
    assert len(await world.dreams.hypotheses.list()) == 1
    world.clock.advance(timedelta(days=1))
    return world


async def the_one(world: World) -> Hypothesis:
    found = await world.dreams.hypotheses.list()
    return min(found, key=lambda one: one.created_at)


def reading(quote: str = QUOTE, **fields: Any) -> dict[str, Any]:
    return {"guess": "h1", "record": "e1", "reading": "supports", "quote": quote} | fields


def saying(*items: dict[str, Any]) -> ScriptedChatClient:
    """A model that gives these readings, and words no hypothesis."""

    def reply(request: ChatRequest) -> str:
        if request.purpose != "re-evaluate":
            return '{"hypotheses": []}'
        return orjson.dumps({"readings": items}).decode()

    return ScriptedChatClient([reply] * 20)


def asked(chat: ScriptedChatClient) -> list[str]:
    return [one.messages[-1].content for one in chat.requests if one.purpose == "re-evaluate"]


def supporting() -> ScriptedChatClient:
    """A model that says of every record that is shown that all of its words support."""

    def reply(request: ChatRequest) -> str:
        if request.purpose != "re-evaluate":
            return '{"hypotheses": []}'
        text = request.messages[-1].content
        records = dict(re.findall(r'^\[(e\d+)\] "(.*)"$', text, re.MULTILINE))
        pairs = [
            (h, e)
            for h, told in re.findall(r"^\[(h\d+)\] .* records: (.*)$", text, re.MULTILINE)
            for e in told.split(", ")
        ]
        items = [reading(records[record], guess=guess, record=record) for guess, record in pairs]
        return orjson.dumps({"readings": items}).decode()

    return ScriptedChatClient([reply] * 20)


async def night(world: World) -> RunReport:
    report = await world.dreams.run()
    world.clock.advance(timedelta(days=1))
    return report


async def test_without_a_model_what_touches_it_is_listed_and_counts_for_nothing(world: World):
    before = await the_one(world)
    (later,) = await world.add(LATER)
    await night(world)
    after = await the_one(world)
    assert after.touching == (SourceRef.parse(f"entry:{later.id}"),)
    assert (after.support, after.weighed, after.likelihood) == (0, (), before.likelihood)


async def test_independent_evidence_that_a_model_quotes_moves_likelihood_and_rank(world: World):
    before = await the_one(world)
    (rank,) = await world.dreams.hypotheses.related("beehives", [])
    (later,) = await world.add(LATER)
    world.chat = chat = saying(reading())
    notes = of_pass(await night(world), "re-evaluate").notes
    after = await the_one(world)
    (piece,) = after.weighed
    assert (piece.entry_id, piece.bearing, piece.counts, piece.quote) == (later.id, Bearing.SUPPORTS, True, QUOTE)
    assert after.support == 1
    assert after.likelihood == pytest.approx(1 - (1 - before.likelihood) / 2, abs=1e-4)
    assert after.confidence == before.confidence
    assert {one.name: one.value for one in after.factors}["support"] == 0.5
    (raised,) = await world.dreams.hypotheses.related("beehives", [])
    assert raised.score > rank.score
    assert (notes["weighed"], notes["supported"], len(asked(chat))) == (1, 1, 1)
    assert after.state is HypothesisState.REINFORCED


async def test_it_asks_once_and_a_night_without_news_asks_nothing_and_moves_nothing(world: World):
    await world.add(LATER)
    world.chat = chat = saying(reading())
    await night(world)
    before = await the_one(world)
    for _ in range(3):
        assert of_pass(await night(world), "re-evaluate").outcome in {PassOutcome.UNCHANGED, PassOutcome.SKIPPED}
    assert len(asked(chat)) == 1
    assert await the_one(world) == before


async def test_what_was_listed_without_a_model_is_weighed_once_there_is_one(world: World):
    await world.add(LATER)
    await night(world)
    world.chat = saying(reading())
    await night(world)
    assert (await the_one(world)).support == 1


@pytest.mark.parametrize(
    ("item", "code"),
    [
        (reading("beehives are kept in Sintra"), "quote_not_found"),
        (reading("beehives"), "quote_not_found"),
        (reading(""), "quote_not_found"),
        (reading(None), "quote_not_found"),  # type: ignore[arg-type]
        (reading(HIVES), "quote_not_found"),
        (reading(guess="h2"), "unknown_handle"),
        (reading(record="e7"), "unknown_handle"),
        (reading(guess="e1", record="h1"), "unrelated"),
        (reading(reading="proves"), "invalid_content"),
        (reading(reading=1), "invalid_content"),
        ("supports", "invalid_content"),
    ],
)
async def test_a_reading_that_does_not_hold_is_refused_and_counts_for_nothing(world: World, item: Any, code: str):
    before = await the_one(world)
    await world.add(LATER)
    world.chat = chat = saying(item)
    report = await night(world)
    assert codes(of_pass(report, "re-evaluate")) == [code]
    after = await the_one(world)
    assert (after.support, after.likelihood) == (0, before.likelihood)
    assert [one.bearing for one in after.weighed] == [Bearing.NEITHER]
    await night(world)
    assert len(asked(chat)) == 1, "what was not answered well is not paid for again"


async def test_two_readings_that_differ_count_for_nothing(world: World):
    await world.add(LATER)
    world.chat = saying(reading(), reading(reading="contradicts"), reading())
    report = await night(world)
    assert codes(of_pass(report, "re-evaluate")) == ["handle_reused", "handle_reused"]
    assert (await the_one(world)).support == 0


async def test_an_answer_of_another_shape_changes_nothing_and_is_asked_for_again(world: World):
    await world.add(LATER)
    world.chat = ScriptedChatClient(['{"verdicts": []}', '{"hypotheses": []}'])
    assert codes(of_pass(await night(world), "re-evaluate")) == ["broken_answer"]
    assert (await the_one(world)).weighed == ()
    world.chat = saying(reading())
    await night(world)
    assert (await the_one(world)).support == 1


async def test_what_speaks_against_it_is_kept_and_moves_no_rank(world: World):
    before = await the_one(world)
    await world.add(LATER)
    world.chat = saying(reading(reading="contradicts"))
    await night(world)
    after = await the_one(world)
    assert [one.bearing for one in after.weighed] == [Bearing.CONTRADICTS]
    assert (after.support, after.likelihood) == (0, before.likelihood)


Fields = Callable[[World], Any]


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"trust": Trust.INFERRED}, "an agent's own words"),
        ({"trust": Trust.UNTRUSTED}, "a stranger's words"),
        ({"tags": ("dream_feedback",)}, "words that confirmed a hypothesis"),
        ({"sources": "of the hypothesis"}, "made of what the hypothesis rests on"),
        ({"level": Level.DERIVED, "created_at": "before"}, "a merge of what was said before it"),
    ],
)
async def test_what_is_no_independent_evidence_is_read_and_not_counted(world: World, fields: dict[str, Any], why: str):
    guess = await the_one(world)
    told = dict(fields)
    if "sources" in told:
        told["sources"] = (guess.sources[0],)
    entry = world.entry(LATER, **{name: value for name, value in told.items() if name != "created_at"})
    if "created_at" in told:
        entry = replace(entry, created_at=guess.created_at - timedelta(days=3))
    await world.add(entry)
    world.chat = supporting()
    await night(world)
    after = await the_one(world)
    assert [(one.bearing, one.counts) for one in after.weighed] == [(Bearing.SUPPORTS, False)], why
    assert (after.support, after.likelihood) == (0, guess.likelihood)


async def test_two_entries_of_one_turn_are_one_piece_of_evidence(world: World):
    turn = (SourceRef.parse("turn:t1"),)
    await world.add(*(f"note{number} about{number}" for number in range(240)))  # so that the words stay rare
    await world.add(LATER, f"{LATER}, Ana repeats", sources=turn)
    await world.add("Porto without a garden is no place for beehives, says Rui")
    world.chat = supporting()
    await night(world)
    after = await the_one(world)
    assert len(after.weighed) == 3
    assert after.support == 2


async def test_evidence_that_goes_or_changes_lowers_it_again(world: World):
    before = await the_one(world)
    (later,) = await world.add(LATER)
    world.chat = saying(reading())
    await night(world)
    await world.dreams.desk.archive(later.id)
    await night(world)
    after = await the_one(world)
    assert (after.support, after.weighed, after.likelihood) == (0, (), before.likelihood)


async def test_an_undo_takes_the_count_back_to_the_byte_and_no_dream_counts_again(world: World):
    await world.add(LATER)
    before = await world.export()
    world.chat = saying(reading())
    report = await night(world)
    assert (await the_one(world)).support == 1
    await world.dreams.undo(report.run_id)
    assert await world.export() == before
    await night(world)
    assert (await the_one(world)).support == 0


async def test_an_export_brings_what_was_weighed_elsewhere(world: World, tmp_path: Path):
    await world.add(LATER)
    world.chat = saying(reading())
    await night(world)
    file, other = tmp_path / "all.jsonl", replace(world, scope=fresh_scope())
    with file.open("wb") as out:
        await export_scope(world.storage, world.scope, out.write)
    await import_file(world.storage, other.scope, file, clock=world.clock, ids=world.ids)
    there, here = await the_one(other), await the_one(world)
    assert (there.weighed, there.support, there.likelihood) == (here.weighed, here.support, here.likelihood)


async def test_a_forget_takes_evidence_out_and_leaves_no_word_of_it(world: World):
    before = await the_one(world)
    (later,) = await world.add(LATER)
    world.chat = saying(reading())
    await night(world)
    await world.memory.forget(later.id)
    after = await the_one(world)
    assert (after.support, after.weighed, after.touching, after.likelihood) == (0, (), (), before.likelihood)
    assert QUOTE.encode() not in await world.export()
    assert not any(QUOTE in (image or "") for row in await world.journal() for image in (row.before, row.after))
