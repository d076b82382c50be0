"""Rewrites judged: what a skill says stays, but for what a failure says is wrong."""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from agentcore.domain.memory import Status, Trust
from agentcore.domain.signals import FeedbackKind
from agentcore.domain.skill import Skill
from agentcore.domain.text import normalise
from dream.domain.change import Change, ChangeSet, fingerprint
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.guards.detail import DetailKind
from dream.guards.names import Vocabulary
from dream.passes.correction_clauses import contradicted
from dream.passes.skills.answers import SkillAnswer, SkillDraft, one_line, storable
from dream.passes.skills.coverage import STEP, SkillCoverage, SkillDetail, compare_skills
from dream.passes.skills.optimization.packing import REWRITE, RewriteCandidate
from dream.passes.skills.optimization.prompt import failure_text
from dream.passes.terms import terms_of

_NEVER_INVENTED = frozenset({DetailKind.URL.value, DetailKind.EMAIL.value})
_OF_PEOPLE = frozenset({FeedbackKind.CORRECTION, FeedbackKind.THUMBS_DOWN})
_CODE = re.compile(r"`[^`]*`")
_EMPHASIS = re.compile(r"\*\*|__")
_STEP_IS_MEANT = 0.5
"""Share of a step's words that a failure repeats if it is about that step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RewriteJudgeInput:
    """What rewrites are judged by.

    Args:
        shown: Candidates that are as they were packed, by handle.
        handles: All handles that were given.
        tried: Texts that were taken back before, by the name of their skill.
        vocabulary: Which words are ordinary.
        as_of: The instant the run judges by.
        new_id: Returns a fresh record id.
    """

    shown: Mapping[str, RewriteCandidate]
    handles: frozenset[str]
    tried: Mapping[str, Sequence[str]]
    vocabulary: Vocabulary
    as_of: datetime
    new_id: Callable[[], str]


@dataclass(slots=True)
class JudgedRewrites:
    """What becomes of an answer: changes, refusals, and what a repair could save, by the place in `toSave`."""

    change_sets: list[ChangeSet] = field(default_factory=list[ChangeSet])
    refused: list[Refusal] = field(default_factory=list[Refusal])
    unfaithful: dict[str, SkillCoverage] = field(default_factory=dict[str, SkillCoverage])

    def after(self, skill: Skill) -> Skill:
        """Return a skill as the changes leave it."""
        changed = {change.record_id: change.after for one in self.change_sets for change in one.changes}
        found = changed.get(skill.id)
        return found if isinstance(found, Skill) else skill


def judge(answer: SkillAnswer, judge_input: RewriteJudgeInput) -> JudgedRewrites:
    """Judge the items of an answer, each by itself."""
    judged = JudgedRewrites(refused=list(answer.refused))
    judged.refused += [Refusal(Refused.NO_REPLACEMENT, one.handle[:40]) for one in answer.retirements]
    taken: set[str] = set()
    for draft in answer.saves:
        made = _rewrite(draft, judge_input, judged, taken)
        if isinstance(made, Refusal):
            judged.refused.append(made.at(draft.number + 1))
        elif made is not None:
            judged.change_sets.append(made)
    return judged


def _rewrite(
    draft: SkillDraft, judge_input: RewriteJudgeInput, judged: JudgedRewrites, taken: set[str]
) -> ChangeSet | Refusal | None:
    found = _meant(draft, judge_input)
    if isinstance(found, Refusal):
        return found
    skill, content = found.skill, storable(draft.content)
    if skill.id in taken:
        return Refusal(Refused.HANDLE_REUSED, skill.name)
    taken.add(skill.id)
    if content is None:
        return Refusal(Refused.INVALID_CONTENT, skill.name)
    if normalise(content) == normalise(skill.content):
        return None
    refusal = _refusal(draft, found, content, judge_input, judged)
    return refusal or _change_set(found, one_line(draft.summary) or skill.summary, content, judge_input)


def _refusal(
    draft: SkillDraft, found: RewriteCandidate, content: str, judge_input: RewriteJudgeInput, judged: JudgedRewrites
) -> Refusal | None:
    """Return why a text must not take the place of the one there is, or None."""
    skill = found.skill
    if normalise(content) in {normalise(text) for text in judge_input.tried.get(skill.name, ())}:
        return Refusal(Refused.WORKED_WORSE, skill.name)
    coverage = _coverage(found, content, judge_input.vocabulary)
    if coverage.faithful:
        return None
    judged.unfaithful[str(draft.number)] = coverage
    code = Refused.LOST_DETAIL if coverage.lost else Refused.INVENTED_DETAIL
    return Refusal(code, f"{skill.name}: {coverage.counted()}")


def _meant(draft: SkillDraft, judge_input: RewriteJudgeInput) -> RewriteCandidate | Refusal:
    """Return the one skill that an item is about."""
    unknown = [handle[:40] for handle in draft.sources if handle not in judge_input.handles]
    if unknown:
        return Refusal.of(Refused.UNKNOWN_HANDLE, unknown)
    if len(draft.sources) != 1:
        return Refusal(Refused.NO_SOURCES, f"item {draft.number} is about {len(draft.sources)} skills")
    found = judge_input.shown.get(draft.sources[0])
    if found is None:
        return Refusal(Refused.STALE_SOURCE, draft.sources[0])
    if draft.name.strip() not in {found.skill.name, draft.sources[0]}:
        return Refusal(Refused.MISMATCHED, f"{found.skill.name} under another name")
    return found


def _coverage(candidate: RewriteCandidate, content: str, vocabulary: Vocabulary) -> SkillCoverage:
    """Compare a rewrite with its skill; it may say more, give no new address, and drop what failures call wrong."""
    failures = [failure_text(one) for one in candidate.failures]
    skill = candidate.skill
    found = compare_skills([skill.content], content, vocabulary, backing=[skill.name, skill.summary, *failures])
    told = "\n".join(failures)
    lost = found.lost
    if lost and failures:
        # What the failures bring and the skill did not have stands in for as much of the same sort.
        news = compare_skills([told], skill.content, vocabulary).lost
        took_over = compare_skills([told], content, vocabulary).lost
        corrected = Counter(detail.kind for detail in set(news) - set(took_over))
        lost = tuple(one for one in _left(lost, candidate) if not _is_wrong(one, told, corrected))
    invented = tuple(detail for detail in found.invented if detail.kind in _NEVER_INVENTED)
    return SkillCoverage(lost=lost, invented=invented)


def _left(lost: Sequence[SkillDetail], candidate: RewriteCandidate) -> list[SkillDetail]:
    """Return what is lost, without the steps that a person objected to and what stands in these alone."""
    said = [failure_text(one) for one in candidate.failures if one.kind in _OF_PEOPLE]
    gone = [one.text for one in lost if one.kind == STEP and contradicted(_CODE.sub(" ", one.text), said)]
    if not gone:
        return list(lost)
    stays = [line for line in candidate.skill.content.splitlines() if not any(_stands_in(step, line) for step in gone)]
    return [
        one
        for one in lost
        if not any(_stands_in(one.text, step) for step in gone) or any(_stands_in(one.text, line) for line in stays)
    ]


def _stands_in(text: str, line: str) -> bool:
    return _EMPHASIS.sub("", text).casefold() in _EMPHASIS.sub("", line).casefold()


def _is_wrong(detail: SkillDetail, told: str, corrected: Counter[str]) -> bool:
    """Tell whether a failure says that a detail is wrong: it names it, or gives another in its place."""
    if detail.kind == STEP:
        words = set(terms_of(detail.text))
        return any(len(words & set(terms_of(line))) >= _STEP_IS_MEANT * len(words) for line in told.splitlines())
    if detail.text.strip("`").casefold() in told.casefold():
        return True
    if corrected[detail.kind]:
        corrected[detail.kind] -= 1
        return True
    return False


def _change_set(candidate: RewriteCandidate, summary: str, content: str, judge_input: RewriteJudgeInput) -> ChangeSet:
    skill = candidate.skill
    count = len(candidate.failures)
    why = f"{count} {'failure' if count == 1 else 'failures'} where it was used" if count else "said too little"
    after = replace(
        skill,
        summary=summary,
        content=content,
        updated_at=judge_input.as_of,
        # The new steps are the model's own words.
        trust=min(skill.trust, Trust.INFERRED),
    )
    former = replace(
        skill,
        id=judge_input.new_id(),
        status=Status.SUPERSEDED,
        status_reason=f"rewritten: {why}",
        successor=skill.name,
        status_at=judge_input.as_of,
        version=1,
    )
    changes = (
        Change[Skill](before=skill, after=after, reason=why),
        Change[Skill](before=None, after=former, reason=f"{skill.name} as it was: {why}"),
    )
    return ChangeSet(operation=REWRITE, changes=changes, fingerprints={skill.id: fingerprint(REWRITE, skill)})
