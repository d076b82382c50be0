"""One reading: passes that have the same new turns before them ask about them in one question."""

import itertools
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from dreaming import VerifyingChatClient, World, of_pass
from talking import lines_of, talk
from together import (
    ALL,
    EPISODE,
    FACT,
    PREFERENCE,
    READERS,
    answer,
    contents,
    dream,
    evening,
    is_joint,
    names_in,
    reading,
)

from agentcore.domain import EvidenceVerdict
from agentcore.llm import ChatRequest
from agentcore.llm.chat import Completion, FinishReason, Usage, estimate_tokens
from dream.options import ReadingOptions


async def test_all_readers_are_asked_in_one_question(world: World):
    await evening(world)
    world = reading(world)
    report = await dream(world)
    assert [request.purpose for request in world.chat.requests] == ["reading"]
    assert await contents(world) == ALL
    assert [of_pass(report, name).looked_at for name in READERS] == [5, 5, 5, 5]


async def test_they_find_what_they_find_alone(world: World):
    alone = world.options.replace(reading=ReadingOptions(together=False))
    other = replace(reading(world.elsewhere()), options=alone)
    world = reading(world)
    for one in (world, other):
        await evening(one)
        await dream(one)
    assert await contents(world) == await contents(other)
    assert (len(world.chat.requests), len(other.chat.requests)) == (1, 4)


async def test_a_second_dream_asks_nothing(world: World):
    await evening(world)
    world = reading(world)
    await dream(world)
    await dream(world)
    assert len(world.chat.requests) == 1


async def test_what_the_question_cost_is_shared_and_nothing_of_it_is_lost(world: World):
    await evening(world)
    world = reading(world)
    report = await dream(world)
    spent = [of_pass(report, name) for name in READERS if of_pass(report, name).input_tokens]
    asked = [*world.chat.requests, *world.chat.readings]
    whole = sum(estimate_tokens(message.content) for request in asked for message in request.messages)
    assert len(spent) >= 3
    assert sum(one.input_tokens for one in spent) == pytest.approx(whole, abs=5)


@pytest.mark.parametrize("broken", ['"nonsense"', "null", "true", "7"])
async def test_a_part_that_is_no_object_is_asked_for_alone_and_harms_no_other(world: World, broken: str):
    def reply(request: ChatRequest) -> str:
        if not is_joint(request):
            return answer(request)
        parts = orjson.loads(answer(request))
        return orjson.dumps(parts | {"episodes": orjson.loads(broken)}).decode()

    await evening(world)
    world = reading(world, reply)
    await dream(world)
    assert [request.purpose for request in world.chat.requests] == ["reading", "episodes"]
    assert await contents(world) == ALL


def in_rows(request: ChatRequest) -> str:
    """The answer with facts and episodes as rows, which leave their quotes out."""
    parts = orjson.loads(answer(request))
    if is_joint(request):
        for name, listed, columns in (
            ("fact-mining", "facts", ("content", "category")),
            ("episodes", "toSave", ("content", "eventType", "actor")),
        ):
            rows = [[" ".join(one["sourceTurns"]), *(one[it] for it in columns)] for one in parts[name][listed]]
            parts[name] = rows
        parts["preferences"] = parts["preferences"]["toSave"] if "preferences" in parts else []
    return orjson.dumps(parts).decode()


async def test_rows_are_read_as_the_objects_that_they_stand_for(world: World):
    await evening(world)
    world = reading(world, in_rows)
    await dream(world)
    assert [request.purpose for request in world.chat.requests] == ["reading"]
    assert await contents(world) == ALL
    (fact,) = [entry for entry in await world.active() if entry.content == FACT]
    assert (fact.category, fact.evidence[0].sentence) == ("health", "Rui has hay fever.")


@pytest.mark.parametrize("row", [[], [7], ["t1"], ["t99", FACT], ["e1", FACT], [["t1"], [FACT]], [None, None, None]])
async def test_a_row_that_says_nothing_or_cites_nothing_is_refused_alone(world: World, row: list[Any]):
    def reply(request: ChatRequest) -> str:
        parts = orjson.loads(in_rows(request))
        with_it = {"fact-mining": [row, *parts["fact-mining"]]} if is_joint(request) else {"facts": []}
        return orjson.dumps(parts | with_it).decode()

    await evening(world)
    world = reading(world, reply)
    report = await dream(world)
    assert await contents(world) == ALL
    assert len(of_pass(report, "fact-mining").refused) == 1


