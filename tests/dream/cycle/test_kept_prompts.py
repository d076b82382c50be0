"""What dreams asked is kept whole: compressed, and each directive once, until retention takes it."""

from typing import Any

import pytest
from dreaming import DAY, World
from sqlalchemy import func, select
from talking import answering, talk

from agentcore.stores.sql.schema import model_calls, prompt_texts
from agentcore.stores.sql.stored_prompts import StoredPrompts
from agentcore.stores.sql.transaction import of_my_scope

NOTHING = '{"facts": []}'


async def prompts(world: World) -> list[list[tuple[str, str]]]:
    return await world.storage.read(
        world.scope, lambda view: [told for _, told in StoredPrompts(view.transaction).all()]
    )


async def size(world: World, column: Any) -> int:
    statement = select(func.coalesce(func.sum(func.length(column)), 0)).where(of_my_scope(column.table))
    return await world.storage.read(world.scope, lambda view: view.transaction.execute(statement).scalar_one())


async def test_each_prompt_is_kept_as_it_was_sent(world: World):
    world = answering(world, *[NOTHING] * 5)
    for day in range(5):
        await talk(world, f"Rui has hay fever on day {day}.", session=f"s{day}")
        await world.dreams.run(passes=["fact-mining"])
    sent = [[(one.role.value, one.content) for one in request.messages] for request in world.chat.requests]
    assert await prompts(world) == sent
    whole = sum(len(text.encode()) for messages in sent for _, text in messages)
    kept = await size(world, model_calls.c.prompt) + await size(world, prompt_texts.c.text)
    assert kept < whole / 4


@pytest.mark.parametrize(("days", "left"), [(80, 1), (91, 0)])
async def test_a_directive_goes_with_the_last_prompt_that_had_it(world: World, days: int, left: int):
    world = answering(world, NOTHING)
    await talk(world, "Rui has hay fever.")
    await world.dreams.run(passes=["fact-mining"])
    for _ in range(2):  # what is old is removed by the second of two dreams that are far apart
        world.clock.advance(days / 2 * DAY)
        await world.dreams.run(passes=["retention"])
    world.clock.advance(DAY)
    await world.dreams.run(passes=["retention"])
    assert len(await prompts(world)) == left
    assert (await size(world, prompt_texts.c.text) > 0) == bool(left)
