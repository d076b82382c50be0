"""The forecast of a run: the passes pack and word their questions, and nobody is asked."""

import asyncio
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from agentcore.domain.capability import Capability
from agentcore.domain.scope import Scope
from agentcore.hosting.parts import HostParts
from agentcore.llm.chat import ChatRequest, ChatRole
from agentcore.llm.tokens import estimate_tokens
from dream.cycle.running.context import ContextFactory
from dream.directives import DirectiveLibrary
from dream.domain.forecast import PassForecast
from dream.domain.reasons import Skip
from dream.errors import InvalidDirectiveError
from dream.options import DreamOptions
from dream.passes import ModelContext, ModelPass
from dream.passes.arrangement import brought
from dream.passes.declared import reads_of

if TYPE_CHECKING:
    from dream.guards.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecaster:
    """Foresees what model passes would ask on one scope as it is; it writes nothing and asks nobody.

    Args:
        parts: What the host offers; a model is not needed.
        options: The host's options.
        scope: Whose memory.
        as_of: The instant to judge by.
    """

    parts: HostParts
    options: DreamOptions
    scope: Scope
    as_of: datetime

    async def of(self, model_pass: ModelPass) -> PassForecast:
        """Return what *model_pass* would ask now."""
        name = model_pass.name
        missing = sorted(item.value for item in model_pass.requires - self.parts.capabilities - {Capability.LLM})
        if missing:
            return PassForecast(name=name, reason=f"{Skip.MISSING}: {', '.join(missing)}")
        try:
            context = await self._context(model_pass)
        except InvalidDirectiveError as error:
            return PassForecast(name=name, reason=str(error))
        if not (await model_pass.has_work(context)).pending:
            return PassForecast(name=name, reason=Skip.NO_WORK)
        packing = await model_pass.pack(context)
        asked = [await model_pass.request(context, batch) for batch in packing.batches]
        requests = [request for request in asked if request is not None]
        return PassForecast(
            name=name,
            reason=None if requests else Skip.NOTHING_TO_CHANGE,
            calls=len(requests),
            directive_tokens=sum(_tokens(request, is_system=True) for request in requests),
            data_tokens=sum(_tokens(request, is_system=False) for request in requests),
            most_output_tokens=sum(request.max_output_tokens for request in requests),
            most_repair_tokens=sum(map(_repair_tokens, requests)),
            backlog=packing.backlog,
        )

    async def _context(self, model_pass: ModelPass) -> ModelContext:
        contexts = ContextFactory(
            parts=self.parts,
            scope=self.scope,
            options=self.options,
            pass_name=model_pass.name,
            # No run has begun, but passes remember what they worked out by the run's id: each forecast has its own.
            run_id=self.parts.ids.new(),
            as_of=self.as_of,
            reads=reads_of(model_pass),
        )
        return await model_context(self.parts, self.options, contexts, model_pass)


async def model_context(
    parts: HostParts, options: DreamOptions, contexts: ContextFactory, model_pass: ModelPass
) -> ModelContext:
    """Return the context in which a pass is asked what it would do if a run began now.

    Raises:
        InvalidDirectiveError: one of its directives cannot be used.
    """
    folder = parts.data_dir
    library = DirectiveLibrary(folder, options.directives, brought(options.passes))
    read = await asyncio.to_thread(library.read, model_pass.directives)
    vocabulary = await asyncio.to_thread(_vocabulary, folder)
    texts = {name: directive.text for name, directive in read.items()}
    return await contexts.with_model(0, directives=texts, vocabulary=vocabulary)


def _vocabulary(folder: Path | None) -> "Vocabulary":
    from dream.guards.vocabulary import VOCABULARY_FILE, load_vocabulary  # noqa: PLC0415 - the guards are for model passes

    return load_vocabulary(None if folder is None else folder / "directives" / VOCABULARY_FILE).vocabulary


def _repair_tokens(request: ChatRequest) -> int:
    """Return the tokens of a repair: the question again with its answer and what is wrong, and another answer."""
    question = _tokens(request, is_system=True) + _tokens(request, is_system=False)
    # What is wrong is told in fewer words than the answer has.
    return question + 3 * request.max_output_tokens


def _tokens(request: ChatRequest, *, is_system: bool) -> int:
    return sum(
        estimate_tokens(message.content)
        for message in request.messages
        if (message.role is ChatRole.SYSTEM) is is_system
    )
