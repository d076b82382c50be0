"""The presets: when other systems dream, and with which passes, by their documented defaults."""

from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from typing import Final

from agentcore.domain.capability import Capability
from dream.domain.declaration import Declaration, PassMode, Preset
from dream.options.promotion import DocumentOptions
from dream.options.scheduling import SchedulingOptions
from dream.options.triggers import CapWindow, DailyAt, Heartbeat, Idle, Interval, Threshold

_NO_SKILLS: Final = frozenset({Capability.SKILLS, Capability.WORKSPACE})


@dataclass(frozen=True, slots=True)
class PresetChoice:
    """What a preset chooses; all else keeps its default.

    Args:
        schedule: When dreams start.
        leaves_out: Passes that require any of these do not run, unless they declare otherwise for the preset.
        others: What becomes of the changes of all other passes.
        max_outputs: New records that one run may write; None: no bound.
        documents: How documents are kept; None: as by default.
    """

    schedule: SchedulingOptions
    leaves_out: frozenset[Capability] = frozenset()
    others: PassMode = PassMode.APPLY
    max_outputs: int | None = None
    documents: DocumentOptions | None = None


@cache
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
            return PresetChoice(SchedulingOptions(trigger=trigger), _NO_SKILLS)
        case Preset.REVIEWED:
            trigger = DailyAt(at="03:00")
            return PresetChoice(SchedulingOptions(trigger=trigger), _NO_SKILLS, PassMode.PROPOSE, max_outputs=5)
        case Preset.PROMOTION:
            trigger = Heartbeat(beat=timedelta(seconds=30), every=timedelta(hours=24))
            return PresetChoice(SchedulingOptions(trigger=trigger, zone="UTC"), frozenset({Capability.LLM}))
        case Preset.IDLE:
            trigger = Idle(after=timedelta(minutes=120), max_per_day=3, window=CapWindow.CALENDAR)
            # Lines come to MEMORY.md from the agent, as in its document; a dream only tidies what stands there, whose
            # ever it is: people mark what is to stay.
            documents = DocumentOptions(protect_user_text=False)
            return PresetChoice(SchedulingOptions(trigger=trigger), _NO_SKILLS, documents=documents)


def mode_under(preset: Preset, declaration: Declaration) -> PassMode | None:
    """Return what becomes of the changes of a pass under *preset*; None if that is as of all others.

    Example:
        >>> mode_under(Preset.PEER, Declaration(name="skill-diary", requires=frozenset({Capability.SKILLS})))
        <PassMode.OFF: 'off'>
    """
    said = declaration.presets.get(preset)
    if said is not None:
        return PassMode(said)
    return PassMode.OFF if preset_choice(preset).leaves_out & declaration.requires else None
