"""What a day may cost: tokens and calls of a scope, and of all scopes together."""

import asyncio
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from dreaming import DAY, NOW, VerifyingChatClient, World
from wishing import Curious

from agentcore.domain.scope import Scope
from agentcore.domain.scope_pattern import ScopePattern
from agentcore.errors import InvalidOptionsError
from agentcore.llm import ChatRequest, Completion, FinishReason, Usage
from dream.cycle import Runner
from dream.domain import PassReport
from dream.domain.usage import summed
from dream.options import DreamOptions
from dream.options.levels import OptionLevels, of_code
from dream.passes import PassSlot


def answered(tokens: int) -> Completion:
    usage = Usage(input_tokens=tokens, output_tokens=0)
    return Completion(text='{"text": "because"}', finish_reason=FinishReason.STOP, usage=usage, model="m")


def bounded(world: World, **bounds: Any) -> World:
    model = world.options.model.replace(calls_in_flight=1, prompt_tokens=500, answer_tokens=100, **bounds)
    return replace(world, options=world.options.replace(model=model))


async def asks(world: World, questions: int) -> PassReport:
    one = replace(world, chat=VerifyingChatClient([answered(1_000)] * questions))
    slot = PassSlot(Curious([f"question {place}" for place in range(questions)]), "a test asked for it")
    (found,) = (await Runner(one.parts, one.options, (slot,)).run(one.scope)).passes
    return found


@pytest.mark.parametrize(
    ("bound", "reason", "calls"),
    [
        ({"host_tokens_per_day": 3_900}, "host_tokens", 2),
        ({"host_calls_per_day": 3}, "host_calls", 1),
        ({"calls_per_day": 2}, "day_calls", 2),
        ({"host_calls_per_day": 9, "calls_per_day": 9}, "nothing_to_change", 3),
    ],
)
async def test_what_other_scopes_spent_today_counts_toward_the_bounds_of_all_alone(
    world_on_disk: World, bound: dict[str, int], reason: str, calls: int
):
    assert (await asks(world_on_disk.elsewhere(), 2)).calls == 2
    found = await asks(bounded(world_on_disk, **bound), 3)
    assert (found.calls, found.reason) == (calls, reason)


@pytest.mark.parametrize("work", ["run", "plan"])
async def test_a_dream_cancelled_in_a_call_is_charged_what_the_call_may_cost(world_on_disk: World, work: str):
    one = bounded(world_on_disk, calls_per_day=3)
    await one.add("Ana likes green tea", "Ana likes green teas")
    asked = 0

    async def never(_: ChatRequest) -> Completion:
        nonlocal asked
        asked += 1
        dreaming.cancel()
        await asyncio.Event().wait()
        return answered(1)

    waiting = replace(one, chat=VerifyingChatClient([never] * 4))
    for _ in range(4):
        asking = getattr(waiting.dreams, work)(passes=["memory-consolidation"])
        dreaming = asyncio.create_task(asking)
        with suppress(asyncio.CancelledError):
            await dreaming
    assert asked == 3
    (total,) = summed(await one.dreams.usage())
    assert (total.calls, total.unanswered, total.unanswered_tokens, total.output_tokens) == (3, 3, total.tokens, 300)


async def test_a_bound_of_all_scopes_is_left_for_today_and_renewed_at_midnight(world_on_disk: World):
    one = bounded(world_on_disk, host_tokens_per_day=2_500, tokens_per_day=9_000)
    assert await one.dreams.tokens_left() == 2_500
    await asks(world_on_disk.elsewhere(), 2)
    assert await one.dreams.tokens_left() == 500
    day = await one.dreams.host_day()
    assert (day.calls, day.tokens, day.most_calls, day.most_tokens) == (2, 2_000, None, 2_500)
    world_on_disk.clock.set(NOW.replace(hour=0) + DAY)
    assert await one.dreams.tokens_left() == 2_500


@pytest.mark.parametrize("bound", [{"host_tokens_per_day": 2_000}, {"host_calls_per_day": 2}])
async def test_the_gate_of_the_budget_is_shut_by_what_others_spent(world_on_disk: World, bound: dict[str, int]):
    one = bounded(world_on_disk, **bound)
    await one.add("Ana likes tea.")
    await asks(world_on_disk.elsewhere(), 2)
    state = (await one.dreams.explain()).decision
    (gate,) = [gate for gate in state.gates if gate.name == "budget"]
    assert (gate.value, gate.threshold) == (0, f"more of {next(iter(bound))}")


def test_a_bound_of_all_scopes_is_not_said_of_some():
    told = of_code(ScopePattern.parse("acme/*/*"), DreamOptions(model={"host_calls_per_day": 5}))
    with pytest.raises(InvalidOptionsError, match="it holds for the whole host"):
        OptionLevels(DreamOptions(), levels=[told]).of(Scope("acme", "a", "b"))
