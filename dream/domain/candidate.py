"""Says why an entry is promoted, or is not."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agentcore.domain.temporal import to_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dream.domain.promotion import Promotion


@dataclass(frozen=True, slots=True)
class PromotionGate:
    """One condition of promotion.

    Args:
        name: The option that says so.
        has: What the entry has.
        needs: What it needs.
    """

    name: str
    has: float
    needs: float

    @property
    def is_met(self) -> bool:
        """Whether it has enough."""
        return self.has >= self.needs


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One entry before the gates.

    Args:
        entry_id: The entry.
        content: What it says.
        score: What it scores.
        components: Each part of the score: its value from 0 to 1, and what it counts.
        gates: Each condition.
        barred: Why it must not stand in MEMORY.md, whatever it scores: code and detail; None if it may.
        promotion: When it was promoted; None if it never was.
        is_chosen: Whether the next sweep promotes it.
    """

    entry_id: str
    content: str
    score: float
    components: Mapping[str, tuple[float, float]] = field(default_factory=dict[str, tuple[float, float]])
    gates: tuple[PromotionGate, ...] = ()
    barred: str | None = None
    promotion: Promotion | None = None
    is_chosen: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        promotion = self.promotion
        return {
            "entry": self.entry_id,
            "content": self.content,
            "score": round(self.score, 4),
            "components": {
                name: {"value": round(value, 4), "weight": weight} for name, (value, weight) in self.components.items()
            },
            "gates": [
                {"gate": gate.name, "has": round(gate.has, 4), "needs": gate.needs, "met": gate.is_met}
                for gate in self.gates
            ],
            "barred": self.barred,
            "promoted_at": None if promotion is None else to_text(promotion.promoted_at),
            "promoted_by": None if promotion is None else promotion.run_id,
            "chosen": self.is_chosen,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class PromotionStanding:
    """How promotion stands.

    Args:
        recalled: How many entries were ever recalled.
        promoted: How many were promoted.
        candidates: The best of them, or the one that was asked about.
        best: Per gate the most that any entry has.
        waits_for_room: How many meet every gate and have no room in MEMORY.md, even if what dreams wrote makes way.
        memory_size: Characters that MEMORY.md has.
        size_cap: Characters up to which dreams add to it.
    """

    recalled: int
    promoted: int
    candidates: tuple[Candidate, ...]
    best: tuple[PromotionGate, ...] = ()
    waits_for_room: int = 0
    memory_size: int = 0
    size_cap: int = 0

    @property
    def unreachable(self) -> tuple[PromotionGate, ...]:
        """The conditions that no entry meets as things are."""
        return tuple(gate for gate in self.best if not gate.is_met) if self.recalled else ()

    def to_json(self) -> dict[str, Any]:
        """Return the document that `dream promote --explain --json` prints."""
        return {
            "recalled": self.recalled,
            "promoted": self.promoted,
            "unreachable": [gate.name for gate in self.unreachable],
            "waits_for_room": self.waits_for_room,
            "memory_size": self.memory_size,
            "size_cap": self.size_cap,
            "candidates": [one.to_json() for one in self.candidates],
        }
