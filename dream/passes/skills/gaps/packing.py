"""Packing: new conversation by session, and how the sessions before it began; makes no call."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from agentcore.domain.conversation import Turn
from agentcore.llm.chat import estimate_tokens
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.domain.rounds import Version
from dream.domain.step import Batch
from dream.passes.conversation.slices import TurnSlice, slices_of
from dream.passes.skills.gaps.prompt import Openings, longest_line

KIND = "sessions"
_LONG = 2
"""A first message that takes more than half of the room for them is left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptRoom:
    """Tokens that the lines of one prompt may take.

    Args:
        new: New turns.
        earlier: First messages of other sessions.
        most_earlier: So many of those at most.
    """

    new: int
    earlier: int
    most_earlier: int


@dataclass(slots=True)
class _Call:
    """New turns that are shown together."""

    turns: list[TurnSlice] = field(default_factory=list[TurnSlice])
    tokens: int = 0


def packed(
    sessions: Sequence[Sequence[Turn]], openings: Openings, room: PromptRoom
) -> tuple[tuple[Batch, ...], tuple[Refusal, ...]]:
    """Partition new turns into batches, each with the first messages of sessions like its own.

    A session that fits one call is never cut. A batch that shows one session alone is none: no request recurs in it.

    Args:
        sessions: New turns of each session, in the order they were said.
        openings: The first messages of all sessions that are compared.
        room: What fits into one prompt.

    Returns:
        The batches, and the refusals of turns that are too long for a prompt.
    """
    refused: list[Refusal] = []
    calls: list[_Call] = []
    for turns in sessions:
        fitting = [part for turn in turns for part in _in_slices(turn, room.new, refused)]
        weights = [_tokens(part.turn) for part in fitting]
        if calls and calls[-1].tokens + sum(weights) <= room.new:
            calls[-1].turns += fitting
            calls[-1].tokens += sum(weights)
            continue
        for part, weight in zip(fitting, weights, strict=True):
            if not calls or part is fitting[0] or calls[-1].tokens + weight > room.new:
                calls.append(_Call())
            calls[-1].turns.append(part)
            calls[-1].tokens += weight
    batches: list[Batch] = []
    # All calls choose among the same first messages.
    weights = {session: _tokens(turn) for session, turn in openings.turns.items()}
    for call in calls:
        turns = [part.turn for part in call.turns]
        beside = _beside(turns, openings, weights, room)
        if len({turn.session_id for turn in (*turns, *beside) if turn.role == "user"}) > 1:
            batches.append(_batch(len(batches) + 1, call.turns, beside))
    return tuple(batches), tuple(refused)


def with_openings(batch: Batch, turns: Sequence[Turn], openings: Openings, room: PromptRoom) -> Batch | None:
    """Return a batch of these new turns with the first messages of sessions like its own; None if nothing recurs in it.

    Args:
        batch: It, with turns beside it that were said before.
        turns: Its new turns.
        openings: The first messages of all sessions that are compared.
        room: What fits beside it.
    """
    weights = {session: _tokens(turn) for session, turn in openings.turns.items()}
    beside = _beside(turns, openings, weights, room)
    new = {turn.session_id for turn in turns}
    is_one = len({turn.session_id for turn in (*turns, *beside) if turn.role == "user"}) < 2
    if is_one or not openings.with_turns(turns).recurring(new, most=1):
        return None
    return replace(batch, beside=(*batch.beside, *_versions(beside)))


def _in_slices(turn: Turn, room: int, refused: list[Refusal]) -> list[TurnSlice]:
    slices = slices_of(turn, room, _tokens)
    if not slices:
        problem = f"turn {turn.id} takes {_tokens(turn):,} tokens and {room:,} are free: raise model.prompt_tokens"
        refused.append(Refusal(Refused.PROMPT_TOO_LONG, problem))
    return slices


def _beside(turns: Sequence[Turn], openings: Openings, weights: Mapping[str, int], room: PromptRoom) -> list[Turn]:
    """Return how the shown and other sessions began: those with the most terms in common first, then the newest."""
    shown, sessions = {turn.id for turn in turns}, {turn.session_id for turn in turns}
    wanted = {term for session in sessions for term in openings.terms.get(session, ())}
    ranked = sorted(
        (session not in sessions, -len(wanted & openings.terms[session]), -place, session)
        for place, session in enumerate(openings.turns)
    )
    beside: list[Turn] = []
    left = room.earlier
    for _, _, _, session in ranked:
        turn, tokens = openings.turns[session], weights[session]
        if turn.id not in shown and tokens <= min(left, room.earlier // _LONG) and len(beside) < room.most_earlier:
            beside.append(turn)
            left -= tokens
    return beside


def _tokens(turn: Turn) -> int:
    return estimate_tokens(f"{longest_line(turn)}\n")


def _batch(number: int, members: Sequence[TurnSlice], beside: Iterable[Turn]) -> Batch:
    return Batch(
        number=str(number),
        kind=KIND,
        members=_versions(one.turn for one in members),
        beside=_versions(beside),
        spans=tuple(one.span for one in members if one.span is not None),
    )


def _versions(turns: Iterable[Turn]) -> tuple[Version, ...]:
    return tuple((turn.id, turn.version) for turn in turns)
