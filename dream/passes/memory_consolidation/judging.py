"""Judges an answer: the operations on entries, and the lessons of feedback."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from agentcore.domain.memory import Level, MemoryEntry, SourceKind, SourceRef, Trust
from agentcore.domain.signals import Feedback, FeedbackKind
from agentcore.domain.temporal import to_micros
from agentcore.domain.text import clean_category, clean_content, clean_tags, fold_key
from agentcore.stores.storage import ReadView
from dream.domain.built_in_passes import MEMORY_CONSOLIDATION
from dream.domain.change import Change, ChangeSet, fingerprint
from dream.domain.proposal import Notes, Refusal
from dream.domain.reasons import Refused
from dream.domain.step import Batch
from dream.guards.detail import Detail, DetailKind, distinct
from dream.guards.merge_coverage import Coverage, coverage
from dream.passes.correction_clauses import is_read, turned_round
from dream.passes.faithfulness import Unfaithful, unfaithful
from dream.passes.memory_consolidation.changes import (
    DROP,
    MERGE,
    REWRITE,
    CloseCall,
    Judgement,
    is_over_eager,
    judge_dropping,
    judge_saving,
    judge_superseding,
)
from dream.passes.memory_consolidation.operations import ConsolidationInput, Dropping, Saving, is_under, sort_out
from dream.passes.memory_consolidation.prompt import ConsolidationAnswer, ConsolidationHandles, SaveItem, is_clean
from dream.passes.prompts import feedback_line, feedback_text, handles
from dream.passes.protocol import ModelContext
from dream.passes.terms import CUTTER

ANTI_PATTERNS: Final = MEMORY_CONSOLIDATION.categories[0]
"""The category of what was learned from mistakes, with the domain below it."""
ANTI_PATTERN: Final = "antipattern"
_BASE: Final = 0.5

_TRUST: Final = {
    FeedbackKind.CORRECTION: Trust.STATED,
    FeedbackKind.THUMBS_DOWN: Trust.STATED,
    FeedbackKind.WISP_CORRECTION: Trust.INFERRED,
    FeedbackKind.TOOL_FAILURE: Trust.UNTRUSTED,
}
"""How far a lesson is trusted, by the signal of a mistake; praise and a model's summary of a session show none."""


def unread_feedback(view: ReadView, context: ModelContext, cursor: int) -> list[Feedback]:
    """Return the newest signals of mistakes in the window that were not mined, in the order they were stored."""
    terms = context.options.consolidation
    if not terms.max_feedback:
        return []
    found = view.feedback.newest(limit=context.options.retention.max_signals, since=_since(context))
    new = [one for one in found if one.kind in _TRUST and to_micros(one.recorded_at) > cursor][-terms.max_feedback :]
    return sorted(new, key=lambda one: (one.recorded_at, one.id))


def shown_feedback(view: ReadView, batch: Batch) -> Mapping[str, Feedback]:
    """Return the feedback of a batch by handle, without what is gone."""
    stored = {one.id: one for one in view.feedback.get_many(batch.record_ids) if one.kind in _TRUST}
    named = handles(batch.record_ids, "f")
    return {handle: stored[record_id] for handle, record_id in named.items() if record_id in stored}


def feedback_lines(feedback: Mapping[str, Feedback]) -> list[str]:
    """Return the lines of the prompt."""
    return [feedback_line(handle, one) for handle, one in feedback.items()]


def judge_lesson(
    item: SaveItem, feedback: Mapping[str, Feedback], consolidation_input: ConsolidationInput
) -> ChangeSet | Refusal | Unfaithful | None:
    """Return the anti-pattern that an item becomes, why it becomes none, or None if it is known.

    Several lessons may cite one signal: nothing is used up by it.
    """
    unknown = [handle[:40] for handle in item.sources if handle not in feedback]
    if unknown or not item.sources:
        code = Refused.UNKNOWN_HANDLE if unknown else Refused.NO_SOURCES
        return Refusal.of(code, unknown or [f"item {item.number}"])
    sources = [feedback[handle] for handle in item.sources]
    code = _fault(item, consolidation_input)
    if code is not None:
        return Refusal.of(code, _ids(sources))
    content, category = clean_content(item.content), _category(item.category)
    made_up = Coverage(invented=_made_up(content, sources, consolidation_input))
    refusal = unfaithful(made_up, _ids(sources))
    if refusal is not None:
        return Unfaithful(place=item.number, coverage=made_up, refusal=refusal.at(item.number + 1))
    if consolidation_input.twins.get(fold_key(content)):
        return None
    return _learned(item, content, category, sources, consolidation_input)


