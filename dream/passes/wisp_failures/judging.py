"""The answer judged: what the model says of each pattern, and what becomes of the skills."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, TypeVar, cast

from agentcore.domain.memory import Trust
from agentcore.domain.signals import FailureCategory
from agentcore.domain.skill import Skill
from agentcore.domain.text import clean_content
from agentcore.errors import InvalidContentError
from dream.domain.change import Change, ChangeSet
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.domain.rounds import Answer
from dream.guards.detail import DetailKind
from dream.guards.merge_coverage import coverage
from dream.guards.names import Vocabulary
from dream.guards.secrets import secret_in
from dream.passes.answers import AnswerItem, read_item
from dream.passes.wisp_failures.patterns import (
    ANNOTATE,
    FailureCase,
    annotation_mark,
    holds_section,
    is_fence,
    section_text,
    with_section,
    without_section,
)
from dream.passes.wisp_failures.prompt import AnnotationItem, ClassItem

T = TypeVar("T", bound=AnswerItem)
LONGEST: Final = 1_000
"""Characters of an annotation."""
_MOST_ITEMS: Final = 200
_SHOWN: Final = 40
_NEVER_INVENTED: Final = frozenset({DetailKind.URL, DetailKind.EMAIL})


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureJudgeInput:
    """What an answer is judged by.

    Args:
        cases: The patterns shown, by handle.
        skills: The skills shown that are as they were packed, by handle.
        handles: All handles of skills that were given.
        catalogue: All active skills.
        vocabulary: Which words are ordinary.
        as_of: The instant the run judges by.
    """

    cases: Mapping[str, FailureCase]
    skills: Mapping[str, Skill]
    handles: frozenset[str]
    catalogue: Sequence[Skill]
    vocabulary: Vocabulary
    as_of: datetime


@dataclass(slots=True)
class JudgedFailures:
    """What becomes of an answer: classes by the patterns' handles, changes, refusals."""

    classes: dict[str, FailureCategory] = field(default_factory=dict[str, FailureCategory])
    change_sets: list[ChangeSet] = field(default_factory=list[ChangeSet])
    annotated: dict[str, str] = field(default_factory=dict[str, str])
    refused: list[Refusal] = field(default_factory=list[Refusal])


def judge(answer: Answer, judge_input: FailureJudgeInput) -> JudgedFailures | Refusal:
    """Judge an answer item by item; nothing of one in another shape is used."""
    patterns, updates = _items(answer, "patterns", ClassItem), _items(answer, "skillUpdates", AnnotationItem)
    if patterns is None or updates is None:
        return Refusal(Refused.BROKEN_ANSWER, 'it has no lists "patterns" and "skillUpdates"')
    judged = JudgedFailures()
    for item in patterns:
        refusal = _classify(item, judge_input, judged)
        if refusal is not None:
            judged.refused.append(refusal)
    named = {item.pattern for item in patterns}
    passed_over = [handle for handle in judge_input.cases if handle not in named]
    if passed_over:
        judged.refused.append(Refusal(Refused.INVALID_CONTENT, f"{', '.join(passed_over)}: given no class"))
    touched: set[str] = set()
    for item in updates:
        made = _annotate(item, judge_input, judged, touched)
        if isinstance(made, Refusal):
            judged.refused.append(made)
        elif made is not None:
            judged.change_sets.append(made)
    return judged


def _items(answer: Answer, name: str, item: type[T]) -> list[T] | None:
    given: object = answer.get(name)
    if not isinstance(given, list) or len(cast("list[object]", given)) > _MOST_ITEMS:
        return None
    listed = cast("list[object]", given)
    # What is no object names no pattern, and is refused for that.
    values: list[object] = [value if isinstance(value, dict) else dict[str, object]() for value in listed]
    read = [read_item(item, number, value) for number, value in enumerate(values, 1)]
    return [one for one in read if not isinstance(one, Refusal)]


def _classify(item: ClassItem, judge_input: FailureJudgeInput, judged: JudgedFailures) -> Refusal | None:
    handle, said = item.pattern, item.classification
    if handle not in judge_input.cases:
        return Refusal(Refused.UNKNOWN_HANDLE, handle[:_SHOWN])
    if handle in judged.classes:
        return Refusal(Refused.HANDLE_REUSED, handle)
    if not isinstance(said, str) or said not in set(FailureCategory):
        return Refusal(Refused.INVALID_CONTENT, f"{handle} is classified as none of {', '.join(FailureCategory)}")
    judged.classes[handle] = FailureCategory(said)
    return None


