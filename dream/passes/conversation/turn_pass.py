"""Reads new turns, packs them by session and asks about them: what fact mining, episodes and preferences share."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

from agentcore.domain.conversation import Turn
from agentcore.llm.chat import ChatRequest, estimate_tokens
from agentcore.stores.storage import ReadView
from dream.domain.proposal import Notes, Proposal, Refusal, Work, summed
from dream.domain.reasons import Refused
from dream.domain.rounds import Answer, NextRound, Round, Version, answers_of
from dream.domain.step import Batch, Packing
from dream.passes.answers import AnswerItem
from dream.passes.conversation.evidence import is_evidence
from dream.passes.conversation.reconcile import Reconciler
from dream.passes.conversation.statement import StatementRules
from dream.passes.declared import DeclaredPass
from dream.passes.prompts import PromptTurn, longest_line, shown_turns
from dream.passes.protocol import ModelContext
from dream.passes.repairs import ask_and_repair, repair_of, repaired, with_texts

Given = TypeVar("Given", bound=AnswerItem)
Held = TypeVar("Held")

KIND = "turns"
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

    members: list[Turn] = field(default_factory=list[Turn])
    beside: list[Turn] = field(default_factory=list[Turn])
    tokens: int = 0


def tokens_of(turn: Turn) -> int:
    """Return what the line of a turn takes in a prompt, its line break included."""
    return estimate_tokens(longest_line(turn) + "\n")


def packed(
    sessions: Sequence[SessionExcerpt], *, room: int, overlap: int
) -> tuple[tuple[Batch, ...], tuple[Refusal, ...]]:
    """Partition new turns into batches.

    A session that fits one call is never cut; a longer one is cut between turns, each part with the turns before it.
    Short sessions share a call.

    Args:
        sessions: What is new.
        room: Tokens that the lines of one prompt may take.
        overlap: Turns shown before each part of a session at most.

    Returns:
        The batches, and the refusals of turns that are too long for a prompt of their own.
    """
    refused: list[Refusal] = []
    groups: list[list[_Piece]] = []
    used = room
    for session in sessions:
        for piece in _pieces(session, room, overlap, refused):
            if used + piece.tokens > room:
                groups.append([])
                used = 0
            groups[-1].append(piece)
            used += piece.tokens
    return tuple(_batch(number, pieces) for number, pieces in enumerate(groups, 1)), tuple(refused)


def _pieces(session: SessionExcerpt, room: int, overlap: int, refused: list[Refusal]) -> Iterator[_Piece]:
    said = list(session.before)
    piece = _Piece()
    for turn in session.turns:
        tokens = tokens_of(turn)
        if tokens > room:
            problem = f"turn {turn.id} takes {tokens:,} tokens and {room:,} are free: raise model.prompt_tokens"
            refused.append(Refusal(Refused.PROMPT_TOO_LONG, problem))
            continue
        if not piece.members or piece.tokens + tokens > room:
            if piece.members:
                yield piece
            piece = _opened(said[-overlap:] if overlap else (), min(room // _SHARE_BESIDE, room - tokens))
        piece.members.append(turn)
        piece.tokens += tokens
        said.append(turn)
    if piece.members:
        yield piece


def _opened(before: Sequence[Turn], room: int) -> _Piece:
    """Begin a piece with the nearest turns before it, as many as fit."""
    piece = _Piece()
    for turn in reversed(before):
        tokens = tokens_of(turn)
        if piece.tokens + tokens > room:
            break
        piece.beside.insert(0, turn)
        piece.tokens += tokens
    return piece


def _batch(number: int, pieces: Sequence[_Piece]) -> Batch:
    return Batch(
        number=str(number),
        kind=KIND,
        members=_versions(turn for piece in pieces for turn in piece.members),
        beside=_versions(turn for piece in pieces for turn in piece.beside),
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


async def terms_for(context: ModelContext, texts: Iterable[str]) -> StatementRules:
    """Return what statements made of *texts* are judged by."""
    # Only scripts without capitals are judged by how rare their terms are.
    counted = [text for text in texts if not text.isascii()]
    frequencies: Mapping[str, int] = await context.recall.count_documents(counted) if counted else dict[str, int]()
    return StatementRules(
        vocabulary=context.vocabulary,
        document_frequency=lambda term: frequencies.get(term, 0),
        protected=context.options.protected_categories,
        protect_importance=context.options.consolidation.protect_importance,
    )


def judged_each(items: Sequence[Given], judge: Callable[[Given], Held | Refusal]) -> tuple[list[Held], list[Refusal]]:
    """Judge items one by one; return what holds of them, and why the others are refused."""
    judged = [(item, judge(item)) for item in items]
    return (
        [one for _, one in judged if not isinstance(one, Refusal)],
        [one.at(item.number) for item, one in judged if isinstance(one, Refusal)],
    )


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
    """Reads the turns since it last looked; what its answers say is judged, repaired once, and reconciled."""

    answered: ClassVar[str]
    """The list of an answer that holds its items."""
    reconciler: ClassVar[type[Reconciler[Any]]]
    """Reconciles what holds with the memory."""
    counts: ClassVar[tuple[str, ...]]
    """Names of the counts that its report sums."""

    @abstractmethod
    async def request(self, context: ModelContext, batch: Batch) -> ChatRequest | None:
        """Ask about a batch; None if nothing new is left of it."""

    @abstractmethod
    async def judged(self, context: ModelContext, batch: Batch, answer: Answer) -> tuple[list[Any], list[Refusal]]:
        """Return the statements that the turns bear out, and why the other items are refused."""

    async def has_work(self, context: ModelContext) -> Work:
        """Every turn that nobody has consumed and that it has not read is work."""
        return Work(await pending(context))

    async def ask(self, context: ModelContext, batch: Batch, rounds: Sequence[Round]) -> NextRound | None:
        """Ask about a batch, then for a repair of the items that are refused and can be put right."""
        return await ask_and_repair(
            rounds, lambda: self.request(context, batch), lambda answer: self._repair(context, batch, answer)
        )

    async def _repair(self, context: ModelContext, batch: Batch, answer: Answer) -> ChatRequest | None:
        _, refused = await self.judged(context, batch, answer)
        return await repair_of(context, self.answered, answer, refused, lambda: self.request(context, batch))

    async def interpret(self, context: ModelContext, batch: Batch, rounds: Sequence[Round]) -> Proposal:
        """Keep the statements that hold; each refusal stands for itself.

        An answer of another shape settles nothing: its turns are read again by the next run.
        """
        read = await repaired(self.answered, answers_of(rounds), lambda answer: self.judged(context, batch, answer))
        if any(refusal.code == Refused.BROKEN_ANSWER for refusal in read.refused):
            return Proposal(refused=tuple(read.refused))
        met = await self.reconciler.over(context, read.good)
        return Proposal(
            change_sets=met.change_sets,
            refused=with_texts((*read.refused, *met.refused), read.answer, self.answered, batch),
            notes={**met.notes(), **read.notes},
            looked_at=await settled_of(context, batch),
        )

    def conclude(self, notes: Sequence[Notes]) -> Notes:
        """Sum over packing and batches."""
        return summed(notes, *self.counts)
