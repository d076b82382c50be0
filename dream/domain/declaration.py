"""Declarations: what a pass says of itself, readable without importing it."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from agentcore.domain.capability import Capability
    from dream.domain.rounds import RoundKind


class Reads(StrEnum):
    """What a reader looks at in the order of arrival; stored with its cursor."""

    ENTRIES = "entries"
    """Active entries."""
    TURNS = "turns"
    """Turns, to learn from them: they are consumed only after this reader has looked at them."""
    SKILLS = "skills"
    """Active skills."""
    FEEDBACK = "feedback"
    """Feedback."""
    LOG = "log"
    """Turns that all readers of `TURNS` have looked at; nobody waits for this reader."""
    NOTHING = "nothing"
    """None of these: the position is an instant, as of the last count of recalls, and nothing is ever pending."""


class PassMode(StrEnum):
    """What becomes of the changes of a pass."""

    APPLY = "apply"
    """They are made."""
    PROPOSE = "propose"
    """They wait until a person approves them."""
    OFF = "off"
    """The pass does not run."""


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
class DeclaredDirective:
    """A directive that a pass sends.

    Args:
        name: What options, files and prompts call it.
        purpose: What it tells the model, for people who look for the right one.
        relies_on: Words of the answer that the pass reads; a text without them explains the answer badly.
    """

    name: str
    purpose: str
    relies_on: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """What a pass says of itself; all else in the house asks it here and keeps no list of passes.

    Args:
        name: What reports, options and the command line call it.
        requires: What the host must have; without it the pass is skipped.
        reads: What its cursor counts.
        side_readers: What its other readers count, by the name that `Batch.reader` gives them.
        categories: Categories that it alone writes, with all below them: mined facts go elsewhere.
        directives: The directives it sends, in the order in which they stand in a prompt.
        mode: What becomes of its changes where no option says anything.
        presets: What becomes of them under a preset, where that is not as the preset decides for all passes.
        options: Its options: the section of `DreamOptions`, or for a host's own pass their class.
        when_proposing: Values of these options that are in force where its changes wait for a person.
        notes: Names of the notes in its report.
        never_waits: Whether what it does cannot wait for a person: it is made where changes are to be proposed.
        rounds: The rounds that may follow the question of an exchange, each once, for forecasts; None for
            as many as the options allow.
        reviews_entries: Whether it has a model review entries, so that they are reviewed anew under another directive.
        purges: Whether it removes records for good, which retention alone may.
        home: Its module below `dream.passes` and its class; empty for a host's own.
        why: Why it stands where it stands in a run.
    """

    name: str
    requires: frozenset[Capability] = frozenset()
    reads: Reads = Reads.ENTRIES
    side_readers: Mapping[str, Reads] = field(default_factory=dict[str, Reads])
    categories: tuple[str, ...] = ()
    directives: tuple[DeclaredDirective, ...] = ()
    mode: PassMode = PassMode.APPLY
    presets: Mapping[Preset, PassMode] = field(default_factory=dict[Preset, PassMode])
    options: Any = None
    when_proposing: Mapping[str, object] = field(default_factory=dict[str, object])
    notes: tuple[str, ...] = ()
    never_waits: bool = False
    rounds: tuple[RoundKind, ...] | None = None
    reviews_entries: bool = False
    purges: bool = False
    home: str = ""
    why: str = ""

    @property
    def sent(self) -> tuple[str, ...]:
        """The names of the directives it sends."""
        return tuple(one.name for one in self.directives)

    @property
    def readers(self) -> dict[str, Reads]:
        """What each of its readers reads, by the name of its cursor."""
        return {self.name: self.reads, **{f"{self.name}/{side}": reads for side, reads in self.side_readers.items()}}


OPTIONAL = frozenset({one.name for one in fields(Declaration)} - {"name", "requires", "directives", "home", "why"})
"""Attributes by which a pass declares more than its name and what it requires."""


def declared(dream_pass: object) -> Declaration:
    """Return what a pass declares by its attributes; what it leaves out is as for most passes.

    Args:
        dream_pass: A pass, of the host's own or built in, or its class.

    Example:
        >>> from agentcore.domain import Capability
        >>> class Diary:
        ...     name = "diary"
        ...     requires = frozenset({Capability.CONVERSATION})
        ...     reads = Reads.TURNS
        >>> declared(Diary()).readers
        {'diary': <Reads.TURNS: 'turns'>}
    """
    told = {name: getattr(dream_pass, name) for name in OPTIONAL if hasattr(dream_pass, name)}
    name = getattr(dream_pass, "name", "")
    purpose = f"What the pass {name} brings along."
    return Declaration(
        name=name,
        requires=getattr(dream_pass, "requires", frozenset()),
        directives=tuple(DeclaredDirective(one, purpose) for one in getattr(dream_pass, "directives", ())),
        **told,
    )


def readers_of(declarations: Iterable[Declaration]) -> dict[str, Reads]:
    """Return what each reader of these passes reads, by the name of its cursor."""
    return {reader: reads for one in declarations for reader, reads in one.readers.items()}
