"""Tells on which occasion each entry was first said, and how deep it stands above what people said."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final

from agentcore.domain.conclusion import Premise
from agentcore.domain.conversation import Turn
from agentcore.domain.memory import MemoryEntry, SourceKind, Status
from agentcore.domain.text import fold_key
from agentcore.stores.storage import ReadView

MOST_DEPTH: Final = 3
"""Conclusions above one another at most."""


def premises_of(view: ReadView, entries: Iterable[MemoryEntry]) -> Mapping[str, Premise]:
    """Return each entry as a premise, by its id: with the conversation and the instant in which it was first said.

    A conclusion was known when the last of its own premises was said.
    """
    known = list(entries)
    cited = {entry.id: _turn_ids(entry) for entry in known}
    turns = {turn.id: turn for turn in view.turns.get_many({one for ids in cited.values() for one in ids})}
    found: dict[str, Premise] = {}
    for entry in known:
        said_at, session = _first_said(entry, [turns[one] for one in cited[entry.id] if one in turns])
        past = entry.status is Status.SUPERSEDED
        found[entry.id] = Premise(entry.id, fold_key(entry.content), said_at, session, past=past)
    return found


def _turn_ids(entry: MemoryEntry) -> set[str]:
    named = (*entry.sources, *(one.source for one in entry.evidence))
    return {ref.id for ref in named if ref.kind is SourceKind.TURN}


def _first_said(entry: MemoryEntry, turns: Iterable[Turn]) -> tuple[datetime, str]:
    if entry.is_conclusion:
        last = max(entry.premises, key=lambda one: (one.said_at, one.session))
        return last.said_at, last.session
    first = min(turns, key=lambda turn: (turn.occurred_at, turn.id), default=None)
    if first is not None:
        return first.occurred_at, first.session_id
    return min((one.said_at for one in entry.evidence), default=entry.created_at), ""


def depths_of(view: ReadView, entries: Iterable[MemoryEntry]) -> Mapping[str, int]:
    """Return how many conclusions stand from what people said up to each entry: 0 for what is none itself."""
    return {entry.id: _depth(view, entry) for entry in entries}


def _depth(view: ReadView, entry: MemoryEntry) -> int:
    depth, front = 0, [entry]
    # A circle is deeper than any number.
    while depth <= MOST_DEPTH and (front := [one for one in front if one.is_conclusion]):
        depth += 1
        front = view.entries.get_many({one.entry_id for each in front for one in each.premises})
    return depth
