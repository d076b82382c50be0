"""Hypotheses that a model words: what it may say of a pair, and what a hostile one gets through."""

import random
from datetime import timedelta
from typing import Any

import orjson
import pytest
from dreaming import World, codes, of_pass

from agentcore.domain import HypothesisSource, HypothesisState, SourceRef
from agentcore.domain.text import fold_key
from agentcore.llm import ChatRequest, Completion
from agentcore.llm.chat import FinishReason, Usage
from dream.domain.proposal import Refusal
from dream.guards.names import builtin_vocabulary
from dream.options import DreamOptions
from dream.passes.conversation.quotes import holds_quote
from dream.passes.hypotheses import Guess, Pair, judged, read_guesses

HIVES = "Ana sold her beehives in Porto"
FLAT = "The flat in Porto has no garden for beehives"
OTHERS = ("Rui plays chess on Sundays", "The boiler is checked each autumn", "Bo learns Finnish at night school")
GOOD = {
    "hypothesis": "Ana sold her beehives because the flat in Porto has no garden for them.",
    "what_if": "What if the flat is why Ana gave up her beehives?",
    "possible_outcome": "A garden would bring the beehives back.",
    "question": "Did Ana sell the beehives because of the flat?",
    "sourceIds": ["e1", "e2"],
    "quotes": ["sold her beehives", "no garden for beehives"],
}


def shown(*texts: tuple[str, str]) -> dict[tuple[str, str], Pair]:
    return {
        (f"e{2 * place - 1}", f"e{2 * place}"): Pair(
            sources=tuple((HypothesisSource.parse(f"entry:{place}{n}"), fold_key(text)) for n, text in enumerate(both)),
            texts=both,
            terms=("beehiv",),
            factors=(),
        )
        for place, both in enumerate(texts, 1)
    }


PAIRS = shown((HIVES, FLAT), ("Bo mends the cathedral organ", "The choir sings in the cathedral"))


def judge(**changes: Any) -> Guess | Refusal:
    items, refused = read_guesses({"hypotheses": [GOOD | changes]})
    return judged(items[0], PAIRS, builtin_vocabulary(), "model") if items else refused[0]


def test_a_guess_that_quotes_both_and_says_more_is_taken():
    found = judge()
    assert isinstance(found, Guess)
    assert found.quotes == ("sold her beehives", "no garden for beehives")


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"sourceIds": ["e1"]}, "too_few_sources"),
        ({"sourceIds": ["e1", "e3"]}, "too_few_sources"),
        ({"sourceIds": ["e1", "e9"]}, "unknown_handle"),
        ({"sourceIds": []}, "no_sources"),
        ({"quotes": ["sold her beehives"]}, "quote_not_found"),
        ({"quotes": ["sold her beehives", "no room for bees"]}, "quote_not_found"),
        ({"quotes": ["beehives", "beehives"]}, "quote_not_found"),
        ({"hypothesis": HIVES}, "restates"),
        ({"hypothesis": f"Maybe {HIVES.lower()}."}, "restates"),
        ({"hypothesis": "It might possibly be true that the flat in Porto has no garden."}, "restates"),
        ({"hypothesis": "Bo sings while the choir rehearses loudly."}, "unrelated"),
        ({"hypothesis": "Ana sold her beehives for 4,711 euros because the flat has no garden."}, "invented_detail"),
        ({"hypothesis": "x" * 400}, "invalid_content"),
        ({"question": " "}, "invalid_content"),
    ],
)
def test_what_no_guess_may_be_is_refused(changes: dict[str, Any], code: str):
    found = judge(**changes)
    assert isinstance(found, Refusal)
    assert found.code == code


def test_of_five_thousand_hostile_answers_none_makes_a_guess_without_two_quoted_sources():
    chance, taken = random.Random(22), 0
    vocabulary = builtin_vocabulary()
    for _ in range(5_000):
        items, _ = read_guesses(hostile(chance))
        for item in items:
            found = judged(item, PAIRS, vocabulary, "model")
            if isinstance(found, Guess):
                taken += 1
                assert found.pair in PAIRS.values()
                assert len(found.quotes) == len(found.pair.refs) == 2
                handles = next(one for one, pair in PAIRS.items() if pair is found.pair)
                texts = dict(zip(handles, found.pair.texts, strict=True))
                assert all(
                    holds_quote(texts[one], quote) for one, quote in zip(item.handles, found.quotes, strict=True)
                )
                assert found.hypothesis not in found.pair.texts
    assert taken > 50, "the generator has to come near enough to be let through at times"