async def test_a_part_in_the_form_of_another_reader_harms_no_other(world: World):
    def reply(request: ChatRequest) -> str:
        parts = orjson.loads(answer(request))
        return orjson.dumps(parts | {"fact-mining": parts["episodes"]} if is_joint(request) else parts).decode()

    await evening(world)
    world = reading(world, reply)
    await dream(world)
    assert sorted([EPISODE, PREFERENCE]) == [one for one in await contents(world) if one != FACT]


async def test_a_part_that_is_always_broken_is_paid_for_once_alone_in_a_run(world: World):
    def reply(request: ChatRequest) -> str:
        if is_joint(request):
            return orjson.dumps({**orjson.loads(answer(request)), "fact-mining": None}).decode()
        return '{"facts": 7}' if request.purpose == "fact-mining" else answer(request)

    await evening(world)
    world = reading(world, reply)
    report = await dream(world)
    assert [request.purpose for request in world.chat.requests] == ["reading", "fact-mining"]
    assert [refusal.code for refusal in of_pass(report, "fact-mining").refused] == ["broken_answer"]
    assert await contents(world) == sorted([EPISODE, PREFERENCE])


@pytest.mark.parametrize("whole", ["", "no JSON", '{"fact-mining": '])
async def test_an_answer_that_cannot_be_read_leaves_each_reader_to_itself(world: World, whole: str):
    await evening(world)
    world = reading(world, lambda request: whole if is_joint(request) else answer(request))
    await dream(world)
    assert await contents(world) == ALL


async def test_an_answer_with_a_part_twice_is_not_read_and_each_reader_asks_alone(world: World):
    def reply(request: ChatRequest) -> str:
        told = answer(request)
        return '{"fact-mining": [["t1", "Rui has a cat."]], ' + told[1:] if is_joint(request) else told

    await evening(world)
    world = reading(world, reply)
    await dream(world)
    assert [request.purpose for request in world.chat.requests] == ["reading", *READERS[:3]]
    assert await contents(world) == ALL


async def test_of_an_answer_that_was_cut_off_nothing_is_believed(world: World):
    def reply(request: ChatRequest) -> Any:
        if not is_joint(request):
            return answer(request)
        told = {name: {"facts": [], "toSave": []} for name in names_in(request)}
        return Completion(orjson.dumps(told).decode(), FinishReason.LENGTH, Usage(9, 9), "scripted")

    await evening(world)
    world = reading(world, reply)
    await dream(world)
    assert [request.purpose for request in world.chat.requests] == ["reading", *READERS[:3]]
    assert await contents(world) == ALL


@pytest.mark.parametrize(
    ("handle", "quote", "code"),
    [
        ("t1", "Rui has hay fever", "quote_not_found"),  # which was said, and stands in another question
        ("t9", "Rui has hay fever", "unknown_handle"),
        ("e1", "Rui has hay fever", "unknown_handle"),
        ("t1", "Rui is well again", "quote_not_found"),
    ],
)
async def test_what_quotes_a_turn_of_another_question_is_refused_and_the_rest_stands(
    world: World, handle: str, quote: str, code: str
):
    def reply(request: ChatRequest) -> str:
        parts = orjson.loads(answer(request))
        if not is_joint(request) or "tile the roof" not in request.messages[-1].content:
            return orjson.dumps(parts).decode()
        fact = {"content": "Rui has hay fever since May.", "category": "x", "tags": [], "sourceTurns": [handle]}
        return orjson.dumps(parts | {"fact-mining": {"facts": [fact | {"quote": quote}]}}).decode()

    await talk(world, "We will tile the roof.", session="s1")
    await talk(world, "Rui has hay fever.", session="s2")
    world = reading(world, reply, batch_turns=1)
    report = await dream(world)
    assert await contents(world) == sorted([EPISODE, FACT])
    assert [one.code for one in of_pass(report, "fact-mining").refused] == [code]


async def test_an_own_directive_that_asks_for_another_form_harms_no_other_reader(world: World, tmp_path: Path):
    own = 'List what hurts people as [{"illness": ...}]. Never use sourceTurns, content, category, tags or facts.'

    def reply(request: ChatRequest) -> str:
        ill = [{"illness": "hay fever", "who": "Rui"}]
        if is_joint(request):
            return orjson.dumps({**orjson.loads(answer(request)), "fact-mining": ill}).decode()
        return orjson.dumps({"facts": ill}).decode()

    folder = tmp_path / "directives"
    folder.mkdir()
    (folder / "memory-mining.md").write_text(own)
    await evening(world)
    world = replace(reading(world, reply), data_dir=tmp_path)
    report = await dream(world)
    assert is_joint(world.chat.requests[0])
    assert own in world.chat.requests[0].messages[0].content
    assert await contents(world) == sorted([EPISODE, PREFERENCE])
    assert {one.code for one in of_pass(report, "fact-mining").refused} == {"invalid_content"}


