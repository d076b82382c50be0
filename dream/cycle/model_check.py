"""Measures what a model is good for: how much of a prompt it reads, its JSON, and how it reads statements."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import orjson

from agentcore.llm import Unreadable, extract_object
from agentcore.llm.chat import ChatMessage, ChatRequest, ChatRole, ModelTier, ResponseFormat, Usage, estimate_tokens
from agentcore.llm.errors import ChatContextTooLongError
from dream.cycle.running.context import ContextFactory
from dream.cycle.running.prompt_limits import PromptLimits
from dream.domain.verification import VERIFY, Assertion, EvidenceLine, Reading
from dream.errors import NoModelError
from dream.options import VerificationMode
from dream.passes import library_of
from dream.passes.second_reading import VerificationCall

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentcore.domain.scope import Scope
    from agentcore.hosting.services import HostServices
    from agentcore.llm.chat import Completion
    from dream.options import DreamOptions
    from dream.passes import ModelContext

PURPOSE: Final = "model-check"
SIZES: Final = (1_000, 2_000, 3_000, 4_000, 6_000, 7_000, 8_000, 10_000, 12_000, 16_000, 20_000)
"""Prompts that are tried, in tokens by our count; of eleven at most four are asked."""
_LEAST: Final = 6_000
"""A model that reads less has no room for the longest directives, a conversation and an answer."""
_DIRECTIVES: Final = 2_600
"""Tokens of the longest directives that one question has."""
_OTHER_LANGUAGES: Final = 0.75
"""The sizes are measured in English; other languages take more tokens of as many bytes."""
_ANSWER: Final = 100
_NEEDLES: Final = 3
_LEAST_FOUND: Final = 0.8
"""Share of the true statements that a reader has to find, if a second reading is to pay."""
_FILE: Final = "model-check.json"
_FORM: Final = ResponseFormat(
    name="codes",
    schema={
        "type": "object",
        "properties": {"codes": {"type": "array", "items": {"type": "string"}}},
        "required": ["codes"],
        "additionalProperties": False,
    },
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCheck:
    """What a model proved good for.

    Args:
        model: Which answered, as its server names it.
        calls: Questions that it was asked.
        tokens: What they cost.
        answers: Answers that came.
        objects: How many of these held the JSON object that was asked for.
        context: The longest prompt that it read whole, in tokens by our count; 0 if it read none.
        context_is_longest: Whether no longer one was tried.
        false_statements: Statements that are false beside their evidence.
        false_accepted: How many of them it found there.
        true_statements: Statements that are true beside it.
        true_accepted: How many of them it found, with words that bear them out.
        is_unreliable: Whether it fell for the checks of each reading, so that nothing it read counts.
        prompt_tokens: What to set `model.prompt_tokens` to; 0 if the model reads too little.
        mode: What to set `verification` to.
    """

    model: str
    calls: int
    tokens: int
    answers: int
    objects: int
    context: int
    context_is_longest: bool
    false_statements: int
    false_accepted: int
    true_statements: int
    true_accepted: int
    is_unreliable: bool
    prompt_tokens: int
    mode: VerificationMode

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {name: getattr(self, name) for name in self.__slots__} | {"mode": self.mode.value}


def most_tokens(options: DreamOptions) -> Usage:
    """Return what a check costs at most: to be told before it begins."""
    prompts = _most(-1, len(SIZES)) + 2 * 3_000
    answers = 4 * _ANSWER + 2 * options.model.answer_tokens
    return Usage(input_tokens=prompts, output_tokens=answers, is_estimated=True)


def _most(low: int, high: int) -> int:
    """Return the tokens of the dearest way to find the longest prompt between two."""
    if high - low < 2:
        return 0
    middle = (low + high) // 2
    return SIZES[middle] + max(_most(middle, high), _most(low, middle))


async def check_model(parts: HostServices, options: DreamOptions, scope: Scope) -> ModelCheck:
    """Ask the model that dreams ask; what it was found to read of a prompt is remembered.

    Raises:
        NoModelError: there is none.
        ChatError: it cannot be asked.
    """
    if parts.chat is None:
        raise NoModelError(pass_name=PURPOSE)
    asking = _ModelQuestions(parts)
    context = await _measured_context(asking)
    judged = await _readings(asking, await _context(parts, options, scope))
    if asking.limits.read:
        await parts.storage.write(scope, asking.limits.save)
    return _check(asking, options, context, judged)


class _ModelQuestions:
    """The questions of one check."""

    def __init__(self, parts: HostServices) -> None:
        self._parts = parts
        self.limits = PromptLimits.unknown(parts.chat)
        self.calls = self.tokens = self.objects = self.answers = 0
        self.model = ""

    async def ask(self, request: ChatRequest) -> Mapping[str, Any] | None:
        """Return the object that was answered; None for none, or where the prompt was not read whole."""
        completion = await self._completed(request)
        if completion is None:
            return None
        self.answers += 1
        read = extract_object(completion.text)
        if isinstance(read, Unreadable):
            return None
        self.objects += 1
        if self.limits.was_cut(request, completion.usage):
            self.limits.learn(request, completion.usage, self._parts.clock.now())
            return None
        return read

    async def _completed(self, request: ChatRequest) -> Completion | None:
        assert self._parts.chat is not None  # noqa: S101 - `check_model` has looked
        self.calls += 1
        try:
            completion = await self._parts.chat.complete(replace(request, tier=ModelTier.DREAMING))
        except ChatContextTooLongError:
            return None
        self.tokens += completion.usage.input_tokens + completion.usage.output_tokens
        self.model = completion.model
        return completion


async def _measured_context(asking: _ModelQuestions) -> int:
    """Return the index of the longest prompt whose beginning, middle and end were read; -1 if none was."""
    low, high = -1, len(SIZES)
    while high - low > 1:
        middle = (low + high) // 2
        request, codes = _hidden(SIZES[middle])
        answer = await asking.ask(request)
        if answer is not None and answer.get("codes") == codes:
            low = middle
        else:
            high = middle
    return low


def _hidden(size: int) -> tuple[ChatRequest, list[str]]:
    """Return a question of that many tokens, with codes at its beginning, in its middle and at its end."""
    codes = [blake2b(f"{size} {place}".encode(), digest_size=3).hexdigest().upper() for place in range(_NEEDLES)]
    question = 'Answer with {"codes": [...]}: the codes of the drawers, in the order in which they stand below.'
    lines: list[str] = []
    left = size - estimate_tokens(question) - _NEEDLES * 12
    while left > 0:
        number = len(lines) + 1
        line = (
            f"Note {number}: on day {number} the boat went out with {number % 7 + 2} people and came home in the dark."
        )
        lines.append(line)
        left -= estimate_tokens(f"{line}\n")
    for place, code in reversed(list(enumerate(codes))):
        lines.insert(len(lines) * place // (_NEEDLES - 1), f"The code of drawer {place + 1} is {code}.")
    prompt = (ChatMessage(ChatRole.SYSTEM, question), ChatMessage(ChatRole.USER, "\n".join(lines)))
    request = ChatRequest(
        messages=prompt, max_output_tokens=_ANSWER, purpose=PURPOSE, response_format=_FORM, temperature=0.0
    )
    return request, codes


async def _context(parts: HostServices, options: DreamOptions, scope: Scope) -> ModelContext:
    from dream.guards.names import builtin_vocabulary  # noqa: PLC0415 - the guards are for those who ask a model

    library = library_of(parts.data_dir, options)
    texts = {name: found.text for name, found in (await asyncio.to_thread(library.read, [VERIFY])).items()}
    contexts = ContextFactory(
        parts=parts,
        scope=scope,
        options=options,
        pass_name=PURPOSE,
        run_id=parts.ids.new(),
        as_of=parts.clock.now(),
    )
    return await contexts.with_model(0, directives=texts, vocabulary=builtin_vocabulary())


async def _readings(asking: _ModelQuestions, context: ModelContext) -> set[int] | None:
    """Return the numbers of the statements that the model found; None if it fell for the checks twice."""
    statements = [(number, assertion) for number, (assertion, _) in enumerate(_statements())]
    for number in (1, 2):
        call = VerificationCall.of(statements, number)
        answer = await asking.ask(call.request(context))
        found = None if answer is None else call.read(answer)
        if found is not None:
            return {key for key, one in found.items() if one.reading is Reading.SAYS}
    return None


@cache
def _statements() -> tuple[tuple[Assertion, bool], ...]:
    """Return the statements, and whether each is true; read once per process."""
    package = Path(__file__).parents[1]
    packaged = package / "_directives" / _FILE
    rows = orjson.loads((packaged if packaged.exists() else package.parent / "directives" / _FILE).read_bytes())
    found: list[tuple[Assertion, bool]] = []
    for row in rows:
        said = datetime(2025, 3, 4, 18, tzinfo=UTC)
        line = EvidenceLine(text=row["said"], speaker=row["speaker"], role="user", said_at=said)
        found += [(Assertion(text=row[name], evidence=(line,)), name == "true") for name in ("true", "false")]
    return tuple(found)


def _check(asking: _ModelQuestions, options: DreamOptions, longest: int, accepted: set[int] | None) -> ModelCheck:
    truths = [number for number, (_, is_true) in enumerate(_statements()) if is_true]
    found = accepted or set[int]()
    true_accepted = len(found.intersection(truths))
    false_accepted = len(found.difference(truths))
    context = SIZES[longest] if longest >= 0 else 0
    mode = VerificationMode.OFF
    if asking.objects < asking.answers or context < _LEAST:
        mode = VerificationMode.STRICT
    elif accepted is not None and not false_accepted and true_accepted >= _LEAST_FOUND * len(truths):
        mode = VerificationMode.VERIFIED
    return ModelCheck(
        model=asking.model,
        calls=asking.calls,
        tokens=asking.tokens,
        answers=asking.answers,
        objects=asking.objects,
        context=context,
        context_is_longest=longest == len(SIZES) - 1,
        false_statements=len(_statements()) - len(truths),
        false_accepted=false_accepted,
        true_statements=len(truths),
        true_accepted=true_accepted,
        is_unreliable=accepted is None,
        prompt_tokens=_prompt_tokens(context, options),
        mode=mode,
    )


def _prompt_tokens(context: int, options: DreamOptions) -> int:
    """Return the longest prompt, directives aside, that leaves room for them and for an answer; 0 for none."""
    answer = min(options.model.answer_tokens, context // 4)
    room = int(_OTHER_LANGUAGES * context) - _DIRECTIVES - answer
    return min(options.model.prompt_tokens, room) // 100 * 100 if room >= 500 else 0
