"""Verification: judges the entries that nobody has read beside their evidence, by words and by a second reading."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from agentcore.domain.conversation import Turn
from agentcore.domain.evidence import (
    Evidence,
    EvidenceVerdict,
    SourceKind,
    SourceRef,
    exact_words,
    united_evidence,
    with_verdict,
)
from agentcore.domain.filters import EntryFilter
from agentcore.domain.memory import Level, MemoryEntry, Status, Trust
from agentcore.stores.storage import ReadView
from dream.domain.built_in_passes import VERIFICATION
from dream.domain.change import Change, ChangeSet, fingerprint
from dream.domain.cluster import SettledCluster
from dream.domain.proposal import Notes, Proposal, Refusal, Work, summed
from dream.domain.reasons import Refused
from dream.domain.rounds import NextRound, Round, RoundKind
from dream.domain.step import Batch, Packing
from dream.domain.verification import Assertion, EvidenceLine, Reading, SecondReading
from dream.guards.change_guards import is_under
from dream.guards.verdict import Verdict, judge
from dream.options import DreamOptions
from dream.passes.conversation.quotes import holds_quote
from dream.passes.declared import DeclaredPass
from dream.passes.host_verifier import host_verifier
from dream.passes.protocol import ModelContext, PassView
from dream.passes.second_reading import VerificationCall, evidence_text, first_of

VERIFY_OPERATION: Final = "verify"
DENY_OPERATION: Final = "deny"
_HOST: Final = "host"
_DEEPEST: Final = 3
"""Merges of merges are followed to their roots so far."""
_BESIDE: Final = 2
"""Turns shown before each that an entry cites."""
_MOST_LINES: Final = 24
_TRIES: Final = 2
"""A call whose checks fail is asked once more, in another order."""
_PAGE: Final = 200
"""Entries whose evidence is read in one look."""
_WHY: Final = {
    Reading.CONTRADICTS: "its evidence says otherwise, a second reading found",
    Reading.NOT_SAID: "its evidence does not say it, a second reading found",
}


@dataclass(frozen=True, slots=True)
class _UnverifiedEntry:
    """An entry that nobody verified, with what it can be judged by."""

    entry: MemoryEntry
    lines: tuple[EvidenceLine, ...]

    @property
    def assertion(self) -> Assertion:
        return Assertion(text=self.entry.content, evidence=self.lines)

    @property
    def mark(self) -> str:
        """What is remembered of it once it was read, and what a person declines by an undo."""
        return fingerprint(VERIFY_OPERATION, self.entry)

    @property
    def proof(self) -> tuple[EvidenceLine, ...]:
        """The lines of which one says the very words; none if words do not prove it."""
        said = [line for line in self.lines if line.proves]
        alone = [line for line in said if self._is_proven_by([line])]
        return tuple(alone) or (tuple(said) if said and self._is_proven_by(said) else ())

    def _is_proven_by(self, lines: Sequence[EvidenceLine]) -> bool:
        return judge(self.entry.content, list(map(evidence_text, lines))).verdict is Verdict.PROVEN


class Verification(DeclaredPass, declaration=VERIFICATION):
    """Judges entries that are stored and unverified by the records that their sources name, the most recalled first.

    It runs when it is asked for alone (`Dreams.verify_existing`). What its evidence says gets that evidence and the
    verdict. What a second reading denies is archived; what is protected, pinned or a person's own is only listed. What
    was read once is not read again while it says the same.
    """

    async def has_work(self, context: ModelContext) -> Work:
        """Tell how many entries are unverified, evidence or not."""
        return Work(len(await _unread(context)))

    async def pack(self, context: ModelContext) -> Packing:
        """Settle what words prove, and divide the rest into calls."""
        ids = await _unread(context)
        proven: list[ChangeSet] = []
        asked: list[_UnverifiedEntry] = []
        bare = 0
        for start in range(0, len(ids), _PAGE):
            found = await _candidates(context, ids[start : start + _PAGE])
            bare += sum(not any(line.proves for line in one.lines) for one in found)
            for one in found:
                proof = one.proof
                if proof and not _is_fixed(one.entry, context.options):
                    proven.append(_verified(replace(one, lines=proof), EvidenceVerdict.PROVEN, verified_by=_HOST))
                elif any(line.proves for line in one.lines):
                    asked.append(one)
        denied, asked = await _denied_by_host(context, asked)
        return Packing(
            batches=tuple(_batches(asked, context.options.model.prompt_tokens)) if context.has_model else (),
            change_sets=(*proven, *denied.changes),
            refused=tuple(denied.refused),
            looked_at=tuple(denied.looked_at),
            backlog=0 if context.has_model else len(asked),
            notes={"entries": len(ids), "without_evidence": bare},
        )

    async def ask(self, context: ModelContext, batch: Batch, rounds: Sequence[Round]) -> NextRound | None:
        """Have the entries read; once more in another order where the checks of the reader failed."""
        candidates = await _of(context, batch)
        if not candidates or len(rounds) == _TRIES or any(_found(candidates, rounds)):
            return None
        call = VerificationCall.of(_statements(candidates), len(rounds) + 1)
        return NextRound(call.request(context), RoundKind.VERIFICATION, about=tuple(candidates))

    async def interpret(self, context: ModelContext, batch: Batch, rounds: Sequence[Round]) -> Proposal:
        """Give evidence to what was found there, and archive what was not."""
        candidates = await _of(context, batch)
        outcome = _VerifiedBatch(context)
        found = next(_found(candidates, rounds), _Readings())
        for place, one in candidates.items():
            if place in found.readings:
                outcome.take(one, found.readings[place], rounds[found.number - 1].model, found.number)
            else:
                outcome.leave(one)
        return outcome.proposal

    def made(self, change_sets: Sequence[ChangeSet]) -> Notes:
        """Count what was verified and what was archived."""
        after = [change.after for one in change_sets for change in one.changes if isinstance(change.after, MemoryEntry)]
        active = [entry for entry in after if entry.is_active]
        return {
            "proven": sum(entry.verdict is EvidenceVerdict.PROVEN for entry in active),
            "verified": sum(entry.verdict is EvidenceVerdict.VERIFIED for entry in active),
            "archived": len(after) - len(active),
        }

    def conclude(self, notes: Sequence[Notes]) -> Notes:
        """Sum the counts, and list what was denied and stays."""
        listed = [one for note in notes for one in note.get("listed", ())]
        counts = summed(notes, "entries", "without_evidence", "proven", "verified", "archived", "unread")
        return {**counts, "listed": listed}


async def _unread(context: ModelContext) -> list[str]:
    """Return the ids of entries that are unverified, have sources and were not read, the most recalled first."""
    known = {one.fingerprint for one in await context.settled()}

    def look(view: PassView) -> list[tuple[int, MemoryEntry]]:
        recalled = view.books.recalls.counts()
        found = view.entries.select(EntryFilter())
        return [(recalled.get(one.id, 0), one) for one in found if _is_open(one)]

    found = [(count, one, fingerprint(VERIFY_OPERATION, one)) for count, one in await context.read(look)]
    withheld = await context.withheld([mark for _, _, mark in found])
    open_ones = [(count, one) for count, one, mark in found if mark not in known and mark not in withheld]
    return [one.id for _, one in sorted(open_ones, key=lambda pair: (-pair[0], pair[1].created_at, pair[1].id))]


def _is_open(entry: MemoryEntry) -> bool:
    return entry.verdict is EvidenceVerdict.UNVERIFIED and bool(entry.sources or entry.evidence)


async def _candidates(context: ModelContext, ids: Sequence[str]) -> list[_UnverifiedEntry]:
    """Return the entries with their evidence, in the order of *ids*."""

    def look(view: PassView) -> dict[str, _UnverifiedEntry]:
        entries = view.entries.get_many(ids)
        return {entry.id: _UnverifiedEntry(entry, _lines(view, entry)) for entry in entries if entry.is_active}

    found = await context.read(look)
    return [found[entry_id] for entry_id in ids if entry_id in found]


async def _of(context: ModelContext, batch: Batch) -> dict[int, _UnverifiedEntry]:
    """Return the entries of a batch that are as they were packed, by their place in it."""
    found = {(one.entry.id, one.entry.version): one for one in await _candidates(context, batch.member_ids)}
    return {place: found[member] for place, member in enumerate(batch.members, 1) if member in found}


def _batches(candidates: Sequence[_UnverifiedEntry], tokens: int) -> Iterator[Batch]:
    left = list(enumerate(candidates))
    number = 0
    while left:
        chosen = first_of([(place, one.assertion) for place, one in left], tokens=tokens)
        number += 1
        members = [candidates[place].entry for place, _ in chosen]
        yield Batch(number=str(number), kind="entries", members=tuple((one.id, one.version) for one in members))
        left = left[len(chosen) :]


async def _denied_by_host(
    context: ModelContext, candidates: Sequence[_UnverifiedEntry]
) -> tuple["_VerifiedBatch", list[_UnverifiedEntry]]:
    """Return what becomes of entries that the host's verifier denies, and those that the model has to read.

    What could only be listed is left to the model: the host's verifier may be mistaken.
    """
    outcome, left = _VerifiedBatch(context), list(candidates)
    verifier = host_verifier(context.options.verifier)
    if verifier is None:
        return outcome, left
    denied = await verifier.denials(context.run_id, [one.assertion for one in candidates])
    for one in candidates:
        is_kept = _is_fixed(one.entry, context.options) or _is_only_listed(one.entry, context.options)
        if one.assertion in denied and not is_kept:
            outcome.take(one, denied[one.assertion], verifier.name, 0)
            left.remove(one)
    return outcome, left


def _statements(candidates: dict[int, _UnverifiedEntry]) -> list[tuple[int, Assertion]]:
    return [(place, one.assertion) for place, one in candidates.items()]


@dataclass(frozen=True, slots=True)
class _Readings:
    """What a call found whose checks held, and its number."""

    number: int = 0
    readings: Mapping[int, SecondReading] = field(default_factory=dict[int, SecondReading])


def _found(candidates: dict[int, _UnverifiedEntry], rounds: Sequence[Round]) -> Iterator[_Readings]:
    """Yield what was found in each call whose checks held."""
    for number, one in enumerate(rounds, 1):
        asked = {place: candidates[place] for place in one.asked.about if place in candidates}
        readings = VerificationCall.of(_statements(asked), number).read(one.answer)
        if readings is not None:
            yield _Readings(number, readings)


@dataclass(slots=True)
class _VerifiedBatch:
    """What becomes of the entries of a batch."""

    context: ModelContext
    changes: list[ChangeSet] = field(default_factory=list[ChangeSet])
    refused: list[Refusal] = field(default_factory=list[Refusal])
    settled: list[SettledCluster] = field(default_factory=list[SettledCluster])
    listed: list[list[str]] = field(default_factory=list[list[str]])
    looked_at: list[str] = field(default_factory=list[str])
    unread: int = 0

    def take(self, one: _UnverifiedEntry, reading: SecondReading, model: str, number: int) -> None:
        """Take over what the second reading found of an entry."""
        entry = one.entry
        self.looked_at.append(entry.id)
        is_denied = reading.reading is not Reading.SAYS
        if is_denied:
            self.refused.append(Refusal(Refused.DENIED, f"{entry.id}: {reading.reading}", cites=(entry.id,)))
        if _is_fixed(entry, self.context.options) or (is_denied and _is_only_listed(entry, self.context.options)):
            self._settle(one)
            if is_denied:
                self.listed.append([entry.id, reading.reading.value])
        elif is_denied:
            self.changes.append(self._archived(one, reading.reading))
        else:
            quoted = replace(one, lines=tuple(line for line in one.lines if _holds(line, reading.quotes)))
            verdict, quotes = EvidenceVerdict.VERIFIED, reading.quotes
            self.changes.append(_verified(quoted, verdict, verified_by=model, number=number, quotes=quotes))

    def leave(self, one: _UnverifiedEntry) -> None:
        """Note that an entry was not read: another run asks again."""
        self.unread += 1
        self.refused.append(Refusal(Refused.VERIFIER_UNRELIABLE, one.entry.id, cites=(one.entry.id,)))

    @property
    def proposal(self) -> Proposal:
        """What the batch changes."""
        return Proposal(
            change_sets=tuple(self.changes),
            refused=tuple(self.refused),
            settled=tuple(self.settled),
            looked_at=tuple(self.looked_at),
            notes={"unread": self.unread, "listed": self.listed},
        )

    def _settle(self, one: _UnverifiedEntry) -> None:
        cluster = SettledCluster(
            fingerprint=one.mark, record_ids=(one.entry.id,), declines=1, declined_at=self.context.as_of
        )
        self.settled.append(cluster)

    def _archived(self, one: _UnverifiedEntry, reading: Reading) -> ChangeSet:
        reason = _WHY[reading]
        after = replace(one.entry, status=Status.ARCHIVED, status_reason=reason, status_at=self.context.as_of)
        change = Change[Any](before=one.entry, after=after, reason=reason)
        return ChangeSet(operation=DENY_OPERATION, changes=(change,), fingerprints={one.entry.id: one.mark})


def _is_fixed(entry: MemoryEntry, options: DreamOptions) -> bool:
    """Tell whether no pass may change it at all."""
    return is_under(entry.category, options.protected_categories)


def _is_only_listed(entry: MemoryEntry, options: DreamOptions) -> bool:
    """Tell whether an entry stays though it was denied: it is pinned, a person's own, or protected."""
    terms = options.consolidation
    is_protected = entry.base >= terms.protect_importance or entry.reinforcement_count >= terms.protect_reinforced
    is_own = entry.trust is Trust.CONFIRMED or (entry.level is Level.EXPLICIT and not entry.was_said)
    return entry.pinned or is_own or is_protected


