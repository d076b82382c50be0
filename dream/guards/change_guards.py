"""Holds a proposed change set against the laws, one guard per law.

A guard takes the change set and what the transaction knows, and returns why it must not happen, or None. `GUARDS_OF`
has those of each kind of record, `GUARDS` all of them in the order in which a person would want to hear the reasons.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import chain
from typing import TypeVar, cast

from agentcore.domain.card import CardLine
from agentcore.domain.claim import Claim
from agentcore.domain.conclusion import Footing
from agentcore.domain.conversation import Turn
from agentcore.domain.document import StoredDocument
from agentcore.domain.hypothesis import Hypothesis
from agentcore.domain.memory import MemoryEntry, SourceKind, SourceRef, Status, Trust
from agentcore.domain.records import Record, RecordKind, cited_by
from agentcore.domain.skill import Skill
from agentcore.domain.temporal import Temporal, merge_observations
from agentcore.recall.off_limits import named_topic
from dream.domain.change import Change, ChangeSet
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.guards.card_guard import card_fault
from dream.guards.conclusion_guard import rests_on_premises
from dream.guards.secrets import secret_in
from dream.options import RetentionOptions

R = TypeVar("R", bound=Record)


@dataclass(frozen=True, slots=True, kw_only=True)
class Knowledge:
    """Facts of the transaction and the options that guards judge by.

    Args:
        declined: Fingerprints that a person took back.
        apart: Ids of records that a person said to be distinct, as far as that still holds; a set for each answer.
        protected: Categories that no pass changes.
        turns: Turns that the entries of the change sets cite, by id.
        withheld: Records that are forgotten, or told to nobody since a person asked to forget what they say.
        needed: When those entries that the change sets count as promoted for the first time were recalled last.
        off_limits: Topics about which nothing is to be kept, in the person's words.
        protect_importance: Base importance that makes an entry undroppable: nothing that a pass heard starts there.
        premises: The entries that conclusions of the change sets rest on, by id.
        footings: How those conclusions stand by their premises, by the id of the conclusion.
        depths: How many conclusions they stand on, themselves among them.
        live_skills: Those names of successors that active skills have.
        taken_names: Those names of new skills that a skill has or once had.
        card: Ids of the lines of the card.
    """

    declined: frozenset[str] = frozenset()
    apart: tuple[frozenset[str], ...] = ()
    protected: tuple[str, ...] = ()
    turns: Mapping[str, Turn] = field(default_factory=dict[str, Turn])
    withheld: frozenset[SourceRef] = frozenset()
    needed: Mapping[str, datetime] = field(default_factory=dict[str, datetime])
    off_limits: tuple[str, ...] = ()
    protect_importance: float = 0.8
    premises: Mapping[str, MemoryEntry] = field(default_factory=dict[str, MemoryEntry])
    footings: Mapping[str, Footing] = field(default_factory=dict[str, Footing])
    depths: Mapping[str, int] = field(default_factory=dict[str, int])
    live_skills: frozenset[str] = frozenset()
    taken_names: frozenset[str] = frozenset()
    card: frozenset[str] = frozenset()


def keeps_records(change_set: ChangeSet, _knowledge: Knowledge) -> Refusal | None:
    """Refuse deletions, one record put in another's place, and changes or retirements without a reason."""
    for change in change_set.changes:
        code = _fault(change)
        if code is not None:
            return Refusal(code, change.record_id)
    return None


def _fault(change: Change[Record]) -> Refused | None:
    before, after = change.before, change.after
    if after is None:
        return Refused.DESTROYS
    if before is not None and (type(before), before.id, before.scope) != (type(after), after.id, after.scope):
        return Refused.MISMATCHED
    if not change.reason.strip():
        return Refused.NO_REASON
    if getattr(after, "status", Status.ACTIVE) is not Status.ACTIVE and not getattr(after, "status_reason", None):
        return Refused.NO_REASON
    return None


def _changes(change_set: ChangeSet, of: type[R]) -> list[Change[R]]:
    """Return the changes of one kind of record."""
    return [cast("Change[R]", change) for change in change_set.changes if isinstance(change.record, of)]


def cites_nothing_forgotten(change_set: ChangeSet, knowledge: Knowledge) -> Refusal | None:
    """Refuse what newly rests on a record that was forgotten or is withheld; what rested on it before was spared."""
    if not knowledge.withheld:
        return None
    known = {source for change in change_set.changes for source in cited_by(change.before)}
    for change in change_set.changes:
        if knowledge.withheld.intersection(cited_by(change.after)) - known:
            return Refusal(Refused.FORGOTTEN, change.record_id)
    return None


