"""Collects what decides whether a change set may happen, and which refused texts are kept."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from agentcore.domain.card import CardLine
from agentcore.domain.document import StoredDocument
from agentcore.domain.memory import MemoryEntry, SourceKind, SourceRef, Status, last_rewrite
from agentcore.domain.question import QuestionVerdict
from agentcore.domain.records import RECORD_TYPES, Record, RecordKind, cited_by, version_of
from agentcore.domain.skill import Skill
from agentcore.domain.text import fold_key
from agentcore.hosting.off_limits import off_limits_topics
from agentcore.stores.storage import ReadView, UnitOfWork
from agentcore.workspace.differences import difference, own_left
from agentcore.workspace.document import Document
from dream.domain.change import Change, ChangeSet
from dream.domain.promotion import Promotion
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.domain.refused import RefusedText
from dream.domain.rounds import Version
from dream.domain.step import FormerPositions, WaitingExchange
from dream.guards import Knowledge
from dream.guards.secrets import secret_in
from dream.options import DreamOptions
from dream.passes.inference.premises import depths_of
from dream.stores import DreamStores


@dataclass(slots=True)
class Admission:
    """What of a step may happen, what may not and why, and the ids to look at again.

    Args:
        accepted: What may happen, as the journal has it.
        for_review: What may wait for a person, once there is room in the queue: what does.
        refused: What may not, and why.
        stale: Ids of records that moved since they were read.
        deferred: What has no room yet, each with the code of the bound that has none.
        waiting: The exchanges that wait once the step is written.
        retired: Entries that it retires, as far as the share cap counts them.
        outputs: New records that it writes.
        verbatim: How many of them keep word for word what was said.
        written: What is written to the stores, if it is not each change accepted: an undo takes several back at once.
        former: Where records that come back stood in the order of arrival.
    """

    accepted: list[ChangeSet] = field(default_factory=list[ChangeSet])
    for_review: list[ChangeSet] = field(default_factory=list[ChangeSet])
    refused: list[Refusal] = field(default_factory=list[Refusal])
    stale: list[str] = field(default_factory=list[str])
    deferred: list[tuple[str, ChangeSet]] = field(default_factory=list[tuple[str, ChangeSet]])
    waiting: list[WaitingExchange] = field(default_factory=list[WaitingExchange])
    retired: int = 0
    outputs: int = 0
    verbatim: int = 0
    written: list[Change[Record]] | None = None
    former: Sequence[FormerPositions] = ()


Key = tuple[RecordKind, str]


def sources_of(change_sets: Sequence[ChangeSet]) -> list[Record]:
    """Return the records that they change, as their pass read them."""
    befores = [change.before for change_set in change_sets for change in change_set.changes]
    return [before for before in befores if before is not None and version_of(before) is not None]


def _newly_cited(change_sets: Sequence[ChangeSet]) -> set[SourceRef]:
    """Return the records that others cite after the change and did not before."""
    pairs = ((change.before, change.after) for change_set in change_sets for change in change_set.changes)
    return {source for before, after in pairs for source in set(cited_by(after)) - set(cited_by(before))}


def _withheld(unit: UnitOfWork, cited: Collection[SourceRef], turn_ids: Collection[str]) -> frozenset[SourceRef]:
    """Return those that are forgotten, or told to nobody."""
    told_to_nobody = (SourceRef(SourceKind.TURN, one) for one in unit.withheld.turns(turn_ids))
    return frozenset([*unit.tombstones.touched(cited), *told_to_nobody])


def stored_records(unit: UnitOfWork, change_sets: Sequence[ChangeSet]) -> dict[Key, Record | None]:
    """Return the records that *change_sets* would change, as they are stored; None where an id is free."""
    present: dict[Key, Record | None] = {
        (change.kind, change.record_id): None for change_set in change_sets for change in change_set.changes
    }
    for kind, of in RECORD_TYPES.items():
        ids = [record_id for found, record_id in present if found is kind]
        if ids and of.dreams_change:
            present.update({(kind, record.id): record for record in unit.of_kind(kind).get_many(ids)})
    return present


def _there_of(view: ReadView, shown: Sequence[Version]) -> tuple[Version, ...]:
    """Return those of the records that were shown which are in a store, so that it can be told when they move."""
    found = _versions(view, [record_id for record_id, _ in shown])
    return tuple(dict.fromkeys(one for one in shown if one[0] in found))


def as_kept(unit: UnitOfWork, books: DreamStores, waits: WaitingExchange, asked: tuple[str, str]) -> WaitingExchange:
    """Return an exchange as it is kept: with the records it showed, and without what was forgotten meanwhile.

    Args:
        unit: The step's own.
        books: The same.
        waits: The exchange.
        asked: The run that went on with it, and what its batch is called there.
    """
    stored = books.waiting.find(waits.exchange_id)
    began = waits.run_id, "" if waits.batch is None else waits.batch.number
    is_emptied = (stored is not None and stored.rounds is None) or any(
        books.calls.are_forgotten(run_id, waits.pass_name, number) for run_id, number in {began, asked}
    )
    if is_emptied:
        # Changes that are decided were judged a moment ago: none of them says what was forgotten.
        return replace(waits, rounds=()) if waits.waits_for_room else replace(waits, rounds=None, change_sets=())
    known = {*waits.records}
    new = _there_of(unit, [one for one in waits.shown if one not in known])
    return replace(waits, records=(*waits.records, *new))


def moved_of(view: ReadView, records: Sequence[Version]) -> list[str]:
    """Return the ids of records that are no longer as shown: edited, retired, forgotten, or not to be learnt from."""
    found = _versions(view.learnable, [record_id for record_id, _ in records])
    return [record_id for record_id, version in records if found.get(record_id) != version]


def _versions(view: ReadView, ids: Sequence[str]) -> dict[str, int | None]:
    """Return the versions of records by id, 1 for a kind that has none; None for one that is no longer current."""
    found: dict[str, int | None] = {}
    for kind in RECORD_TYPES:
        for record in view.of_kind(kind).get_many(ids):
            is_current = getattr(record, "status", Status.ACTIVE) is Status.ACTIVE
            found[record.id] = (version_of(record) or 1) if is_current else None
    return found


def moved_since(change_set: ChangeSet, present: Mapping[Key, Record | None]) -> list[str]:
    """Return the ids of records that are not what the pass took them for."""
    return [
        change.record_id
        for change in change_set.changes
        if (change.kind, change.record_id) not in present
        or not is_as_read(present[change.kind, change.record_id], change.before)
    ]


def is_as_read(stored: Record | None, before: Record | None) -> bool:
    """Tell whether a stored record is the one that a pass read."""
    # The journal's image is what an undo brings back, so the pass's word for it is not enough.
    return version_of(stored) == version_of(before) and stored == before


def rebased(change_set: ChangeSet, present: Mapping[Key, Record | None]) -> ChangeSet:
    """Return the change set on documents as they are now, if all that it is about still stands in them; else as it is.

    Whoever wrote elsewhere in a document, a person or another change, takes nothing away from an edit of an item.

    Args:
        change_set: What a pass proposed, on documents as it read them.
        present: The records that it would change, as they are.
    """
    if all(is_as_read(present.get((one.kind, one.record_id)), one.before) for one in change_set.changes):
        return change_set
    changes = [_rebased(change, present.get((change.kind, change.record_id))) for change in change_set.changes]
    made = [change for change in changes if change is not None]
    return replace(change_set, changes=tuple(made)) if len(made) == len(changes) else change_set


def as_stored(change: Change[Record]) -> Record | None:
    """Return the record of a document as the store will have it after *change*."""
    before, after = change.before, change.after
    if not isinstance(after, StoredDocument):
        return None
    return replace(after, version=before.version + 1 if isinstance(before, StoredDocument) else 1)


def _rebased(change: Change[Record], stored: Record | None) -> Change[Record] | None:
    """Return the change on the record as it is, None if it cannot be made there."""
    before, after = change.before, change.after
    if is_as_read(stored, before):
        return change
    if not isinstance(after, StoredDocument):
        return None
    if not isinstance(stored, StoredDocument) or not (before is None or isinstance(before, StoredDocument)):
        return None
    edits = difference(Document("" if before is None else before.content), Document(after.content))
    redone = edits.done_to(Document(stored.content))
    if redone.refused:
        return None
    new = set(after.own) - set(() if before is None else before.own)
    own = own_left((*stored.own, *new), redone.document)
    record = replace(stored, content=redone.document.text, own=own, updated_at=after.updated_at)
    return Change[Record](before=stored, after=record, reason=change.reason)


def knowledge_of(
    unit: UnitOfWork, books: DreamStores, change_sets: Sequence[ChangeSet], options: DreamOptions
) -> Knowledge:
    """Return what guards have to know of the stores to judge *change_sets*."""
    marks = {mark for change_set in change_sets for mark in change_set.fingerprints.values()}
    cited = _newly_cited(change_sets)
    turn_ids = {source.id for source in cited if source.kind is SourceKind.TURN}
    knowledge = Knowledge(
        declined=frozenset(books.decisions.declined(marks)),
        apart=_kept_apart(unit, change_sets),
        protected=options.protected_categories,
        turns={turn.id: turn for turn in unit.turns.get_many(turn_ids)},
        withheld=_withheld(unit, cited, turn_ids),
        needed=_newly_needed(books, change_sets),
        off_limits=tuple(topic.words for topic in off_limits_topics(unit)),
        protect_importance=options.consolidation.protect_importance,
    )
    return _with_skill_names(unit, change_sets, _with_premises(unit, change_sets, knowledge))


def _with_premises(view: ReadView, change_sets: Sequence[ChangeSet], knowledge: Knowledge) -> Knowledge:
    """Return *knowledge* with what guards ask of the premises of conclusions."""
    afters = [change.after for one in change_sets for change in one.changes]
    drawn = [after for after in afters if isinstance(after, MemoryEntry) and after.is_conclusion and after.is_active]
    lines = [after for after in afters if isinstance(after, CardLine)]
    if not drawn and not lines:
        return knowledge
    premises = view.entries.get_many({one.entry_id for resting in (*drawn, *lines) for one in resting.premises})
    return replace(
        knowledge,
        card=frozenset(line.id for line in view.card.lines()) if lines else frozenset(),
        premises={entry.id: entry for entry in premises},
        footings={conclusion.id: view.conclusions.footing(conclusion) for conclusion in drawn},
        depths=depths_of(view, drawn),
    )


def _kept_apart(view: ReadView, change_sets: Sequence[ChangeSet]) -> tuple[frozenset[str], ...]:
    """Return the ids of entries that a person called distinct, among those that *change_sets* retire."""
    retired = {
        change.record_id
        for change_set in change_sets
        for change in change_set.changes
        if isinstance(change.after, MemoryEntry) and change.before is not None and change.after.successor is not None
    }
    named = view.questions.naming(SourceRef(SourceKind.ENTRY, entry_id) for entry_id in retired) if retired else []
    distinct = [one for one in named if one.verdict is QuestionVerdict.DISTINCT]
    return tuple(
        frozenset(one.member_ids)
        for one in distinct
        if one.still_answers(last_rewrite(view.entries.get_many(one.member_ids)))
    )


def _with_skill_names(view: ReadView, change_sets: Sequence[ChangeSet], knowledge: Knowledge) -> Knowledge:
    """Return *knowledge* with what guards ask of the names that *change_sets* mention."""
    pairs = [(change.before, change.after) for one in change_sets for change in one.changes]
    new = {after.name for before, after in pairs if before is None and isinstance(after, Skill)}
    successors = {after.successor for _, after in pairs if isinstance(after, Skill) and after.successor}
    if not new and not successors:
        return knowledge
    live = frozenset(name for name in successors if view.skills.named(name) is not None)
    return replace(knowledge, live_skills=live, taken_names=frozenset(view.skills.taken(new)))


def after_change(change_set: ChangeSet, knowledge: Knowledge) -> Knowledge:
    """Return what guards have to know once *change_set* is accepted."""
    pairs = [(change.before, change.after) for change in change_set.changes]
    lines = [after for _, after in pairs if isinstance(after, CardLine)]
    gone, new = ({line.id for line in lines if line.is_active is active} for active in (False, True))
    knowledge = replace(knowledge, card=(knowledge.card - gone) | new) if lines else knowledge
    skills = [after for _, after in pairs if isinstance(after, Skill)]
    if not skills:
        return knowledge
    new = {after.name for before, after in pairs if before is None and isinstance(after, Skill)}
    retired = {before.name for before, _ in pairs if isinstance(before, Skill)}
    active = {skill.name for skill in skills if skill.status is Status.ACTIVE}
    return replace(
        knowledge,
        live_skills=(knowledge.live_skills - retired) | active,
        taken_names=knowledge.taken_names | new,
    )


def promotions_of(change_sets: Sequence[ChangeSet]) -> list[Promotion]:
    """Return what counts as promoted once *change_sets* are made."""
    return [promotion for change_set in change_sets for promotion in change_set.promotions]


def _newly_needed(books: DreamStores, change_sets: Sequence[ChangeSet]) -> dict[str, datetime]:
    """Return when those that *change_sets* promote for the first time were recalled last, by id."""
    ids = {promotion.entry_id for promotion in promotions_of(change_sets)}
    if not ids:
        return {}
    return books.recalls.last(ids - books.promotions.known().keys())


_NEVER = frozenset({Refused.SECRET, Refused.FORGOTTEN, Refused.OFF_LIMITS})


def kept_texts(unit: UnitOfWork, pass_name: str, refused: Sequence[Refusal]) -> list[RefusedText]:
    """Return the texts among refusals that may be kept: of the others the report has the code.

    No secret is kept, nothing that a person asked to forget, and nothing that cites what is gone, or may not be learnt
    from any more.
    """
    told = [one for one in refused if one.text and one.code not in _NEVER and secret_in(one.text) is None]
    if not told:
        return []
    forgotten = unit.forgotten.contains({fold_key(one.text) for one in told})
    there = _present(unit, sorted({record_id for one in told for record_id in one.cites}))
    return [
        RefusedText(
            pass_name=pass_name,
            code=one.code,
            detail=one.detail,
            # What databases cannot store.
            text=one.text.encode("utf-8", "replace").decode().replace("\0", "\ufffd"),
            cites=one.cites,
            refused_at=unit.now,
        )
        for one in told
        if fold_key(one.text) not in forgotten and there.issuperset(one.cites)
    ]


def _present(unit: UnitOfWork, record_ids: Sequence[str]) -> set[str]:
    view = unit.learnable
    stores = (view.turns, view.entries, view.feedback, view.skills)
    return {record.id for store in stores for record in store.get_many(record_ids)}