def _verified(
    one: _UnverifiedEntry,
    verdict: EvidenceVerdict,
    *,
    verified_by: str,
    number: int = 0,
    quotes: Sequence[str] = (),
) -> ChangeSet:
    """Return the change that gives an entry its evidence."""
    entry = one.entry
    told = with_verdict(
        (*entry.evidence, *_evidence(one.lines, quotes)), verdict, verified_by=verified_by, round=number
    )
    after = replace(entry, evidence=united_evidence([told]))
    change = Change[Any](before=entry, after=after, reason=f"{verdict}: its evidence says it")
    return ChangeSet(operation=VERIFY_OPERATION, changes=(change,), fingerprints={entry.id: one.mark})


def _evidence(lines: Iterable[EvidenceLine], quotes: Sequence[str]) -> Iterator[Evidence]:
    """Yield the sentences that hold a quote; where none is given, the beginning of each text."""
    for line in lines:
        if line.is_beside or line.source is None or line.said_at is None:
            continue
        held = [evidence_text(line, (quote,)).text for quote in quotes if _holds(line, (quote,))]
        for sentence in dict.fromkeys(held) or (line.text,):
            words = exact_words(sentence)
            if words:
                yield Evidence(source=line.source, speaker=line.speaker, said_at=line.said_at, sentence=words)


