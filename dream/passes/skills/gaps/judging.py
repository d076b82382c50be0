"""From an answer to new skills: each item is held against the turns it cites and the names there are."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from agentcore.domain.conversation import Turn
from agentcore.domain.memory import Trust
from agentcore.domain.skill import Skill
from dream.domain.change import Change, ChangeSet
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.guards.detail import DetailKind
from dream.guards.names import Vocabulary
from dream.passes.skills.answers import SkillDraft, one_line, quoted_name, storable
from dream.passes.skills.coverage import compare_skills
from dream.passes.skills.gaps.prompt import OpeningTurn
from dream.passes.skills.skill_names import clean_skill_name, name_mark

CREATE = "skill-gap"
_FEWEST_SESSIONS = 2
_PEOPLE = "user"
_NEVER_INVENTED = frozenset({DetailKind.URL.value, DetailKind.EMAIL.value})


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillRules:
    """What items are judged by.

    Args:
        shown: Turns by handle.
        handles: All handles that were given, those of turns that changed meanwhile included.
        taken: Names, in small letters, that a skill has or once had.
        vocabulary: Which words are ordinary.
        as_of: The instant the run judges by.
        new_id: Returns a fresh record id.
    """

    shown: Mapping[str, OpeningTurn]
    handles: frozenset[str]
    taken: frozenset[str]
    vocabulary: Vocabulary
    as_of: datetime
    new_id: Callable[[], str]


def judged(drafts: Sequence[SkillDraft], terms: SkillRules) -> tuple[list[ChangeSet], list[Refusal]]:
    """Return the skills that hold, and why the others are refused."""
    made: list[ChangeSet] = []
    refused: list[Refusal] = []
    names: set[str] = set()
    for draft in drafts:
        verdict = _skill(draft, terms, names)
        if isinstance(verdict, Refusal):
            refused.append(verdict.at(draft.number + 1))
            continue
        names.add(verdict.name)
        sessions = len({terms.shown[handle].turn.session_id for handle in draft.sources})
        change = Change[Skill](before=None, after=verdict, reason=f"asked for in {sessions} sessions")
        mark = name_mark(CREATE, verdict.name)
        made.append(ChangeSet(operation=CREATE, changes=(change,), fingerprints={verdict.id: mark}))
    return made, refused


def _skill(draft: SkillDraft, terms: SkillRules, names: set[str]) -> Skill | Refusal:
    name, summary, content = clean_skill_name(draft.name), one_line(draft.summary), storable(draft.content)
    if not name or summary is None or content is None:
        return Refusal(Refused.INVALID_CONTENT, f"item {draft.number} has no name, summary or content to be stored")
    if name in names or not terms.taken.isdisjoint({name, draft.name.strip().casefold()}):
        return Refusal(Refused.NAME_TAKEN, quoted_name(name))
    turns = _evidence(draft, terms)
    if isinstance(turns, Refusal):
        return turns
    found = compare_skills([], content, terms.vocabulary, backing=[one.turn.content for one in terms.shown.values()])
    invented = [detail.kind for detail in found.invented if detail.kind in _NEVER_INVENTED]
    if invented:
        return Refusal(Refused.INVENTED_DETAIL, f"{quoted_name(name)}: {', '.join(invented)}")
    return Skill(
        id=terms.new_id(),
        scope=turns[0].scope,
        name=name,
        summary=summary,
        content=content,
        created_at=terms.as_of,
        # The steps are the model's own words, whoever asked for them.
        trust=min(Trust.INFERRED, *(turn.trust for turn in turns)),
    )


def _evidence(draft: SkillDraft, terms: SkillRules) -> list[Turn] | Refusal:
    """Return the users' turns that a draft cites, or why they prove nothing."""
    unknown = [handle[:40] for handle in draft.sources if handle not in terms.handles]
    if unknown:
        return Refusal.of(Refused.UNKNOWN_HANDLE, unknown)
    if not draft.sources:
        return Refusal(Refused.NO_SOURCES, quoted_name(draft.name))
    stale = [handle for handle in draft.sources if handle not in terms.shown]
    if stale:
        return Refusal.of(Refused.STALE_SOURCE, stale)
    cited = [terms.shown[handle] for handle in draft.sources]
    asked = [one for one in cited if one.turn.role == _PEOPLE and not one.turn.generated]
    if not any(one.is_new for one in asked):
        return Refusal(Refused.TOO_FEW_CITATIONS, f"{quoted_name(draft.name)} cites no new turn of a user")
    sessions = {one.turn.session_id for one in asked}
    if len(sessions) < _FEWEST_SESSIONS:
        return Refusal(Refused.TOO_FEW_SESSIONS, f"{quoted_name(draft.name)}: {len(sessions)}")
    return [one.turn for one in cited]
