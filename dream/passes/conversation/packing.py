"""Packing: new turns become batches, each short enough for one call; makes no call and reads nothing."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from agentcore.domain.conversation import Turn
from agentcore.llm.tokens import estimate_tokens
from dream.domain.batch import Batch, Version
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.passes.conversation.lines import longest_line

KIND = "turns"
_SHARE_BESIDE = 4
"""A quarter of a prompt at most goes to turns that were read before."""


@dataclass(frozen=True, slots=True)
class Session:
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


def packed(sessions: Sequence[Session], *, room: int, overlap: int) -> tuple[tuple[Batch, ...], tuple[Refusal, ...]]:
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


def _pieces(session: Session, room: int, overlap: int, refused: list[Refusal]) -> Iterator[_Piece]:
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
