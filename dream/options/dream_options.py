"""Defines everything a host may tune of its dreams, and the presets."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, ClassVar, Final, Protocol, Self

from pydantic import Field, InstanceOf, field_serializer, field_validator

from agentcore.domain.capability import Capability
from agentcore.errors import InvalidOptionsError
from agentcore.hosting.options import Options
from dream.domain.built_in_passes import BUILT_IN, DECLARED, ON_REQUEST
from dream.domain.declaration import Declaration, PassMode, Preset, Reads, declared
from dream.domain.verification import Verifier
from dream.options.hypothesis_options import ClaimOptions, HypothesisOptions
from dream.options.model_options import ModelOptions, ModelProfile, ReviewOptions, VerificationMode, WaitingOptions
from dream.options.pass_options import (
    ConsolidationOptions,
    DocumentOptions,
    EpisodeOptions,
    InferenceOptions,
    LogOptions,
    MiningOptions,
    NearDuplicateOptions,
    PreferenceOptions,
    PromotionOptions,
    ReadingOptions,
    RemOptions,
    RetentionOptions,
    SessionOptions,
    SkillConsolidationOptions,
    SkillGapOptions,
    SkillOptimizationOptions,
    WispFailureOptions,
)
from dream.options.scheduling import AwakeReading, SchedulingOptions
from dream.options.triggers import CapWindow, DailyAt, Heartbeat, Idle, Interval, Threshold


class OwnPass(Protocol):
    """What every pass has; the whole contract is `dream.passes.DreamPass` or `dream.passes.ModelPass`."""

    @property
    def name(self) -> str:
        """What reports, options and the command line call it."""
        ...

    @property
    def requires(self) -> frozenset[Capability]:
        """What the host must have; without it the pass is skipped."""
        ...


class PassPosition(StrEnum):
    """Where a pass stands beside another one."""

    BEFORE = "before"
    AFTER = "after"


@dataclass(frozen=True, slots=True, kw_only=True)
class Insertion:
    """A pass, and where it joins the run.

    Args:
        own_pass: The pass.
        position: On which side of *anchor*.
        anchor: Name of the pass it stands beside; None for the end of the run.
        directives: Texts of directives that only it brings, by name.
    """

    own_pass: OwnPass
    position: PassPosition = PassPosition.AFTER
    anchor: str | None = None
    directives: Mapping[str, str] = field(default_factory=dict[str, str])


class OwnPasses(tuple[Insertion, ...]):
    """The passes that a host adds, in the order it added them; immutable.

    Each method returns another sequence. Whether the passes are passes, and the anchors exist, is checked when the host
    is built.

    Example:
        >>> from dream.passes.exact_fold import ExactFold
        >>> class SecondFold(ExactFold):
        ...     name = "second-fold"
        >>> OwnPasses().insert_after("memory-consolidation", SecondFold()).names
        ('second-fold',)
    """

    __slots__ = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the passes."""
        return tuple(one.own_pass.name for one in self)

    @property
    def declarations(self) -> dict[str, Declaration]:
        """What each of the passes declares, by its name."""
        return {one.own_pass.name: declared(one.own_pass) for one in self}

    def insert_after(
        self, anchor: str, own_pass: OwnPass, *, directives: Mapping[str, str] | None = None
    ) -> "OwnPasses":
        """Have a pass run right after another one.

        Args:
            anchor: Name of the other pass, a built-in one or one added before.
            own_pass: The pass.
            directives: Texts of directives it brings, by name; the data directory may hold others of the same names.
        """
        return self._with(Insertion(own_pass=own_pass, anchor=anchor, directives=directives or {}))

    def insert_before(
        self, anchor: str, own_pass: OwnPass, *, directives: Mapping[str, str] | None = None
    ) -> "OwnPasses":
        """Have a pass run right before another one; see `insert_after`."""
        return self._with(
            Insertion(own_pass=own_pass, position=PassPosition.BEFORE, anchor=anchor, directives=directives or {})
        )

    def append(self, own_pass: OwnPass, *, directives: Mapping[str, str] | None = None) -> "OwnPasses":
        """Have a pass run after all others; see `insert_after`."""
        return self._with(Insertion(own_pass=own_pass, directives=directives or {}))

    def _with(self, insertion: Insertion) -> "OwnPasses":
        return OwnPasses((*self, insertion))


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
            # Said outright: what a preset leaves unsaid does not count where a file names the preset.
            return PresetChoice(SchedulingOptions(trigger=trigger, awake=AwakeReading(turns=20)), _NO_SKILLS)
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


