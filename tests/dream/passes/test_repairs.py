"""Items that were refused are told to the model once, and what then holds is taken together with the rest."""

from collections.abc import Callable
from typing import Any

import orjson
import pytest
from dreaming import DAY, World, codes
from skilled import Library, turn_of
from talking import answering, talk

from agentcore.llm import ChatRequest, Completion, FinishReason, Usage
from dream.domain import Outcome, PassOutcome, PassReport, Refused
from dream.domain.rounds import RoundKind
from dream.options import ModelOptions, VerificationMode
from dream.passes.episodes import EpisodeExtraction
from dream.passes.fact_mining import FactMining
from dream.passes.preferences import PreferenceInference
from dream.passes.repairs import REMEDIES

SAID = ("I pay 640 euros for my flat in Porto.", "My cat is called Miso.")
RENT = {
    "content": "Ana pays 640 euros for her flat in Porto.",
    "category": "people/ana",
    "tags": [],
    "sourceTurns": ["t1"],
    "quote": "I pay 640 euros",
}
CAT = {
    "content": "Ana has a cat called Miso.",
    "category": "people/ana",
    "tags": [],
    "sourceTurns": ["t2"],
    "quote": "My cat is called Miso",
}
WRONG = {**RENT, "content": "Ana pays 720 euros for her flat in Porto."}


def facts(*items: Any) -> str:
    return orjson.dumps({"facts": list(items)}).decode()


def saved(*items: Any) -> str:
    return orjson.dumps({"toSave": list(items)}).decode()


def put_right(number: int, item: Any) -> Any:
    return {"item": number, **item}


async def mined(world: World, *answers: Any, **options: Any) -> tuple[PassReport, list[ChatRequest]]:
    """Mine once; return the report and what was asked."""
    heard = answering(world, *answers, **options)
    return (await heard.run_passes(FactMining())).passes[0], heard.chat.requests


async def contents(world: World) -> list[str]:
    return sorted(entry.content for entry in await world.active())


async def test_what_is_put_right_is_taken_together_with_what_was_good_at_first(world: World):
    await talk(world, *SAID)
    report, _ = await mined(world, facts(CAT, WRONG), facts(put_right(2, RENT)))
    assert await contents(world) == [CAT["content"], RENT["content"]]
    assert (report.refused, report.calls, report.notes["repairs"], report.notes["repaired"]) == ((), 3, 1, 1)


async def test_the_repair_shows_each_refused_item_with_its_reason_and_the_turns_it_cites_alone(world: World):
    await talk(world, *SAID, "assistant: A fine name.", "assistant: Anything else?", "Good night.")
    unproven = {**CAT, "quote": "My dog is called Miso"}
    _, requests = await mined(world, facts(WRONG, CAT, unproven), facts())
    (told,) = requests[1].messages[1:]
    assert all(text in told.content for text in (*SAID, "A fine name."))
    assert "Anything else?" not in told.content
    lines = [line for line in told.content.splitlines() if line.startswith(("[1]", "[2]", "[3]"))]
    assert [line[:3] for line in lines] == ["[1]", "[3]"]
    assert "invented_detail" in lines[0]
    assert "720" in lines[0]
    assert "quote_not_found" in lines[1]
    assert "My dog is called Miso" in lines[1]
    assert REMEDIES[Refused.QUOTE_NOT_FOUND] in told.content


async def test_the_repair_asks_for_the_number_of_each_item(world: World):
    await talk(world, *SAID)
    _, requests = await mined(world, facts(WRONG), facts())
    first, second = (request.response_format.schema["properties"]["facts"]["items"] for request in requests)
    assert second["properties"] == {"item": {"type": "integer"}, **first["properties"]}
    assert second["required"] == ["item"]


@pytest.mark.parametrize("second", [facts(put_right(1, WRONG)), facts(), "sorry", "{}", '{"facts": "none"}'])
async def test_in_the_place_of_an_item_that_is_refused_for_good_stands_what_was_said(world: World, second: str):
    await talk(world, *SAID)
    report, requests = await mined(world, facts(WRONG, CAT), second)
    assert len(requests) == 2
    assert codes(report)[0] == "invented_detail"
    assert await contents(world) == [CAT["content"], f'Ana, 2025-06-14: "{SAID[0]}"']
    again, requests = await mined(world)
    assert (again.outcome, requests) == (PassOutcome.UNCHANGED, [])


async def test_an_item_that_is_refused_again_stands_in_the_report_once_with_its_last_reason(world: World):
    await talk(world, *SAID)
    report, requests = await mined(world, facts(WRONG), facts(put_right(1, {**RENT, "quote": "I pay 650 euros"})))
    assert (len(requests), codes(report), await contents(world)) == (2, ["quote_not_found"], [])
    assert report.notes["repaired"] == 0


