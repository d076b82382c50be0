"""Forecasts what model passes would ask and cost, and what a changed directive costs."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Final

from agentcore.domain.capability import Capability
from agentcore.domain.filters import EntryFilter
from agentcore.llm.chat import ChatRole, estimate_tokens
from dream.cycle.running.context import ContextFactory
from dream.directives import KNOWN
from dream.domain.built_in_passes import BUILT_IN
from dream.domain.declaration import declared
from dream.domain.forecast import PassForecast
from dream.domain.reasons import Skip
from dream.domain.rounds import RoundKind
from dream.domain.verification import MOST_TOKENS, READ_AT_ONCE, VERIFY
from dream.errors import InvalidDirectiveError
from dream.options import VerificationMode
from dream.passes import library_of
from dream.stores import dream_stores

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime
    from pathlib import Path

    from agentcore.domain.scope import Scope
    from agentcore.hosting.services import HostServices
    from agentcore.llm.chat import ChatRequest
    from agentcore.stores.storage import ReadView
    from dream.directives import Directive
    from dream.domain.rounds import NextRound
    from dream.domain.step import Batch, Packing, WaitingExchange
    from dream.guards.names import Vocabulary
    from dream.options import DreamOptions
    from dream.passes import ModelContext, ModelPass
    from dream.stores import DreamStores


REVIEWER: Final = next(one.name for one in BUILT_IN if one.reviews_entries)
"""The pass whose reviewed entries become backlog when what it tells the model changes."""

_SAMPLE: Final = 500
_RUNS: Final = 200
"""Runs, newest first, in which it is looked up what was sent last."""
_ATTRIBUTES: Final = 35
"""Tokens of a line beside the entry's text: handle, category, dates, counts, tags."""
_STATEMENT: Final = 40
"""Tokens of one statement of an answer, with its handles and attributes, at least."""
_RULES: Final = 500
"""Tokens of a second reading beside its directive, records and statements: its contract, the rule about data."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectiveForecast:
    """The cost of looking at every reviewed entry again; an upper bound, reckoned from the mean of the newest entries.

    Args:
        entries: Active entries that the pass has reviewed.
        runs: Dreams over which they are spread.
        calls: Questions to the model.
        tokens: Tokens of questions and answers together.
        changed: Directives that are not what the last run sent; empty if all are, or if none was ever sent.
    """

    entries: int
    runs: int = 0
    calls: int = 0
    tokens: int = 0
    changed: tuple[str, ...] = ()

    def to_json(self) -> dict[str, object]:
        """Return plain JSON values."""
        return {
            "pass": REVIEWER,
            "changed": list(self.changed),
            "entries": self.entries,
            "runs": self.runs,
            "calls": self.calls,
            "tokens": self.tokens,
        }


def read_directive_forecast(
    view: ReadView, directives: Mapping[str, Directive], options: DreamOptions
) -> DirectiveForecast:
    """Return what it costs that a directive of the consolidation changed, or what it would cost.

    Args:
        view: The scope.
        directives: The texts in force of at least the directives of the consolidation.
        options: The host's.
    """
    books = dream_stores(view)
    cursors = books.cursors
    position = cursors.position(REVIEWER)
    if position is None:
        return DirectiveForecast(entries=0)
    unseen = view.entries.count_material(after=position, also=cursors.reopened(REVIEWER))
    reviewed = view.entries.count(EntryFilter()) - unseen
    if reviewed <= 0:
        return DirectiveForecast(entries=0)
    sample = view.entries.select(EntryFilter(), limit=_SAMPLE)
    text = -(-sum(estimate_tokens(entry.content) for entry in sample) // len(sample))
    mine = [name for name, known in KNOWN.items() if REVIEWER in known.passes]
    share = sum(estimate_tokens(directives[name].text) for name in mine)
    sent = _last_sent(books)
    changed = tuple(name for name in mine if sent.get(name, directives[name].hash) != directives[name].hash)
    return replace(directive_forecast(entries=reviewed, text=text, share=share, options=options), changed=changed)


def _last_sent(books: DreamStores) -> dict[str, str]:
    """Return the hash of each directive as it was last sent."""
    sent: dict[str, str] = {}
    for run in books.runs.newest(limit=_RUNS):
        sent = {**run.directives, **sent}
    return sent


def directive_forecast(*, entries: int, text: int, share: int, options: DreamOptions) -> DirectiveForecast:
    """Reckon the cost of reviewing entries, as if each came with all its neighbours and were written anew.

    Args:
        entries: How many.
        text: Tokens of one of them.
        share: Tokens of the directives, which every call pays for.
        options: The host's.

    Example:
        >>> from dream.options import DreamOptions
        >>> directive_forecast(entries=1_000, text=25, share=2_500, options=DreamOptions())
        DirectiveForecast(entries=1000, runs=1, calls=30, tokens=400000, changed=())
    """
    consolidation = options.consolidation
    shown = entries * (text + _ATTRIBUTES) * (1 + consolidation.neighbours)
    calls = max(-(-entries // consolidation.batch_entries), -(-shown // options.model.prompt_tokens))
    return DirectiveForecast(
        entries=entries,
        runs=-(-entries // consolidation.max_entries),
        calls=calls,
        tokens=calls * share + shown + entries * text,
    )


@dataclass(frozen=True, slots=True)
class _Shared:
    """What a pass asks together with others.

    Args:
        packing: Its batches.
        requests: The shared questions by the number of their batch; None where another pass is told what it costs.
    """

    packing: Packing
    requests: dict[str, ChatRequest | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecaster:
    """Foresees what model passes would ask on one scope as it is; it writes nothing and asks nobody.

    Args:
        parts: What the host offers; a model is not needed.
        options: The host's options.
        scope: Whose memory.
        as_of: The instant to judge by.
    """

    parts: HostServices
    options: DreamOptions
    scope: Scope
    as_of: datetime

    async def of_all(self, model_passes: Sequence[ModelPass]) -> list[PassForecast]:
        """Return what each of them would ask now; a question that several share is counted with the first of them."""
        shared = await self._shared(model_passes) if self.options.reads_together else {}
        return [await self.of(one, shared.get(one.name)) for one in model_passes]

    async def _shared(self, model_passes: Sequence[ModelPass]) -> dict[str, _Shared]:
        """Return what passes that read the same new turns would ask together, by pass."""
        # Its first import takes longer than the event loop may stand still.
        await asyncio.to_thread(import_module, "dream.passes.conversation.joint")
        from dream.passes.conversation.joint import JointReader, SharedReading, joint_question  # noqa: PLC0415 - as below

        readers: list[tuple[JointReader, ModelContext]] = []
        for one in model_passes:
            if isinstance(one, JointReader) and not one.requires - self.parts.capabilities - {Capability.LLM}:
                with suppress(InvalidDirectiveError):
                    context = await self._context(one)
                    if (await one.has_work(context)).pending:
                        readers.append((one, context))
        packings = (await SharedReading.of(readers)).packings
        found = {name: _Shared(packing, {}) for name, packing in packings.items()}
        batches = {batch.number: batch for packing in packings.values() for batch in packing.batches}
        for number, batch in batches.items():
            sharing = [one for one in readers if one[0].name in found and batch in packings[one[0].name].batches]
            asked = await joint_question(sharing, batch)
            for place, name in enumerate(asked[1] if asked is not None else ()):
                found[name].requests[number] = asked[0] if asked is not None and place == 0 else None
        return found

    async def of(self, model_pass: ModelPass, shared: _Shared | None = None) -> PassForecast:
        """Return what *model_pass* would ask now.

        Args:
            model_pass: It.
            shared: What it asks together with others; None for nothing.
        """
        name = model_pass.name
        missing = sorted(item.value for item in model_pass.requires - self.parts.capabilities - {Capability.LLM})
        if missing:
            return PassForecast(name=name, reason=f"{Skip.MISSING}: {', '.join(missing)}")
        try:
            context = await self._context(model_pass)
        except InvalidDirectiveError as error:
            return PassForecast(name=name, reason=str(error))
        waiting = await self.parts.storage.read(self.scope, lambda view: _to_go_on_with(view, name))
        if not waiting and not (await model_pass.has_work(context)).pending:
            return PassForecast(name=name, reason=Skip.NO_WORK)
        packing = await model_pass.pack(context) if shared is None else shared.packing
        context = replace(context, waited={batch.number: one for batch, one in waiting})
        begun = [(batch, one.rounds or ()) for batch, one in waiting] + [(batch, ()) for batch in packing.batches]
        asked = [(batch, await model_pass.ask(context, batch, rounds)) for batch, rounds in begun]
        exchanges = [(batch, one) for batch, one in asked if one is not None]
        together = {} if shared is None else shared.requests
        firsts = [together.get(batch.number, one.request) for batch, one in exchanges]
        requests = [one for one in firsts if one is not None]
        further = [(one.request, self._further(model_pass, batch, one)) for batch, one in exchanges]
        return PassForecast(
            name=name,
            reason=None if exchanges else Skip.NOTHING_TO_CHANGE,
            calls=len(requests),
            most_calls=len(requests) + sum(len(rounds) for _, rounds in further),
            directive_tokens=sum(_tokens(request, is_system=True) for request in requests),
            data_tokens=sum(_tokens(request, is_system=False) for request in requests),
            most_output_tokens=sum(request.max_output_tokens for request in requests),
            most_further_tokens=sum(
                self._tokens_of(kind, request, context) for request, rounds in further for kind in rounds
            ),
            backlog=packing.backlog,
        )

    def _further(self, model_pass: ModelPass, batch: Batch, asked: NextRound) -> list[RoundKind]:
        """Return the rounds that may follow a question: as many second readings as its answer has statements for."""
        sections = [RoundKind.QUESTION] * (batch.sections - 1)
        rounds = [*sections, *further_rounds(declared(model_pass).rounds, self.options)]
        if VERIFY not in model_pass.directives:
            return rounds
        is_read = asked.kind is RoundKind.VERIFICATION or self.options.verification is VerificationMode.VERIFIED
        expected = min(len(batch.members), asked.request.max_output_tokens // _STATEMENT)
        readings = max(1, -(-expected // READ_AT_ONCE)) if is_read else 0
        return [one for one in rounds for _ in range(readings if one is RoundKind.VERIFICATION else 1)]

    def _tokens_of(self, kind: RoundKind, request: ChatRequest, context: ModelContext) -> int:
        """Return the tokens of a further round at most: the question with what was answered, and one more answer."""
        question = _tokens(request, is_system=True) + _tokens(request, is_system=False)
        if kind is RoundKind.REPAIR:
            # What is wrong is told in fewer words than the answer has.
            return question + 3 * request.max_output_tokens
        if kind is RoundKind.VERIFICATION and VERIFY in context.directives:
            told = min(MOST_TOKENS, self.options.model.prompt_tokens) + _RULES
            return told + estimate_tokens(context.directives[VERIFY]) + request.max_output_tokens
        # What is looked up, or verified in a pass's own way, fills a prompt at most.
        return max(question + request.max_output_tokens, self.options.model.prompt_tokens) + request.max_output_tokens

    async def _context(self, model_pass: ModelPass) -> ModelContext:
        contexts = ContextFactory(
            parts=self.parts,
            scope=self.scope,
            options=self.options,
            pass_name=model_pass.name,
            # No run has begun, but passes remember what they worked out by the run's id: each forecast has its own.
            run_id=self.parts.ids.new(),
            as_of=self.as_of,
            reads=declared(model_pass).reads,
        )
        return await model_context(self.parts, self.options, contexts, model_pass)


async def model_context(
    parts: HostServices, options: DreamOptions, contexts: ContextFactory, model_pass: ModelPass
) -> ModelContext:
    """Return the context in which a pass is asked what it would do if a run began now.

    Raises:
        InvalidDirectiveError: one of its directives cannot be used.
    """
    folder = parts.data_dir
    library = library_of(folder, options)
    read = await asyncio.to_thread(library.read, model_pass.directives)
    vocabulary = await asyncio.to_thread(_vocabulary, folder)
    texts = {name: directive.text for name, directive in read.items()}
    return await contexts.with_model(0, directives=texts, vocabulary=vocabulary)


def _vocabulary(folder: Path | None) -> Vocabulary:
    from dream.guards.names import VOCABULARY_FILE, load_vocabulary  # noqa: PLC0415 - the guards are for model passes

    return load_vocabulary(None if folder is None else folder / "directives" / VOCABULARY_FILE).vocabulary


def further_rounds(rounds: Sequence[RoundKind] | None, options: DreamOptions) -> Sequence[RoundKind]:
    """Return the rounds that may follow a question, of a pass that declares *rounds*.

    Example:
        >>> from dream.options import DreamOptions
        >>> further_rounds(None, DreamOptions())[1:]
        [<RoundKind.LOOKUP: 'lookup'>, <RoundKind.LOOKUP: 'lookup'>]
    """
    most = options.model.max_rounds - 1
    # Second readings come on top of the bound.
    given = [RoundKind.LOOKUP] * most if rounds is None else rounds
    bounded = [place for place, one in enumerate(given) if one is not RoundKind.VERIFICATION][:most]
    return [one for place, one in enumerate(given) if one is RoundKind.VERIFICATION or place in bounded]


def _to_go_on_with(view: ReadView, name: str) -> list[tuple[Batch, WaitingExchange]]:
    """Return the exchanges of a pass that a run would go on with, each with its batch as the run would number it."""
    found = [one for one in dream_stores(view).waiting.of(name) if not one.waits_for_room and one.rounds is not None]
    numbered = enumerate(found, 1)
    return [(replace(one.batch, number=f"w{place}"), one) for place, one in numbered if one.batch is not None]


def _tokens(request: ChatRequest, *, is_system: bool) -> int:
    return sum(
        estimate_tokens(message.content)
        for message in request.messages
        if (message.role is ChatRole.SYSTEM) is is_system
    )
