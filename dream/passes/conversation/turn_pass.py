"""Reads new turns, packs them by session and asks about them: what fact mining, episodes and preferences share."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, TypeVar

from agentcore.domain.conversation import Turn
from agentcore.llm.chat import ChatRequest, estimate_tokens
from agentcore.stores.storage import ReadView
from dream.domain.proposal import Notes, Proposal, Refusal, Work, summed
from dream.domain.reasons import Refused
from dream.domain.rounds import Answer, NextRound, Round, Version
from dream.domain.step import Batch, Packing
from dream.guards.verdict import EvidenceText
from dream.passes.answers import AnswerItem
from dream.passes.conversation.evidence import adjacent, is_evidence, line_of
from dream.passes.conversation.excerpts import excerpts
from dream.passes.conversation.reconcile import Reconciler, Reinforcement
from dream.passes.conversation.slices import TurnSlice, slices_of
from dream.passes.conversation.statement import StatementRules, TurnStatement, judged_by_words
from dream.passes.declared import DeclaredPass
from dream.passes.exchange_state import Item
from dream.passes.prompts import PromptTurn, line, longest_line, shown_turns, turn_lines
from dream.passes.protocol import ModelContext
from dream.passes.repairs import with_texts
from dream.passes.second_reading import evidence_text
from dream.passes.verified_exchange import ExchangeOutcome, VerifiedExchange

Given = TypeVar("Given", bound=AnswerItem)

KIND = "turns"
_OPENING = 160
"""Characters shown in a repair of a turn beside those that are cited."""
_SHARE_BESIDE = 4
"""A quarter of a prompt at most goes to turns that were read before."""


@dataclass(frozen=True, slots=True)
class SessionExcerpt:
    """New turns of one session in the order they were said, and what was said before them."""

    turns: tuple[Turn, ...]
    before: tuple[Turn, ...] = ()


@dataclass(slots=True)
class _Piece:
    """New turns of one session that are shown together, with those before them."""

    members: list[TurnSlice] = field(default_factory=list[TurnSlice])
    beside: list[Turn] = field(default_factory=list[Turn])
    tokens: int = 0
    answered: float = 0.0


def tokens_of(turn: Turn) -> int:
    """Return what the line of a turn takes in a prompt, its line break included."""
    return estimate_tokens(longest_line(turn) + "\n")


def packed(
    sessions: Sequence[SessionExcerpt],
    *,
    room: int,
    overlap: int,
    most: int | None = None,
    kind: str = KIND,
    weigh: Callable[[Turn], int] = tokens_of,
    answered: Callable[[Turn], float] | None = None,
) -> tuple[tuple[Batch, ...], tuple[Refusal, ...]]:
    """Partition new turns into batches.

    A session that fits one call is never cut; a longer one is cut between turns, each part with the turns before it,
    and a turn that no call has room for between sentences. Short sessions share a call.

    Args:
        sessions: What is new.
        room: Tokens that the lines of one prompt may take.
        overlap: Turns shown before each part of a session at most.
        most: New turns in a batch at most; None for as many as have room.
        kind: What the batches are called.
        weigh: Returns what the line of a turn takes.
        answered: Returns which share of an answer a turn takes; None if that bounds nothing.

    Returns:
        The batches, and the refusals of turns that are too long for a prompt of their own.
    """
    refused: list[Refusal] = []
    groups: list[list[_Piece]] = []
    terms = _PieceBounds(room, overlap, most, weigh, answered or (lambda _: 0.0))
    used, held, told = room, 0, 0.0
    for session in sessions:
        for piece in _pieces(session, terms, refused):
            is_full = most is not None and held + len(piece.members) > most
            if used + piece.tokens > room or is_full or told + piece.answered > 1:
                groups.append([])
                used, held, told = 0, 0, 0.0
            groups[-1].append(piece)
            used += piece.tokens
            held += len(piece.members)
            told += piece.answered
    return tuple(_batch(number, pieces, kind) for number, pieces in enumerate(groups, 1)), tuple(refused)


@dataclass(frozen=True, slots=True)
class _PieceBounds:
    """What bounds a piece: tokens, turns shown before it, new turns; what a turn weighs, and takes of an answer."""

    room: int
    overlap: int
    most: int | None
    weigh: Callable[[Turn], int]
    answered: Callable[[Turn], float]


def _pieces(session: SessionExcerpt, terms: _PieceBounds, refused: list[Refusal]) -> Iterator[_Piece]:
    said, room = list(session.before), terms.room
    piece = _Piece()
    for one in _in_slices(session.turns, terms, refused):
        tokens = terms.weigh(one.turn)
        share = terms.answered(one.turn)
        is_full = piece.tokens + tokens > room or len(piece.members) == terms.most or piece.answered + share > 1
        if not piece.members or is_full:
            if piece.members:
                yield piece
            before = said[-terms.overlap :] if terms.overlap else ()
            piece = _opened(before, min(room // _SHARE_BESIDE, room - tokens), terms.weigh)
        piece.members.append(one)
        piece.tokens += tokens
        piece.answered += share
        if one.span is None:  # else it stands in a prompt of its own
            said.append(one.turn)
    if piece.members:
        yield piece


def _in_slices(turns: Iterable[Turn], terms: _PieceBounds, refused: list[Refusal]) -> Iterator[TurnSlice]:
    for turn in turns:
        slices = slices_of(turn, terms.room, terms.weigh)
        if not slices:
            tokens = f"{terms.weigh(turn):,} tokens and {terms.room:,} are free"
            problem = f"turn {turn.id} takes {tokens}: raise model.prompt_tokens"
            refused.append(Refusal(Refused.PROMPT_TOO_LONG, problem))
        yield from slices


def _opened(before: Sequence[Turn], room: int, weigh: Callable[[Turn], int]) -> _Piece:
    """Begin a piece with the nearest turns before it, as many as fit."""
    piece = _Piece()
    for turn in reversed(before):
        tokens = weigh(turn)
        if piece.tokens + tokens > room:
            break
        piece.beside.insert(0, turn)
        piece.tokens += tokens
    return piece


def _batch(number: int, pieces: Sequence[_Piece], kind: str) -> Batch:
    return Batch(
        number=str(number),
        kind=kind,
        members=_versions(one.turn for piece in pieces for one in piece.members),
        beside=_versions(turn for piece in pieces for turn in piece.beside),
        spans=tuple(one.span for piece in pieces for one in piece.members if one.span is not None),
    )


def _versions(turns: Iterator[Turn]) -> tuple[Version, ...]:
    return tuple((turn.id, turn.version) for turn in turns)


_LOOK_BACK = 4
"""Turns looked at for each one shown before: between two that were said there may be several of tools."""


@dataclass(frozen=True, slots=True)
class NewTurns:
    """The new turns of one run.

    Args:
        sessions: Those that are evidence, by session, in the order of their first arrival.
        ids: All of them, in the order of arrival.
        settled: Reopened ids of which nothing is left to read.
        cursor: Position up to which the pass has then looked.
        backlog: New turns left for later runs.
    """

    sessions: tuple[SessionExcerpt, ...]
    ids: tuple[str, ...]
    settled: frozenset[str]
    cursor: int
    backlog: int

    def packing(self, batches: tuple[Batch, ...], refused: tuple[Refusal, ...]) -> Packing:
        """Return the packing of *batches*: what is in none of them needs no call."""
        asked = {turn_id for batch in batches for turn_id in batch.member_ids}
        readable = sum(len(session.turns) for session in self.sessions)
        return Packing(
            batches=batches,
            cursor=self.cursor,
            looked_at=tuple(sorted(self.settled | (set(self.ids) - asked))),
            refused=refused,
            backlog=self.backlog,
            notes={"turns": readable, "sessions": len(self.sessions)},
        )


async def pending(context: ModelContext) -> int:
    """Count the turns that the pass has not read and nobody has consumed."""
    return await context.read(lambda view: view.turns.count_material(after=context.cursor, also=context.reopened))


async def read_new(context: ModelContext, *, limit: int, overlap: int) -> NewTurns:
    """Read the oldest *limit* new turns, each session with up to *overlap* turns that were said before."""
    return await context.read(lambda view: _read_new(view, context, limit, overlap))


async def shown_of(context: ModelContext, batch: Batch) -> list[PromptTurn]:
    """Return the turns of a batch that are as they were packed."""
    stored = await context.read(lambda view: view.turns.get_many(batch.record_ids))
    return shown_turns(batch, {turn.id: turn for turn in stored})


async def settled_of(context: ModelContext, batch: Batch) -> tuple[str, ...]:
    """Return the members that need no second look: a turn that changed meanwhile does."""
    stored = await context.read(lambda view: view.turns.get_many(batch.member_ids))
    versions = {turn.id: turn.version for turn in stored}
    return tuple(turn_id for turn_id, version in batch.members if versions.get(turn_id, version) == version)


def around(shown: Sequence[PromptTurn], handles: Collection[str] | None) -> list[PromptTurn]:
    """Return the turns with these handles, and those that were said right before and after them; all if it is None."""
    if handles is None:
        return list(shown)
    near = {one.place for pair in adjacent(shown) if any(one.handle in handles for one in pair) for one in pair}
    return [one for one in shown if one.place in near or one.handle in handles]


def asked_lines(context: ModelContext, shown: Sequence[PromptTurn], handles: Collection[str] | None) -> list[str]:
    """Return the lines of turns that a reader is asked about alone; for a repair those with *handles* and beside."""
    if handles is None:
        return [line(one.handle, one.turn, is_new=one.is_new) for one in shown]
    near = around(shown if context.options.reading.whole_turns else excerpts(shown), handles)
    return turn_lines(one if one.handle in handles else _opening(one) for one in near)


def _opening(one: PromptTurn) -> PromptTurn:
    """Return a turn that nothing cites, cut where it is long."""
    text = one.turn.content
    return one if len(text) <= _OPENING else replace(one, turn=replace(one.turn, content=f"{text[:_OPENING]} [...]"))


def rules_of(
    context: ModelContext, shown: Iterable[PromptTurn], *, beside: Iterable[EvidenceText] = ()
) -> StatementRules:
    """Return what statements are judged by that the model made of these turns, and of other texts beside them."""
    return StatementRules(
        vocabulary=context.vocabulary,
        protected=context.options.protected_categories,
        protect_importance=context.options.consolidation.protect_importance,
        shown=(*(evidence_text(line_of(one.turn)) for one in shown), *beside),
        reads_all=bool(context.off_limits),
    )


def judged_each(
    items: Sequence[Given], read: Callable[[Given], TurnStatement | Reinforcement | Refusal], rules: StatementRules
) -> tuple[list[Item[Any]], list[Refusal]]:
    """Judge items one by one by their words; return those that are about something, and why the others are refused."""
    judged: list[Item[Any]] = []
    refused: list[Refusal] = []
    for item in items:
        found = read(item)
        if isinstance(found, Refusal):
            refused.append(found.at(item.number))
        elif isinstance(found, Reinforcement):
            judged.append(Item(number=item.number, value=found))
        else:
            judged.append(judged_by_words(found, rules))
    return judged, refused


def _read_new(view: ReadView, context: ModelContext, limit: int, overlap: int) -> NewTurns:
    material = view.turns.material(after=context.cursor, also=context.reopened, limit=limit)
    turns = {turn.id: turn for turn in view.turns.get_many([item.id for item in material])}
    reopened = {turn.id: turn for turn in view.turns.get_many(context.reopened)}
    total = view.turns.count_material(after=context.cursor, also=context.reopened)
    return NewTurns(
        sessions=tuple(_sessions(view, [turns[item.id] for item in material], overlap)),
        ids=tuple(item.id for item in material),
        settled=frozenset(
            turn_id
            for turn_id in context.reopened
            if turn_id not in reopened or reopened[turn_id].consumed_at is not None
        ),
        cursor=max([context.cursor, *(item.position for item in material)]),
        backlog=max(0, total - len(material)),
    )


def _sessions(view: ReadView, new: Sequence[Turn], overlap: int) -> list[SessionExcerpt]:
    """Group new turns by session, in the order they were said; sessions in the order of their first arrival."""
    groups: dict[str, list[Turn]] = {}
    for turn in new:
        if is_evidence(turn):
            groups.setdefault(turn.session_id, []).append(turn)
    sessions: list[SessionExcerpt] = []
    for group in groups.values():
        said = sorted(group, key=lambda turn: turn.occurred_at)
        earlier = view.turns.preceding(said[0].id, limit=overlap * _LOOK_BACK) if overlap else []
        before = [turn for turn in earlier if is_evidence(turn)]
        sessions.append(SessionExcerpt(tuple(said), tuple(before[-overlap:] if overlap else ())))
    return sessions


class TurnPass(DeclaredPass, ABC):
    """Reads the turns since it last looked; what its answers say is judged, verified, repaired once, and reconciled."""

    answered: ClassVar[str]
    """The list of an answer that holds its items."""
    reconciler: ClassVar[type[Reconciler[Any]]]
    """Reconciles what holds with the memory."""
    counts: ClassVar[tuple[str, ...]]
    """Names of the counts that its report sums."""

    @abstractmethod
    async def request(
        self, context: ModelContext, batch: Batch, handles: Collection[str] | None = None
    ) -> ChatRequest | None:
        """Ask about a batch, or about the records of it with these handles; None if nothing new is left of it."""

    @abstractmethod
    async def judged(
        self, context: ModelContext, batch: Batch, answer: Answer
    ) -> tuple[list[Item[Any]], list[Refusal]]:
        """Return the statements of an answer as their words tell, and why the other items are refused."""

    async def has_work(self, context: ModelContext) -> Work:
        """Every turn that nobody has consumed and that it has not read is work."""
        return Work(await pending(context))

    def finds_work(self, said: Sequence[Turn]) -> bool:
        """Tell whether there can be anything for it in these new turns: something that a person said."""
        return any(turn.role != "assistant" for turn in said)

    async def surround(
        self,
        context: ModelContext,  # noqa: ARG002
        batches: Sequence[Batch],
        sessions: Sequence[SessionExcerpt],  # noqa: ARG002
        room: int,  # noqa: ARG002
    ) -> Sequence[Batch]:
        """Return the batches with what it wants to stand beside them: nothing, unless a pass says otherwise."""
        return batches

    async def ask(self, context: ModelContext, batch: Batch, rounds: Sequence[Round]) -> NextRound | None:
        """Ask about a batch, then for second readings, and once for a repair of what is refused or denied."""
        return await self.exchange(context, batch).next_round(rounds)

    async def interpret(self, context: ModelContext, batch: Batch, rounds: Sequence[Round]) -> Proposal:
        """Keep the statements that hold; each refusal stands for itself.

        An answer of another shape settles nothing: its turns are read again by the next run.
        """
        found = await self.exchange(context, batch).outcome(rounds)
        if any(refusal.code == Refused.BROKEN_ANSWER for refusal in found.refused):
            return Proposal(refused=found.refused)
        held = [one.value.settled(one) for one in found.settled]
        # What waits may be put right: only then is it known what is left.
        instead = await self.instead(context, batch, found) if found.waits is None else ()
        met = await self.reconciler.over(context, [*held, *instead])
        asked = await self.reconciler.over(context, [one.value.settled(one) for one in found.for_review])
        changed = {change.record_id for one in met.change_sets for change in one.changes}
        refused = [*met.refused, *asked.refused]
        return Proposal(
            change_sets=met.change_sets,
            # An entry that is seen again by what is proven needs no person to say so.
            for_review=tuple(one for one in asked.change_sets if changed.isdisjoint(c.record_id for c in one.changes)),
            refused=(*found.refused, *with_texts(refused, found.answer, self.answered, batch)),
            notes={**met.notes(), **found.notes},
            looked_at=await settled_of(context, batch),
            waits=found.waits,
        )

    async def instead(self, context: ModelContext, batch: Batch, found: ExchangeOutcome[Any]) -> Sequence[Any]:  # noqa: ARG002
        """Return what is kept in the place of what is refuted or denied: nothing, unless a pass knows better."""
        return ()

    def exchange(self, context: ModelContext, batch: Batch) -> VerifiedExchange[Any]:
        """Return what leads the exchange about a batch."""
        return VerifiedExchange(
            context=context,
            batch=batch,
            name=self.answered,
            question=lambda handles: self.request(context, batch, handles),
            judge=lambda answer: self.judged(context, batch, answer),
            in_parts=True,
        )

    def conclude(self, notes: Sequence[Notes]) -> Notes:
        """Sum over packing and batches."""
        return summed(notes, *self.counts)
