"""Judges an answer about entries by words: what it would do, and how sure that is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any, Final

from agentcore.domain.memory import MemoryEntry
from agentcore.domain.question import Question, QuestionCause
from agentcore.domain.subject_time import compatible
from agentcore.domain.text import clean_category, clean_content, fold_key
from agentcore.stores.storage import ReadView
from dream.domain.change import ChangeSet
from dream.domain.proposal import Notes, Refusal
from dream.domain.reasons import Refused
from dream.domain.verification import Assertion
from dream.guards.detail import DetailKind
from dream.guards.secrets import secret_in
from dream.guards.verdict import EvidenceText, Judgement, Verdict, judge
from dream.options import VerificationMode
from dream.passes.answers import BrokenAnswer
from dream.passes.conflicts import ConflictVerdict, judge as judge_conflict
from dream.passes.exchange_state import Item, Settled
from dream.passes.memory_consolidation.changes import (
    DROP,
    MERGE,
    REWRITE,
    DropDraft,
    GivesWay,
    MergeDraft,
    dropped,
    is_refuted,
    saved,
    superseded,
)
from dream.passes.memory_consolidation.cited_entries import line_of, lines_of, roots_of
from dream.passes.memory_consolidation.composition import (
    MOST_CHARACTERS,
    MOST_SOURCES,
    composed,
    copied,
    denies,
    keeps_meaning,
)
from dream.passes.memory_consolidation.operations import (
    ConsolidationInput,
    Dropping,
    Saving,
    Superseding,
    sort_out,
)
from dream.passes.memory_consolidation.prompt import ConsolidationAnswer, ConsolidationHandles, SaveItem, is_clean
from dream.passes.protocol import ModelContext
from dream.passes.questions import question_about
from dream.passes.second_reading import times_of

Draft = MergeDraft | GivesWay | DropDraft
Twins = Mapping[str, tuple[MemoryEntry, ...]]

_QUESTION: Final = "Which of these holds now? The evidence for each is about as strong."
_CHANGED: Final = 'Now "{new}" and no longer "{old}"'
"""What a second reading has to find where one entry takes the place of another; `verify.md` says what that means."""


@dataclass(slots=True)
class JudgedConsolidation:
    """What an answer comes to.

    Args:
        items: What it would do.
        refused: What is out of the question, and why.
        again: Ids of records to look at again.
        questions: Ids of entries of which a person should say which one holds.
    """

    items: list[Item[Draft]] = field(default_factory=list[Item[Draft]])
    refused: list[Refusal] = field(default_factory=list[Refusal])
    again: set[str] = field(default_factory=set[str])
    questions: list[tuple[str, ...]] = field(default_factory=list[tuple[str, ...]])

    def notes(self) -> Notes:
        """Return the findings for the report."""
        asked: list[dict[str, Any]] = [{"entries": list(ids), "question": _QUESTION} for ids in self.questions]
        return {"questions": asked}

    def asked(self, context: ModelContext, stored: Sequence[MemoryEntry]) -> tuple[Question, ...]:
        """Return the questions as records, about entries as they are *stored*."""
        versions = {entry.id: entry.version for entry in stored}
        return tuple(
            question_about(context, QuestionCause.CLOSE_CALL, {one: versions.get(one, 0) for one in ids}, _QUESTION)
            for ids in dict.fromkeys(self.questions)
            if len(set(ids)) > 1
        )


def judge_entries(
    parsed: ConsolidationAnswer, consolidation_handles: ConsolidationHandles, consolidation_input: ConsolidationInput
) -> JudgedConsolidation:
    """Judge an answer about entries by words."""
    found = sort_out(parsed, consolidation_handles)
    judged = JudgedConsolidation(refused=found.refused, again=found.again)
    judging = _EntryJudge(parsed, consolidation_handles, consolidation_input, judged)
    going = _to_drop(parsed, consolidation_handles)
    is_over_eager_answer = is_over_eager(len(going), len(consolidation_handles.members))
    if is_over_eager_answer:
        judged.refused.append(Refusal.of(Refused.OVER_EAGER, going))
    for operation in found.operations:
        match operation:
            case Saving():
                judging.save(operation)
            case Superseding():
                judging.supersede(operation)
            case Dropping():
                if not is_over_eager_answer:
                    judging.drop(operation)
    return judged


def content_of(item: SaveItem, handles: ConsolidationHandles) -> str | Refusal | None:
    """Return the text that an item gives, or one put together from its sources; why not, if words are not theirs."""
    if item.keep is None:
        return item.content
    if item.add is None:
        return Refusal(Refused.INVALID_CONTENT, f"item {item.number + 1}: add is no list of from and text")
    added: list[str] = []
    for handle, text in item.add:
        source = handles.entries.get(handle)
        piece = None if source is None else source.content if not text else copied(text, source.content)
        if piece is None:
            return Refusal(Refused.QUOTE_NOT_FOUND, f"item {item.number + 1}: {text[:80]!r} does not stand in {handle}")
        added.append(piece)
    kept = handles.entries.get(item.keep)
    return None if kept is None else composed(kept.content, added)


def texts_of(parsed: ConsolidationAnswer | BrokenAnswer, handles: ConsolidationHandles) -> list[str]:
    """Return the texts that an answer would save."""
    if isinstance(parsed, BrokenAnswer):
        return []
    texts = (content_of(item, handles) for item in parsed.saves)
    return [text for text in texts if isinstance(text, str)]


@dataclass(frozen=True, slots=True)
class _EntryJudge:
    """Judges the operations of one answer."""

    parsed: ConsolidationAnswer
    handles: ConsolidationHandles
    given: ConsolidationInput
    judged: JudgedConsolidation

    def save(self, saving: Saving) -> None:
        """Judge a text, and what it takes the place of."""
        number = saving.item.number + 1
        sources = tuple(self.handles.entries[handle] for handle in saving.sources)
        draft = self._draft(saving.item, number, sources)
        refusal = draft if isinstance(draft, Refusal) else _fault(draft, self.given)
        if isinstance(draft, Refusal) or refusal is not None:
            self.judged.refused += [] if refusal is None else [refusal.at(number)]
            return
        texts = [source.content for source in sources]
        judgement = judge(
            draft.content,
            [EvidenceText(text=text) for text in texts],
            beside=self._beside(sources),
            whole=True,
            vocabulary=self.given.vocabulary,
        )
        verdict = judgement.verdict
        if verdict is Verdict.PROVEN and not keeps_meaning(draft.content, texts):
            verdict = Verdict.UNDECIDED
        self.judged.items.append(
            Item(
                number=number,
                value=draft,
                verdict=verdict,
                assertion=Assertion(text=draft.content, evidence=tuple(lines_of(sources)), whole=True),
                refusal=refuted(judgement, draft.content, number),
            )
        )
        for item in saving.gives_way:
            old = self.handles.entries[item.handle]
            self._give_way(GivesWay(old=old, to=sources, reason=item.reason, saving=number), item.number, draft.content)

    def supersede(self, superseding: Superseding) -> None:
        """Judge whether a live entry takes the place of an older one."""
        item = superseding.item
        old, successor = self.handles.entries[item.handle], self.handles.entries.get(superseding.successor)
        if successor is None:
            self.judged.refused.append(Refusal.of(Refused.STALE_SOURCE, [self.handles.ids[superseding.successor]]))
            return
        self._give_way(GivesWay(old=old, to=(successor,), reason=item.reason), item.number, successor.content)

    def drop(self, dropping: Dropping) -> None:
        """Judge whether an entry may go."""
        entry, given = self.handles.entries[dropping.item.handle], self.given
        if given.merge_only:
            code = Refused.MERGE_ONLY
        elif given.is_protected_category(entry.category):
            code = Refused.PROTECTED_CATEGORY
        elif given.is_worth_keeping(entry):
            code = Refused.PROTECTED_ENTRY
        else:
            # Only what the entry itself tells is forgotten with it.
            draft = DropDraft(entry=entry, reason=_reason(dropping.item.reason, [entry.content]))
            # That nobody needs it is no claim of the evidence: where only what is proven is made, a person decides.
            is_strict = given.options.verification is VerificationMode.STRICT
            verdict = Verdict.UNDECIDED if is_strict else Verdict.PROVEN
            kept = Assertion(text=entry.content, evidence=(line_of(entry),)) if is_strict else None
            self.judged.items.append(
                Item(number=self._number(dropping.item.number), value=draft, verdict=verdict, assertion=kept)
            )
            return
        self.judged.refused.append(Refusal.of(code, [entry.id]))

    def _number(self, place: int) -> int:
        """Return the number of an item of `toDelete`: it stands behind those of `toSave`."""
        return len(self.parsed.saves) + place + 1

    def _beside(self, sources: Sequence[MemoryEntry]) -> list[EvidenceText]:
        shown = [EvidenceText(text=one.content) for one in self.handles.entries.values() if one not in sources]
        lines = list(map(line_of, sources))
        days = [EvidenceText(text=f"{line.said_at:%Y-%m-%d}") for line in lines]
        told = [EvidenceText(text=one.text, speaker=one.speaker) for one in roots_of(sources)]
        return [*shown, *times_of(lines), *days, *told]

    def _draft(self, item: SaveItem, number: int, sources: tuple[MemoryEntry, ...]) -> MergeDraft | Refusal:
        if not sources:
            return Refusal.of(Refused.NO_SOURCES, [f"item {number}"])
        content = content_of(item, self.handles)
        if isinstance(content, Refusal):
            return content
        if not is_clean(content):
            return Refusal.of(Refused.INVALID_CONTENT, [entry.id for entry in sources])
        oldest = min(sources, key=lambda source: (source.created_at, source.id))
        return MergeDraft(
            number=number,
            content=clean_content(content),
            category=oldest.category if item.category is None else _category(item.category, sources),
            tags=item.tags,
            importance=item.importance,
            sources=sources,
        )

    def _give_way(self, one: GivesWay, place: int, content: str) -> None:
        """Judge whether the evidence has an entry give way; that both are about the same is read a second time."""
        verdict = self._conflict(one)
        if verdict is not None:
            self.judged.refused.append(verdict)
            return
        lines = tuple(line_of(entry) for entry in (one.old, *one.to))
        text = _CHANGED.format(old=one.old.content, new=content)
        told = [one.old.content, content]
        self.judged.items.append(
            Item(
                number=self._number(place),
                value=GivesWay(old=one.old, to=one.to, reason=_reason(one.reason, told), saving=one.saving),
                verdict=Verdict.PROVEN if denies(content, one.old.content) else Verdict.UNDECIDED,
                assertion=Assertion(text=text, evidence=lines),
            )
        )

    def _conflict(self, one: GivesWay) -> Refusal | None:
        """Return why an old entry must stay, or None if the evidence for what takes its place is better."""
        old, given = one.old, self.given
        if given.is_protected_category(old.category):
            return Refusal.of(Refused.PROTECTED_CATEGORY, [old.id])
        if given.merge_only:
            return Refusal.of(Refused.MERGE_ONLY, [old.id])
        if old.pinned:
            return Refusal.of(Refused.PROTECTED_ENTRY, [old.id])
        match judge_conflict(given.evidence([old]), given.evidence(one.to), given.as_of):
            case ConflictVerdict.STAYS:
                return Refusal.of(Refused.WEAKER_EVIDENCE, [old.id])
            case ConflictVerdict.CLOSE_CALL:
                ids = (old.id, *(entry.id for entry in one.to))
                self.judged.questions.append(ids)
                return Refusal.of(Refused.CLOSE_CALL, ids)
            case ConflictVerdict.GIVES_WAY:
                return None


def _fault(draft: MergeDraft, given: ConsolidationInput) -> Refusal | None:
    ids = [entry.id for entry in draft.sources]
    protected = [entry.id for entry in draft.sources if given.is_protected_category(entry.category)]
    if protected or given.is_protected_category(draft.category):
        return Refusal.of(Refused.PROTECTED_CATEGORY, protected or ids)
    if not all(compatible(one.subject_time, other.subject_time) for one, other in combinations(draft.sources, 2)):
        return Refusal.of(Refused.DISTINCT_MOMENTS, ids)
    longest = max(MOST_CHARACTERS, *(len(source.content) for source in draft.sources))
    if len(draft.sources) > MOST_SOURCES or len(draft.content) > longest:
        return Refusal.of(Refused.TOO_LARGE, ids)
    return None


def refuted(judgement: Judgement, content: str, number: int) -> Refusal | None:
    """Return why a text is not taken, if its words refute it."""
    if judgement.verdict is not Verdict.REFUTED:
        return None
    told = content.casefold()
    is_lost = all(one.kind is not DetailKind.NEGATION and one.text.casefold() not in told for one in judgement.details)
    code = Refused.LOST_DETAIL if is_lost else Refused.INVENTED_DETAIL
    return Refusal(code, f"item {number}: {', '.join(map(str, judgement.details[:5]))}", number)


def _category(given: str, sources: Sequence[MemoryEntry]) -> str:
    """Return the category that a model gave, as a source spells it: another case alone is no other category."""
    category = clean_category(given)
    spelt = (one.category for one in sources if one.category.casefold() == category.casefold())
    return next(spelt, category)


def _reason(given: str, texts: Sequence[str]) -> str:
    """Return the model's reason if it tells nothing that the entries do not, and no secret."""
    return "" if secret_in(given) or is_refuted(given, texts) else given