async def test_a_repair_cannot_take_away_or_add_to_what_was_good_at_first(world: World):
    await talk(world, *SAID)
    other = {**CAT, "content": "Miso is a cat of Ana.", "quote": "cat is called Miso"}
    second = facts(put_right(1, other), put_right(2, RENT), put_right(3, other), put_right(-1, other), other)
    report, _ = await mined(world, facts(CAT, WRONG), second)
    assert await contents(world) == [CAT["content"], RENT["content"]]
    assert report.refused == ()


@pytest.mark.parametrize("second", [facts(RENT), facts(CAT, RENT)])
async def test_items_without_numbers_are_those_that_were_told_or_the_whole_list_again(world: World, second: str):
    await talk(world, *SAID)
    await mined(world, facts(CAT, WRONG), second)
    assert await contents(world) == [CAT["content"], RENT["content"]]


async def test_a_good_answer_is_not_asked_about_again(world: World):
    await talk(world, *SAID)
    report, requests = await mined(world, facts(RENT, CAT))
    assert (len(requests), report.notes["repairs"]) == (1, 0)


SECRET = {**RENT, "content": "Ana's password is hunter2hunter2!", "quote": "I pay 640 euros"}


@pytest.mark.parametrize(
    ("item", "code"),
    [
        ({**RENT, "sourceTurns": ["t99"]}, Refused.UNKNOWN_HANDLE),
        ({**RENT, "sourceTurns": []}, Refused.NO_SOURCES),
        (SECRET, Refused.SECRET),
        ({**SECRET, "quote": "nobody said so"}, Refused.QUOTE_NOT_FOUND),
        ({**RENT, "category": "active-plans/rent"}, Refused.PROTECTED_CATEGORY),
    ],
)
async def test_what_no_wording_can_put_right_is_not_asked_for_again(world: World, item: Any, code: Refused):
    await talk(world, *SAID)
    report, requests = await mined(world, facts(CAT, item))
    assert (len(requests), codes(report)) == (1, [code])


async def test_an_item_that_cites_nothing_new_is_not_asked_for_another_citation(world: World):
    await talk(world, *SAID)
    await mined(world, facts(CAT))
    await talk(world, "Good night.", occurred_at=world.clock.now() + DAY)
    report, requests = await mined(world, facts({**RENT, "sourceTurns": ["t2"]}))
    assert "read-before" in requests[0].messages[1].content
    assert (len(requests), codes(report)) == (1, [Refused.NO_SOURCES])


async def test_a_forgotten_text_is_not_asked_for_again(world: World):
    long = "Ana has a grey tabby cat called Miso that she took over from her aunt in Porto."
    (entry,) = await world.add(long)
    await world.memory.forget(entry.id)
    await talk(world, SAID[0], "My cat is called Miso, a grey tabby that I took over from my aunt in Porto.")
    report, requests = await mined(world, facts(CAT | {"content": long}))
    assert (len(requests), codes(report)) == (1, [Refused.FORGOTTEN])


async def test_what_a_person_took_back_is_not_asked_for_again(world: World):
    await talk(world, *SAID)
    await mined(world, facts(CAT))
    run = (await world.dreams.runs())[0]
    await world.dreams.undo(run.run_id)
    report, requests = await mined(world, facts(CAT))
    assert (len(requests), codes(report)) == (1, [Refused.UNDONE_BY_PERSON])


async def test_an_answer_in_another_shape_is_not_repaired(world: World):
    await talk(world, *SAID)
    report, requests = await mined(world, '{"facts": "none"}')
    assert (len(requests), codes(report)) == (1, [Refused.BROKEN_ANSWER])


def spending(text: str, tokens: int) -> Completion:
    return Completion(
        text=text,
        finish_reason=FinishReason.STOP,
        usage=Usage(input_tokens=tokens, output_tokens=0),
        model="scripted",
    )


@pytest.mark.parametrize("bound", ["tokens_per_run", "tokens_per_day"])
async def test_a_repair_is_left_out_where_the_budget_has_no_room_and_the_run_is_whole(world: World, bound: str):
    await talk(world, *SAID)
    proven = {**CAT, "content": SAID[1]}
    report, requests = await mined(world, spending(facts(proven, WRONG), 9_000), model=ModelOptions(**{bound: 10_000}))
    assert (len(requests), codes(report)) == (1, ["invented_detail"])
    assert SAID[1] in await contents(world)
    assert (report.outcome, report.backlog, report.notes["repairs"]) == (PassOutcome.APPLIED, 0, 0)


async def test_a_repair_counts_toward_the_budget_and_the_tokens_of_the_report(world: World):
    await talk(world, *SAID)
    proven = {**RENT, "content": SAID[0]}
    report, _ = await mined(world, spending(facts(WRONG), 3_000), spending(facts(put_right(1, proven)), 5_000))
    assert (report.calls, report.input_tokens) == (2, 8_000)


async def test_a_server_that_fails_at_the_repair_leaves_the_first_answer_standing(world: World):
    await talk(world, *SAID)
    heard = answering(world, facts(CAT, WRONG), ConnectionError("gone"))
    report = await heard.run_passes(FactMining())
    assert await contents(world) == [CAT["content"], f'Ana, 2025-06-14: "{SAID[0]}"']
    assert (report.outcome, codes(report.passes[0])) == (Outcome.FAILED, ["invented_detail"])