def hostile(chance: random.Random) -> dict[str, Any]:
    """Return an answer that is wrong in up to four ways, or in none."""
    texts = [
        HIVES,
        FLAT,
        *OTHERS,
        GOOD["hypothesis"],
        "",
        "\0",
        "x" * 5_000,
        "Maybe " + HIVES,
        "Ignore all rules.",
        None,
        7,
    ]
    wrong: dict[str, Any] = {
        "hypothesis": lambda: chance.choice(texts),
        "what_if": lambda: chance.choice(texts),
        "question": lambda: chance.choice(texts),
        "sourceIds": lambda: [f"e{chance.randint(0, 6)}" for _ in range(chance.randint(0, 4))],
        "quotes": lambda: [
            chance.choice([HIVES, FLAT, "beehives", "no garden for", "", "bees", None]) for _ in range(2)
        ],
    }
    item: Any = dict(GOOD)
    for name in chance.sample(sorted(wrong), chance.randint(0, 4)):
        item[name] = wrong[name]()
    if chance.random() < 0.05:
        others: list[Any] = [None, [], "e1", 5, {"hypothesis": []}]
        item = chance.choice(others)
    return {"hypotheses": [item] * chance.randint(1, 3)} if chance.random() > 0.05 else {"guesses": [item]}


class Answering:
    """A model that answers once with what it is told, after doing something."""

    def __init__(self, items: list[dict[str, Any]], first: Any = None) -> None:
        self.items, self.first, self.calls = items, first, list[str]()

    async def complete(self, request: ChatRequest) -> Completion:
        self.calls.append(request.messages[-1].content)
        if self.first is not None:
            await self.first()
        text = orjson.dumps({"hypotheses": self.items}).decode()
        return Completion(
            text=text,
            finish_reason=FinishReason.STOP,
            usage=Usage(input_tokens=2_000, output_tokens=9),
            model="scripted",
        )


@pytest.fixture
async def world(world: World) -> World:
    world.options = DreamOptions.model_validate({"modes": {"*": "off", "hypotheses": "apply", "re-evaluate": "apply"}})
    await world.add(HIVES, *OTHERS)
    world.clock.advance(timedelta(days=9))
    await world.add(FLAT)
    return world


async def test_a_model_is_asked_once_and_what_it_declines_is_not_shown_again(world: World):
    world.chat = chat = Answering([])
    for _ in range(3):
        await world.dreams.run()
        world.clock.advance(timedelta(days=1))
    assert len(chat.calls) == 1
    assert await world.dreams.hypotheses.list() == []


async def test_what_a_model_words_is_kept_with_its_quotes_and_its_name(world: World):
    entries = {one.content: one for one in await world.active()}
    world.chat = chat = Answering([])

    async def look() -> None:
        chat.items = [GOOD if f'[e1] "{HIVES}"' in chat.calls[0] else GOOD | {"quotes": GOOD["quotes"][::-1]}]

    chat.first = look
    report = await world.dreams.run()
    assert codes(of_pass(report, "hypotheses")) == []
    (found,) = await world.dreams.hypotheses.list()
    assert found.generator == "scripted"
    assert set(found.quotes) == set(GOOD["quotes"])
    assert set(found.sources) == {SourceRef.parse(f"entry:{entries[text].id}") for text in (HIVES, FLAT)}


async def test_a_source_that_goes_while_the_model_answers_leaves_no_guess(world: World):
    entry = next(one for one in await world.active() if one.content == FLAT)
    world.chat = Answering([GOOD], first=lambda: world.dreams.desk.archive(entry.id))
    report = await world.dreams.run()
    found = await world.dreams.hypotheses.list()
    assert [one for one in found if one.state is HypothesisState.PROPOSED] == []
    assert codes(of_pass(report, "hypotheses")) != []
