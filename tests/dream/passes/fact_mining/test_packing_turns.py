"""How new turns become batches."""

from typing import Any

import orjson
import pytest
from dreaming import NOW, World, codes
from hypothesis import given, strategies as st
from mining import MINUTE, a_fact, a_turn, answer, hearing, lines_of, talk

from agentcore.llm import ChatRequest, Completion, FinishReason, Usage, estimate_tokens
from dream.domain import Batch
from dream.options import MiningOptions, ModelOptions
from dream.passes import line, shown_turns
from dream.passes.conversation import SessionExcerpt, packed, tokens_of
from dream.passes.fact_mining import FactMining

WORLD = World(*[None] * 3)  # type: ignore[arg-type] - only its ids and scope are used


def a_session(name: str, lengths: list[int], before: int = 0) -> SessionExcerpt:
    turns = [
        a_turn(WORLD, "x" * length, name, NOW + place * MINUTE) for place, length in enumerate([9] * before + lengths)
    ]
    return SessionExcerpt(tuple(turns[before:]), tuple(turns[:before]))


_SESSIONS = st.lists(
    st.tuples(st.lists(st.integers(1, 3_000), min_size=1, max_size=12), st.integers(0, 4)), max_size=8
).map(lambda drawn: [a_session(f"s{number}", lengths, before) for number, (lengths, before) in enumerate(drawn)])


@given(_SESSIONS, st.integers(100, 1_500), st.integers(0, 4))
def test_batches_partition_what_is_new_within_the_budget(sessions: list[SessionExcerpt], room: int, overlap: int):
    batches, refused = packed(sessions, room=room, overlap=overlap)
    stored = {turn.id: turn for session in sessions for turn in (*session.before, *session.turns)}
    new = [turn.id for session in sessions for turn in session.turns]
    asked = [turn_id for batch in batches for turn_id in batch.member_ids]
    parts = {turn_id: [one for batch in batches for one in batch.spans if one.record_id == turn_id] for turn_id in new}
    assert list(dict.fromkeys(asked)) == [one for one in new if one in asked]
    assert len(refused) == len(new) - len(set(asked))
    for turn_id in asked:
        is_whole = tokens_of(stored[turn_id]) <= room
        assert (len(parts[turn_id]), asked.count(turn_id)) == ((0, 1) if is_whole else (asked.count(turn_id),) * 2)
        shown = "".join(stored[turn_id].content[one.start : one.end] for one in parts[turn_id])
        assert is_whole or shown == stored[turn_id].content
    assert [batch.number for batch in batches] == [str(number) for number in range(1, len(batches) + 1)]
    for batch in batches:
        lines = [line(one.handle, one.turn, is_new=one.is_new) for one in shown_turns(batch, stored)]
        assert estimate_tokens("\n".join(lines)) <= room
        assert len(batch.beside) <= overlap * len({stored[one].session_id for one in batch.member_ids})
        assert not set(batch.member_ids) & {turn_id for turn_id, _ in batch.beside}


@given(_SESSIONS, st.integers(100, 1_500), st.integers(0, 4))
def test_a_session_that_fits_is_never_cut(sessions: list[SessionExcerpt], room: int, overlap: int):
    batches, _ = packed(sessions, room=room, overlap=overlap)
    for session in sessions:
        if sum(tokens_of(turn) for turn in (*session.before, *session.turns)) <= room:
            ids = {turn.id for turn in session.turns}
            assert len([batch for batch in batches if ids & set(batch.member_ids)]) == 1


def test_short_sessions_share_a_call():
    batches, _ = packed([a_session(f"s{number}", [40, 40]) for number in range(5)], room=2_000, overlap=4)
    assert [len(batch.members) for batch in batches] == [10]


def test_a_long_session_is_cut_between_turns_and_each_part_shows_what_came_before():
    session = a_session("long", [400] * 10, before=3)
    batches, refused = packed([session], room=500, overlap=2)
    ids = [turn.id for turn in (*session.before, *session.turns)]
    assert len(batches) > 2
    assert refused == ()
    for batch in batches:
        first = ids.index(batch.member_ids[0])
        shown = [turn_id for turn_id, _ in batch.beside]
        assert shown == ids[first - len(shown) : first]


