"""One text made of entries: judged, and turned into changes."""

from collections.abc import Sequence, Set as AbstractSet
from itertools import combinations

from agentcore.domain.memory import MemoryEntry
from agentcore.domain.subject_time import compatible
from agentcore.domain.text import clean_category, clean_content, fold_key, normalise
from dream.domain.change import ChangeSet
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.passes.faithfulness import Unfaithful
from dream.passes.memory_consolidation.answer import SaveItem, is_clean
from dream.passes.memory_consolidation.desk import Desk
from dream.passes.memory_consolidation.faithful import compare, unfaithful
from dream.passes.memory_consolidation.giving_way import CloseCall, may_give_way
from dream.passes.memory_consolidation.merging import Draft, merge_into, merge_new, rewrite
from dream.passes.memory_consolidation.operations import Saving
from dream.passes.memory_consolidation.sheet import Sheet

Judgement = ChangeSet | Refusal | CloseCall | Unfaithful | None


def judge_saving(saving: Saving, sheet: Sheet, desk: Desk, taken: AbstractSet[str]) -> Judgement:
    """Return the changes that a save makes, why it makes none, or None if it changes nothing.

    Args:
        saving: The save, whose handles are in order.
        sheet: What the handles stand for.
        desk: What it is judged by.
        taken: Ids that the answer's other operations use, or have changed.
    """
    sources = [sheet.entries[handle] for handle in saving.sources]
    gives_way = [sheet.entries[handle] for handle in saving.gives_way]
    draft = _draft(saving.item, sources, gives_way)
    if isinstance(draft, Refusal):
        return draft
    fault = _fault(draft, desk)
    if fault is not None:
        return fault
    for old in gives_way:
        verdict = may_give_way(old, sources, desk)
        if verdict is not None:
            return verdict
    found = compare(desk, draft.content, sources, gives_way, draft.category)
    refusal = unfaithful(found, [entry.id for entry in draft.used])
    if refusal is not None:
        return Unfaithful(place=saving.item.place, coverage=found, refusal=refusal.at(saving.item.place + 1))
    return _change_set(draft, desk, taken)


def _draft(item: SaveItem, sources: Sequence[MemoryEntry], gives_way: Sequence[MemoryEntry]) -> Draft | Refusal:
    if not sources:
        return Refusal.of(Refused.NO_SOURCES, [old.id for old in gives_way] or [f"item {item.place}"])
    if not is_clean(item.content):
        return Refusal.of(Refused.INVALID_CONTENT, [entry.id for entry in (*sources, *gives_way)])
    oldest = min(sources, key=lambda source: (source.created_at, source.id))
    return Draft(
        content=clean_content(item.content),
        category=oldest.category if item.category is None else clean_category(item.category),
        tags=item.tags,
        importance=item.importance,
        sources=tuple(sources),
        gives_way=tuple(gives_way),
    )


def _fault(draft: Draft, desk: Desk) -> Refusal | None:
    protected = [entry.id for entry in draft.used if desk.is_protected_category(entry.category)]
    if protected or desk.is_protected_category(draft.category):
        return Refusal.of(Refused.PROTECTED_CATEGORY, protected or [entry.id for entry in draft.used])
    if not all(compatible(one.subject_time, other.subject_time) for one, other in combinations(draft.sources, 2)):
        return Refusal.of(Refused.DISTINCT_MOMENTS, [source.id for source in draft.sources])
    return None


def _change_set(draft: Draft, desk: Desk, taken: AbstractSet[str]) -> ChangeSet | Refusal | None:
    text = normalise(draft.content)
    own = [source for source in draft.sources if normalise(source.content) == text]
    twins = [
        twin
        for twin in desk.twins.get(fold_key(draft.content), ())
        if twin.category.casefold() == draft.category.casefold()
        and all(twin.id != entry.id for entry in draft.used)
        and all(compatible(twin.subject_time, source.subject_time) for source in draft.sources)
    ]
    survivor = own[0] if own else (twins[0] if twins else None)
    if len(draft.used) == 1 and (survivor is None or survivor in own):
        return rewrite(draft, desk)
    if survivor is None:
        # What gives way may show through in the text: as a source of its own entry it can be forgotten again.
        return merge_new(draft, desk)
    if survivor.id in taken and survivor not in own:
        return Refusal.of(Refused.HANDLE_REUSED, [survivor.id])
    return merge_into(survivor, draft, desk)