def _annotate(
    item: AnnotationItem, judge_input: FailureJudgeInput, judged: JudgedFailures, touched: set[str]
) -> ChangeSet | Refusal | None:
    found = _meant(item, judge_input, judged, touched)
    if isinstance(found, Refusal):
        return found
    handle, case, skill = found
    refusal = _fault(item.annotation, case, skill, judge_input.vocabulary)
    if refusal is not None:
        return refusal
    section = section_text(case.pattern, judged.classes[handle], item.annotation)
    content = _storable(with_section(skill.content, case.pattern.key, section))
    if content is None:
        return Refusal(Refused.INVALID_CONTENT, f"{skill.name} would be too long")
    if content == skill.content:
        return None
    change_set = _change_set(case, skill, content, judge_input)
    touched.update(change.record_id for change in change_set.changes)
    judged.annotated[handle] = skill.name
    return change_set


def _meant(
    item: AnnotationItem, judge_input: FailureJudgeInput, judged: JudgedFailures, touched: set[str]
) -> tuple[str, FailureCase, Skill] | Refusal:
    """Return the pattern and the skill that an item is about."""
    handle, name = item.pattern, item.skill
    unknown = [one[:_SHOWN] for one in (handle, name) if one not in judge_input.cases.keys() | judge_input.handles]
    if unknown:
        return Refusal.of(Refused.UNKNOWN_HANDLE, unknown)
    case, skill = judge_input.cases.get(handle), judge_input.skills.get(name)
    if case is None or handle not in judged.classes:
        return Refusal(Refused.NO_SOURCES, f"{handle} is no pattern with a class of its own")
    if skill is None or skill.id not in {one.id for one in case.skills}:
        return Refusal(Refused.CONTEXT_ONLY if skill else Refused.STALE_SOURCE, skill.name if skill else name)
    if judged.classes[handle] is FailureCategory.EXTERNAL:
        return Refusal(Refused.NOT_LEARNABLE, case.pattern.description[:_SHOWN])
    if handle in judged.annotated or skill.id in touched:
        return Refusal(Refused.HANDLE_REUSED, f"{handle} or {skill.name}")
    return handle, case, skill


def _fault(annotation: str, case: FailureCase, skill: Skill, vocabulary: Vocabulary) -> Refusal | None:
    """Return why an annotation must not stand in a skill, or None."""
    if not annotation or len(annotation) > LONGEST or is_fence(annotation):
        return Refusal(Refused.INVALID_CONTENT, f"the annotation of {skill.name}")
    secret = secret_in(annotation)
    if secret is not None:
        return Refusal(Refused.SECRET, f"{secret} in the annotation of {skill.name}")
    # What failed tools say came from outside: an address in it is data, and no step of a skill.
    shown = [skill.name, skill.summary, skill.content, *(run.description for run in case.pattern.failures)]
    invented = [one for one in coverage(shown, annotation, vocabulary).invented if one.kind in _NEVER_INVENTED]
    if invented:
        return Refusal(Refused.INVENTED_DETAIL, f"{skill.name}: {len(invented)} addresses")
    return None


def _storable(content: str) -> str | None:
    try:
        return clean_content(content)
    except InvalidContentError:
        return None


def _change_set(case: FailureCase, skill: Skill, content: str, judge_input: FailureJudgeInput) -> ChangeSet:
    """Write the section into its skill, and take the former one on the same pattern out of any other."""
    pattern = case.pattern
    why = f"{len(pattern.failures)} of {pattern.runs} wisp runs failed in the same way"
    changes = [Change[Skill](before=skill, after=_rewritten(skill, content, judge_input.as_of), reason=why)]
    for other in judge_input.catalogue:
        if other.id != skill.id and holds_section(other.content, pattern.key):
            text = without_section(other.content, pattern.key) or other.summary
            moved = f"its note on these failures stands in {skill.name} now"
            changes.append(Change[Skill](before=other, after=_rewritten(other, text, judge_input.as_of), reason=moved))
    marks = {skill.id: annotation_mark(skill, pattern.key)}
    return ChangeSet(operation=ANNOTATE, changes=tuple(changes), fingerprints=marks)


def _rewritten(skill: Skill, content: str, as_of: datetime) -> Skill:
    # What failed tools say stands behind the words of the model.
    return replace(skill, content=content, updated_at=as_of, trust=min(skill.trust, Trust.INFERRED))