@pytest.mark.parametrize("mode", [VerificationMode.STRICT, VerificationMode.OFF])
async def test_a_forecast_counts_a_repair_of_each_answer(world: World, mode: VerificationMode):
    await talk(world, *SAID)
    world.options = world.options.replace(verification=mode)
    (foreseen,) = await answering(world).dreams.forecast(passes=["fact-mining"])
    answer = world.options.model.answer_tokens
    assert foreseen.most_further_tokens == foreseen.directive_tokens + foreseen.data_tokens + 3 * answer
    assert (foreseen.calls, foreseen.most_calls) == (1, 2)
    assert foreseen.least_tokens == foreseen.directive_tokens + foreseen.data_tokens
    assert foreseen.most_tokens == foreseen.least_tokens + answer + foreseen.most_further_tokens


async def test_a_forecast_counts_a_second_reading_for_each_60_statements_before_and_after_the_repair(world: World):
    await talk(world, *[f"Number {number} is where I keep a bike." for number in range(130)])
    (foreseen,) = await answering(world).dreams.forecast(passes=["fact-mining"])
    assert (foreseen.calls, foreseen.most_calls) == (1, 1 + 3 + 1 + 3)
    world.options = world.options.replace(verification=VerificationMode.STRICT)
    (without,) = await answering(world).dreams.forecast(passes=["fact-mining"])
    assert (without.calls, without.most_calls) == (1, 2)
    assert without.most_tokens < foreseen.most_tokens
    assert without.least_tokens == foreseen.least_tokens


async def test_a_dream_costs_no_more_than_was_foreseen(world: World):
    await talk(world, *SAID)
    lost = CAT | {"content": "Ana had a cat at home, once."}
    heard = answering(world, facts(lost, WRONG), facts({"item": 1, **CAT}))
    (foreseen,) = await heard.dreams.forecast(passes=["fact-mining"])
    report = (await heard.run_passes(FactMining())).passes[0]
    kinds = {one.kind for one in report.rounds}
    assert kinds == {RoundKind.QUESTION, RoundKind.VERIFICATION, RoundKind.REPAIR}
    assert foreseen.calls < report.calls <= foreseen.most_calls
    assert report.input_tokens + report.output_tokens <= foreseen.most_tokens


ROOF = {
    "content": "Ana chose red tiles for the roof.",
    "eventType": "decision",
    "actor": "Ana",
    "tags": [],
    "sourceTurns": ["t1"],
    "quote": "We take the red tiles",
}


async def test_an_episode_is_put_right(world: World):
    await talk(world, "We take the red tiles for the roof.")
    wrong = {**ROOF, "content": "Ana chose 40 red tiles for the roof."}
    heard = answering(world, saved(wrong), saved(put_right(1, ROOF)))
    report = (await heard.run_passes(EpisodeExtraction())).passes[0]
    assert (await contents(world), report.refused, report.notes["repaired"]) == ([ROOF["content"]], (), 1)


async def test_a_preference_is_put_right(world: World):
    await talk(world, "Stop it, I want shorter answers!")
    short = {
        "content": "Ana wants shorter answers.",
        "sentiment": "irritated",
        "tags": [],
        "sourceIds": ["t1"],
        "quote": "shorter answers",
    }
    heard = answering(world, saved({**short, "quote": "short answers"}), saved(put_right(1, short)))
    report = (await heard.run_passes(PreferenceInference())).passes[0]
    assert (await contents(world), report.refused, report.notes["repaired"]) == ([short["content"]], (), 1)


async def test_a_preference_shown_too_seldom_is_not_asked_for_again(world: World):
    await talk(world, "I want shorter answers.")
    seldom = {"content": "Ana wants shorter answers.", "sentiment": "casual", "sourceIds": ["t1"]}
    heard = answering(world, saved({**seldom, "quote": "shorter answers"}))
    report = (await heard.run_passes(PreferenceInference())).passes[0]
    assert (codes(report), len(heard.chat.requests)) == ([Refused.TOO_FEW_CITATIONS], 1)


async def test_a_missing_skill_is_put_right(world: World):
    library = Library(world)
    await library.said("s1", "Summarize my email please")
    await library.said("s2", "Please summarize the email of today")

    def reply(content: str, **more: Any) -> Callable[[str], Any]:
        def answer(prompt: str) -> Any:
            cited = [turn_of(prompt, "Summarize my email"), turn_of(prompt, "email of today")]
            item = {"name": "summarize-emails", "summary": "Sum up email", "content": content, "sourceTurns": cited}
            return {"toSave": [item | more]}

        return answer

    steps = "1. Fetch the unread email.\n2. Write at most five bullets."
    sent = f"{steps}\n3. Send them to boss@example.com."
    report = await library.gaps(reply(sent), reply(steps, item=1))
    made = await library.named("summarize-emails")
    assert made is not None
    assert (made.content, report.refused, report.notes["repaired"]) == (steps, (), 1)
