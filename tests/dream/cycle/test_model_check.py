"""What a model is good for, measured by asking it."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import orjson
import pytest
from dreaming import World

from agentcore.llm import ChatContextTooLongError, ChatRequest, Completion, FinishReason, Usage
from dream.cycle.model_check import SIZES, check_model, most_tokens
from dream.cycle.running.prompt_limits import estimated_prompt
from dream.domain.verification import VERIFY
from dream.errors import NoModelError
from dream.interfaces.benchmark.scripted import records_in
from dream.options import VerificationMode

DIRECTIVES = Path(__file__).parents[3] / "directives"
CHECKS = [
    row for name in ("model-check.json", "verify-checks.json") for row in orjson.loads((DIRECTIVES / name).read_bytes())
]
STATEMENT = re.compile(r'^\[([s-z]\d+)\] ((?:r\d+ ?)+)[^"]*: ("(?:[^"\\]|\\.)*")$', re.MULTILINE)


def honest(statement: str, evidence: str) -> bool:
    """Knows the fixed statements by heart, and of the others only what stands there."""
    known = {row["true"]: row["said"] for row in CHECKS}
    said = re.fullmatch(r'.*?said: "(.*)"', statement)
    return known.get(statement, "nothing of the kind") in evidence or (said is not None and said[1] in evidence)


@dataclass
class Model:
    """Reads so many tokens of a prompt, and judges statements as it can."""

    context: int = 100_000
    cuts: bool = True
    counts: bool = True
    judges: Callable[[str, str], bool] = honest
    prose: bool = False
    spent: int = 0

    async def complete(self, request: ChatRequest) -> Completion:
        sent = estimated_prompt(request)
        if sent > self.context and not self.cuts:
            raise ChatContextTooLongError(model="tiny", input_tokens=sent, output_tokens=1)
        text = self.answer(request, sent)
        usage = Usage(input_tokens=min(sent, self.context), output_tokens=20, is_estimated=not self.counts)
        self.spent += usage.input_tokens + usage.output_tokens
        return Completion(text=text, finish_reason=FinishReason.STOP, usage=usage, model="tiny")

    def answer(self, request: ChatRequest, sent: int) -> str:
        if self.prose:
            return "Here you are."
        shown = request.messages[-1].content
        if request.purpose == VERIFY:
            return self.readings(shown)
        read = shown if sent <= self.context else shown[len(shown) // 2 :]
        return orjson.dumps({"codes": re.findall(r"drawer \d is (\w+)", read)}).decode()

    def readings(self, shown: str) -> str:
        records = {one.handle: one.text for one in records_in(shown)}
        found: list[dict[str, object]] = []
        for handle, named, told in STATEMENT.findall(shown):
            said = [records[one] for one in named.split()]
            reading = "says" if self.judges(orjson.loads(told), " ".join(said)) else "not_said"
            found.append({"id": handle, "reading": reading, "quotes": said, "leftOut": []})
        return orjson.dumps({"readings": found}).decode()


async def checked(world: World, model: Model):
    parts = replace(world, chat=model).parts
    return await check_model(parts, world.options, world.scope)


async def test_a_capable_model_may_verify_what_it_writes(world: World):
    model = Model()
    check = await checked(world, model)
    assert (check.mode, check.prompt_tokens) == (VerificationMode.VERIFIED, 7_400)
    assert (check.context, check.context_is_longest, check.objects) == (SIZES[-1], True, check.answers)
    assert (check.true_accepted, check.false_accepted) == (7, 0)


async def test_it_costs_no_more_than_was_told_before(world: World):
    for context in (500, 2_500, 7_000, 9_000, 100_000):
        model = Model(context=context)
        check = await checked(world, model)
        most = most_tokens(world.options)
        assert model.spent == check.tokens <= most.input_tokens + most.output_tokens
        assert check.calls <= 6


@pytest.mark.parametrize("model", [Model(9_000), Model(9_000, counts=False), Model(9_000, cuts=False)])
async def test_the_context_is_found_whether_it_is_cut_silently_or_refused(world: World, model: Model):
    check = await checked(world, model)
    assert (check.context, check.context_is_longest) == (8_000, False)
    assert 500 <= check.prompt_tokens <= 2_000


async def test_a_model_that_reads_too_little_is_of_no_use(world: World):
    check = await checked(world, Model(3_500))
    assert (check.prompt_tokens, check.mode) == (0, VerificationMode.STRICT)


async def test_a_reader_that_agrees_with_everything_is_left_out(world: World):
    check = await checked(world, Model(judges=lambda *_: True))
    assert (check.is_unreliable, check.mode) == (True, VerificationMode.OFF)


async def test_a_model_without_json_gets_nothing_in_unseen(world: World):
    check = await checked(world, Model(prose=True))
    assert (check.objects, check.mode) == (0, VerificationMode.STRICT)


async def test_without_a_model_it_says_so(world: World):
    with pytest.raises(NoModelError):
        await check_model(replace(world, chat=None).parts, world.options, world.scope)
