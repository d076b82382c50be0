"""Learning from feedback: what went wrong becomes an anti-pattern that cites it."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final

from agentcore.domain.instants import to_micros
from agentcore.domain.memory import Level, MemoryEntry, SourceKind, SourceRef, Trust
from agentcore.domain.signals import Feedback, FeedbackKind
from agentcore.domain.text import clean_category, clean_content, clean_tags, fold_key
from agentcore.stores.storage import ReadView
from dream.domain.batch import Batch
from dream.domain.change import Change, ChangeSet, fingerprint
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.guards.detail import Detail, DetailKind, distinct
from dream.guards.merge_coverage import Coverage, coverage
from dream.passes.corrections import is_read, turned_round
from dream.passes.faithfulness import Unfaithful
from dream.passes.memory_consolidation.answer import SaveItem, is_clean
from dream.passes.memory_consolidation.desk import Desk, is_under
from dream.passes.memory_consolidation.faithful import unfaithful
from dream.passes.prompts import feedback_line, feedback_text, handles
from dream.passes.protocol import ModelContext

ANTI_PATTERNS: Final = "anti-patterns"
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


def unmined(view: ReadView, context: ModelContext, cursor: int) -> list[Feedback]:
    """Return the newest signals of mistakes in the window that were not mined, in the order they were stored."""
    terms = context.options.consolidation
    if not terms.max_feedback:
        return []
    found = view.feedback.newest(limit=context.options.retention.max_signals, since=_since(context))
    new = [one for one in found if one.kind in _TRUST and to_micros(one.recorded_at) > cursor][-terms.max_feedback :]
    return sorted(new, key=lambda one: (one.recorded_at, one.id))


def shown(view: ReadView, batch: Batch) -> Mapping[str, Feedback]:
    """Return the feedback of a batch by handle, without what is gone."""
    stored = {one.id: one for one in view.feedback.get_many(batch.record_ids) if one.kind in _TRUST}
    named = handles(batch.record_ids, "f")
    return {handle: stored[record_id] for handle, record_id in named.items() if record_id in stored}


def lines(feedback: Mapping[str, Feedback]) -> list[str]:
    """Return the lines of the prompt."""
    return [feedback_line(handle, one) for handle, one in feedback.items()]


def judge_lesson(
    item: SaveItem, feedback: Mapping[str, Feedback], desk: Desk
) -> ChangeSet | Refusal | Unfaithful | None:
    """Return the anti-pattern that an item becomes, why it becomes none, or None if it is known.

    Several lessons may cite one signal: nothing is used up by it.
    """
    unknown = [handle[:40] for handle in item.sources if handle not in feedback]
    if unknown or not item.sources:
        code = Refused.UNKNOWN_HANDLE if unknown else Refused.NO_SOURCES
        return Refusal.of(code, unknown or [f"item {item.place}"])
    sources = [feedback[handle] for handle in item.sources]
    code = _fault(item, desk)
    if code is not None:
        return Refusal.of(code, _ids(sources))
    content, category = clean_content(item.content), _category(item.category)
    made_up = Coverage(invented=_made_up(content, sources, desk))
    refusal = unfaithful(made_up, _ids(sources))
    if refusal is not None:
        return Unfaithful(place=item.place, coverage=made_up, refusal=refusal.at(item.place + 1))
    if desk.twins.get(fold_key(content)):
        return None
    return _learned(item, content, category, sources, desk)


def _made_up(rule: str, sources: Sequence[Feedback], desk: Desk) -> tuple[Detail, ...]:
    """Return what a rule makes up; it may leave out what its occasions were about.

    What it forbids is its point, as long as that is not what was asked for. Where that cannot be read, a denial that no
    feedback has is made up.
    """
    texts = [feedback_text(source) for source in sources]
    invented = coverage(texts, rule, desk.vocabulary, document_frequency=desk.document_frequency).invented
    if not is_read("\n".join((rule, *texts))):
        return invented
    kept = [detail for detail in invented if detail.kind is not DetailKind.NEGATION]
    # Where there are details, the summary is a title: it names the mistake as often as the remedy.
    asked = [source.detail or source.summary for source in sources]
    turned = [Detail(DetailKind.NEGATION, clause[:200], clause) for clause in turned_round(rule, asked, texts)]
    return distinct((*kept, *turned))


def _fault(item: SaveItem, desk: Desk) -> Refused | None:
    if not is_clean(item.content):
        return Refused.INVALID_CONTENT
    return Refused.PROTECTED_CATEGORY if desk.is_protected_category(_category(item.category)) else None


def _learned(item: SaveItem, content: str, category: str, sources: Sequence[Feedback], desk: Desk) -> ChangeSet:
    said = [source.occurred_at for source in sources]
    texts = [feedback_text(source) for source in sources]
    tags = [tag for tag in clean_tags(item.tags) if not coverage((content, *texts), tag, desk.vocabulary).invented]
    entry = MemoryEntry(
        id=desk.new_id(),
        scope=sources[0].scope,
        content=content,
        category=category,
        tags=clean_tags(tags),
        base=_BASE if item.importance is None else min(_BASE, max(0.0, item.importance)),
        created_at=min(said),
        recorded_at=desk.as_of,
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