def _made_up(rule: str, sources: Sequence[Feedback], consolidation_input: ConsolidationInput) -> tuple[Detail, ...]:
    """Return what a rule makes up; it may leave out what its occasions were about.

    What it forbids is its point, as long as that is not what was asked for. Where that cannot be read, a denial that no
    feedback has is made up.
    """
    texts = [feedback_text(source) for source in sources]
    invented = coverage(
        texts, rule, consolidation_input.vocabulary, document_frequency=consolidation_input.document_frequency
    ).invented
    if not is_read("\n".join((rule, *texts))):
        return invented
    kept = [detail for detail in invented if detail.kind is not DetailKind.NEGATION]
    # Where there are details, the summary is a title: it names the mistake as often as the remedy.
    asked = [source.detail or source.summary for source in sources]
    turned = [Detail(DetailKind.NEGATION, clause[:200], clause) for clause in turned_round(rule, asked, texts)]
    return distinct((*kept, *turned))


def _fault(item: SaveItem, consolidation_input: ConsolidationInput) -> Refused | None:
    if not is_clean(item.content):
        return Refused.INVALID_CONTENT
    return Refused.PROTECTED_CATEGORY if consolidation_input.is_protected_category(_category(item.category)) else None


def _learned(
    item: SaveItem, content: str, category: str, sources: Sequence[Feedback], consolidation_input: ConsolidationInput
) -> ChangeSet:
    said = [source.occurred_at for source in sources]
    texts = [feedback_text(source) for source in sources]
    tags = [
        tag
        for tag in clean_tags(item.tags)
        if not coverage((content, *texts), tag, consolidation_input.vocabulary).invented
    ]
    entry = MemoryEntry(
        id=consolidation_input.new_id(),
        scope=sources[0].scope,
        content=content,
        category=category,
        tags=clean_tags(tags),
        base=_BASE if item.importance is None else min(_BASE, max(0.0, item.importance)),
        created_at=min(said),
        recorded_at=consolidation_input.as_of,
        last_seen_at=max(said),
        level=Level.DERIVED,
        sources=tuple(sorted({SourceRef(SourceKind.FEEDBACK, source.id) for source in sources})),
        trust=min(_TRUST[source.kind] for source in sources),
    )
    change = Change[MemoryEntry](before=None, after=entry, reason=f"learned from feedback {', '.join(_ids(sources))}")
    mark = fingerprint(ANTI_PATTERN, *sources)
    return ChangeSet(operation=ANTI_PATTERN, changes=(change,), fingerprints={entry.id: mark})


def _category(given: str | None) -> str:
    if given is None:
        return f"{ANTI_PATTERNS}/general"
    category = clean_category(given)
    if category.casefold() == ANTI_PATTERNS:
        return f"{ANTI_PATTERNS}/general"
    return category if is_under(category, (ANTI_PATTERNS,)) else clean_category(f"{ANTI_PATTERNS}/{category}")


def _ids(sources: Iterable[Feedback]) -> list[str]:
    return [source.id for source in sources]


def _since(context: ModelContext) -> datetime:
    return context.as_of - context.options.consolidation.feedback_window


Twins = Mapping[str, tuple[MemoryEntry, ...]]

_QUESTION = "Which of these holds now? The evidence for each is about as strong."


@dataclass(slots=True)
class JudgedConsolidation:
    """What became of an answer."""

    change_sets: list[ChangeSet] = field(default_factory=list[ChangeSet])
    refused: list[Refusal] = field(default_factory=list[Refusal])
    unfaithful: list[Unfaithful] = field(default_factory=list[Unfaithful])
    again: set[str] = field(default_factory=set[str])
    questions: list[tuple[str, ...]] = field(default_factory=list[tuple[str, ...]])

    def add(self, judgement: Judgement) -> None:
        """Put a judgement where it belongs."""
        match judgement:
            case ChangeSet():
                self.change_sets.append(judgement)
            case Refusal():
                self.refused.append(judgement)
            case Unfaithful():
                self.unfaithful.append(judgement)
                self.refused.append(judgement.refusal)
            case CloseCall():
                self.questions.append(judgement.entry_ids)
                self.refused.append(judgement.refusal)
            case None:
                pass

    @property
    def changed(self) -> frozenset[str]:
        """Ids of the records that the changes touch."""
        return frozenset(change.record_id for change_set in self.change_sets for change in change_set.changes)

    def notes(self) -> Notes:
        """Return the findings for the report."""
        asked: list[dict[str, Any]] = [{"entries": list(ids), "question": _QUESTION} for ids in self.questions]
        return {"questions": asked}


