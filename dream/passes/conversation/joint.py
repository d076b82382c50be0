"""Reads new turns for several passes at once: one question about a batch, one answer with a part for each of them.

The readers share the turns, their handles and the host's rules; each keeps its directive, the form of its part, its
cursor, its exchange and its report. A part that is missing or is no object is asked for alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol, runtime_checkable

import orjson

from agentcore.domain.conversation import Turn
from agentcore.llm.chat import ChatMessage, ChatRequest, ChatRole, ResponseFormat, estimate_tokens
from agentcore.stores.storage import ReadView
from dream.directives import KNOWN
from dream.domain.rounds import Version
from dream.domain.step import Batch, Packing
from dream.passes.conversation.excerpts import ASSISTANT, LONGEST, excerpts
from dream.passes.conversation.turn_pass import NewTurns, SessionExcerpt, packed, read_new
from dream.passes.prompts import (
    PartForm,
    PromptTurn,
    ReaderPart,
    fenced,
    said_line,
    shown_turns,
    system_text,
    turn_lines,
)
from dream.passes.protocol import ModelContext, ModelPass
from dream.passes.verified_exchange import VerifiedExchange

READING: Final = "reading"
"""What the question is for, as a client is told."""
KIND: Final = "joint"
"""The kind of a batch that several readers share."""
_SHARE_ANSWERED: Final = 0.8
"""So much of an answer at most is expected to be used."""
_ANSWERED_EACH, _ANSWERED_PER_TOKEN, _MOST_ANSWERED = 10, 1.0, 150
_SHARE_BESIDE: Final = 0.25
"""So much of a prompt at most goes to what stands beside the new turns, for all readers together."""


@runtime_checkable
class JointReader(ModelPass, Protocol):
    """A pass that reads turns and can share its first question with others that read the same ones."""

    def finds_work(self, said: Sequence[Turn]) -> bool:
        """Tell whether there can be anything for it in these new turns; what it does not look at counts as read."""
        ...

    async def surround(
        self, context: ModelContext, batches: Sequence[Batch], sessions: Sequence[SessionExcerpt], room: int
    ) -> Sequence[Batch]:
        """Return the batches with what it wants to stand beside them, *room* tokens each at most."""
        ...

    async def part(self, context: ModelContext, batch: Batch) -> ReaderPart | None:
        """Return what it adds to the question about *batch*; None if nothing is left for it there."""
        ...

    def exchange(self, context: ModelContext, batch: Batch) -> VerifiedExchange[Any]:
        """Return what leads the exchange about *batch*."""
        ...


@dataclass(frozen=True, slots=True)
class SharedReading:
    """Readers that have the same new turns before them, and what each of them is to be asked about.

    Args:
        packings: By the reader's name.
    """

    packings: Mapping[str, Packing]

    @classmethod
    async def of(cls, readers: Sequence[tuple[JointReader, ModelContext]]) -> "SharedReading":
        """Pack the new turns of the readers that stand at the same place; those that do not are left out.

        A reader that was switched off for a while has more to read than the others: it reads that alone, and is among
        them in the next run.
        """
        limit = min((_limits(context)[0] for _, context in readers), default=0)
        overlap = max([_limits(context)[1] for _, context in readers], default=0)
        found = [(one, context, await read_new(context, limit=limit, overlap=overlap)) for one, context in readers]
        groups: dict[tuple[str, ...], list[tuple[JointReader, ModelContext, NewTurns]]] = {}
        for one in found:
            groups.setdefault(one[2].ids, []).append(one)
        together = max(groups.values(), key=len) if groups else []
        return cls(await _packings(together)) if len(together) > 1 else cls({})


def _limits(context: ModelContext) -> tuple[int, int]:
    options = context.options
    one_each = (options.mining, options.episodes, options.preferences)
    most = min(options.skill_gaps.max_turns, *(one.max_turns for one in one_each))
    return most, max(one.overlap_turns for one in one_each)


async def _packings(together: Sequence[tuple[JointReader, ModelContext, NewTurns]]) -> dict[str, Packing]:
    context, reading = together[0][1:]
    terms = context.options.reading
    room = context.options.model.prompt_tokens
    beside = int(room * _SHARE_BESIDE)
    sessions = [one for one in reading.sessions if any(turn.role != ASSISTANT for turn in one.turns)]
    batches, refused = packed(
        sessions,
        room=room - beside,
        overlap=_limits(context)[1],
        most=terms.batch_turns,
        kind=KIND,
        weigh=lambda turn: _weigh(turn, whole=terms.whole_turns),
        answered=lambda turn: _answered(turn) / (_SHARE_ANSWERED * context.options.model.answer_tokens),
    )
    said = {turn.id: turn for session in sessions for turn in session.turns}
    of_batch = {batch.number: [said[one] for one in batch.member_ids] for batch in batches}
    extras: dict[str, dict[Version, None]] = {batch.number: dict.fromkeys(batch.beside) for batch in batches}
    share = beside // len(together)
    wanted: dict[str, list[str]] = {}
    for reader, own, _ in together:
        for_it = [batch for batch in batches if reader.finds_work(of_batch[batch.number])]
        surrounded = await reader.surround(own, for_it, sessions, share)
        wanted[reader.name] = [batch.number for batch in surrounded]
        for batch in surrounded:
            extras[batch.number] |= dict.fromkeys(batch.beside)
    whole = await context.read(
        lambda view: {one.number: _with_beside(view, one, [*extras[one.number]]) for one in batches}
    )
    return {
        reader.name: own_reading.packing(tuple(whole[number] for number in wanted[reader.name]), refused)
        for reader, _, own_reading in together
    }


def _weigh(turn: Turn, *, whole: bool) -> int:
    """Return what the line of a turn takes at most, its line break and a heading of its own included."""
    is_cut = turn.role == ASSISTANT and not whole
    shown = replace(turn, content=turn.content[:LONGEST]) if is_cut else turn
    return estimate_tokens(f"{said_line('t9999', shown, is_new=False)}\n")


def _answered(turn: Turn) -> float:
    """Return how many tokens an answer takes that tells what a turn holds, as measured on recorded answers."""
    if turn.role == ASSISTANT:
        return 0
    return _ANSWERED_EACH + min(_MOST_ANSWERED, _ANSWERED_PER_TOKEN * estimate_tokens(turn.content))


def _with_beside(view: ReadView, batch: Batch, beside: Sequence[Version]) -> Batch:
    """Return *batch* with these records beside it: turns first, in the order they were said."""
    turns = {turn.id: turn for turn in view.turns.get_many([one for one, _ in beside])}
    said = sorted((one for one in beside if one[0] in turns), key=lambda one: turns[one[0]].occurred_at)
    return replace(batch, beside=(*said, *(one for one in beside if one[0] not in turns)))


_INTRODUCTION: Final = """\
Several readers look at the same turns, each for something of its own. What stands under a part's name is for that part
alone. Tell each thing in one part only, the first it belongs to. A turn stands under its session and day; it has its
speaker, by role or name, and `read-before` if it is not new. Whatever is told cites at least one new turn; what an
assistant said counts only beside the later turn of the user who took it up.
Answer with one object that has a list for each part. A row is a list of texts in the order of its columns; what has
no value is "", and may be left out at the end. Several handles in one text have spaces between them, tags commas."""
_NAMES: Final = "The object: {{{lists}}}; an empty list is a good answer."
_TURNS: Final = "Turns:"


def joint_request(context: ModelContext, parts: Sequence[ReaderPart], shown: Sequence[PromptTurn]) -> ChatRequest:
    """Return the question that these readers share.

    What does not change from run to run comes first, so that a provider that caches prompts need not read it again:
    directives and the host's rules, in the order of the readers; then what is fenced, with the turns last.
    """
    common = dict.fromkeys(name for one in parts for name in one.instructions if _is_common(name))
    told = [*(context.directives[name] for name in common), _INTRODUCTION]
    for one in parts:
        own = [context.directives[name] for name in one.instructions if name not in common]
        told.append("\n\n".join((f'# Part "{one.reader}"', *own, one.contract)))
    told.append(_NAMES.format(lists=", ".join(f'"{one.reader}": [...]' for one in parts)))
    told_of = shown if context.options.reading.whole_turns else excerpts(shown)
    blocks = [*(block for one in parts for block in one.blocks), fenced(context.marker, _TURNS, turn_lines(told_of))]
    return ChatRequest(
        messages=(
            ChatMessage(ChatRole.SYSTEM, "\n\n---\n\n".join((*told, system_text(context, ())))),
            ChatMessage(ChatRole.USER, "\n\n".join(blocks)),
        ),
        max_output_tokens=context.options.model.answer_tokens,
        purpose=READING,
        response_format=ResponseFormat(
            name=READING,
            schema={
                "type": "object",
                "properties": {one.reader: one.form.schema for one in parts},
                "required": [one.reader for one in parts],
                "additionalProperties": False,
            },
        ),
        temperature=0.0,
    )


def _is_common(name: str) -> bool:
    """Tell whether a directive speaks to several readers."""
    return name in KNOWN and len(KNOWN[name].passes) > 1


async def joint_question(
    readers: Sequence[tuple[JointReader, ModelContext]], batch: Batch
) -> tuple[ChatRequest, dict[str, PartForm]] | None:
    """Return the question that readers share about *batch*, and the form of each part; None for fewer than two."""
    found = [(await reader.part(context, batch), context) for reader, context in readers]
    parts = [(part, context) for part, context in found if part is not None]
    if len(parts) < 2:
        return None
    # The directives of all of them, as each was given its own.
    directives = {name: text for _, context in parts for name, text in context.directives.items()}
    context = replace(parts[0][1], directives=directives)
    stored = await context.read(lambda view: view.turns.get_many(batch.record_ids))
    shown = shown_turns(batch, {turn.id: turn for turn in stored})
    request = joint_request(context, [part for part, _ in parts], shown)
    return request, {part.reader: part.form for part, _ in parts}


def parts_of(answer: Mapping[str, Any], forms: Mapping[str, PartForm]) -> dict[str, str]:
    """Return the parts of an answer as the JSON that each reader reads; without those that are missing or no list."""
    found = {name: form.as_answer(answer.get(name)) for name, form in forms.items()}
    return {name: orjson.dumps(part).decode() for name, part in found.items() if part is not None}