def keeps_words(change_set: ChangeSet, _knowledge: Knowledge) -> Refusal | None:
    """Refuse turns that nobody said, turns that say something else than before, and reading one a second time."""
    for change in _changes(change_set, Turn):
        before, after = change.before, change.after
        was_read = before is None or before.consumed_at is not None
        if after is None or was_read or after.consumed_at is None or replace(after, consumed_at=None) != before:
            return Refusal(Refused.MISMATCHED, change.record_id)
    return None


_DEFAULT_BASE = 0.5
"""What an entry without sources in the set may start with."""


def raises_nothing(change_set: ChangeSet, knowledge: Knowledge) -> Refusal | None:
    """Refuse entries above what went in: a rewrite above itself, a new entry above the least of its sources.

    Importance is what a reader sees: neither the base nor the instant it fades from may be later or larger than in any
    source. Observations are those of the sources; turns that an entry newly cites are sources too, and each of a
    person is one observation. Generated turns are none. An entry that counts as promoted for the first time was seen
    when it was recalled last.
    """
    changes = _changes(change_set, MemoryEntry)
    before = [change.before for change in changes if change.before is not None]
    observed = dict(merge_observations(Temporal.of(entry).observations for entry in before))
    for change in changes:
        after = change.after
        if after is None:
            continue
        said = _newly_cited(after, before, knowledge)
        if any(turn.generated for turn in said):
            return Refusal(Refused.NOT_EVIDENCE, after.id)
        if after.trust > _most_trust(change, before, said):
            return Refusal(Refused.TRUST_RAISED, after.id)
        if change.before is not None:
            # As in a fold: whoever is trusted less reinforces nothing.
            said = [turn for turn in said if turn.trust >= change.before.trust]
        needed = [knowledge.needed.get(one.entry_id) for one in change_set.promotions if one.entry_id == after.id]
        resting = [knowledge.premises[one.entry_id] for one in after.premises if one.entry_id in knowledge.premises]
        seen = [*(turn.occurred_at for turn in said), *(at for at in needed if at is not None)]
        seen += [premise.last_seen_at for premise in resting]
        if not _has_earned(after, before, seen, knowledge):
            return Refusal(Refused.IMPORTANCE_RAISED, after.id)
        heard = sum(turn.role == "user" for turn in said)
        if _observes_more(after, observed, heard, is_new=change.before is None):
            return Refusal(Refused.REINFORCEMENT_RAISED, after.id)
    return None


def _newly_cited(after: MemoryEntry, before: Sequence[MemoryEntry], knowledge: Knowledge) -> list[Turn]:
    """Return the turns that *after* cites and no entry of the set did before."""
    known = set(chain.from_iterable(entry.sources for entry in before))
    new = [source.id for source in after.sources if source.kind is SourceKind.TURN and source not in known]
    return [knowledge.turns[turn_id] for turn_id in new if turn_id in knowledge.turns]


def _most_trust(change: Change[MemoryEntry], before: Sequence[MemoryEntry], said: Sequence[Turn]) -> Trust:
    if change.before is not None:
        return change.before.trust
    sources = [*(entry.trust for entry in before), *(turn.trust for turn in said)]
    return min(sources, default=Trust.STATED) if before else min([*sources, Trust.STATED])


def _has_earned(
    after: MemoryEntry, before: Sequence[MemoryEntry], besides: Sequence[datetime], knowledge: Knowledge
) -> bool:
    """Tell whether base and last sight are within what the entries give, and when else it was said or needed."""
    bases = [entry.base for entry in before]
    if besides and not before:
        base_is_earned = after.base < knowledge.protect_importance
    else:
        base_is_earned = after.base <= max(bases, default=_DEFAULT_BASE)
    seen = [*(entry.last_seen_at for entry in before), *besides]
    return base_is_earned and (not seen or after.last_seen_at <= max(seen))


def _observes_more(after: MemoryEntry, observed: Mapping[str, int], heard: int, *, is_new: bool) -> bool:
    """Tell whether *after* counts more than the sources observed; a new entry is an observation of its own."""
    return any(
        count > (max(heard, 1) if is_new else observed.get(entry_id, 0) + heard)
        if entry_id == after.id
        else count > observed.get(entry_id, 0)
        for entry_id, count in Temporal.of(after).observations
    )


def leaves_protected_categories(change_set: ChangeSet, knowledge: Knowledge) -> Refusal | None:
    """Refuse to touch an entry in a protected category, or to move one into it."""
    for change in _changes(change_set, MemoryEntry):
        for entry in (change.before, change.after):
            if entry is not None and is_under(entry.category, knowledge.protected):
                return Refusal(Refused.PROTECTED_CATEGORY, f"{entry.id} in {entry.category}")
    return None


