"""Has a model weigh what came after hypotheses, checks what it says, and tells what is independent evidence."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Annotated, Any, ClassVar, Final

from pydantic import Field

from agentcore.domain.evidence import SourceKind, SourceRef
from agentcore.domain.hypothesis import FEEDBACK_LABEL, Bearing, Hypothesis, HypothesisSourceKind, WeighedEntry
from agentcore.domain.memory import Level, MemoryEntry, Trust
from agentcore.domain.text import fold_key
from agentcore.llm.chat import ChatRequest
from agentcore.stores.storage import ReadView
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.domain.step import Batch
from dream.passes.answers import AnswerItem, LooseHandle, Otherwise, Text, answer_form, item_schema, read_items
from dream.passes.conversation.evidence import not_shown
from dream.passes.conversation.quotes import holds_quote, on_one_line
from dream.passes.conversation.statement import secret_told
from dream.passes.prompts import build_request, fenced, quoted
from dream.passes.protocol import ModelContext

_LEAST_WORDS: Final = 3
"""Words of a quote at least, or all words of a shorter record."""
_MOST_ITEMS: Final = 200


class WeighingItem(AnswerItem):
    """What a model says of one hypothesis and one entry."""

    called: ClassVar[str] = "reading {}"

    guess: Annotated[LooseHandle, Otherwise(Refused.UNKNOWN_HANDLE, "{} names no guess")]
    record: Annotated[LooseHandle, Otherwise(Refused.UNKNOWN_HANDLE, "{} names no record")]
    bearing: Annotated[Bearing, Otherwise(Refused.INVALID_CONTENT, "{} is none of the readings")] = Field(
        validation_alias="reading"
    )
    quote: Annotated[Text, Otherwise(Refused.QUOTE_NOT_FOUND, "{} quotes nothing")]


_FORM: Final = answer_form("readings", readings=item_schema(WeighingItem))
_CONTRACT: Final = """\
Answer with {"readings": [...]}, one item for each guess and record named beside it. Each item has:
- "guess": the handle of the guess; "record": the handle of the record;
- "reading": "supports", "contradicts" or "neither";
- "quote": words of the record that show it, as they stand there; "" for "neither"."""


@dataclass(frozen=True, slots=True)
class WeighingQuestion:
    """Hypotheses with what is to be held against each, by the handles of one batch.

    Args:
        guesses: The hypotheses that are still in sight.
        entries: The entries that are as they were packed.
        pairs: Which are to be held against which.
    """

    guesses: Mapping[str, Hypothesis]
    entries: Mapping[str, MemoryEntry]
    pairs: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, view: ReadView, batch: Batch) -> "WeighingQuestion":
        """Return what a batch asks as things are now: its members are entries, and beside them stand hypotheses."""
        stored = {one.id: one for one in view.entries.get_many(batch.member_ids)}
        entries = {
            f"e{place}": stored[entry_id]
            for place, (entry_id, version) in enumerate(batch.members, 1)
            if entry_id in stored and stored[entry_id].is_active and stored[entry_id].version == version
        }
        told = {one.id: one for one in view.hypotheses.get_many([one for one, _ in batch.beside])}
        guesses = {
            f"h{place}": told[name]
            for place, (name, _) in enumerate(batch.beside, 1)
            if name in told and told[name].is_visible
        }
        open_ones = {
            handle: {entry.id for entry in unweighed(one, entries.values())} for handle, one in guesses.items()
        }
        pairs = [(guess, one) for guess, ids in open_ones.items() for one, entry in entries.items() if entry.id in ids]
        return cls(guesses, entries, tuple(pairs))

    def request(self, context: ModelContext, directives: Sequence[str]) -> ChatRequest:
        """Return the question."""
        lines: list[str] = []
        for handle, guess in self.guesses.items():
            named = [one for told, one in self.pairs if told == handle]
            if named:
                asked = f"{guess.what_if} ({guess.hypothesis})"
                lines.append(f"[{handle}] {quoted(asked)} records: {', '.join(named)}")
        shown = {one for _, one in self.pairs}
        lines += [f"[{one}] {quoted(entry.content)}" for one, entry in self.entries.items() if one in shown]
        block = fenced(context.marker, "Guesses, and records that came after them:", lines)
        return build_request(
            context,
            directives=directives,
            blocks=[f"{_CONTRACT}\n\n{block}"],
            answer=_FORM,
            purpose=context.pass_name,
        )

    def read(self, answer: Mapping[str, Any], by: str) -> tuple[dict[str, list[WeighedEntry]], list[Refusal]]:
        """Return what an answer says of each hypothesis, by its handle, and what of it does not hold.

        What does not hold, or is left out, is weighed as neither: the same question is not paid for again.
        """
        items, refused = read_items(answer, "readings", WeighingItem, what="readings", most=_MOST_ITEMS)
        if any(one.code == Refused.BROKEN_ANSWER for one in refused):
            return {}, refused
        taken: dict[tuple[str, str], WeighingItem] = {}
        for item in items:
            refusal = self._refusal(item)
            if refusal is not None:
                refused.append(refusal.at(item.number))
            elif (item.guess, item.record) in taken and taken[item.guess, item.record].bearing is not item.bearing:
                problem = f"{item.label} says something else than one before it"
                refused.append(Refusal(Refused.HANDLE_REUSED, problem).at(item.number))
                taken[item.guess, item.record] = item.model_copy(update={"bearing": Bearing.NEITHER, "quote": ""})
            else:
                taken.setdefault((item.guess, item.record), item)
        found: dict[str, list[WeighedEntry]] = {}
        for guess, record in self.pairs:
            item = taken.get((guess, record))
            found.setdefault(guess, []).append(_weighed(self.entries[record], item, by))
        return found, refused

    def _refusal(self, item: WeighingItem) -> Refusal | None:
        unknown = next((one for one in (item.guess, item.record) if one not in {*self.guesses, *self.entries}), None)
        if unknown is not None:
            return not_shown(item.label, unknown)
        if (item.guess, item.record) not in self.pairs:
            return Refusal(
                Refused.UNRELATED, f"{item.label} is about a guess and a record that were not shown together"
            )
        if item.bearing is Bearing.NEITHER:
            return None
        text, quote = self.entries[item.record].content, on_one_line(item.quote)
        if not holds_quote(text, quote) or len(quote.split()) < min(_LEAST_WORDS, len(text.split())):
            return Refusal(Refused.QUOTE_NOT_FOUND, f"{item.label} quotes what does not stand in {item.record}")
        return secret_told(item.label, self.entries[item.record].id, quote)


def _weighed(entry: MemoryEntry, item: WeighingItem | None, by: str) -> WeighedEntry:
    bearing = Bearing.NEITHER if item is None else item.bearing
    quote = "" if item is None or bearing is Bearing.NEITHER else on_one_line(item.quote)
    return WeighedEntry(entry_id=entry.id, text_key=fold_key(entry.content), bearing=bearing, quote=quote, by=by)


def mark_of(hypothesis_id: str) -> str:
    """Return what a person declines who takes back what was weighed for a hypothesis."""
    return blake2b(f"weigh_evidence\x1f{hypothesis_id}".encode(), digest_size=16).hexdigest()


def unweighed(hypothesis: Hypothesis, entries: Iterable[MemoryEntry]) -> list[MemoryEntry]:
    """Return those of the entries that touch a hypothesis and were not weighed as they are."""
    known = {(one.entry_id, one.text_key) for one in hypothesis.weighed}
    touching = {ref.id for ref in hypothesis.touching}
    return [one for one in entries if one.id in touching and (one.id, fold_key(one.content)) not in known]


def still_weighed(hypothesis: Hypothesis, entries: Mapping[str, MemoryEntry]) -> Hypothesis:
    """Return a hypothesis without what was weighed and is gone, retired, or says something else by now."""
    left = [
        one
        for one in hypothesis.weighed
        if (entry := entries.get(one.entry_id)) is not None
        and entry.is_active
        and fold_key(entry.content) == one.text_key
    ]
    return hypothesis if len(left) == len(hypothesis.weighed) else hypothesis.with_weighed(left)


def counted(view: ReadView, hypothesis: Hypothesis, new: Iterable[WeighedEntry]) -> Hypothesis:
    """Return a hypothesis with what was weighed now besides; a piece counts if it is independent of all the others.

    It has to be said by somebody, after the hypothesis, and to rest on nothing that the hypothesis or a piece that
    counts rests on; words that confirmed a hypothesis, and what was made of them, count for none.
    """
    pieces = list(new)
    ids = {one.entry_id for one in (*hypothesis.weighed, *pieces)}
    entries = {one.id: one for one in view.entries.get_many(ids)}
    used = _origins_of_sources(view, hypothesis)
    for one in hypothesis.weighed:
        if one.counts and one.entry_id in entries:
            used |= _origins(view, [entries[one.entry_id]])
    told: list[WeighedEntry] = []
    for one in sorted(pieces, key=lambda piece: (entries[piece.entry_id].recorded_at, piece.entry_id)):
        origins = _origins(view, [entries[one.entry_id]])
        counts = (
            one.bearing is Bearing.SUPPORTS
            and _came_after(entries[one.entry_id], hypothesis)
            and used.isdisjoint(origins)
            and not _confirms(view, origins)
        )
        used |= origins if counts else set()
        told.append(replace(one, counts=counts))
    again = {one.entry_id for one in told}
    return hypothesis.with_weighed((*(one for one in hypothesis.weighed if one.entry_id not in again), *told))


def _came_after(entry: MemoryEntry, hypothesis: Hypothesis) -> bool:
    """Tell whether somebody said it after the hypothesis was made; a merge is as old as the first of its sources."""
    is_later = entry.recorded_at > hypothesis.created_at
    if entry.level is Level.DERIVED:
        is_later &= entry.created_at > hypothesis.created_at
    return is_later and not entry.is_conclusion and entry.trust >= Trust.STATED


def _origins(view: ReadView, entries: Collection[MemoryEntry]) -> set[SourceRef]:
    """Return entries with all that they were made of, however far down."""
    found = {SourceRef(SourceKind.ENTRY, one.id) for one in entries}
    ahead = list(entries)
    while ahead:
        new = {ref for one in ahead for ref in one.sources} - found
        found |= new
        ahead = view.entries.get_many([ref.id for ref in new if ref.kind is SourceKind.ENTRY])
    return found


def _origins_of_sources(view: ReadView, hypothesis: Hypothesis) -> set[SourceRef]:
    found = set(hypothesis.sources)
    named = [ref.id for ref in hypothesis.source_refs if ref.kind is HypothesisSourceKind.CLAIM]
    claims = view.claims.get_many(named)
    found |= {ref for one in claims for ref in one.sources}
    found |= {SourceRef(SourceKind.ENTRY, one.fact) for one in claims if one.fact}
    ids = [ref.id for ref in found if ref.kind is SourceKind.ENTRY]
    return found | _origins(view, view.entries.get_many(ids))


def _confirms(view: ReadView, origins: Iterable[SourceRef]) -> bool:
    ids = [ref.id for ref in origins if ref.kind is SourceKind.ENTRY]
    return any(FEEDBACK_LABEL in one.tags for one in view.entries.get_many(ids))