async def test_a_reader_that_lags_reads_what_it_lacks_alone(world: World):
    await talk(world, "Rui has hay fever.", "assistant: Noted.", session="s0")
    world = reading(world)
    await world.dreams.run(passes=["fact-mining", "preferences", "skill-gaps"])
    await evening(world)
    await dream(world)
    *_, joint, alone = world.chat.requests
    assert (joint.purpose, alone.purpose) == ("reading", "episodes")
    assert "episodes" not in names_in(joint)
    assert await contents(world) == ALL


async def test_without_an_assistant_nobody_looks_for_wishes_and_missing_skills(world: World):
    await talk(world, "Rui has hay fever.", "We will tile the roof.", session="s1")
    world = reading(world)
    await dream(world)
    assert [names_in(request) for request in world.chat.requests] == [["fact-mining", "episodes"]]
    await dream(world)
    assert len(world.chat.requests) == 1


async def test_turns_of_an_assistant_alone_are_not_sent(world: World):
    await talk(world, "assistant: I thought of something.", session="s1")
    world = reading(world)
    await dream(world)
    await dream(world)
    assert world.chat.requests == []


async def test_a_question_holds_as_many_new_turns_as_an_answer_has_room_for(world: World):
    await talk(world, *(f"Nothing to tell, {place} times." for place in range(10)), session="s1")
    world = reading(world, batch_turns=4)
    await dream(world)
    new = [[line for line in lines_of(one, "t") if "read-before" not in line] for one in world.chat.requests]
    assert [len(lines) for lines in new] == [4, 4, 2]


async def test_what_stays_the_same_comes_first(world: World):
    await talk(world, "Rui has hay fever.", "We will tile the roof.", session="s1")
    world = reading(world)
    await dream(world)
    await talk(world, "Rui has hay fever again.", session="s9")
    await dream(world)
    first, second = (request.messages[0].content for request in world.chat.requests)
    same = next(place for place, (one, other) in enumerate(zip(first, second, strict=False)) if one != other)
    # Only the mark that fences the data is another one, and it stands in the last paragraph.
    assert "<<<" in first[same - 4 : same]
    assert estimate_tokens(first[same:]) < 120


async def test_two_dreams_begin_their_question_with_the_same_three_thousand_tokens(world: World):
    world = reading(world)
    for text in ("Rui has hay fever.", "Shorter answers, please!"):
        for session in ("a", "b"):
            await talk(world, f"Summarize my email. {text}", "assistant: Fine.", session=session + text)
        await dream(world)
    joint = [request for request in world.chat.requests if is_joint(request)]
    first, second = ("\n".join(message.content for message in one.messages).encode()[: 4 * 3_000] for one in joint)
    assert (first, names_in(joint[0])) == (second, names_in(joint[1]))


async def test_an_own_directive_for_missing_skills_acts_and_they_are_looked_for_before_skills_are_consolidated(
    world: World, tmp_path: Path
):
    (tmp_path / "directives").mkdir()
    (tmp_path / "directives" / "skill-gap.md").write_text("Write skills for email alone.")
    for session in ("s1", "s2"):
        await talk(world, "Summarize the email.", "assistant: Here it is.", session=session)
    world = replace(reading(world), data_dir=tmp_path)
    report = await dream(world)
    assert "Write skills for email alone." in world.chat.requests[0].messages[0].content
    order = [one.name for one in report.passes]
    assert order.index("skill-gaps") < order.index("skill-consolidation")


async def test_a_session_has_one_heading_and_its_turns_no_date_of_their_own(world: World):
    await evening(world)
    world = reading(world)
    await dream(world)
    data = world.chat.requests[0].messages[-1].content
    assert data.count('session="s1"') == data.count('session="s2"') == 1
    assert '[t1] "Ana": "We will tile the roof. Rui has hay fever."' in data


async def test_of_a_long_turn_of_an_assistant_stands_there_what_people_answer_to(world: World):
    long = "Here is a plan. " + "Filler goes on. " * 60 + "Book the blue ferry to Ons. " + "More filler here. " * 60
    await talk(world, f"assistant: {long}The end is near.", "The blue ferry then! Rui has hay fever.", session="s1")
    world = reading(world)
    await dream(world)
    shown = lines_of(world.chat.requests[0], "t1]")[0]
    assert all(part in shown for part in ("Here is a plan", "blue ferry to Ons", "The end is near", " [...] "))
    assert len(shown) < 1_400
    assert await contents(world) == [FACT]


