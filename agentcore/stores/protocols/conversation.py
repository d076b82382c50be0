"""The conversation log: what a store of turns can be asked and told."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TurnMaterial:
    """A turn a pass has to read: its id, its place in the order of arrival, and its session."""

    id: str
    position: int
    session_id: str