OTHERS = "*"
"""What stands in `DreamOptions.modes` for every pass that is not named there."""


class DreamOptions(Options):
    """Everything a host may tune of its dreams; frozen, validated when the host is built.

    Example:
        >>> DreamOptions(near_duplicates=NearDuplicateOptions(threshold=0.6)).near_duplicates.threshold
        0.6
    """

    section: ClassVar[str] = "dreaming"
    """What its fields are called after in errors."""
    renamed: ClassVar[Mapping[str, str]] = {"force": "ignore_scope_switches"}

    enabled: bool = True
    """Whether anything dreams; if not, nothing does, not by hand either."""
    ignore_scope_switches: bool = False
    """Dream even in workspaces and scopes that have dreaming switched off."""
    schedule: SchedulingOptions = Field(default_factory=SchedulingOptions)
    """When dreams start by themselves."""
    passes: InstanceOf[OwnPasses] = Field(default_factory=OwnPasses)
    """Passes of the host's own, and where they stand among the built-in ones."""
    starts_from: Preset = Preset.TIMED
    """The preset that these options started from: what becomes of the changes of a pass that `modes` does not name."""
    pass_options: Mapping[str, Mapping[str, Any]] = Field(default_factory=dict)
    """Options of passes of the host's own, by the name of the pass; a pass declares which it has."""
    modes: Mapping[str, PassMode] = Field(default_factory=dict)
    """What becomes of the changes of each pass, by its name; `*` stands for all others. They are made by default.

    `session-evaluator` is the service that sums conversations up, which can only be switched off.
    """
    review: ReviewOptions = Field(default_factory=ReviewOptions)
    """How much may wait for a person, and how long."""
    verification: VerificationMode = VerificationMode.VERIFIED
    """What becomes of a text that its evidence neither proves nor refutes."""
    verifier: InstanceOf[Verifier] | None = None
    """What reads undecided texts before the model does; it may deny, never accept alone."""
    waiting: WaitingOptions = Field(default_factory=WaitingOptions)
    """How long an exchange with the model waits that could not be ended."""
    protected_categories: tuple[str, ...] = ("active-plans",)
    """Categories (with everything below) that no pass changes."""
    retention: RetentionOptions = Field(default_factory=RetentionOptions)
    """How long things are kept."""
    near_duplicates: NearDuplicateOptions = Field(default_factory=NearDuplicateOptions)
    """How the search for near-duplicates is bounded."""
    model: ModelOptions = Field(default_factory=ModelOptions)
    """What dreams may ask of the model."""
    reading: ReadingOptions = Field(default_factory=ReadingOptions)
    """How the passes that read conversations share their questions."""
    mining: MiningOptions = Field(default_factory=MiningOptions)
    """How facts are mined from conversations."""
    consolidation: ConsolidationOptions = Field(default_factory=ConsolidationOptions)
    """How the model merges and retires entries."""
    inference: InferenceOptions = Field(default_factory=InferenceOptions)
    """How conclusions are drawn from what is known."""
    episodes: EpisodeOptions = Field(default_factory=EpisodeOptions)
    """How episodes are found in conversations."""
    preferences: PreferenceOptions = Field(default_factory=PreferenceOptions)
    """How preferences are inferred."""
    skill_gaps: SkillGapOptions = Field(default_factory=SkillGapOptions)
    """How recurring requests become skills."""
    skill_consolidation: SkillConsolidationOptions = Field(default_factory=SkillConsolidationOptions)
    """How skills are merged, linked and retired."""
    skill_optimization: SkillOptimizationOptions = Field(default_factory=SkillOptimizationOptions)
    """How skills that fail are rewritten."""
    wisp_failures: WispFailureOptions = Field(default_factory=WispFailureOptions)
    """How failed wisps teach skills."""
    sessions: SessionOptions = Field(default_factory=SessionOptions)
    """How conversations at rest are evaluated."""
    log: LogOptions = Field(default_factory=LogOptions)
    """When turns are consumed."""
    promotion: PromotionOptions = Field(default_factory=PromotionOptions)
    """Which entries go to MEMORY.md."""
    rem: RemOptions = Field(default_factory=RemOptions)
    """How the diary tells what recall keeps coming back to."""
    hypotheses: HypothesisOptions = Field(default_factory=HypothesisOptions)
    """How hypotheses are found, and how long they wait."""
    claims: ClaimOptions = Field(default_factory=ClaimOptions)
    """Through which gates claims become facts."""
    documents: DocumentOptions = Field(default_factory=DocumentOptions)
    """How the documents of the workspace are kept."""
    directives: Mapping[str, str] = Field(default_factory=dict)
    """Paths of directives by name, relative to the data directory; `directives/NAME.md` by default."""
    directive_texts: Mapping[str, str] = Field(default_factory=dict)
    """Texts of directives by name, which take the place of files and of the built-in ones."""
    alarm_after: int = Field(default=3, ge=1)
    """Runs in a row that failed or, with work waiting, changed nothing, after which the host is told."""
    step_size: int = Field(default=250, ge=2, le=500)
    """Deterministic changes per transaction at most; a fold takes two."""
    max_outputs: int | None = Field(default=None, ge=1)
    """New records that one run may write; what is more waits, paid for, for a later run. None: no bound.

    What belongs together is never cut: an operation that alone writes more is made as long as any room is left.
    """
    resume_within: timedelta = Field(default=timedelta(hours=24), gt=timedelta(0))
    """An interrupted run younger than this is resumed; an older one is closed as partial."""
    lease: timedelta = Field(default=timedelta(seconds=60), ge=timedelta(seconds=3))
    """How long a silent holder keeps the right to dream; it is renewed six times as often."""

    @classmethod
    def preset(cls, name: str) -> "DreamOptions":
        """Return the options of a preset; `replace` changes any of them.

        Args:
            name: `timed`, `peer`, `reviewed`, `promotion` or `idle`.

        Raises:
            InvalidOptionsError: there is none of that name.

        Example:
            >>> DreamOptions.preset("idle").schedule.trigger.max_per_day
            3
        """
        if name not in set(Preset):
            allowed = f"the presets are {', '.join(Preset)}"
            raise InvalidOptionsError(field=f"{cls.section}.preset", value=name, allowed=allowed)
        preset = Preset(name)
        choice = preset_choice(preset)
        # What a preset does not choose counts as said by nobody.
        chosen = {"documents": choice.documents, "max_outputs": choice.max_outputs}
        told = {name: value for name, value in chosen.items() if value is not None}
        found = {name: mode_under(preset, one) for name, one in DECLARED.items() if one not in ON_REQUEST}
        modes = {} if choice.others is PassMode.APPLY else {OTHERS: choice.others}
        # What is off by itself is switched on by its name alone.
        usual = {name: choice.others if one.mode is not PassMode.OFF else one.mode for name, one in DECLARED.items()}
        modes |= {name: mode for name, mode in found.items() if mode not in {None, usual[name]}}
        return cls.model_validate({"schedule": choice.schedule, "modes": modes, "starts_from": preset, **told})

    def declared(self, pass_name: str) -> Declaration:
        """Return what a pass declares, a built-in one or one of the host's own; of any other name its name alone."""
        found = DECLARED.get(pass_name) or self.passes.declarations.get(pass_name)
        return found or Declaration(name=pass_name)

    def mode(self, pass_name: str) -> PassMode:
        """Return what becomes of the changes of a pass.

        Its name in `modes` decides, else `*`, else what the pass declares. One that is off by what it declares, or by
        the preset, is switched on by its name alone. Retention and log consumption never propose.

        Example:
            >>> DreamOptions(modes={"*": "propose", "preferences": "off"}).mode("preferences")
            <PassMode.OFF: 'off'>
        """
        declaration = self.declared(pass_name)
        mode = self.modes.get(pass_name) or self._usual_mode(declaration)
        return PassMode.APPLY if declaration.never_waits and mode is PassMode.PROPOSE else mode

    def _usual_mode(self, declaration: Declaration) -> PassMode:
        # What a preset makes of the built-in passes stands in `modes`, where people may replace it.
        by_preset = None if declaration.name in DECLARED else mode_under(self.starts_from, declaration)
        usual = by_preset or PassMode(declaration.mode)
        return usual if usual is PassMode.OFF else self.modes.get(OTHERS, usual)

    @property
    def reads_together(self) -> bool:
        """Whether passes share a question about new turns: their instructions together fill a small model's prompt."""
        return self.reading.together and self.model.profile is not ModelProfile.SMALL

    def is_on(self, pass_name: str) -> bool:
        """Tell whether a pass runs at all."""
        return self.mode(pass_name) is not PassMode.OFF

    def readers_of_turns(self, capabilities: Collection[Capability]) -> tuple[str, ...]:
        """Return the passes that ask a model what turns say, are on, and have what they require."""
        every = (*BUILT_IN, *self.passes.declarations.values())
        reading = (one for one in every if one.reads is Reads.TURNS and Capability.LLM in one.requires)
        return tuple(one.name for one in reading if self.is_on(one.name) and one.requires <= frozenset(capabilities))

    def of(self, pass_name: str) -> Any:
        """Return the options of a pass as they are in force for it: its section, or what it declares of its own.

        Raises:
            InvalidOptionsError: a pass of the host's own has no such option, or it cannot have that value.

        Example:
            >>> DreamOptions(modes={"wisp-failures": "propose"}).of("wisp-failures").promotion
            <PromotionPolicy.STORE: 'store'>
        """
        declaration = self.declared(pass_name)
        told = self.pass_options.get(pass_name, {})
        if told and not isinstance(declaration.options, type):
            section = declaration.options
            raise InvalidOptionsError(
                field=f"{self.section}.pass_options.{pass_name}",
                value=dict(told),
                allowed=f"give them in {self.section}.{section}" if section else "the pass has none, leave them out",
            )
        if isinstance(declaration.options, str):
            found: Options = getattr(self, declaration.options)
        else:
            found = (declaration.options or Options)(**told)
        is_proposing = declaration.when_proposing and self.mode(pass_name) is PassMode.PROPOSE
        return found.replace(**declaration.when_proposing) if is_proposing else found

    def applying(self) -> Self:
        """Return the same options with all that would be proposed being applied instead."""
        known = {**DECLARED, **self.passes.declarations}
        proposing = [name for name in known if self.mode(name) is PassMode.PROPOSE]
        modes = {name: mode for name, mode in self.modes.items() if mode is not PassMode.PROPOSE}
        modes |= dict.fromkeys(proposing, PassMode.APPLY)
        sections: dict[str, object] = {}
        own = dict(self.pass_options)
        for name in proposing:
            if known[name].when_proposing:
                section = known[name].options
                if isinstance(section, str):
                    sections[section] = self.of(name)
                else:
                    own[name] = {**own.get(name, {}), **known[name].when_proposing}
        return self.replace(modes=modes, pass_options=own, **sections)

    @field_serializer("passes")
    def _names(self, passes: OwnPasses) -> list[str]:
        return list(passes.names)

    @field_serializer("directive_texts")
    def _marks(self, texts: Mapping[str, str]) -> dict[str, str]:
        # Whole texts would drown all else that is shown, and what compares options needs no more than this.
        return {name: blake2b(text.encode(), digest_size=16).hexdigest() for name, text in texts.items()}

    @field_serializer("verifier")
    def _its_name(self, verifier: Verifier | None) -> str | None:
        return None if verifier is None else str(getattr(verifier, "name", type(verifier).__name__))

    @field_validator("modes")
    @classmethod
    def _propose_what_can_wait(cls, modes: Mapping[str, PassMode]) -> Mapping[str, PassMode]:
        for name in sorted(one.name for one in BUILT_IN if one.never_waits):
            if modes.get(name) is PassMode.PROPOSE:
                remedy = "what it does cannot wait for a person; give apply or off"
                raise InvalidOptionsError(field=f"{cls.section}.modes[{name!r}]", value="propose", allowed=remedy)
        return modes

    @field_validator("directives")
    @classmethod
    def _stay_in_the_data_directory(cls, paths: Mapping[str, str]) -> Mapping[str, str]:
        for name, path in paths.items():
            parts = Path(path).parts
            if not parts or Path(path).anchor or ".." in parts or not path.isprintable():
                remedy = f"name a file inside the data directory, such as directives/{name}.md"
                raise InvalidOptionsError(field=f"{cls.section}.directives[{name!r}]", value=path, allowed=remedy)
        return paths
