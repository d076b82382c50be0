"""From the items of an answer to operations: who goes on, who is new, who goes and what takes its place."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from agentcore.domain.skill import Skill
from dream.domain.change import fingerprint
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.passes.skill_answers import Retirement, SkillAnswer, SkillDraft, quoted_name
from dream.passes.skill_names import clean_skill_name, name_mark

MERGE = "skill-merge"
GUIDE = "skill-guide"
REWRITE = "skill-rewrite"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """The skills of one batch, and the names there are.

    Args:
        shown: Skills that are as they were packed, by handle.
        handles: All handles that were given.
        names: The names of the skills behind them that are still active.
        live: The names of active skills, of those that the skills or the answer mention.
        successors: Active skills that an answer has others go into by their names, by name.
        leading: Active skills that name one which an answer retires as related, by name.
        taken: Those names of the answer's new skills, in small letters, that a skill has or once had.
    """

    shown: Mapping[str, Skill]
    handles: frozenset[str]
    names: Mapping[str, str] = field(default_factory=dict[str, str])
    live: frozenset[str] = frozenset()
    successors: Mapping[str, Skill] = field(default_factory=dict[str, Skill])
    leading: tuple[Skill, ...] = ()
    taken: frozenset[str] = frozenset()

    def active(self, name: str) -> Skill | None:
        """Return the active skill that the answer has others go into."""
        return self.successors.get(name) or next((one for one in self.shown.values() if one.name == name), None)

    def fault(self, handles: Collection[str]) -> Refusal | None:
        """Return why these handles cannot be used, or None."""
        unknown = [handle[:40] for handle in handles if handle not in self.handles]
        if unknown:
            return Refusal.of(Refused.UNKNOWN_HANDLE, unknown)
        stale = [handle for handle in handles if handle not in self.shown]
        return Refusal.of(Refused.STALE_SOURCE, stale) if stale else None

    def named(self, name: str) -> Skill | None:
        """Return the skill of the batch that *name* means: its name, or its handle."""
        given = name.strip()
        by_name = {skill.name: skill for skill in self.shown.values()}
        return by_name.get(given) or by_name.get(clean_skill_name(given)) or self.shown.get(given)


@dataclass(slots=True, kw_only=True)
class Operation:
    """One thing to do.

    Args:
        name: Of the skill that there is afterwards.
        target: That skill as it is; None if it is new.
        draft: What it shall be; None if it stays as it is.
        sources: What the draft is made of.
        retired: What goes, with the reasons given.
    """

    name: str
    target: Skill | None
    draft: SkillDraft | None = None
    sources: tuple[Skill, ...] = ()
    retired: list[tuple[Skill, str]] = field(default_factory=list[tuple[Skill, str]])

    @property
    def kind(self) -> str:
        """What it is called in the journal."""
        if self.retired:
            return MERGE
        return REWRITE if self.target is not None else GUIDE

    @property
    def where(self) -> str:
        """How a complaint names it: the index of its item, or the skill that would go."""
        return str(self.draft.place) if self.draft is not None else ", ".join(skill.name for skill, _ in self.retired)

    def marks(self) -> dict[str, str]:
        """Return, per record there is, what a person declines by taking it back; by name for a guide."""
        befores = [skill for skill, _ in self.retired] + ([] if self.target is None else [self.target])
        if not befores:
            return {"": name_mark(GUIDE, self.name)}
        return {skill.id: fingerprint(self.kind, skill) for skill in befores}

    def names(self) -> list[str]:
        """Return the names of all it changes, for people."""
        return [quoted_name(self.name), *(skill.name for skill, _ in self.retired)]


def sort_out(answer: SkillAnswer, sheet: Sheet) -> tuple[list[Operation], list[Refusal]]:
    """Return the operations that an answer asks for, and why others cannot be."""
    refused: list[Refusal] = []
    saves: dict[str, Operation] = {}
    asked: dict[str, str] = {}
    failed: set[str] = set()
    for draft in answer.saves:
        made = _saving(draft, sheet)
        if isinstance(made, Operation) and made.name in saves:
            made = Refusal(Refused.HANDLE_REUSED, f"{quoted_name(made.name)} is saved twice")
        if isinstance(made, Refusal):
            refused.append(made.at(draft.place + 1))
            failed |= {draft.name.strip(), clean_skill_name(draft.name)}
            continue
        saves[made.name] = made
        asked |= {draft.name.strip(): made.name, clean_skill_name(draft.name): made.name}
    leaving = {sheet.shown[one.handle].name for one in answer.retirements if one.handle in sheet.shown}
    gone: set[str] = set()
    prunes: list[Operation] = []
    for one in answer.retirements:
        found = _successor(one, sheet, saves, asked, leaving)
        if not isinstance(found, Refusal) and one.handle in gone:
            found = Refusal(Refused.HANDLE_REUSED, f"{found[0].name} goes twice")
        if not isinstance(found, Refusal) and found[1] not in saves and one.replaced_by in failed:
            found = Refusal(Refused.NO_REPLACEMENT, f"{found[0].name}: what would take its place is refused")
        if isinstance(found, Refusal):
            refused.append(found)
            continue
        gone.add(one.handle)
        skill, successor = found
        operation = saves.get(successor)
        if operation is None:
            operation = Operation(name=successor, target=sheet.active(successor))
            prunes.append(operation)
        operation.retired.append((skill, one.reason))
    return [*saves.values(), *prunes], refused


def _saving(draft: SkillDraft, sheet: Sheet) -> Operation | Refusal:
    fault = sheet.fault(draft.sources)
    if fault is not None:
        return fault
    sources = tuple(sheet.shown[handle] for handle in draft.sources)
    target = sheet.named(draft.name)
    if target is not None:
        return Operation(name=target.name, target=target, draft=draft, sources=sources)
    name = clean_skill_name(draft.name)
    if not name or name in sheet.handles:
        return Refusal(Refused.INVALID_CONTENT, f"item {draft.place} has no name that can be stored")
    if not sheet.taken.isdisjoint({name, draft.name.strip().casefold()}):
        return Refusal(Refused.NAME_TAKEN, quoted_name(name))
    return Operation(name=name, target=None, draft=draft, sources=sources)


def _successor(
    one: Retirement, sheet: Sheet, saves: Mapping[str, Operation], asked: Mapping[str, str], leaving: Collection[str]
) -> tuple[Skill, str] | Refusal:
    """Return what goes and the name of what takes its place, or why it stays."""
    fault = sheet.fault([one.handle])
    if fault is not None:
        return fault
    skill = sheet.shown[one.handle]
    named = sheet.named(one.replaced_by)
    successor = named.name if named is not None else asked.get(one.replaced_by, one.replaced_by)
    if skill.name in saves:
        return Refusal(Refused.HANDLE_REUSED, f"{skill.name} is both saved and retired")
    if successor in leaving or not (successor in saves or successor in sheet.live):
        return Refusal(Refused.NO_REPLACEMENT, skill.name)
    return skill, successor
