"""Rewrites judged: what a skill says stays, but for what a failure says is wrong."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from agentcore.domain.memory import Status, Trust
from agentcore.domain.skill import Skill
from agentcore.domain.text import normalise
from dream.domain.change import Change, ChangeSet, fingerprint
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.domain.rounds import ShownPart
from dream.domain.verification import Assertion, EvidenceLine
from dream.guards.names import Vocabulary
from dream.guards.verdict import Verdict
from dream.passes.exchange_state import Item
from dream.passes.skills.answers import SkillAnswer, SkillDraft, one_line, storable
from dream.passes.skills.optimization.packing import REWRITE, RewriteCandidate, section_id
from dream.passes.skills.optimization.prompt import failure_text, retry_text
from dream.passes.skills.procedure import skill_line, skill_text, verdict_of


@dataclass(frozen=True, slots=True, kw_only=True)
class RewriteJudgeInput:
    """What rewrites are judged by.

    Args:
        shown: Candidates that are as they were packed, by handle.
        handles: All handles that were given.
        tried: Texts that were taken back before, by the name of their skill.
        vocabulary: Which words are ordinary.
    """

    shown: Mapping[str, RewriteCandidate]
    handles: frozenset[str]
    tried: Mapping[str, Sequence[str]]
    vocabulary: Vocabulary


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A rewrite that may be made.

    Args:
        candidate: The skill, with what speaks against it.
        summary: Its new summary.
        content: Its new text.
    """

    candidate: RewriteCandidate
    summary: str
    content: str


def judge(answer: SkillAnswer, judge_input: RewriteJudgeInput) -> tuple[list[Item[Rewrite]], list[Refusal]]:
    """Judge by words the items of an answer, each by itself."""
    refused = [*answer.refused, *(Refusal(Refused.NO_REPLACEMENT, one.handle[:40]) for one in answer.retirements)]
    items: list[Item[Rewrite]] = []
    taken: set[str] = set()
    for draft in answer.saves:
        made = _item(draft, judge_input, taken)
        if isinstance(made, Refusal):
            refused.append(made.at(draft.number + 1))
        elif made is not None:
            items.append(made)
    return items, refused


def _item(draft: SkillDraft, judge_input: RewriteJudgeInput, taken: set[str]) -> Item[Rewrite] | Refusal | None:
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
    made = Rewrite(found, one_line(draft.summary) or skill.summary, content)
    verdict = _verdict(made, judge_input)
    if isinstance(verdict, Refusal):
        return verdict
    return Item(number=draft.number + 1, value=made, verdict=verdict, assertion=_assertion(made))


def _verdict(rewrite: Rewrite, judge_input: RewriteJudgeInput) -> Verdict | Refusal:
    candidate = rewrite.candidate
    skill = candidate.skill
    if normalise(rewrite.content) in {normalise(text) for text in judge_input.tried.get(skill.name, ())}:
        return Refusal(Refused.WORKED_WORSE, skill.name)
    # What a failure calls wrong may go; which part of a skill it means, a second reading tells. An address that
    # a tool was called with is data, and no step of a skill.
    words = _assertion(replace(rewrite, candidate=replace(candidate, retries=())))
    has_failed = bool(candidate.failures or candidate.retries)
    return verdict_of(skill.name, words, judge_input.vocabulary, may_lose=has_failed)


def _assertion(rewrite: Rewrite) -> Assertion:
    """Return what has to hold of a rewrite: it keeps what no failure calls wrong, and may bring steps of its own."""
    candidate = rewrite.candidate
    told = [EvidenceLine(text=failure_text(one), role="failure", said_at=one.occurred_at) for one in candidate.failures]
    told += [
        EvidenceLine(text=retry_text(one), role="failure", said_at=one.worked.occurred_at) for one in candidate.retries
    ]
    return Assertion(
        text=skill_text(rewrite.summary, rewrite.content, [candidate.skill.name]),
        evidence=(skill_line(candidate.skill), *told),
        whole=True,
        adds=True,
    )


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


def joined(
    whole: RewriteCandidate, places: Sequence[ShownPart], rewrites: Mapping[str, Rewrite], tried: Sequence[str]
) -> Rewrite | Refusal | None:
    """Return a skill with the sections that were rewritten in their places; None if none was.

    Args:
        whole: The skill.
        places: Where its sections stand.
        rewrites: The rewritten ones by the id of their section.
        tried: Texts of it that were taken back before.
    """
    if not rewrites:
        return None
    text, at, parts = whole.skill.content, 0, list[str]()
    for number, place in enumerate(places, 1):
        new = rewrites.get(section_id(whole.skill, number))
        parts += [text[at : place.start], text[place.start : place.end] if new is None else new.content]
        at = place.end
    content = "".join((*parts, text[at:]))
    if normalise(content) in map(normalise, tried):
        return Refusal(Refused.WORKED_WORSE, whole.skill.name)
    if storable(content) is None:
        return Refusal(Refused.INVALID_CONTENT, whole.skill.name)
    return Rewrite(whole, whole.skill.summary, content)


def change_set(rewrite: Rewrite, as_of: datetime, new_id: Callable[[], str]) -> ChangeSet:
    """Return the changes of a rewrite: the text there was is kept, for it is on trial."""
    candidate, summary, content = rewrite.candidate, rewrite.summary, rewrite.content
    skill = candidate.skill
    count = len(candidate.failures)
    why = f"{count} {'failure' if count == 1 else 'failures'} where it was used" if count else "said too little"
    after = replace(
        skill,
        summary=summary,
        content=content,
        updated_at=as_of,
        # The new steps are the model's own words.
        trust=min(skill.trust, Trust.INFERRED),
    )
    former = replace(
        skill,
        id=new_id(),
        status=Status.SUPERSEDED,
        status_reason=f"rewritten: {why}",
        successor=skill.name,
        status_at=as_of,
        version=1,
    )
    changes = (
        Change[Skill](before=skill, after=after, reason=why),
        Change[Skill](before=None, after=former, reason=f"{skill.name} as it was: {why}"),
    )
    return ChangeSet(operation=REWRITE, changes=changes, fingerprints={skill.id: fingerprint(REWRITE, skill)})
