"""Judges an answer about skills: sorts it into operations, and makes their change sets."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from agentcore.domain.memory import Status, Trust
from agentcore.domain.skill import Skill
from dream.domain.change import Change, ChangeSet, fingerprint
from dream.domain.proposal import Notes, Refusal
from dream.domain.reasons import Refused
from dream.domain.verification import Assertion
from dream.guards import Knowledge
from dream.guards.change_guards import respects_undo
from dream.guards.names import Vocabulary
from dream.passes.exchange_state import Item
from dream.passes.skills.answers import Retirement, SkillAnswer, SkillDraft, one_line, quoted_name, storable
from dream.passes.skills.procedure import beside_of, named_line, skill_line, skill_text, verdict_of
from dream.passes.skills.skill_names import clean_skill_name, name_mark

MERGE = "skill-merge"
GUIDE = "skill-guide"
REWRITE = "skill-rewrite"


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillHandles:
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
        number: Its place in `toSave`, from 1; what saves nothing comes behind that list.
        name: Of the skill that there is afterwards.
        target: That skill as it is; None if it is new.
        draft: What it shall be; None if it stays as it is.
        sources: What the draft is made of.
        retired: What goes, with the reasons given.
    """

    number: int
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

    def marks(self) -> dict[str, str]:
        """Return, per record there is, what a person declines by taking it back; by name for a guide."""
        befores = [skill for skill, _ in self.retired] + ([] if self.target is None else [self.target])
        if not befores:
            return {"": name_mark(GUIDE, self.name)}
        return {skill.id: fingerprint(self.kind, skill) for skill in befores}

    def names(self) -> list[str]:
        """Return the names of all it changes, for people."""
        return [quoted_name(self.name), *(skill.name for skill, _ in self.retired)]


def sort_out(answer: SkillAnswer, skill_handles: SkillHandles) -> tuple[list[Operation], list[Refusal]]:
    """Return the operations that an answer asks for, and why others cannot be."""
    refused: list[Refusal] = []
    saves: dict[str, Operation] = {}
    asked: dict[str, str] = {}
    failed: set[str] = set()
    for draft in answer.saves:
        made = _saving(draft, skill_handles)
        if isinstance(made, Operation) and made.name in saves:
            made = Refusal(Refused.HANDLE_REUSED, f"{quoted_name(made.name)} is saved twice")
        if isinstance(made, Refusal):
            refused.append(made.at(draft.number + 1))
            failed |= {draft.name.strip(), clean_skill_name(draft.name)}
            continue
        saves[made.name] = made
        asked |= {draft.name.strip(): made.name, clean_skill_name(draft.name): made.name}
    leaving = {skill_handles.shown[one.handle].name for one in answer.retirements if one.handle in skill_handles.shown}
    gone: set[str] = set()
    prunes: list[Operation] = []
    for one in answer.retirements:
        found = _successor(one, skill_handles, saves, asked, leaving)
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
            number = len(answer.saves) + len(answer.refused) + one.number + 1
            operation = Operation(number=number, name=successor, target=skill_handles.active(successor))
            prunes.append(operation)
        operation.retired.append((skill, one.reason))
    return [*saves.values(), *prunes], refused


def _saving(draft: SkillDraft, skill_handles: SkillHandles) -> Operation | Refusal:
    fault = skill_handles.fault(draft.sources)
    if fault is not None:
        return fault
    sources = tuple(skill_handles.shown[handle] for handle in draft.sources)
    target = skill_handles.named(draft.name)
    if target is not None:
        return Operation(number=draft.number + 1, name=target.name, target=target, draft=draft, sources=sources)
    name = clean_skill_name(draft.name)
    if not name or name in skill_handles.handles:
        return Refusal(Refused.INVALID_CONTENT, f"item {draft.number} has no name that can be stored")
    if not skill_handles.taken.isdisjoint({name, draft.name.strip().casefold()}):
        return Refusal(Refused.NAME_TAKEN, quoted_name(name))
    return Operation(number=draft.number + 1, name=name, target=None, draft=draft, sources=sources)


def _successor(
    one: Retirement,
    skill_handles: SkillHandles,
    saves: Mapping[str, Operation],
    asked: Mapping[str, str],
    leaving: Collection[str],
) -> tuple[Skill, str] | Refusal:
    """Return what goes and the name of what takes its place, or why it stays."""
    fault = skill_handles.fault([one.handle])
    if fault is not None:
        return fault
    skill = skill_handles.shown[one.handle]
    named = skill_handles.named(one.replaced_by)
    successor = named.name if named is not None else asked.get(one.replaced_by, one.replaced_by)
    if skill.name in saves:
        return Refusal(Refused.HANDLE_REUSED, f"{skill.name} is both saved and retired")
    if successor in leaving or not (successor in saves or successor in skill_handles.live):
        return Refusal(Refused.NO_REPLACEMENT, skill.name)
    return skill, successor