def is_over_eager(droppings: int, members: int) -> bool:
    """Tell whether an answer would drop more than three quarters of four records or more.

    Example:
        >>> is_over_eager(4, 4), is_over_eager(3, 4), is_over_eager(3, 3)
        (True, False, False)
    """
    return members >= 4 and 4 * droppings > 3 * members


def _to_drop(parsed: ConsolidationAnswer, consolidation_handles: ConsolidationHandles) -> list[str]:
    """Return the ids of the members that an answer would put nothing in the place of."""
    made = {handle for save in parsed.saves for handle in save.made_of}
    plain = dict.fromkeys(item.handle for item in parsed.deletes if item.successor is None)
    return consolidation_handles.named(
        handle for handle in plain if handle in consolidation_handles.members and handle not in made
    )


def made_of(
    settled: Sequence[Settled[Draft]], consolidation_input: ConsolidationInput
) -> tuple[list[ChangeSet], list[Refusal]]:
    """Return the change sets of what holds, and why other things are not done.

    What a text takes the place of goes with it; if the text is not taken, it stays.
    """
    values = [one.value for one in settled]
    leaving = [value for value in values if isinstance(value, GivesWay)]
    merges = [_with_gone(one, one.value, leaving) for one in settled if isinstance(one.value, MergeDraft)]
    numbers = {one.value.number for one in merges}
    orphans = [one.old.id for one in leaving if one.saving is not None and one.saving not in numbers]
    refused = [Refusal.of(Refused.NO_SUCCESSOR, [old]) for old in orphans]
    made = [superseded(one, consolidation_input) for one in leaving if one.saving is None]
    taken = {entry.id for one in merges for entry in one.value.used}
    for one in merges:
        change_set = saved(one, consolidation_input, taken | _changed(made))
        if isinstance(change_set, Refusal):
            refused.append(change_set.at(one.value.number))
        elif change_set is not None:
            made.append(change_set)
    kept = _changed(made)
    drops = [value for value in values if isinstance(value, DropDraft)]
    refused += [Refusal(Refused.HANDLE_REUSED, one.entry.id) for one in drops if one.entry.id in kept]
    made += [dropped(one, consolidation_input) for one in drops if one.entry.id not in kept]
    return made, refused