def keeps_pins(change_set: ChangeSet, _knowledge: Knowledge) -> Refusal | None:
    """Refuse to unpin an entry, or to retire a pinned one whose successor in the same set is not pinned."""
    changes = _changes(change_set, MemoryEntry)
    afters = [change.after for change in changes if change.after is not None]
    heirs = {after.id for after in afters if after.is_active and after.pinned}
    for change in changes:
        before, after = change.before, change.after
        if before is None or after is None or not before.pinned:
            continue
        if not after.pinned or not (after.is_active or after.successor in heirs):
            return Refusal(Refused.PINNED, after.id)
    return None


def is_under(category: str, prefixes: Collection[str]) -> bool:
    """Tell whether a category is one of *prefixes*, or stands below one, whatever the case."""
    folded = category.casefold()
    roots = [prefix.casefold().rstrip("/") for prefix in prefixes]
    return any(folded == root or folded.startswith(f"{root}/") for root in roots)


def replaces_skills(change_set: ChangeSet, knowledge: Knowledge) -> Refusal | None:
    """Refuse to retire an active skill unless its successor is an active one, kept or written by the set."""
    kept = {skill.name for skill in _after(change_set) if _is_active(skill)}
    gone = {skill.name for skill in _before(change_set) if _is_active(skill)} - kept
    for change in _changes(change_set, Skill):
        before, after = change.before, change.after
        if before is None or after is None:
            continue
        retires = _is_active(before) and not _is_active(after)
        if retires and (after.successor in gone or after.successor not in kept | knowledge.live_skills):
            return Refusal(Refused.NO_REPLACEMENT, before.name)
    return None


def takes_no_name(change_set: ChangeSet, knowledge: Knowledge) -> Refusal | None:
    """Refuse to rename a skill, and to give a new one a name that another has or once had."""
    for change in _changes(change_set, Skill):
        before, after = change.before, change.after
        if after is None:
            continue
        if before is not None and before.name != after.name:
            return Refusal(Refused.MISMATCHED, after.id)
        if before is None and _is_active(after) and after.name in knowledge.taken_names:
            return Refusal(Refused.NAME_TAKEN, after.name)
    return None


def raises_no_skill(change_set: ChangeSet, _knowledge: Knowledge) -> Refusal | None:
    """Refuse skills above what went in: more trusted, or used later, than the skills of the set were.

    A text that a skill of the set had already is trusted as it was there, in whichever skill it stands afterwards.
    """
    befores = list(_before(change_set))
    texts: dict[tuple[str, str], Trust] = {}
    for skill in befores:
        texts[_text(skill)] = max(skill.trust, texts.get(_text(skill), skill.trust))
    least = min((skill.trust for skill in befores), default=Trust.STATED)
    used = max((skill.last_used_at for skill in befores if skill.last_used_at is not None), default=None)
    for change in _changes(change_set, Skill):
        after = change.after
        if after is None:
            continue
        most = change.before.trust if change.before is not None else least
        if after.trust > texts.get(_text(after), most):
            return Refusal(Refused.TRUST_RAISED, after.id)
        if after.last_used_at is not None and (used is None or after.last_used_at > used):
            return Refusal(Refused.REINFORCEMENT_RAISED, after.id)
    return None


def tells_no_secret(change_set: ChangeSet, _knowledge: Knowledge) -> Refusal | None:
    """Refuse skills with a line that looks like a secret, unless the line stood in a skill that the set began with.

    What a person wrote into a skill is theirs to keep; what a model says of it, or makes of a conversation, is not.
    """
    told = {line for skill in _before(change_set) for line in _skill_lines(skill)}
    for skill in _after(change_set):
        secret = secret_in("\n".join(line for line in _skill_lines(skill) if line not in told))
        if secret is not None:
            where = skill.id if secret_in(skill.name) else skill.name
            return Refusal(Refused.SECRET, f"{where} looks like it holds a {secret}")
    return None


def _skill_lines(skill: Skill) -> list[str]:
    texts = (skill.name, skill.summary, skill.status_reason or "", *skill.content.splitlines())
    return [line.strip() for line in texts]


def _text(skill: Skill) -> tuple[str, str]:
    return skill.summary, skill.content


def _before(change_set: ChangeSet) -> list[Skill]:
    return [change.before for change in _changes(change_set, Skill) if change.before is not None]


def _after(change_set: ChangeSet) -> list[Skill]:
    return [change.after for change in _changes(change_set, Skill) if change.after is not None]


def _is_active(skill: Skill) -> bool:
    return skill.status is Status.ACTIVE


def writes_no_secret(change_set: ChangeSet, _knowledge: Knowledge) -> Refusal | None:
    """Refuse documents with a line that looks like a secret, unless the line stood in one that the set began with."""
    changes = _changes(change_set, StoredDocument)
    told = {line for change in changes for line in _document_lines(change.before)}
    for change in changes:
        secret = secret_in("\n".join(line for line in _document_lines(change.after) if line not in told))
        if secret is not None:
            return Refusal(Refused.SECRET, f"{change.record_id} would hold a {secret}")
    return None