async def test_what_a_person_said_is_never_cut(world: World):
    await talk(world, "Rui has hay fever. " + "And so on it goes. " * 200, session="s1")
    world = reading(world)
    await dream(world)
    assert "[...]" not in lines_of(world.chat.requests[0], "t1]")[0]


async def test_what_a_person_said_at_greater_length_than_a_prompt_is_read_in_parts(world: World):
    text = "We will tile the roof. " + "And so on it goes. " * 2_500 + "Rui has hay fever."
    (long,) = await talk(world, text, session="s1")
    world = reading(world)
    report = await dream(world)
    assert [request.purpose for request in world.chat.requests] == ["reading", "reading"]
    assert await contents(world) == sorted([EPISODE, FACT])
    assert {source.id for entry in await world.active() for source in entry.sources} == {long.id}
    assert [of_pass(report, name).refused for name in READERS[:2]] == [(), ()]
    await dream(world)
    assert len(world.chat.requests) == 2


@pytest.mark.parametrize("lags", [(), ("episodes",), ("fact-mining", "skill-gaps")])
@pytest.mark.parametrize("off", ["", "preferences", "fact-mining"])
async def test_the_forecast_of_what_is_shared_is_what_the_run_then_sends(world: World, lags: Sequence[str], off: str):
    world = reading(world, batch_turns=6)
    await talk(world, *(f"Rui has hay fever, {place} times." for place in range(10)), "assistant: Oh.", session="s0")
    if lags:
        await world.dreams.run(passes=[name for name in READERS if name not in lags])
    before = len(world.chat.requests)
    await evening(world)
    passes = [name for name in READERS if name != off]
    told = [one for one in await world.dreams.forecast(passes=passes) if one.calls]
    await world.dreams.run(passes=passes)
    asked = world.chat.requests[before:]
    sent = sum(estimate_tokens(message.content) for request in asked for message in request.messages)
    assert sum(one.calls for one in told) == len(asked) > 1
    assert sum(one.least_tokens for one in told) == pytest.approx(sent, rel=0.1)


async def test_what_all_of_them_wrote_is_read_a_second_time_in_one_call(world: World):
    await evening(world)
    world = reading(world)
    report = await dream(world)
    assert len(world.chat.readings) == 1
    assert await contents(world) == ALL
    told = [one.verdict for entry in await world.active() for one in entry.evidence]
    assert {*told} == {EvidenceVerdict.PROVEN, EvidenceVerdict.VERIFIED}
    assert sum(of_pass(report, name).notes.get("read_again", 0) for name in READERS) == 2


async def test_of_what_is_read_together_each_statement_is_judged_by_itself(world: World):
    await evening(world)
    together = reading(world)
    denying = VerifyingChatClient(itertools.repeat(answer), denies=["tile the roof"])
    await dream(replace(together, chat=denying))
    assert await contents(world) == sorted([FACT, PREFERENCE])


async def test_a_reader_that_accepts_what_is_false_is_believed_by_none(world: World):
    class Agreeable(VerifyingChatClient):
        def _says(self, *_: Any) -> bool:
            return True

    await evening(world)
    world = reading(world)
    world = replace(world, chat=Agreeable(itertools.repeat(answer)))
    report = await dream(world)
    assert await contents(world) == [FACT]
    waits = [one["reason"] for name in READERS[1:3] for one in of_pass(report, name).notes["waits"]]
    assert waits == ["verifier_unreliable"] * 2


async def test_second_readings_of_many_batches_share_calls(world: World):
    def reply(request: ChatRequest) -> str:
        said = [line for line in lines_of(request, "t") if "read-before" not in line]
        facts = [
            {
                "content": f"Ana bought {count} apples.",
                "category": "x",
                "tags": [],
                "sourceTurns": [line[1:4].strip("]")],
            }
            | {"quote": f"{count} apples"}
            for line in said
            for count in re.findall(r"(\d+) apples", line)
        ]
        return orjson.dumps(
            {name: {"facts": facts} if name == READERS[0] else {"toSave": []} for name in READERS}
        ).decode()

    await talk(world, *(f"I went and bought {place} apples." for place in range(11, 19)), session="s1")
    world = reading(world, reply, batch_turns=2)
    await dream(world)
    assert len(await contents(world)) == 8
    assert len(world.chat.requests) == 4
    assert len(world.chat.readings) == 1


async def test_each_pass_is_undone_by_itself(world: World):
    await evening(world)
    world = reading(world)
    report = await dream(world)
    await world.dreams.undo(report.run_id, pass_name="episodes")
    assert await contents(world) == sorted([FACT, PREFERENCE])
