"""Learns from feedback: which signals are shown, and what rules of an answer they bear out."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from agentcore.domain.evidence import Evidence, EvidenceVerdict, SourceKind, SourceRef, exact_words
from agentcore.domain.memory import Level, MemoryEntry, Trust
from agentcore.domain.signals import Feedback, FeedbackKind
from agentcore.domain.temporal import to_micros
from agentcore.domain.text import clean_category, clean_content, clean_tags, fold_key
from agentcore.stores.storage import ReadView
from dream.domain.built_in_passes import MEMORY_CONSOLIDATION
from dream.domain.change import Change, ChangeSet, fingerprint
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.domain.step import Batch
from dream.domain.verification import Assertion, EvidenceLine
from dream.guards.secrets import secret_in
from dream.guards.verdict import EvidenceText, judge
from dream.passes.exchange_state import Item, Settled
from dream.passes.memory_consolidation.changes import usable
from dream.passes.memory_consolidation.judging import refuted
from dream.passes.memory_consolidation.operations import ConsolidationInput, is_under
from dream.passes.memory_consolidation.prompt import ConsolidationAnswer, SaveItem, is_clean
from dream.passes.prompts import feedback_line, feedback_text, handles
from dream.passes.protocol import ModelContext

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


@dataclass(frozen=True, slots=True, kw_only=True)
class LessonDraft:
    """A rule that may be learned.

    Args:
        content: The rule, clean.
        category: Where it goes, clean.
        tags: Those that name nothing new.
        base: Its importance.
        sources: The feedback that shows it.
    """

    content: str
    category: str
    tags: tuple[str, ...]
    base: float
    sources: tuple[Feedback, ...]


def unread_feedback(view: ReadView, context: ModelContext, cursor: int) -> list[Feedback]:
    """Return the newest signals of mistakes in the window that were not mined, in the order they were stored."""
    terms = context.options.consolidation
    if not terms.max_feedback:
        return []
    since = context.as_of - terms.feedback_window
    found = view.feedback.newest(limit=context.options.retention.max_signals, since=since)
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


def judge_feedback(
    parsed: ConsolidationAnswer, feedback: Mapping[str, Feedback], consolidation_input: ConsolidationInput
) -> tuple[list[Item[LessonDraft]], list[Refusal]]:
    """Judge the rules of an answer by words; several may rest on one signal: nothing is used up by it."""
    items: list[Item[LessonDraft]] = []
    refused: list[Refusal] = []
    for item in parsed.saves:
        judged = _judge_lesson(item, feedback, consolidation_input)
        if isinstance(judged, Refusal):
            refused.append(judged.at(item.number + 1))
        elif judged is not None:
            items.append(judged)
    return items, refused


def _judge_lesson(
    item: SaveItem, feedback: Mapping[str, Feedback], consolidation_input: ConsolidationInput
) -> Item[LessonDraft] | Refusal | None:
    """Return what a rule comes to by words, why it is out of the question, or None if it is known."""
    number = item.number + 1
    unknown = [handle[:40] for handle in item.sources if handle not in feedback]
    if unknown or not item.sources:
        code = Refused.UNKNOWN_HANDLE if unknown else Refused.NO_SOURCES
        return Refusal.of(code, unknown or [f"item {number}"])
    sources = tuple(feedback[handle] for handle in item.sources)
    code = _fault(item, consolidation_input)
    if code is not None:
        return Refusal.of(code, _ids(sources))
    draft = _draft(item, sources)
    if consolidation_input.twins.get(fold_key(draft.content)):
        return None
    lines = tuple(_line(source) for source in sources)
    judgement = judge(
        draft.content,
        # Where there are details, the summary is a title: it names the mistake as often as the remedy.
        [EvidenceText(text=source.detail or source.summary) for source in sources],
        beside=[EvidenceText(text=feedback_text(one)) for one in feedback.values()],
        vocabulary=consolidation_input.vocabulary,
    )
    return Item(
        number=number,
        value=draft,
        verdict=judgement.verdict,
        assertion=Assertion(text=draft.content, evidence=lines),
        refusal=refuted(judgement, draft.content, number),
    )


def _draft(item: SaveItem, sources: tuple[Feedback, ...]) -> LessonDraft:
    content = clean_content(item.content)
    texts = [content, *map(feedback_text, sources)]
    return LessonDraft(
        content=content,
        category=_category(item.category),
        tags=clean_tags(usable(clean_tags(item.tags), texts)),
        base=_BASE if item.importance is None else min(_BASE, max(0.0, item.importance)),
        sources=sources,
    )


def _line(source: Feedback) -> EvidenceLine:
    return EvidenceLine(
        text=feedback_text(source),
        role=source.kind.value,
        said_at=source.occurred_at,
        source=SourceRef(SourceKind.FEEDBACK, source.id),
    )


def _fault(item: SaveItem, consolidation_input: ConsolidationInput) -> Refused | None:
    if not is_clean(item.content):
        return Refused.INVALID_CONTENT
    if secret_in(item.content or "") is not None:
        return Refused.SECRET
    return Refused.PROTECTED_CATEGORY if consolidation_input.is_protected_category(_category(item.category)) else None


def learned(settled: Settled[LessonDraft], consolidation_input: ConsolidationInput) -> ChangeSet:
    """Return the anti-pattern that a rule becomes."""
    draft = settled.value
    said = [source.occurred_at for source in draft.sources]
    entry = MemoryEntry(
        id=consolidation_input.new_id(),
        scope=draft.sources[0].scope,
        content=draft.content,
        category=draft.category,
        tags=draft.tags,
        base=draft.base,
        created_at=min(said),
        recorded_at=consolidation_input.as_of,
        last_seen_at=max(said),
        level=Level.DERIVED,
        sources=tuple(sorted({SourceRef(SourceKind.FEEDBACK, source.id) for source in draft.sources})),
        evidence=tuple(_evidence(source, settled) for source in draft.sources),
        trust=min(_TRUST[source.kind] for source in draft.sources),
    )
    reason = f"learned from feedback {', '.join(_ids(draft.sources))}"
    change = Change[MemoryEntry](before=None, after=entry, reason=reason)
    mark = fingerprint(ANTI_PATTERN, *draft.sources)
    return ChangeSet(operation=ANTI_PATTERN, changes=(change,), fingerprints={entry.id: mark})


def _evidence(source: Feedback, settled: Settled[LessonDraft]) -> Evidence:
    return Evidence(
        source=SourceRef(SourceKind.FEEDBACK, source.id),
        said_at=source.occurred_at,
        sentence=exact_words(source.detail or source.summary),
        verdict=settled.verdict,
        written_by=settled.written_by,
        verified_by=settled.verified_by,
        round=settled.round if settled.verdict is EvidenceVerdict.VERIFIED else 0,
    )


def _category(given: str | None) -> str:
    if given is None:
        return f"{ANTI_PATTERNS}/general"
    category = clean_category(given)
    if category.casefold() == ANTI_PATTERNS:
        return f"{ANTI_PATTERNS}/general"
    return category if is_under(category, (ANTI_PATTERNS,)) else clean_category(f"{ANTI_PATTERNS}/{category}")


def _ids(sources: Iterable[Feedback]) -> list[str]:
    return [source.id for source in sources]
