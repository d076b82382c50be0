"""One answer, judged: what of it becomes changes, what does not, and why."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agentcore.domain.memory import MemoryEntry
from agentcore.domain.signals import Feedback
from agentcore.domain.text import fold_key
from agentcore.stores.storage import ReadView
from dream.domain.change import ChangeSet
from dream.domain.proposal import Notes, Refusal
from dream.domain.reasons import Refused
from dream.passes.faithfulness import Unfaithful
from dream.passes.memory_consolidation.answer import Parsed, is_clean
from dream.passes.memory_consolidation.desk import Desk
from dream.passes.memory_consolidation.feedback import ANTI_PATTERN, judge_lesson
from dream.passes.memory_consolidation.giving_way import CloseCall
from dream.passes.memory_consolidation.merging import MERGE, REWRITE
from dream.passes.memory_consolidation.operations import Dropping, Saving, sort_out
from dream.passes.memory_consolidation.retiring import (
    DROP,
    is_over_eager,
    judge_dropping,
    judge_superseding,
)
from dream.passes.memory_consolidation.saving import Judgement, judge_saving
from dream.passes.memory_consolidation.sheet import Sheet
from dream.passes.protocol import ModelContext
from dream.passes.terms import CUTTER

Twins = Mapping[str, tuple[MemoryEntry, ...]]

_QUESTION = "Which of these holds now? The evidence for each is about as strong."


@dataclass(slots=True)
class Judged:
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


def judge_entries(parsed: Parsed, sheet: Sheet, desk: Desk) -> Judged:
    """Judge an answer about entries; what it saves comes first, so that nothing it builds on is dropped."""
    found = sort_out(parsed, sheet)
    judged = Judged(refused=found.refused, again=found.again)
    droppings = [one for one in found.operations if isinstance(one, Dropping)]
    others = [one for one in found.operations if not isinstance(one, Dropping)]
    taken = {sheet.ids[handle] for one in others for handle in one.uses}
    for one in others:
        if isinstance(one, Saving):
            judged.add(judge_saving(one, sheet, desk, taken | judged.changed))
        else:
            judged.add(judge_superseding(one, sheet, desk))
    if is_over_eager(len(_to_drop(parsed, sheet)), len(sheet.members)):
        judged.refused.append(Refusal.of(Refused.OVER_EAGER, _to_drop(parsed, sheet)))
        return judged
    for dropping in droppings:
        entry_id = sheet.ids[dropping.item.handle]
        kept = entry_id in judged.changed
        judged.add(Refusal(Refused.HANDLE_REUSED, entry_id) if kept else judge_dropping(dropping, sheet, desk))
    return judged


def _to_drop(parsed: Parsed, sheet: Sheet) -> list[str]:
    """Return the ids of the members that an answer would put nothing in the place of."""
    made = {handle for save in parsed.saves for handle in save.sources}
    plain = dict.fromkeys(item.handle for item in parsed.deletes if item.successor is None)
    return sheet.named(handle for handle in plain if handle in sheet.members and handle not in made)


def judge_feedback(parsed: Parsed, feedback: Mapping[str, Feedback], desk: Desk) -> Judged:
    """Judge an answer about feedback, which nothing deletes."""
    judged = Judged()
    for item in parsed.saves:
        judged.add(judge_lesson(item, feedback, desk))
    return judged


async def desk_for(
    context: ModelContext,
    parsed: Parsed,
    texts: list[str],
    twins: Twins,
    *,
    merge_only: bool,
    speakers: Mapping[str, frozenset[str]],
) -> Desk:
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
    return Desk(
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


def find_twins(view: ReadView, parsed: Parsed) -> Twins:
    """Return the live entries that say what an item of the answer says, by fold key, oldest first."""
    keys = {fold_key(content) for content in _written(parsed) if is_clean(content)}
    found: dict[str, tuple[MemoryEntry, ...]] = {}
    for entry in view.entries.with_fold_keys(keys):
        key = fold_key(entry.content)
        found[key] = (*found.get(key, ()), entry)
    return found


def _written(parsed: Parsed) -> list[str]:
    return [item.content for item in parsed.saves if item.content is not None]
