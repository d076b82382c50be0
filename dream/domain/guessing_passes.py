"""Declares the passes around hypotheses and claims; `dream.domain.built_in_passes` says where they stand in a run."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from agentcore.domain.capability import Capability
from dream.domain.declaration import Declaration, DeclaredDirective, PassMode, Preset, Reads
from dream.domain.rounds import RoundKind
from dream.domain.verification import SECOND_READING

if TYPE_CHECKING:
    from collections.abc import Mapping

_MEMORY: Final = frozenset({Capability.MEMORY})
_REVIEWED_ALONE: Final[Mapping[Preset, PassMode]] = MappingProxyType({Preset.REVIEWED: PassMode.APPLY})
"""Of what only Dense-Mem does: its records wait for a person as they are, so nothing of the pass waits besides."""

CLAIMS: Final = Declaration(
    name="claims",
    requires=_MEMORY | {Capability.LLM},
    directives=(
        DeclaredDirective(
            "claims",
            "Which claims new entries make: subject, predicate and object, with the words that say it.",
            ("claims", "subject", "predicate", "object", "negated", "when", "sourceId", "quote"),
        ),
        SECOND_READING,
    ),
    mode=PassMode.OFF,
    presets=MappingProxyType(dict.fromkeys(Preset, PassMode.OFF)),
    options="claims",
    notes=(
        *("looked_at", "known", "read_again", "taken"),
        *("candidate", "validated", "disputed", "rejected", "promoted"),
    ),
    rounds=(RoundKind.VERIFICATION, RoundKind.VERIFICATION),
    home="claims:ClaimTaking",
    why="after the passes that merge and conclude, so that it takes claims from what holds",
)

REFLECT: Final = Declaration(
    name="reflect",
    requires=_MEMORY,
    reads=Reads.NOTHING,
    mode=PassMode.OFF,
    presets=_REVIEWED_ALONE,
    options="hypotheses",
    notes=("stale_facts", "candidate_claims", "disputed_claims", "contradictions", "undecided", "listed"),
    home="reflect:Reflect",
    why="after all that changes entries, so that it counts what is left",
)

RE_EVALUATE: Final = Declaration(
    name="re-evaluate",
    requires=_MEMORY,
    directives=(
        DeclaredDirective(
            "re-evaluate",
            "What records that came after a hypothesis say of it.",
            ("readings", "guess", "record", "reading", "supports", "contradicts", "neither", "quote"),
        ),
    ),
    mode=PassMode.OFF,
    presets=_REVIEWED_ALONE,
    options="hypotheses",
    notes=("evaluated", "reinforced", "stale", "expired", "touched", "weighed", "supported"),
    rounds=(),
    home="re_evaluate:ReEvaluate",
    why="before new hypotheses, which are to wait a night before their sources count as intact",
)

HYPOTHESES: Final = Declaration(
    name="hypotheses",
    requires=_MEMORY,
    directives=(
        DeclaredDirective(
            "hypotheses",
            "What two memories that share something rare might mean together, as a question for a person.",
            ("hypotheses", "hypothesis", "what_if", "possible_outcome", "question", "sourceIds", "quotes"),
        ),
    ),
    mode=PassMode.OFF,
    presets=_REVIEWED_ALONE,
    options="hypotheses",
    notes=("looked_at", "pairs", "known", "proposed", "declined", "waiting"),
    rounds=(),
    home="hypotheses:HypothesisGeneration",
    why="after re-evaluation, so that it does not propose again what is there",
)