def test_turns_before_take_a_quarter_of_a_prompt_at_most():
    session = a_session("s", [40, 40])
    long = a_turn(WORLD, "y" * 1_000, "s", NOW - MINUTE)
    near = a_turn(WORLD, "y", "s", NOW)
    (batch,), _ = packed([SessionExcerpt(session.turns, (long, near))], room=600, overlap=4)
    assert [turn_id for turn_id, _ in batch.beside] == [near.id]


def test_handles_stay_what_they_are_when_a_batch_is_halved_or_a_turn_goes():
    session = a_session("s", [9] * 4, before=1)
    (batch,), _ = packed([session], room=2_000, overlap=4)
    stored = {turn.id: turn for turn in (*session.before, *session.turns)}
    shown = {one.turn.id: one.handle for one in shown_turns(batch, stored)}
    assert [shown[turn.id] for turn in (*session.before, *session.turns)] == ["t5", "t1", "t2", "t3", "t4"]
    del stored[session.turns[1].id]
    assert [one.handle for one in shown_turns(batch, stored)] == ["t5", "t1", "t3", "t4"]
    assert [one.is_new for one in shown_turns(batch, stored)] == [False, True, True, True]


def test_a_turn_of_another_version_is_not_shown():
    session = a_session("s", [9])
    batch = Batch(number="1", kind="turns", members=((session.turns[0].id, 2),))
    assert shown_turns(batch, {session.turns[0].id: session.turns[0]}) == []


async def test_sessions_are_read_in_the_order_they_were_said(world: World):
    late, early = a_turn(world, "second", "s1", NOW), a_turn(world, "first", "s1", NOW - MINUTE)
    await talk(world, late, early)
    await talk(world, "elsewhere", session="s2")
    heard = hearing(world, answer())
    await heard.run_passes(FactMining())
    assert [one.split('"')[-2] for one in lines_of(heard.chat.requests[0])] == ["first", "second", "elsewhere"]


async def test_new_turns_come_with_the_ones_before_them_marked_as_read(world: World):
    await talk(world, *(f"old {number}" for number in range(9)))
    await talk(world, a_turn(world, "a page", "s1", NOW + 20 * MINUTE, role="tool"))
    await hearing(world, answer()).run_passes(FactMining())
    await talk(world, "new", occurred_at=NOW + 30 * MINUTE)
    heard = hearing(world, answer(a_fact("Old things.", "t2", quote="old")), mining=MiningOptions(overlap_turns=2))
    report = (await heard.run_passes(FactMining())).passes[0]
    lines = lines_of(heard.chat.requests[0])
    assert [one.rpartition(" role=user ")[2] for one in lines] == [
        'read-before "old 7"',
        'read-before "old 8"',
        '"new"',
    ]
    assert codes(report) == ["no_sources"]


async def test_without_overlap_only_the_new_is_shown(world: World):
    await talk(world, "old")
    await hearing(world, answer()).run_passes(FactMining())
    await talk(world, "new")
    heard = hearing(world, answer(), mining=MiningOptions(overlap_turns=0))
    await heard.run_passes(FactMining())
    assert len(lines_of(heard.chat.requests[0])) == 1


async def test_what_is_over_the_bound_is_backlog_and_read_by_the_next_run(world: World):
    await talk(world, *(f"turn {number}" for number in range(5)))
    heard = hearing(world, *[answer()] * 3, mining=MiningOptions(max_turns=2, overlap_turns=0))
    reports = [(await heard.run_passes(FactMining())).passes[0] for _ in range(4)]
    assert [(one.backlog, one.notes.get("turns", 0)) for one in reports] == [(3, 2), (1, 2), (0, 1), (0, 0)]
    assert sum(len(lines_of(request)) for request in heard.chat.requests) == 5


LONG = "This is told at length. " * 900 + "I moved to Braga in May. " + "There is more to tell. " * 900


def mined(request: ChatRequest) -> str:
    """What a model finds of the long turn."""
    fact = a_fact("Ana moved to Braga in May.", quote="I moved to Braga in May.")
    return answer(*([fact] if "to Braga" in request.messages[-1].content else []))


