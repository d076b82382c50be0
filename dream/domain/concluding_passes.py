"""Declares the passes that draw conclusions; `dream.domain.built_in_passes` says where they stand in a run."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from agentcore.domain.capability import Capability
from dream.domain.declaration import Declaration, DeclaredDirective, PassMode, Preset, Reads
from dream.domain.rounds import RoundKind
from dream.domain.verification import VERIFY_INFERENCE

if TYPE_CHECKING:
    from collections.abc import Mapping

_ASKING: Final = frozenset({Capability.MEMORY, Capability.LLM})

_VERIFY_INFERENCE: Final = DeclaredDirective(
    VERIFY_INFERENCE,
    "How conclusions are read a second time beside their premises, by a reader who did not draw them.",
    ("follows", "may", "does_not"),
)
_PEERS_ALONE: Final[Mapping[Preset, PassMode]] = MappingProxyType({Preset.PEER: PassMode.APPLY})
"""Of a pass that concludes what nobody said, which the other systems do not."""
CONCLUDING: Final = (
    "reviewed",
    "searches",
    "deduced",
    "updated",
    "patterns",
    "contradictions",
    "resolved",
    "repointed",
    "reinforced",
    "repairs",
    "repaired",
    "read_again",
    "denied",
)
"""What the report of a pass that concludes counts."""
_OF_THE_CARD: Final = ("card_added", "card_replaced", "card_removed")

DEDUCTION: Final = Declaration(
    name="deduction",
    requires=_ASKING,
    directives=(
        DeclaredDirective(
            "deduction",
            "What must be true if what is known is: changes, implications, contradictions; and edits of the card.",
            ("search", "conclusions", "kind", "content", "premises", "card", "section"),
        ),
        _VERIFY_INFERENCE,
    ),
    mode=PassMode.OFF,
    presets=_PEERS_ALONE,
    options="inference",
    notes=(*CONCLUDING, *_OF_THE_CARD),
    rounds=(RoundKind.LOOKUP, RoundKind.VERIFICATION),
    home="inference.deduction:Deduction",
    why="after consolidation, so that it concludes from what holds",
)

INDUCTION: Final = Declaration(
    name="induction",
    requires=_ASKING,
    directives=(
        DeclaredDirective(
            "induction",
            "What keeps coming back, for and against, and which traits of a person may be inferred.",
            ("search", "patterns", "content", "pattern", "premises", "against", "existing"),
        ),
        _VERIFY_INFERENCE,
    ),
    mode=PassMode.OFF,
    presets=_PEERS_ALONE,
    options="inference",
    notes=CONCLUDING,
    rounds=(RoundKind.LOOKUP, RoundKind.VERIFICATION),
    home="inference.induction:Induction",
    why="after deduction, so that it sees what that concluded",
)

CARD_REFRESH: Final = Declaration(
    name="card-refresh",
    requires=_ASKING,
    reads=Reads.NOTHING,
    directives=(
        DeclaredDirective(
            "card-refresh",
            "How the whole card is looked at again, or written anew from what was said.",
            ("card", "action", "line", "section", "content", "premises", "reason"),
        ),
        _VERIFY_INFERENCE,
    ),
    options="inference",
    notes=(*CONCLUDING, *_OF_THE_CARD),
    rounds=(RoundKind.VERIFICATION,),
    home="inference.card_refresh:CardRefresh",
)
"""Looks at the whole card again: a run of its own that a person asks for, and no pass of another one."""
