"""Topics that a person put off limits: no dream keeps anything about them."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import orjson
import pytest
from dreaming import NOW, VerifyingChatClient, World, codes, of_pass
from talking import answering, talk

from agentcore.domain import RecordKind, kind_of
from agentcore.domain.off_limits import MOST_TOPICS
from agentcore.errors import InvalidContentError, UnknownRecordError
from agentcore.hosting import OffLimits
from agentcore.llm import ChatRequest
from dream.domain import Refused, RunReport
from dream.options import DreamOptions, VerificationMode
from dream.passes.exact_fold import ExactFold
from dream.passes.fact_mining import FactMining
from dream.passes.near_duplicates import NearDuplicates

TOPIC = "my health"


class WaryChatClient(VerifyingChatClient):
    """A scripted model whose second reading finds some statements to be about an off-limits topic."""

    def __init__(self, replies: Iterable[Any], *, about: str) -> None:
        super().__init__(replies)
        self._about = about

    def reading(self, prompt: str) -> str:
        found = orjson.loads(super().reading(prompt))["readings"]
        told = {line[1:].partition("]")[0] for line in prompt.splitlines() if self._about in line}
        return orjson.dumps(
            {"readings": [one | {"reading": "off_limits", "quotes": []} if one["id"] in told else one for one in found]}
        ).decode()


def topics_of(world: World) -> OffLimits:
    return OffLimits(world.scope, storage=world.storage, ids=world.ids)


def facts(*told: tuple[str, str]) -> str:
    items = [
        {"content": content, "category": "general", "tags": [], "sourceTurns": [f"t{place}"], "quote": quote}
        for place, (content, quote) in enumerate(told, 1)
    ]
    return orjson.dumps({"facts": items}).decode()


SAID = ("I take insulin every morning.", "I moved to Lisbon in March.")
TOLD = facts((SAID[0], "insulin every morning"), (SAID[1], "moved to Lisbon"))


def system_of(request: ChatRequest) -> str:
    return request.messages[0].content


async def test_with_no_topic_no_prompt_differs_by_a_byte(world: World):
    prompts: list[Any] = []
    for there in (world.elsewhere(), world.elsewhere()):
        if prompts:
            await topics_of(there).add(TOPIC)
            await topics_of(there).remove(TOPIC)
        await talk(there, *SAID)
        heard = answering(replace(there, ids=type(there.ids)()), TOLD)
        await heard.run_passes(FactMining())
        prompts.append([(one.messages, one.response_format) for one in (*heard.chat.requests, *heard.chat.readings)])
    assert prompts[0] == prompts[1]
    assert "off_limits" not in repr(prompts)


async def test_readers_and_verifier_are_given_the_topics_as_a_rule(world: World):
    await topics_of(world).add('my "health"\tand more'.replace("\t", " "))
    await talk(world, *SAID)
    heard = answering(world, facts(("Ana takes insulin.", "insulin every morning")))
    await heard.run_passes(FactMining())
    asked, reread = heard.chat.requests[0], heard.chat.readings[0]
    for request in (asked, reread):
        assert '- "my \\"health\\" and more"' in system_of(request).splitlines()
    assert "leave out" in system_of(asked)
    assert '"off_limits"' in system_of(reread)


async def test_what_a_second_reading_finds_off_limits_is_not_kept_though_its_words_prove_it(world: World):
    await topics_of(world).add(TOPIC)
    await talk(world, *SAID)
    heard = replace(world, chat=WaryChatClient([TOLD, TOLD], about="insulin"))
    report = await heard.run_passes(FactMining())
    assert [entry.content for entry in await world.active()] == [SAID[1]]
    assert codes(report.passes[0]) == [Refused.OFF_LIMITS]
    assert "insulin" not in repr(report)
    assert await heard.dreams.refused_texts(report.run_id) == []


async def test_without_a_second_reading_nothing_off_limits_waits_or_is_kept_word_for_word(world: World):
    await topics_of(world).add(TOPIC)
    await talk(world, "My health is poor since May.")
    told = facts(("Ana's health got worse in June.", "health is poor"))
    for mode in VerificationMode:
        heard = answering(world, told, told, verification=mode, denies=["worse"])
        await heard.run_passes(FactMining())
    assert await world.active() == []


async def test_a_text_that_names_a_topic_is_refused_whoever_wrote_it(world: World):
    await topics_of(world).add(TOPIC)
    await talk(world, "My health is better.")
    told = facts(("My health is better.", "health is better"))
    report = await answering(world, told).run_passes(FactMining())
    assert await world.active() == []
    assert codes(report.passes[0]) == [Refused.OFF_LIMITS]


async def test_what_was_stored_before_stays_and_is_still_looked_after(world: World):
    await world.add("Ana's health is better.", "Ana's health is better.")
    await topics_of(world).add(TOPIC)
    report = await world.run_passes(ExactFold(), NearDuplicates())
    assert [code for one in report.passes for code in codes(one)] == []
    assert [entry.content for entry in await world.active()] == ["Ana's health is better."]


HIVES, FLAT = "Ana sold her beehives in Porto", "The flat in Porto has no garden for beehives"
GUESS = {
    "hypothesis": "Ana sold her beehives because the flat in Porto has no garden for them.",
    "what_if": "What if the flat is why Ana gave up her beehives?",
    "possible_outcome": "A garden would bring the beehives back.",
    "question": "Did Ana sell the beehives because of the flat?",
    "sourceIds": ["e1", "e2"],
    "quotes": ["sold her beehives", "no garden for beehives"],
}


async def guessing(world: World, *guesses: Any) -> RunReport:
    """Look for hypotheses about two memories that share something rare."""
    await world.add(HIVES, "Rui plays chess on Sundays", created_at=NOW - timedelta(days=9))
    await world.add(FLAT)
    heard = answering(world, *(orjson.dumps({"hypotheses": [one]}).decode() for one in guesses)) if guesses else world
    report = await heard.dreams.hypotheses.run()
    if guesses:
        assert '- "garden fees"' in system_of(heard.chat.requests[0]).splitlines()
    return report


async def test_no_hypothesis_is_made_of_memories_that_name_a_topic(world: World):
    await topics_of(world).add("beehives")
    report = of_pass(await guessing(world), "hypotheses")
    assert [(one.code, one.detail) for one in report.refused] == [(Refused.OFF_LIMITS, "1 pairs")]
    assert await world.dreams.hypotheses.list() == []


@pytest.mark.parametrize("field", ["hypothesis", "what_if", "possible_outcome", "question"])
async def test_a_hypothesis_that_names_a_topic_of_its_own_is_refused(world: World, field: str):
    await topics_of(world).add("garden fees")
    report = of_pass(await guessing(world, GUESS | {field: f"{GUESS[field]} Garden fees?"}), "hypotheses")
    assert codes(report) == [Refused.OFF_LIMITS]
    assert await world.dreams.hypotheses.list() == []


CLAIM = {"subject": "Ana", "predicate": "works_at", "object": "Acme", "negated": False, "when": None, "sourceId": "e1"}


@pytest.mark.parametrize(("topic", "quote"), [("Acme", "Ana works at Acme"), ("wages", "Acme is who pays Ana")])
async def test_a_claim_that_names_a_topic_or_is_found_to_be_about_one_is_refused(world: World, topic: str, quote: str):
    await topics_of(world).add(topic)
    (entry,) = await world.add(f"At dinner Rui told us: {quote}.")
    chat = WaryChatClient([orjson.dumps({"claims": [CLAIM | {"quote": quote}]}).decode()], about="works at Acme")
    taking = replace(world, chat=chat, options=DreamOptions.model_validate({"modes": {"*": "off", "claims": "apply"}}))
    report = await taking.dreams.run()
    assert codes(of_pass(report, "claims")) == [Refused.OFF_LIMITS]
    assert await world.dreams.claims.list() == []
    assert await world.active() == [entry]


async def test_topics_are_the_persons_words_and_theirs_to_change(world: World):
    topics = topics_of(world)
    first = await topics.add("  my health ")
    assert (await topics.add("My Health")).id == first.id
    await topics.add("what I earn")
    assert (await topics.reword("my health", "my illnesses")).words == "my illnesses"
    assert [topic.words for topic in await topics.all()] == ["my illnesses", "what I earn"]
    assert (await topics.remove(first.id)).words == "my illnesses"
    assert [topic.words for topic in await topics.all()] == ["what I earn"]


@pytest.mark.parametrize("words", ["", "two\nlines", "x" * 101])
async def test_a_topic_is_one_short_line(world: World, words: str):
    with pytest.raises(InvalidContentError):
        await topics_of(world).add(words)


async def test_there_are_as_many_topics_as_a_prompt_has_room_for(world: World):
    topics = topics_of(world)
    for place in range(MOST_TOPICS):
        await topics.add(f"topic {place}")
    with pytest.raises(InvalidContentError, match="20 already"):
        await topics.add("one more")


async def test_an_unknown_topic_is_named(world: World):
    with pytest.raises(UnknownRecordError, match="off-limits topic"):
        await topics_of(world).remove("my taxes")


async def test_another_scope_has_topics_of_its_own(world: World):
    await topics_of(world).add(TOPIC)
    other = world.elsewhere()
    assert await topics_of(other).all() == []
    found = await world.storage.read(world.scope, lambda view: [kind_of(one) for one in view.records()])
    assert found == [RecordKind.OFF_LIMITS_TOPIC]
