"""The answer judged: what the model says of each pattern, and what becomes of the skills."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
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
from dream.domain.verification import Assertion, EvidenceLine
from dream.guards.names import Vocabulary
from dream.guards.secrets import secret_in
from dream.guards.verdict import Verdict
from dream.passes.answers import AnswerItem, read_item
from dream.passes.exchange_state import Item
from dream.passes.skills.procedure import skill_line, verdict_of
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
from dream.passes.wisp_failures.prompt import AnnotationItem, ClassItem, failure_text

T = TypeVar("T", bound=AnswerItem)
LONGEST: Final = 1_000
"""Characters of an annotation."""
_MOST_ITEMS: Final = 200
_SHOWN: Final = 40
_MOST_FAILURES: Final = 5
"""Failures of a pattern that an annotation is judged by, the newest."""
UPDATES: Final = "skillUpdates"
"""The list of annotations."""


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


@dataclass(frozen=True, slots=True)
class Annotation:
    """What a skill is to be told of a pattern.

    Args:
        handle: The pattern's.
        skill: The skill.
        change_set: What tells it.
    """

    handle: str
    skill: Skill
    change_set: ChangeSet


def classified(
    answer: Answer, judge_input: FailureJudgeInput
) -> tuple[dict[str, FailureCategory], list[Refusal]] | Refusal:
    """Return the class of each pattern by its handle, and why others have none; of another shape nothing is used."""
    patterns = _items(answer, "patterns", ClassItem)
    if patterns is None or _items(answer, UPDATES, AnnotationItem) is None:
        return Refusal(Refused.BROKEN_ANSWER, f'it has no lists "patterns" and "{UPDATES}"')
    classes: dict[str, FailureCategory] = {}
    refused = [one for item in patterns if (one := _classify(item, judge_input, classes)) is not None]
    named = {item.pattern for item in patterns}
    passed_over = [handle for handle in judge_input.cases if handle not in named]
    if passed_over:
        refused.append(Refusal(Refused.INVALID_CONTENT, f"{', '.join(passed_over)}: given no class"))
    return classes, refused


def judge(answer: Answer, judge_input: FailureJudgeInput) -> tuple[list[Item[Annotation]], list[Refusal]]:
    """Judge by words the annotations of an answer."""
    found = classified(answer, judge_input)
    if isinstance(found, Refusal):
        return [], [found]
    classes, refused = found
    items: list[Item[Annotation]] = []
    for item in _items(answer, UPDATES, AnnotationItem) or ():
        made = _annotate(item, judge_input, classes, [one.value for one in items])
        if isinstance(made, Refusal):
            refused.append(made.at(item.number))
        elif made is not None:
            items.append(made)
    return items, refused


def _items(answer: Answer, name: str, item: type[T]) -> list[T] | None:
    given: object = answer.get(name)
    if not isinstance(given, list) or len(cast("list[object]", given)) > _MOST_ITEMS:
        return None
    listed = cast("list[object]", given)
    # What is no object names no pattern, and is refused for that.
    values: list[object] = [value if isinstance(value, dict) else dict[str, object]() for value in listed]
    read = [read_item(item, number, value) for number, value in enumerate(values, 1)]
    return [one for one in read if not isinstance(one, Refusal)]


def _classify(item: ClassItem, judge_input: FailureJudgeInput, classes: dict[str, FailureCategory]) -> Refusal | None:
    handle, said = item.pattern, item.classification
    if handle not in judge_input.cases:
        return Refusal(Refused.UNKNOWN_HANDLE, handle[:_SHOWN])
    if handle in classes:
        return Refusal(Refused.HANDLE_REUSED, handle)
    if not isinstance(said, str) or said not in set(FailureCategory):
        return Refusal(Refused.INVALID_CONTENT, f"{handle} is classified as none of {', '.join(FailureCategory)}")
    classes[handle] = FailureCategory(said)
    return None


def _annotate(
    item: AnnotationItem,
    judge_input: FailureJudgeInput,
    classes: Mapping[str, FailureCategory],
    made: Sequence[Annotation],
) -> Item[Annotation] | Refusal | None:
    found = _meant(item, judge_input, classes, made)
    if isinstance(found, Refusal):
        return found
    handle, case, skill = found
    verdict = _fault(item.annotation, skill) or _verdict(item.annotation, case, skill, judge_input.vocabulary)
    if isinstance(verdict, Refusal):
        return verdict
    section = section_text(case.pattern, classes[handle], item.annotation)
    content = _storable(with_section(skill.content, case.pattern.key, section))
    if content is None:
        return Refusal(Refused.INVALID_CONTENT, f"{skill.name} would be too long")
    if content == skill.content:
        return None
    value = Annotation(handle, skill, _change_set(case, skill, content, judge_input))
    return Item(number=item.number, value=value, verdict=verdict, assertion=_assertion(item.annotation, case, skill))


def _verdict(annotation: str, case: FailureCase, skill: Skill, vocabulary: Vocabulary) -> Verdict | Refusal:
    # What failed tools say came from outside: an address in it is data, and no step of a skill.
    told = sorted({run.description for run in case.pattern.failures})
    shown = tuple(EvidenceLine(text=one, role="failure", is_beside=True) for one in told)
    words = Assertion(text=annotation, evidence=(skill_line(skill), *shown), adds=True)
    return verdict_of(skill.name, words, vocabulary)


def _assertion(annotation: str, case: FailureCase, skill: Skill) -> Assertion:
    """Return what has to hold of an annotation: it follows from the failures, in steps that may be its own."""
    failures = (
        EvidenceLine(text=failure_text(run), role="failure", said_at=run.occurred_at)
        for run in case.pattern.failures[-_MOST_FAILURES:]
    )
    return Assertion(text=annotation, evidence=(skill_line(skill), *failures), adds=True)


def _meant(
    item: AnnotationItem,
    judge_input: FailureJudgeInput,
    classes: Mapping[str, FailureCategory],
    made: Sequence[Annotation],
) -> tuple[str, FailureCase, Skill] | Refusal:
    """Return the pattern and the skill that an item is about."""
    handle, name = item.pattern, item.skill
    unknown = [one[:_SHOWN] for one in (handle, name) if one not in judge_input.cases.keys() | judge_input.handles]
    if unknown:
        return Refusal.of(Refused.UNKNOWN_HANDLE, unknown)
    case, skill = judge_input.cases.get(handle), judge_input.skills.get(name)
    if case is None or handle not in classes:
        return Refusal(Refused.NO_SOURCES, f"{handle} is no pattern with a class of its own")
    if skill is None or skill.id not in {one.id for one in case.skills}:
        return Refusal(Refused.CONTEXT_ONLY if skill else Refused.STALE_SOURCE, skill.name if skill else name)
    if classes[handle] is FailureCategory.EXTERNAL:
        return Refusal(Refused.NOT_LEARNABLE, case.pattern.description[:_SHOWN])
    touched = {change.record_id for one in made for change in one.change_set.changes}
    if handle in {one.handle for one in made} or skill.id in touched:
        return Refusal(Refused.HANDLE_REUSED, f"{handle} or {skill.name}")
    return handle, case, skill


def _fault(annotation: str, skill: Skill) -> Refusal | None:
    """Return why an annotation must not stand in a skill, or None."""
    if not annotation or len(annotation) > LONGEST or is_fence(annotation):
        return Refusal(Refused.INVALID_CONTENT, f"the annotation of {skill.name}")
    secret = secret_in(annotation)
    return None if secret is None else Refusal(Refused.SECRET, f"{secret} in the annotation of {skill.name}")


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