_FEWEST_SIBLINGS = 2
"""A skill that takes the place of none is a guide to so many others at least."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillJudgeInput:
    """What operations are judged by.

    Args:
        skill_handles: The skills of the batch.
        declined: Marks of what people took back.
        vocabulary: Which words are ordinary.
        as_of: The instant the run judges by.
        new_id: Returns a fresh record id.
    """

    skill_handles: SkillHandles
    declined: frozenset[str]
    vocabulary: Vocabulary
    as_of: datetime
    new_id: Callable[[], str]


def counts_of(change_sets: Sequence[ChangeSet]) -> Notes:
    """Return what change sets do to skills, for the report."""
    kinds = [one.operation for one in change_sets]
    retired = [
        change
        for one in change_sets
        for change in one.changes
        if isinstance(change.after, Skill) and change.after.status is not Status.ACTIVE
    ]
    return {"retired": len(retired), "rewritten": kinds.count(REWRITE), "guides": kinds.count(GUIDE)}


@dataclass(frozen=True, slots=True)
class FitOperation:
    """An operation, and what the skill says afterwards."""

    operation: Operation
    summary: str
    content: str


def judge(
    operations: Sequence[Operation], judge_input: SkillJudgeInput
) -> tuple[list[Item[FitOperation]], list[Refusal]]:
    """Judge by words what an answer asks for."""
    items: list[Item[FitOperation]] = []
    refused: list[Refusal] = []
    for operation in operations:
        made = _judged(operation, judge_input)
        if isinstance(made, Refusal):
            refused.append(made.at(operation.number))
        else:
            items.append(made)
    return items, refused


def _judged(operation: Operation, judge_input: SkillJudgeInput) -> Item[FitOperation] | Refusal:
    undone = respects_undo(
        ChangeSet(operation=operation.kind, changes=(), fingerprints=operation.marks()),
        Knowledge(declined=judge_input.declined),
    )
    fit = Refusal.of(Refused.UNDONE_BY_PERSON, operation.names()) if undone else _fit(operation)
    if isinstance(fit, Refusal):
        return fit
    assertion = _assertion(fit, judge_input)
    if assertion is None:
        return Item(number=operation.number, value=fit)
    found = verdict_of(", ".join(operation.names()[:3]), assertion, judge_input.vocabulary)
    if isinstance(found, Refusal):
        return found
    return Item(number=operation.number, value=fit, verdict=found, assertion=assertion)


def _fit(operation: Operation) -> FitOperation | Refusal:
    """Return what the skill says afterwards, or why it cannot be stored."""
    draft, target = operation.draft, operation.target
    content = target.content if target is not None else None
    summary = target.summary if target is not None else None
    if draft is not None:
        content = content if draft.content is None else storable(draft.content)
        summary = one_line(draft.summary) or summary
    if content is None or summary is None:
        return Refusal.of(Refused.INVALID_CONTENT, operation.names())
    if target is None and not operation.retired and len(operation.sources) < _FEWEST_SIBLINGS:
        return Refusal.of(Refused.NO_SOURCES, operation.names())
    return FitOperation(operation, summary, content)


def _assertion(fit: FitOperation, judge_input: SkillJudgeInput) -> Assertion | None:
    """Return what has to hold of the text: it tells all of the skills that it is made of, and no more.

    A guide takes the place of none: it tells of what its siblings say. None if nothing is worded anew.
    """
    operation, target = fit.operation, fit.operation.target
    says_the_same = target is not None and (fit.summary, fit.content) == (target.summary, target.content)
    if says_the_same and not operation.retired:
        return None
    befores = _befores(operation)
    is_new_text = target is None or fit.content != target.content
    sources = operation.sources if is_new_text else ()
    made_of = [*befores, *(skill for skill in sources if skill.id not in {one.id for one in befores})]
    text = skill_text(fit.summary, fit.content, [skill.name for skill in made_of] if befores else ())
    shown = judge_input.skill_handles.shown.values()
    others = [skill for skill in shown if skill.id not in {one.id for one in made_of}]
    return Assertion(
        text=text,
        evidence=(*map(skill_line, made_of), *beside_of(text, others), *named_line(operation.name, text)),
        whole=bool(befores),
    )


def changes_of(fit: Sequence[FitOperation], judge_input: SkillJudgeInput) -> list[ChangeSet]:
    """Return the changes of operations; skills that go into the same one, each judged by itself, go together."""
    joined: dict[str, FitOperation] = {}
    for one in fit:
        operation = one.operation
        known = joined.get(operation.name)
        if known is None:
            joined[operation.name] = replace(one, operation=replace(operation, retired=[*operation.retired]))
        else:
            known.operation.retired += operation.retired
    return _Changes(judge_input, list(joined.values())).all()


class _Changes:
    """Makes the changes of operations that were judged fit, each record touched by one of them at most."""

    def __init__(self, judge_input: SkillJudgeInput, fit: Sequence[FitOperation]) -> None:
        self._judge_input = judge_input
        self._fit = fit
        operations = [one.operation for one in fit]
        self._moved = {skill.name: one.name for one in operations for skill, _ in one.retired}
        self._names = (judge_input.skill_handles.live - self._moved.keys()) | {one.name for one in operations}
        self._touched = {skill.id for one in operations for skill in _befores(one)}

    def all(self) -> list[ChangeSet]:
        """Return the change sets, in order."""
        made = [self._change_set(one.operation, one) for one in self._fit]
        return [one for one in made if one is not None]

    def _change_set(self, operation: Operation, text: FitOperation) -> ChangeSet | None:
        changes: list[Change[Skill]] = []
        target = operation.target
        after = self._afterwards(operation, text)
        if after != target:
            changes.append(Change(before=target, after=after, reason=_reason(operation)))
        changes += [
            Change(before=skill, after=self._retired(skill, operation.name), reason=why or f"{operation.name} says it")
            for skill, why in operation.retired
        ]
        if not changes:
            return None
        changes += self._relinked({skill.name for skill, _ in operation.retired})
        prints = {record_id or after.id: mark for record_id, mark in operation.marks().items()}
        return ChangeSet(operation=operation.kind, changes=tuple(changes), fingerprints=prints)

    def _afterwards(self, operation: Operation, text: FitOperation) -> Skill:
        befores = _befores(operation)
        trust = min((skill.trust for skill in befores), default=Trust.INFERRED)
        made_of = min((skill.trust for skill in operation.sources), default=Trust.STATED)
        used = max((skill.last_used_at for skill in befores if skill.last_used_at), default=None)
        created = min((skill.created_at for skill in befores), default=self._judge_input.as_of)
        target, see_also = operation.target, self._links(operation)
        if target is None:
            return Skill(
                id=self._judge_input.new_id(),
                scope=next(iter(self._judge_input.skill_handles.shown.values())).scope,
                name=operation.name,
                summary=text.summary,
                content=text.content,
                created_at=created,
                last_used_at=used,
                see_also=see_also,
                trust=min(trust, made_of),
            )
        says = (text.summary, text.content)
        changed = says != (target.summary, target.content)
        return replace(
            target,
            summary=text.summary,
            content=text.content,
            created_at=created,
            updated_at=self._judge_input.as_of if changed else target.updated_at,
            last_used_at=used,
            see_also=see_also,
            trust=min(trust, made_of) if changed else target.trust,
        )

    def _links(self, operation: Operation) -> tuple[str, ...]:
        """Return the related skills that there are: those given, or else those there were; of a merge, both."""
        given = operation.draft.see_also if operation.draft is not None else ()
        had = [name for skill in _befores(operation) for name in skill.see_also]
        shown = {handle: skill.name for handle, skill in self._judge_input.skill_handles.shown.items()}
        wanted = [shown.get(name, name) for name in given]
        if operation.retired or not wanted:
            wanted += had
        names = {self._moved.get(name, name) for name in wanted} & self._names
        return tuple(sorted(names - {operation.name}))

    def _retired(self, skill: Skill, successor: str) -> Skill:
        return replace(
            skill,
            status=Status.ARCHIVED,
            status_reason=f"{successor} took its place",
            successor=successor,
            status_at=self._judge_input.as_of,
        )

    def _relinked(self, retired: set[str]) -> list[Change[Skill]]:
        """Have skills outside the answer that lead to a retired one lead to what took its place."""
        changes: list[Change[Skill]] = []
        for skill in self._judge_input.skill_handles.leading:
            if skill.id in self._touched or retired.isdisjoint(skill.see_also):
                continue
            self._touched.add(skill.id)
            names = {self._moved.get(name, name) for name in skill.see_also} & self._names
            after = replace(skill, see_also=tuple(sorted(names - {skill.name})))
            changes.append(Change(before=skill, after=after, reason="what it led to has a successor"))
        return changes


def _befores(operation: Operation) -> list[Skill]:
    return [skill for skill, _ in operation.retired] + ([] if operation.target is None else [operation.target])


def _reason(operation: Operation) -> str:
    if operation.retired:
        return f"took over {', '.join(skill.name for skill, _ in operation.retired)}"
    return "worded or linked better" if operation.target is not None else "tells which of its relatives to use when"


def after_state(shown: Mapping[str, Skill], change_sets: Sequence[ChangeSet]) -> tuple[list[Skill], list[str]]:
    """Return the active skills that a batch leaves, new ones included, and the ids of those that go."""
    left = {skill.id: skill for skill in shown.values()}
    for change in (change for one in change_sets for change in one.changes):
        # Others, which are only led elsewhere, were not reviewed.
        if isinstance(change.after, Skill) and (change.before is None or change.record_id in left):
            left[change.record_id] = change.after
    gone = [record_id for record_id, skill in left.items() if skill.status is not Status.ACTIVE]
    return [skill for skill in left.values() if skill.status is Status.ACTIVE], gone
