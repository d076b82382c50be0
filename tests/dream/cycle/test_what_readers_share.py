"""What stands beside new turns in a shared question, and what comes of it for other passes of the run."""

from datetime import timedelta
from itertools import repeat

from dreaming import World
from talking import MINUTE, lines_of, talk
from together import FACT, READERS, dream, evening, is_joint, reading

from agentcore.llm.chat import estimate_tokens
from dream.options import ModelOptions


async def test_known_records_take_no_more_than_two_fifths_of_a_prompt(world: World):
    many = [f"We tiled roof number {place} and the assistant answered at length about tiles." for place in range(120)]
    for place, text in enumerate(many):
        await world.add(text, category="episodes/decision" if place % 2 else "user-preferences/inferred")
    await talk(world, *many[:30], "assistant: Fine.", "Shorter answers about tiles, please!", session="s1")
    world = reading(world)
    world.options = world.options.replace(model=ModelOptions(prompt_tokens=2_500))
    await dream(world)
    asked = [one for one in world.chat.requests if is_joint(one)]
    assert asked
    for request in asked:
        data = request.messages[-1].content
        beside = data.partition("Turns:\n")[0]
        assert estimate_tokens(beside) <= 0.4 * 2_500
        assert estimate_tokens(data) <= 2_500 * 1.1


async def test_only_what_was_said_before_is_shown_as_read_before(world: World):
    now = world.clock.now()
    await talk(world, "The second thing.", session="s1", occurred_at=now)
    world = reading(world)
    await dream(world)
    await talk(world, "The first thing, told late.", session="s1", occurred_at=now - timedelta(hours=1))
    await dream(world)
    late = lines_of(world.chat.requests[-1], "t")
    assert [line.partition(": ")[2] for line in late] == ['"The first thing, told late."']
    await talk(world, "The third thing.", session="s1", occurred_at=now + 9 * MINUTE)
    await dream(world)
    told = lines_of(world.chat.requests[-1], "t")
    assert ["read-before" in line for line in told] == [True, True, False]


async def test_consolidation_sees_what_this_run_wrote(world: World):
    await world.add("Rui has hay fever and sneezes in May.", category="health")
    await evening(world)
    world = reading(world)
    await world.dreams.run(passes=[*READERS, "memory-consolidation"])
    (shown,) = [one.messages[-1].content for one in world.chat.requests if one.purpose == "memory-consolidation"]
    assert FACT in shown
    assert "sneezes in May" in shown


async def test_consolidation_fills_its_prompts(world: World):
    """Small groups share a call, up to the size of one."""
    for place in range(60):
        await world.add(f"Ana keeps thing {place} in box {place}.", f"Ana keeps thing {place} in the box {place}!")
    world = reading(world)
    world.chat._replies = repeat('{"toSave": [], "toDelete": []}')
    await world.dreams.run(passes=["memory-consolidation"])
    asked = [one for one in world.chat.requests if one.purpose == "memory-consolidation"]
    most = world.options.consolidation.batch_entries
    assert sum(len(lines_of(one, "e")) for one in asked) == 120
    assert len(asked) == -(-120 // most)