def _holds(line: EvidenceLine, quotes: Sequence[str]) -> bool:
    return any(holds_quote(line.text, quote) for quote in quotes)


def _lines(view: ReadView, entry: MemoryEntry) -> tuple[EvidenceLine, ...]:
    """Return what an entry can be judged by: records that its sources name, and sentences whose records are gone."""
    found = list(dict.fromkeys(_living(view, entry, _DEEPEST)))
    there = {line.source for line in found}
    gone = [
        EvidenceLine(text=one.sentence, speaker=one.speaker, role="user", said_at=one.said_at, source=one.source)
        for one in entry.evidence
        if one.source not in there
    ]
    return (*gone, *found)[:_MOST_LINES]


def _living(view: ReadView, entry: MemoryEntry, depth: int) -> Iterator[EvidenceLine]:
    """Yield what was said, the roots of merges first among their texts."""
    of_kind = {kind: [one.id for one in entry.sources if one.kind is kind] for kind in SourceKind}
    for turn in view.turns.get_many(of_kind[SourceKind.TURN]):
        if not turn.generated:
            for before in view.turns.preceding(turn.id, limit=_BESIDE):
                yield replace(_said(before), is_beside=True)
            yield _said(turn)
    for one in view.feedback.get_many(of_kind[SourceKind.FEEDBACK]):
        text = one.summary if one.detail is None else f"{one.summary}\n{one.detail}"
        yield EvidenceLine(
            text=text, role="feedback", said_at=one.occurred_at, source=SourceRef(SourceKind.FEEDBACK, one.id)
        )
    for parent in view.entries.get_many(of_kind[SourceKind.ENTRY]) if depth else ():
        roots = list(_living(view, parent, depth - 1))
        yield from roots
        if not roots and parent.level is Level.EXPLICIT:
            source = SourceRef(SourceKind.ENTRY, parent.id)
            yield EvidenceLine(text=parent.content, said_at=parent.created_at, source=source)


def _said(turn: Turn) -> EvidenceLine:
    source = SourceRef(SourceKind.TURN, turn.id)
    return EvidenceLine(
        text=turn.content, speaker=turn.speaker, role=turn.role, said_at=turn.occurred_at, source=source
    )
