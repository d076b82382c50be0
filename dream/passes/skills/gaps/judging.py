"""From an answer to new skills: each item is held against the turns it cites and the names there are."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from agentcore.domain.conversation import Turn
from agentcore.domain.evidence import SourceKind, SourceRef
from agentcore.domain.memory import Trust
from agentcore.domain.skill import Skill
from dream.domain.change import Change, ChangeSet
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.domain.verification import Assertion, EvidenceLine
from dream.guards.names import Vocabulary
from dream.passes.exchange_state import Item
from dream.passes.skills.answers import SkillDraft, one_line, quoted_name, storable
from dream.passes.skills.gaps.prompt import OpeningTurn
from dream.passes.skills.procedure import skill_text, verdict_of
from dream.passes.skills.skill_names import clean_skill_name, name_mark

CREATE = "skill-gap"
_FEWEST_SESSIONS = 2
_PEOPLE = "user"


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


@dataclass(frozen=True, slots=True)
class NewSkill:
    """A skill that may be written, and in how many sessions it was asked for."""

    skill: Skill
    sessions: int


def judge(drafts: Sequence[SkillDraft], terms: SkillRules) -> tuple[list[Item[NewSkill]], list[Refusal]]:
    """Judge new skills by words, each by itself."""
    items: list[Item[NewSkill]] = []
    refused: list[Refusal] = []
    names: set[str] = set()
    for draft in drafts:
        made = _item(draft, terms, names)
        if isinstance(made, Refusal):
            refused.append(made.at(draft.number + 1))
        else:
            names.add(made.value.skill.name)
            items.append(made)
    return items, refused


def change_set(new: NewSkill) -> ChangeSet:
    """Return the change that writes a skill."""
    change = Change[Skill](before=None, after=new.skill, reason=f"asked for in {new.sessions} sessions")
    return ChangeSet(
        operation=CREATE, changes=(change,), fingerprints={new.skill.id: name_mark(CREATE, new.skill.name)}
    )


def _item(draft: SkillDraft, terms: SkillRules, names: set[str]) -> Item[NewSkill] | Refusal:
    name, summary, content = clean_skill_name(draft.name), one_line(draft.summary), storable(draft.content)
    if not name or summary is None or content is None:
        return Refusal(Refused.INVALID_CONTENT, f"item {draft.number} has no name, summary or content to be stored")
    if name in names or not terms.taken.isdisjoint({name, draft.name.strip().casefold()}):
        return Refusal(Refused.NAME_TAKEN, quoted_name(name))
    turns = _evidence(draft, terms)
    if isinstance(turns, Refusal):
        return turns
    assertion = _assertion(skill_text(summary, content), turns, terms)
    verdict = verdict_of(quoted_name(name), assertion, terms.vocabulary)
    if isinstance(verdict, Refusal):
        return verdict
    skill = Skill(
        id=terms.new_id(),
        scope=turns[0].scope,
        name=name,
        summary=summary,
        content=content,
        created_at=terms.as_of,
        # The steps are the model's own words, whoever asked for them.
        trust=min(Trust.INFERRED, *(turn.trust for turn in turns)),
    )
    value = NewSkill(skill, len({turn.session_id for turn in turns}))
    return Item(number=draft.number + 1, value=value, verdict=verdict, assertion=assertion)


def _assertion(text: str, cited: Sequence[Turn], terms: SkillRules) -> Assertion:
    """Return what has to hold of a new skill: it does what the cited turns ask for, in steps that may be its own.

    The other turns of their sessions stand beside: they show what an answer was, and what it was corrected to.
    """
    ids, sessions = {turn.id for turn in cited}, {turn.session_id for turn in cited}
    turns = [one.turn for one in terms.shown.values() if one.turn.session_id in sessions]
    return Assertion(
        text=text,
        evidence=tuple(_line(turn, is_beside=turn.id not in ids) for turn in turns),
        adds=True,
    )


def _line(turn: Turn, *, is_beside: bool) -> EvidenceLine:
    return EvidenceLine(
        text=turn.content,
        speaker=turn.speaker,
        role=turn.role,
        said_at=turn.occurred_at,
        is_beside=is_beside,
        source=SourceRef(SourceKind.TURN, turn.id),
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