async def test_a_turn_too_long_for_a_prompt_is_read_in_parts_that_end_with_sentences(world: World):
    (long,) = await talk(world, LONG)
    heard = hearing(world, *[mined] * 20, model=ModelOptions(prompt_tokens=2_000))
    report = (await heard.run_passes(FactMining())).passes[0]
    parts = [orjson.loads(lines_of(one)[0].partition("role=user ")[2]) for one in heard.chat.requests]
    assert " ".join(parts) == LONG.strip()
    assert len(parts) > 5
    assert {part[-1] for part in parts} == {"."}
    assert max(estimate_tokens(one.messages[-1].content) for one in heard.chat.requests) <= 2_000
    assert codes(report) == []
    (entry,) = await world.active()
    assert [source.id for source in entry.sources] == [long.id]
    assert [(one.source.id, one.sentence) for one in entry.evidence] == [(long.id, "I moved to Braga in May.")]
    assert (await heard.run_passes(FactMining())).passes[0].reason == "no_work"


@pytest.mark.parametrize("broken", [0, 2, 5])
async def test_a_long_turn_is_read_again_as_long_as_a_part_of_it_is_not(world: World, broken: int):
    await talk(world, LONG)
    replies: list[Any] = [mined] * 30
    replies[broken] = "no answer"
    heard = hearing(world, *replies, model=ModelOptions(prompt_tokens=2_000))
    await heard.run_passes(FactMining())
    first = len(heard.chat.requests)
    await heard.run_passes(FactMining())
    assert len(heard.chat.requests) == 2 * first
    assert [entry.content for entry in await world.active()] == ["Ana moved to Braga in May."]
    assert (await heard.run_passes(FactMining())).passes[0].reason == "no_work"


async def test_what_is_longer_than_a_prompt_and_has_no_sentences_is_cut_between_words(world: World):
    await talk(world, "word " * 4_000)
    heard = hearing(world, *[answer()] * 9, model=ModelOptions(prompt_tokens=2_000))
    await heard.run_passes(FactMining())
    parts = [orjson.loads(lines_of(one)[0].partition("role=user ")[2]) for one in heard.chat.requests]
    assert "".join(parts).split() == ["word"] * 4_000


def test_where_not_even_a_part_of_a_turn_has_room_it_is_refused_by_name():
    session = a_session("s", [4_000])
    batches, (refused,) = packed([session], room=60, overlap=0)
    assert batches == ()
    assert (refused.code, session.turns[0].id in refused.detail) == ("prompt_too_long", True)


def test_a_batch_is_stored_with_the_parts_that_it_shows():
    batches, _ = packed([a_session("s", [4_000, 9])], room=400, overlap=2)
    assert [len(batch.spans) for batch in batches] == [1, 1, 1]
    assert [Batch.from_json(orjson.loads(orjson.dumps(batch.to_json()))) for batch in batches] == list(batches)


async def test_consumed_turns_are_shown_as_context_alone(world: World):
    turns = await talk(world, "I like tea", "I like milk")
    await world.write(lambda unit: unit.turns.mark_consumed([turns[0].id], NOW))
    heard = hearing(world, answer())
    report = (await heard.run_passes(FactMining())).passes[0]
    assert ["read-before" in one for one in lines_of(heard.chat.requests[0])] == [True, False]
    assert report.notes["turns"] == 1


@pytest.mark.parametrize("tokens", [500, 700, 3_000])
async def test_a_prompt_keeps_to_its_budget_directives_aside(world: World, tokens: int):
    for number in range(6):
        await talk(world, *["I like tea and milk"] * 9, session=f"s{number}")
    heard = hearing(world, *[answer()] * 60, model=ModelOptions(prompt_tokens=tokens))
    await heard.run_passes(FactMining())
    assert heard.chat.requests or tokens == 500
    assert all(estimate_tokens(one.messages[-1].content) <= tokens for one in heard.chat.requests)


async def test_an_answer_that_was_cut_off_is_asked_for_in_halves(world: World):
    turns = await talk(world, "I like tea", "I like milk")
    usage = Usage(input_tokens=3_000, output_tokens=1)
    cut = Completion(text='{"facts": [', finish_reason=FinishReason.LENGTH, usage=usage, model="m")
    facts: list[Any] = [
        answer(a_fact("Ana likes tea.", "t1", quote="I like tea")),
        answer(a_fact("Ana likes milk.", "t1", quote="I like milk")),
    ]
    await hearing(world, cut, *facts).run_passes(FactMining())
    found = {entry.content: [source.id for source in entry.sources] for entry in await world.active()}
    assert found == {"Ana likes tea.": [turns[0].id], "Ana likes milk.": [turns[1].id]}