def _document_lines(document: StoredDocument | None) -> list[str]:
    return [] if document is None else [line.strip() for line in document.content.splitlines()]


def keeps_card(change_set: ChangeSet, knowledge: Knowledge) -> Refusal | None:
    """Refuse a line that nobody said, that rests on what does not hold, that is a person's, or for which is no room."""
    changes = _changes(change_set, CardLine)
    return card_fault(changes, knowledge.card, knowledge.premises) if changes else None


def names_no_topic(change_set: ChangeSet, knowledge: Knowledge) -> Refusal | None:
    """Refuse texts that name a topic about which nothing is to be kept, unless the set began with them.

    What was stored before a person named the topic is theirs to forget, and may fade, fold and retire as it is.
    """
    if not knowledge.off_limits:
        return None
    told = {text for change in change_set.changes for text in _texts_of(change.before)}
    for change in change_set.changes:
        new = (text for text in _texts_of(change.after) if text not in told)
        if any(named_topic(knowledge.off_limits, text) is not None for text in new):
            return Refusal(Refused.OFF_LIMITS, change.record_id)
    return None


def _texts_of(record: Record | None) -> list[str]:
    """Return the texts of a record that a dream can write, line by line where it is long."""
    match record:
        case MemoryEntry():
            return [record.content, " ".join(record.tags), *(one.sentence for one in record.evidence)]
        case Skill():
            return _skill_lines(record)
        case StoredDocument():
            return _document_lines(record)
        case CardLine():
            return [record.content, record.reason]
        case Claim() | Hypothesis():
            return _unproven_texts(record)
        case _:
            return []


def _unproven_texts(record: Claim | Hypothesis) -> list[str]:
    if isinstance(record, Claim):
        return [str(record), record.quote]
    texts = (record.hypothesis, record.what_if, record.possible_outcome, record.rationale, record.question)
    return [*texts, *record.quotes, *(one.quote for one in record.weighed)]


def respects_undo(change_set: ChangeSet, knowledge: Knowledge) -> Refusal | None:
    """Refuse an operation that brings together what a person took apart: two declined marks, or its only one."""
    marks = set(change_set.fingerprints.values())
    declined = knowledge.declined & marks
    if not declined or len(declined) < min(2, len(marks)):
        return None
    records = sorted(record for record, mark in change_set.fingerprints.items() if mark in declined)
    return Refusal.of(Refused.UNDONE_BY_PERSON, records)


def keeps_apart(change_set: ChangeSet, knowledge: Knowledge) -> Refusal | None:
    """Refuse to put records together of which a person said that they say different things."""
    together: dict[str, set[str]] = {}
    for change in _changes(change_set, MemoryEntry) if knowledge.apart else ():
        before, after = change.before, change.after
        if before is not None and after is not None and before.is_active and after.successor is not None:
            together.setdefault(after.successor, {after.successor}).add(before.id)
    for joined in together.values():
        for distinct in knowledge.apart:
            if len(distinct & joined) > 1:
                return Refusal.of(Refused.KEPT_APART, sorted(distinct & joined))
    return None


def is_purgeable(entry: MemoryEntry, terms: RetentionOptions, as_of: datetime) -> bool:
    """Tell whether a retired entry is past its window and below every protection."""
    return (
        not entry.is_active
        and not entry.pinned
        and entry.valid_until is None
        and entry.base < terms.protect_importance
        and entry.reinforcement_count < terms.protect_reinforced
        and entry.status_at is not None
        and entry.status_at < as_of - terms.archived
    )


Guard = Callable[[ChangeSet, Knowledge], Refusal | None]

GUARDS_OF: Mapping[RecordKind, tuple[Guard, ...]] = {
    RecordKind.TURN: (keeps_words,),
    RecordKind.ENTRY: (raises_nothing, rests_on_premises, leaves_protected_categories, keeps_pins, keeps_apart),
    RecordKind.SKILL: (replaces_skills, takes_no_name, raises_no_skill, tells_no_secret),
    RecordKind.DOCUMENT: (writes_no_secret,),
    RecordKind.CARD_LINE: (keeps_card,),
}
"""The laws of each kind of record that dreams change."""

GUARDS: tuple[Guard, ...] = (
    keeps_records,
    cites_nothing_forgotten,
    *chain.from_iterable(GUARDS_OF.values()),
    names_no_topic,
    respects_undo,
)


def first_refusal(change_set: ChangeSet, knowledge: Knowledge) -> Refusal | None:
    """Return the first reason against *change_set*, or None."""
    for guard in GUARDS:
        refusal = guard(change_set, knowledge)
        if refusal is not None:
            return refusal
    return None