def apart(
    settled: Sequence[Settled[Draft]], for_review: Sequence[Settled[Draft]]
) -> tuple[list[Settled[Draft]], list[Settled[Draft]]]:
    """Return what may be made, and what waits for a person: a text and what it takes the place of stay together."""
    waiting = {_saving(one.value) for one in for_review} - {None}
    made = [one for one in settled if _saving(one.value) not in waiting]
    return made, [*(one for one in settled if _saving(one.value) in waiting), *for_review]


def _saving(draft: Draft) -> int | None:
    """Return the number of the text that a draft is, or gives way to; None for none."""
    return draft.number if isinstance(draft, MergeDraft) else draft.saving if isinstance(draft, GivesWay) else None


def _with_gone(one: Settled[Draft], draft: MergeDraft, leaving: Sequence[GivesWay]) -> Settled[MergeDraft]:
    return Settled(
        value=replace(draft, gives_way=tuple(gone for gone in leaving if gone.saving == draft.number)),
        verdict=one.verdict,
        written_by=one.written_by,
        verified_by=one.verified_by,
        round=one.round,
        quotes=one.quotes,
    )


def _changed(change_sets: Sequence[ChangeSet]) -> set[str]:
    return {change.record_id for change_set in change_sets for change in change_set.changes}


def counts_of(change_sets: Sequence[ChangeSet]) -> Notes:
    """Return what change sets do to entries, for the report."""
    counts: dict[str, int] = dict.fromkeys(("merged", "into", "rewritten", "superseded", "dropped"), 0)
    for change_set in change_sets:
        statuses = [getattr(change.after, "status", None) for change in change_set.changes]
        counts["superseded"] += statuses.count("superseded")
        counts["merged"] += statuses.count("archived") if change_set.operation == MERGE else 0
        counts["into"] += change_set.operation == MERGE
        counts["rewritten"] += change_set.operation == REWRITE
        counts["dropped"] += change_set.operation == DROP
    return counts


def input_for(
    context: ModelContext, twins: Twins, *, merge_only: bool, speakers: Mapping[str, frozenset[str]]
) -> ConsolidationInput:
    """Gather what an answer is judged by.

    Args:
        context: The run's.
        twins: Live entries that say what the answer says (`find_twins`).
        merge_only: Whether nothing may go without being merged.
        speakers: Who said each entry shown, by its id.
    """
    return ConsolidationInput(
        as_of=context.as_of,
        options=context.options,
        vocabulary=context.vocabulary,
        new_id=context.new_id,
        twins=twins,
        merge_only=merge_only,
        speakers=speakers,
    )


def find_twins(view: ReadView, texts: Sequence[str]) -> Twins:
    """Return the live entries that say one of the texts, by fold key, oldest first."""
    keys = {fold_key(text) for text in texts if is_clean(text)}
    found: dict[str, tuple[MemoryEntry, ...]] = {}
    for entry in view.entries.with_fold_keys(keys):
        key = fold_key(entry.content)
        found[key] = (*found.get(key, ()), entry)
    return found
