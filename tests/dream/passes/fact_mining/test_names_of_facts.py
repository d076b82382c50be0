"""A fact may name what its own turns call "she": whoever reads it again is shown where the name stands."""

from collections.abc import Sequence

from dreaming import World
from mining import a_fact, answer, hearing, talk

from dream.passes.fact_mining import FactMining

SAID = (
    "Pixel, my cat, is ill again. What a week.",
    "The shop was shut.",
    "assistant: I see.",
    "She will not eat.",
    "Good night.",
)
HUNGER = a_fact("Pixel will not eat.", "t4", quote="She will not eat")


async def asked(world: World, *answers: str, denies: Sequence[str] = ()) -> tuple[list[str], list[str]]:
    """What is asked of the writer, and of the second reader."""
    await talk(world, *SAID)
    heard = hearing(world, *answers, denies=denies)
    await heard.run_passes(FactMining())
    return (
        [one.messages[-1].content for one in heard.chat.requests],
        [one.messages[-1].content for one in heard.chat.readings],
    )


async def test_a_reader_is_shown_the_turn_that_gives_the_name(world: World):
    _, (read,) = await asked(world, answer(HUNGER))
    assert '"Pixel, my cat, is ill again. What a week."' in read


async def test_a_fact_whose_turns_have_its_names_needs_no_other_turn(world: World):
    _, (read,) = await asked(world, answer(a_fact("Ana's shop was closed.", "t2", quote="The shop was shut")))
    assert '"The shop was shut."' in read
    assert "She will not eat" not in read


async def test_a_repair_shows_the_turn_that_gives_the_name(world: World):
    (_, repair), _ = await asked(world, answer(HUNGER), answer(), denies=["Pixel will not eat"])
    assert "Pixel, my cat, is ill again." in repair
