"""The presets: when other systems dream, and with which passes, by their documented defaults."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum

from dream.options.promotion import DocumentOptions
from dream.options.reviewing import OTHERS, PassMode
from dream.options.scheduling import SchedulingOptions
from dream.options.triggers import CapWindow, DailyAt, Heartbeat, Idle, Interval, Threshold

_SKILL_PASSES = frozenset({"skill-gaps", "skill-consolidation", "skill-optimization", "wisp-failures"})
_MODEL_PASSES = _SKILL_PASSES | {
    "fact-mining",
    "memory-consolidation",
    "episodes",
    "preferences",
    "document-consolidation",
    "session-evaluator",
}
_FOLDS = frozenset({"exact-fold", "near-duplicates"})
_DOCUMENT_PASSES = frozenset({"promotion", "rem", "document-consolidation"})
"""Those on the documents of a workspace."""
_MEMORIES_ALONE = _SKILL_PASSES | _DOCUMENT_PASSES | {"episodes", "session-evaluator"}


class Preset(StrEnum):
    """Whose manner of dreaming is taken over."""

    TIMED = "timed"
    """RockBot: every four hours, five minutes after the beginning; all passes."""
    PEER = "peer"
    """Honcho: after 50 new facts, 8 hours and an hour of silence; what concerns people, no skills."""
    REVIEWED = "reviewed"
    """Dense-Mem: at 03:00 local time; what would change waits for a person, five new records a night; no skills."""
    PROMOTION = "promotion"
    """nexo-rs: on its heartbeat, a day after the last; without a model, and nothing is merged."""
    IDLE = "idle"
    """Ethos: after two hours of silence, three times a day at most; memories and MEMORY.md, no skills."""


@dataclass(frozen=True, slots=True)
class PresetChoice:
    """What a preset chooses; all else keeps its default.

    Args:
        schedule: When dreams start.
        modes: What becomes of the changes of passes, as far as they are not made.
        max_outputs: New records that one run may write; None: no bound.
        documents: How documents are kept; None: as by default.
    """

    schedule: SchedulingOptions
    modes: Mapping[str, PassMode] = field(default_factory=dict[str, PassMode])
    max_outputs: int | None = None
    documents: DocumentOptions | None = None


def preset_choice(preset: Preset) -> PresetChoice:
    """Return what *preset* chooses.

    Example:
        >>> preset_choice(Preset.REVIEWED).schedule.trigger.kind
        'daily'
    """
    match preset:
        case Preset.TIMED:
            trigger = Interval(initial_delay=timedelta(minutes=5), every=timedelta(hours=4))
            return PresetChoice(SchedulingOptions(trigger=trigger, busy_poll=timedelta(seconds=5)))
        case Preset.PEER:
            trigger = Threshold(min_new=50, cooldown=timedelta(hours=8), idle=timedelta(minutes=60))
            return PresetChoice(SchedulingOptions(trigger=trigger), _off(_MEMORIES_ALONE))
        case Preset.REVIEWED:
            modes = {OTHERS: PassMode.PROPOSE} | _off(_MEMORIES_ALONE)
            return PresetChoice(SchedulingOptions(trigger=DailyAt(at="03:00")), modes, max_outputs=5)
        case Preset.PROMOTION:
            trigger = Heartbeat(beat=timedelta(seconds=30), every=timedelta(hours=24))
            without = (_MODEL_PASSES | _FOLDS | _DOCUMENT_PASSES) - {"promotion"}
            return PresetChoice(SchedulingOptions(trigger=trigger, zone="UTC"), _off(without))
        case Preset.IDLE:
            trigger = Idle(after=timedelta(minutes=120), max_per_day=3, window=CapWindow.CALENDAR)
            # Lines come to MEMORY.md from the agent, as in its document; a dream only tidies what stands there, whose
            # ever it is: people mark what is to stay.
            return PresetChoice(
                SchedulingOptions(trigger=trigger),
                _off(_MEMORIES_ALONE - {"document-consolidation"}),
                documents=DocumentOptions(protect_user_text=False),
            )


def _off(passes: Collection[str]) -> dict[str, PassMode]:
    return dict.fromkeys(sorted(passes), PassMode.OFF)
