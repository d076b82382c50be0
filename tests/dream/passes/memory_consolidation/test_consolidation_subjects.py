"""Entries about one subject and topic meet in a prompt though they share no word."""

from consolidating import NOTHING, dream
from dreaming import DAY, World

ABOUT = {"subject": "Ana", "topic": "music"}


async def test_opposites_about_one_subject_are_shown_together(world: World):
    await world.add("Ana plays drums in the cellar.", metadata=ABOUT)
    await world.add(*(f"Tile {place} of row {place} is cracked." for place in range(30)))
    await dream(world, NOTHING, NOTHING, batch_entries=40)
    world.clock.advance(DAY)
    await world.add("Ana sold every instrument.", metadata={"subject": "ana", "topic": "Music"})
    _, requests = await dream(world, NOTHING)
    assert "plays drums" in requests[0].messages[-1].content
    assert "cracked" not in requests[0].messages[-1].content


async def test_what_is_about_another_subject_or_topic_is_not_shown(world: World):
    await world.add("Ana plays drums in the cellar.", metadata={**ABOUT, "topic": "home"})
    await world.add("Rui sings.", metadata={**ABOUT, "subject": "Rui"})
    await dream(world, NOTHING)
    world.clock.advance(DAY)
    await world.add("Ana sold every instrument.", metadata=ABOUT)
    _, requests = await dream(world, NOTHING)
    assert "drums" not in requests[0].messages[-1].content
    assert "sings" not in requests[0].messages[-1].content