def counts_of(change_sets: Sequence[ChangeSet]) -> Notes:
    """Return what change sets do to entries, for the report."""
    counts: dict[str, int] = dict.fromkeys(("merged", "into", "rewritten", "superseded", "dropped", "learned"), 0)
    for change_set in change_sets:
        statuses = [getattr(change.after, "status", None) for change in change_set.changes]
        counts["superseded"] += statuses.count("superseded")
        counts["merged"] += statuses.count("archived") if change_set.operation == MERGE else 0
        counts["into"] += change_set.operation == MERGE
        counts["rewritten"] += change_set.operation == REWRITE
        counts["dropped"] += change_set.operation == DROP
        counts["learned"] += change_set.operation == ANTI_PATTERN
    return counts


def judge_entries(
    parsed: ConsolidationAnswer, consolidation_handles: ConsolidationHandles, consolidation_input: ConsolidationInput
) -> JudgedConsolidation:
    """Judge an answer about entries; what it saves comes first, so that nothing it builds on is dropped."""
    found = sort_out(parsed, consolidation_handles)
    judged = JudgedConsolidation(refused=found.refused, again=found.again)
    droppings = [one for one in found.operations if isinstance(one, Dropping)]
    others = [one for one in found.operations if not isinstance(one, Dropping)]
    taken = {consolidation_handles.ids[handle] for one in others for handle in one.uses}
    for one in others:
        if isinstance(one, Saving):
            judged.add(judge_saving(one, consolidation_handles, consolidation_input, taken | judged.changed))
        else:
            judged.add(judge_superseding(one, consolidation_handles, consolidation_input))
    if is_over_eager(len(_to_drop(parsed, consolidation_handles)), len(consolidation_handles.members)):
        judged.refused.append(Refusal.of(Refused.OVER_EAGER, _to_drop(parsed, consolidation_handles)))
        return judged
    for dropping in droppings:
        entry_id = consolidation_handles.ids[dropping.item.handle]
        kept = entry_id in judged.changed
        judged.add(
            Refusal(Refused.HANDLE_REUSED, entry_id)
            if kept
            else judge_dropping(dropping, consolidation_handles, consolidation_input)
        )
    return judged


def _to_drop(parsed: ConsolidationAnswer, consolidation_handles: ConsolidationHandles) -> list[str]:
    """Return the ids of the members that an answer would put nothing in the place of."""
    made = {handle for save in parsed.saves for handle in save.sources}
    plain = dict.fromkeys(item.handle for item in parsed.deletes if item.successor is None)
    return consolidation_handles.named(
        handle for handle in plain if handle in consolidation_handles.members and handle not in made
    )


def judge_feedback(
    parsed: ConsolidationAnswer, feedback: Mapping[str, Feedback], consolidation_input: ConsolidationInput
) -> JudgedConsolidation:
    """Judge an answer about feedback, which nothing deletes."""
    judged = JudgedConsolidation()
    for item in parsed.saves:
        judged.add(judge_lesson(item, feedback, consolidation_input))
    return judged


async def input_for(
    context: ModelContext,
    parsed: ConsolidationAnswer,
    texts: list[str],
    twins: Twins,
    *,
    merge_only: bool,
    speakers: Mapping[str, frozenset[str]],
) -> ConsolidationInput:
    """Gather what an answer is judged by.

    Args:
        context: The run's.
        parsed: The answer.
        texts: What was shown.
        twins: Live entries that say what the answer says (`find_twins`).
        merge_only: Whether nothing may go without being merged.
        speakers: Who said each entry shown, by its id.
    """
    # Only scripts without capitals are judged by how common their terms are.
    foreign = [text for text in (*texts, *_written(parsed)) if not text.isascii()]
    counts: Mapping[str, int] = await context.recall.count_documents(foreign) if foreign else {}
    return ConsolidationInput(
        as_of=context.as_of,
        options=context.options,
        vocabulary=context.vocabulary,
        document_frequency=lambda term: counts.get(term, 0),
        new_id=context.new_id,
        twins=twins,
        merge_only=merge_only,
        tokenizer=CUTTER,
        speakers=speakers,
    )


def find_twins(view: ReadView, parsed: ConsolidationAnswer) -> Twins:
    """Return the live entries that say what an item of the answer says, by fold key, oldest first."""
    keys = {fold_key(content) for content in _written(parsed) if is_clean(content)}
    found: dict[str, tuple[MemoryEntry, ...]] = {}
    for entry in view.entries.with_fold_keys(keys):
        key = fold_key(entry.content)
        found[key] = (*found.get(key, ()), entry)
    return found


def _written(parsed: ConsolidationAnswer) -> list[str]:
    return [item.content for item in parsed.saves if item.content is not None]
