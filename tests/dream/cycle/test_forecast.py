"""What a run would ask the model, and what that costs at most."""

from dataclasses import replace
from pathlib import Path

import pytest
from dreaming import VerifyingChatClient, World
from wishing import Curious

from agentcore.domain import Capability
from agentcore.llm import ChatRequest, ChatRole, ResponseFormat, estimate_tokens
from dream.cycle import Dreams, Runner
from dream.domain import Batch
from dream.errors import UnknownPassError
from dream.passes import ModelContext, PassSlot
from dream.passes.prompts import build_request

QUESTIONS = ("who is Ana", "who is Ben", "who is Cem")


class Instructed(Curious):
    """Sends its directive with each question."""

    def question(self, context: ModelContext, batch: Batch) -> ChatRequest:
        asked = " and ".join(self.questions[int(place)] for place in batch.member_ids)
        answer = ResponseFormat(name="answer", schema={})
        return build_request(context, directives=self.directives, blocks=[asked], answer=answer, purpose=self.name)


def dreams_of(world: World, *passes: Curious) -> Dreams:
    dreams = world.dreams
    dreams._runner = Runner(world.parts, world.options, tuple(PassSlot(one, "a test asked for it") for one in passes))
    return dreams


def counted(request: ChatRequest) -> tuple[int, int]:
    """The tokens of a request's instructions and of its data."""
    system = sum(estimate_tokens(one.content) for one in request.messages if one.role is ChatRole.SYSTEM)
    return system, sum(estimate_tokens(one.content) for one in request.messages) - system


async def test_the_forecast_is_what_the_run_then_asks(world: World):
    client = VerifyingChatClient(['{"text": "a painter"}'] * 2)
    one = replace(world, chat=client)
    dreams = dreams_of(one, Instructed(QUESTIONS, per_batch=2))
    (foreseen,) = await dreams.forecast()
    assert client.requests == []
    await dreams.run()
    shares = [counted(request) for request in client.requests]
    assert foreseen.calls == len(shares) == 2
    assert foreseen.directive_tokens == sum(system for system, _ in shares)
    assert foreseen.data_tokens == sum(data for _, data in shares)
    assert foreseen.most_output_tokens == 2 * world.options.model.answer_tokens
    assert foreseen.directive_tokens > 2 * foreseen.data_tokens > 0
    assert (foreseen.reason, foreseen.backlog) == (None, 0)


async def test_a_forecast_writes_nothing_and_costs_nothing(world: World):
    await world.add("Ana likes tea")
    dreams = dreams_of(replace(world, chat=VerifyingChatClient([])), Instructed(QUESTIONS))
    before = (await world.export(), await world.revision(), await world.positions())
    assert await dreams.forecast() == await dreams.forecast()
    assert (await world.export(), await world.revision(), await world.positions()) == before
    assert await dreams.usage() == []
    assert await dreams.runs() == []


async def test_it_needs_no_model(world: World):
    assert Capability.LLM not in world.parts.capabilities
    (foreseen,) = await dreams_of(world, Instructed(QUESTIONS)).forecast()
    assert foreseen.calls == 3


async def test_after_the_run_there_is_nothing_left_to_ask(world: World):
    dreams = dreams_of(replace(world, chat=VerifyingChatClient(['{"text": "x"}'] * 3)), Instructed(QUESTIONS))
    await dreams.run()
    (foreseen,) = await dreams.forecast()
    assert (foreseen.calls, foreseen.reason, foreseen.most_tokens) == (0, "no_work", 0)


async def test_what_else_is_missing_is_named(world: World):
    class Wordy(Instructed):
        requires = frozenset({Capability.LLM, Capability.CONVERSATION})

    mute = replace(world, capabilities=world.capabilities - {Capability.CONVERSATION})
    (foreseen,) = await dreams_of(mute, Wordy(QUESTIONS)).forecast()
    assert (foreseen.calls, foreseen.reason) == (0, "missing: conversation")


async def test_passes_that_are_switched_off_or_not_asked_for_are_left_out(world: World):
    class Other(Instructed):
        name = "other"

    off = replace(world, options=world.options.replace(modes={"other": "off"}))
    assert [one.name for one in await dreams_of(off, Instructed(QUESTIONS), Other(QUESTIONS)).forecast()] == ["curious"]
    both = dreams_of(world, Instructed(QUESTIONS), Other(QUESTIONS))
    assert [one.name for one in await both.forecast(passes=["other"])] == ["other"]
    with pytest.raises(UnknownPassError):
        await both.forecast(passes=["nobody"])


async def test_an_own_directive_is_counted_and_a_broken_one_named(world: World, tmp_path: Path):
    folder = tmp_path / "directives"
    folder.mkdir()
    (folder / "memory-rules.md").write_text("Keep everything. " * 1_000)
    dreams = dreams_of(world, Instructed(QUESTIONS))
    dreams._parts = replace(world.parts, data_dir=tmp_path)
    (own,) = await dreams.forecast()
    assert own.directive_tokens > 3 * 4_000
    (folder / "memory-rules.md").write_text("")
    (broken,) = await dreams.forecast()
    assert broken.calls == 0
    assert "memory-rules.md" in str(broken.reason)
