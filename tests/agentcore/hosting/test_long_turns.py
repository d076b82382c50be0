"""Turns as long as a book are logged, found by the passage that answers, and refused in a sentence where too long."""

from time import perf_counter

import pytest

from agentcore import AgentHostBuilder
from agentcore.errors import InvalidContentError
from agentcore.hosting import ConversationOptions

FILLER = "Line {0} of the log says that nothing happened at all in the hall. "
SECONDS = 30.0
"""More than any of this takes on a slow machine: minutes would be a loop over all pairs."""


async def test_a_turn_of_five_megabytes_is_taken_and_found_by_its_passage():
    began = perf_counter()
    text = "".join(FILLER.format(n) for n in range(75_000))
    content = f"{text}\nThe boiler in Coimbra broke.\n{text}"[:5_242_880].rstrip()
    middle = content.index("Coimbra")
    async with AgentHostBuilder(None).with_memory().with_conversation_log().build() as host:
        await host.conversation.append(session_id="s", role="tool", content=content)
        await host.conversation.append(session_id="s", role="user", content="Where was that?")
        hits = await host.conversation.recall("boiler in Coimbra")
        (long,) = [hit for hit in hits if hit.turn.role == "tool"]
        assert long.span is not None
        assert long.span.start <= middle < long.span.end <= long.span.start + 320
        assert "The boiler in Coimbra broke." in long.passage
        block = await host.context.for_turn("t", "What broke in Coimbra, the boiler?", budget_tokens=250)
        assert "The boiler in Coimbra broke." in block.text
    assert perf_counter() - began < SECONDS


async def test_a_turn_above_the_bound_is_refused_in_a_sentence():
    async with AgentHostBuilder(None).with_conversation_log().build() as host:
        with pytest.raises(InvalidContentError, match="6,000,001 characters; split it into parts of at most 6,000,000"):
            await host.conversation.append(session_id="s", role="tool", content="x" * 6_000_001)


@pytest.mark.parametrize(
    ("content", "word"),
    [
        ("x" * 100_000 + " Coimbra", "Coimbra"),
        ("猫" * 100_000 + "。小明住在科英布拉。", "科英布拉"),
        ("\n" * 50_000 + "- Coimbra" + "\n- a" * 40_000, "Coimbra"),
        ("." * 100_000 + " Coimbra", "Coimbra"),
        (" ".join(f"word{n}" for n in range(100_000)) + " Coimbra", "Coimbra"),
    ],
    ids=["one word", "no spaces", "lines", "full stops", "words"],
)
async def test_whatever_a_long_turn_is_made_of_its_last_word_is_found_in_bounded_time(content: str, word: str):
    began = perf_counter()
    async with AgentHostBuilder(None).with_memory().with_conversation_log().build() as host:
        await host.conversation.append(session_id="s", role="user", content=content)
        (hit,) = await host.conversation.recall(word)
        assert word in hit.passage
        assert len(hit.passage.encode()) <= 320
    assert perf_counter() - began < SECONDS


async def test_a_query_of_twenty_thousand_words_over_ten_thousand_passages_is_answered_in_bounded_time():
    text = "".join(f"Passage {n} is about word{n % 997} and about word{n % 89}, and so on until it is long. \n" * 4
                   for n in range(10_000))  # fmt: skip
    query = " ".join(f"word{n}" for n in range(20_000))
    async with AgentHostBuilder(None).with_memory().with_conversation_log().build() as host:
        await host.conversation.append(session_id="s", role="tool", content=text)
        (hit,) = await host.conversation.recall("word5")
        assert hit.passage
        began = perf_counter()
        assert len(await host.conversation.recall(query)) == 1
        assert (await host.context.for_turn("t", query, budget_tokens=500)).tokens <= 500
        assert perf_counter() - began < SECONDS / 5


async def test_the_weights_of_turns_are_options_of_the_conversation():
    short = "Ana moved to Porto."
    long = f"{short} " + f"{'It rained for days and days. ' * 20}{short} " * 2 + short
    whole = ConversationOptions(passage_tokens=4_000, k1=10.0, session_weight=0.0)
    for options, first in ((ConversationOptions(), short), (whole, long)):
        async with AgentHostBuilder(None).with_conversation_log(options).build() as host:
            await host.conversation.append(session_id="a", role="user", content=long)
            await host.conversation.append(session_id="b", role="user", content=short)
            hits = await host.conversation.recall("When did Ana move to Porto?")
            assert hits[0].turn.content == first


async def test_a_short_message_behind_a_long_turn_is_still_searched_for():
    text = "".join(FILLER.format(n) for n in range(3_000))
    async with AgentHostBuilder(None).with_memory().with_conversation_log().build() as host:
        await host.memory.remember("Rita moved to Coimbra.")
        await host.conversation.append(session_id="s", role="tool", content=text)
        block = await host.context.for_turn("s", "And Coimbra?", budget_tokens=250)
        assert "Rita moved to Coimbra." in block.text
