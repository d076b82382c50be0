"""Writes one step: guards, changes, purges, journal, cursor and report in one transaction."""

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING

from agentcore.domain.memory import MemoryEntry
from agentcore.domain.records import Record, RecordKind, version_of
from agentcore.hosting.services import HostServices
from agentcore.stores.storage import UnitOfWork
from agentcore.stores.values import Lease
from dream.cycle.review_queue import ReviewQueue
from dream.cycle.running.admission import (
    Admission,
    after_change,
    as_kept,
    as_stored,
    kept_texts,
    knowledge_of,
    moved_since,
    promotions_of,
    rebased,
    sources_of,
    stored_records,
)
from dream.cycle.running.applying import apply_changes, apply_in_order
from dream.cycle.running.asking import open_questions
from dream.cycle.running.context import Caps
from dream.domain.change import Change, ChangeSet, upheld
from dream.domain.declaration import Reads, declared
from dream.domain.proposal import HistoryKind, Notes, Proposal, Purge, PurgeHistory, PurgeRecords, PurgeSignals, Refusal
from dream.domain.reasons import Refused
from dream.domain.step import Batch, StepDraft, StepReport, WaitingExchange, exchange_id
from dream.domain.waiting import WaitingProposal
from dream.guards import first_refusal, is_purgeable
from dream.options import DreamOptions, PassMode, RetentionOptions
from dream.passes import ModelPass
from dream.passes.protocol import CountsChanges
from dream.stores import DreamStores, dream_stores
from dream.stores.runs import StepRow

if TYPE_CHECKING:
    from dream.cycle.running.run_envelope import RunEnvelope


@dataclass(slots=True, kw_only=True)
class Purger:
    """The purges of one step; lives as long as its transaction.

    Args:
        unit: The transaction.
        run_id: The run.
        step: The step's number.
        pass_name: Who proposed them.
        is_allowed: Whether the pass that proposed them declares that it purges.
        terms: How long things are kept.
        as_of: The instant the run judges by.
        refused: What was not removed, and why.
    """

    unit: UnitOfWork
    run_id: str
    step: int
    pass_name: str
    is_allowed: bool
    terms: RetentionOptions
    as_of: datetime
    refused: list[Refusal] = field(default_factory=list[Refusal])

    def carry_out(self, purges: Sequence[Purge]) -> int:
        """Remove what *purges* name and the laws allow; return how much that was."""
        if purges and not self.is_allowed:
            self.refused.append(Refusal(Refused.DESTROYS, f"{self.pass_name} may not purge"))
            return 0
        return sum(self._purge(purge) for purge in purges)

    def remove(self, kind: RecordKind, record_ids: Collection[str], reason: str) -> int:
        """Remove records for good and say so in the journal."""
        books = dream_stores(self.unit)
        ids = sorted(record_ids)
        books.journal.write_purges(self.run_id, self.step, self.pass_name, kind=kind, record_ids=ids, reason=reason)
        return self.unit.of_kind(kind).delete(ids)

    def _purge(self, purge: Purge) -> int:
        if isinstance(purge, PurgeHistory):
            if purge.what is HistoryKind.PROPOSALS:
                return self._expire(purge)
            if purge.what is HistoryKind.REFUSED:
                return dream_stores(self.unit).refused_texts.purge(purge.before, limit=purge.limit)
            expiry = dream_stores(self.unit).expiry
            if purge.what is HistoryKind.RUNS:
                return expiry.purge(purge.before, limit=purge.limit)
            return expiry.purge_feed(purge.before, limit=purge.limit)
        if isinstance(purge, PurgeSignals):
            store = self.unit.signals(purge.kind)
            return store.drop_expired(recorded_before=purge.recorded_before, keep=purge.keep, limit=purge.limit)
        return self._purge_records(purge)

    def _expire(self, purge: PurgeHistory) -> int:
        """Drop what nobody decided; it is no record, so it is told among what was refused."""
        expired = dream_stores(self.unit).proposals.expire(purge.before, limit=purge.limit)
        self.refused += [
            Refusal(Refused.EXPIRED, f"{one.proposal_id}: {one.change_set.operation} of {one.pass_name}")
            for one in expired
        ]
        return 0

    def _purge_records(self, purge: PurgeRecords) -> int:
        ids = [record.id for record in purge.records]
        if purge.kind is RecordKind.TURN:
            return self.remove(purge.kind, [turn.id for turn in self.unit.turns.get_many(ids)], purge.reason)
        present = {entry.id: entry for entry in self.unit.entries.get_many(ids)}
        allowed = [record.id for record in purge.records if self._is_due(present.get(record.id), record)]
        self.unit.questions.release(allowed)
        return self.remove(purge.kind, allowed, purge.reason)

    def _is_due(self, stored: MemoryEntry | None, proposed: Record) -> bool:
        """Judge by what is stored, not by what the pass says of it."""
        if stored is None or not isinstance(proposed, MemoryEntry) or stored.version != proposed.version:
            self.refused.append(Refusal(Refused.STALE_SOURCE, proposed.id))
            return False
        if not is_purgeable(stored, self.terms, self.as_of):
            self.refused.append(Refusal(Refused.DESTROYS, proposed.id))
            return False
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class StepWriter:
    """Commits the steps of one pass of one run; lives as long as that pass runs.

    Args:
        run_id: The run.
        pass_name: The pass.
        as_of: The instant the run judges by.
        lease: The right to dream, checked in every transaction; None where the run is this one transaction.
        options: The host's options.
        new_id: Returns a fresh id.
        dream_pass: The pass, which may count what becomes of its changes, and declares what it reads; None if it is
            not asked.
    """

    run_id: str
    pass_name: str
    as_of: datetime
    lease: Lease | None
    options: DreamOptions
    new_id: Callable[[], str]
    dream_pass: object = None

    @classmethod
    def of(
        cls, parts: HostServices, run: "RunEnvelope", options: DreamOptions, pass_name: str, dream_pass: object = None
    ) -> "StepWriter":
        """Return the writer of one pass of a run.

        Args:
            parts: What the host offers.
            run: The run.
            options: The host's options; those that apply, where a person has decided.
            pass_name: The pass.
            dream_pass: The pass, if it is asked.
        """
        return cls(
            run_id=run.report.run_id,
            pass_name=pass_name,
            as_of=run.report.as_of,
            lease=run.lease,
            options=options,
            new_id=parts.ids.new,
            dream_pass=dream_pass,
        )

    @property
    def asks_model(self) -> bool:
        """Whether what the pass proposes was paid for."""
        return isinstance(self.dream_pass, ModelPass)

    def commit(self, unit: UnitOfWork, draft: StepDraft) -> tuple[StepRow, Admission]:
        """Write what the guards let pass of a proposal; LeaseLostError if another process took over."""
        if self.lease is not None:
            unit.leases.assert_held(self.lease)
        judged = self.judge(unit, draft.proposal.change_sets, draft.proposal.for_review)
        return self.write(unit, draft, judged), judged

    def write(self, unit: UnitOfWork, draft: StepDraft, judged: Admission) -> StepRow:
        """Write a step of which it is decided what may happen: nothing else changes what is remembered."""
        books, proposal, number = dream_stores(unit), draft.proposal, dream_stores(unit).runs.next_step(self.run_id)
        self._propose(unit, books, judged, draft)
        changes = judged.written if judged.written is not None else changes_of(judged.accepted)
        former = apply_in_order(unit, changes, judged.former)
        unasked = self._journal(unit, books, number, judged, proposal)
        books.outbox.post(self.run_id, self.pass_name, changes)
        promotions = (*promotions_of(judged.accepted), *proposal.promotions)
        books.promotions.record([replace(one, run_id=self.run_id) for one in promotions])
        if self._is_whole(judged, proposal):
            books.phases.record(proposal.phases)
        again = self._defer(unit, books, judged, draft)
        books.clusters.remove(proposal.unsettled, pass_name=self.pass_name)
        books.clusters.put(proposal.settled, pass_name=self.pass_name, run_id=self.run_id)
        purging = self._purging(unit, number)
        purged = purging.carry_out(proposal.purges)
        refused = [*proposal.refused, *judged.refused, *unasked, *purging.refused]
        books.refused_texts.record(self.run_id, kept_texts(unit, self.pass_name, refused))
        looked_at = max(len(proposal.looked_at), int(proposal.notes.get("compared", 0)))
        report = replace(
            draft.report,
            accepted=sum(len(change_set.changes) for change_set in judged.accepted),
            proposed=len(judged.for_review),
            retired=judged.retired,
            outputs=judged.outputs,
            verbatim=judged.verbatim,
            purged=purged,
            looked_at=draft.report.looked_at if draft.report.packed else looked_at,
            refused=tuple(refused),
            notes={**proposal.notes, **self._made(proposal, judged)},
            backlog=proposal.backlog + len(again),
            former=former,
        )
        reopen = [*_to_look_at_again(judged.stale, draft), *again, *draft.reopen, *proposal.reopen]
        # A plain pass would find the same again at once: what has no room now has to wait for another run.
        step = self._row(books, number, draft, reopen, report, closing=proposal.done or bool(again))
        books.runs.add_step(self.run_id, step)
        if self.dream_pass is not None:
            books.ledger.record(self.pass_name, run_id=self.run_id, fingerprint=proposal.fingerprint)
        return step

    def as_planned(self, draft: StepDraft, judged: Admission, step: StepRow) -> StepDraft:
        """Return a step that was taken on a copy as a plan takes it: with what was refused there left out for good."""
        proposal = draft.proposal
        again = () if self.asks_model else _to_defer(judged)
        return replace(
            draft,
            proposal=replace(
                proposal,
                change_sets=tuple(judged.accepted),
                for_review=tuple(judged.for_review),
                refused=(*proposal.refused, *judged.refused),
                phases=proposal.phases if self._is_whole(judged, proposal) else (),
                backlog=step.report.backlog,
                waits=None,
                undecided=(),
                done=step.closing,
            ),
            reopen=(*_to_look_at_again(judged.stale, draft), *again, *draft.reopen),
            exchange=None,
            waits=tuple(judged.waiting),
            report=replace(draft.report, seconds=0.0),
            planned_from=step.cursor_before,
            is_planned=True,
        )

    def _journal(
        self, unit: UnitOfWork, books: DreamStores, number: int, judged: Admission, proposal: Proposal
    ) -> list[Refusal]:
        """Open the step's questions and note in the journal what changed; return why a question is not asked."""
        asked, refused = open_questions(unit, books, proposal.questions)
        apply_changes(unit, changes_of(asked))
        told = (*judged.accepted, *map(upheld, unit.conclusions.settle()), *asked)
        books.journal.write(self.run_id, number, self.pass_name, told)
        return refused

    @staticmethod
    def _is_whole(judged: Admission, proposal: Proposal) -> bool:
        """Tell whether all that was proposed is made, or waits for a person."""
        wanted = len(proposal.change_sets) + len(proposal.for_review)
        return len(judged.accepted) + len(judged.for_review) == wanted

    def _made(self, proposal: Proposal, judged: Admission) -> Notes:
        """Return what the pass counts of its changes, of those alone that are made or proposed."""
        if not isinstance(self.dream_pass, CountsChanges) or not proposal.change_sets:
            return {}
        return self.dream_pass.made(judged.accepted)

    def _defer(self, unit: UnitOfWork, books: DreamStores, judged: Admission, draft: StepDraft) -> list[str]:
        """Keep what waits if it was paid for; else return the ids to look at again, which costs nothing."""
        if not self.asks_model:
            return _to_defer(judged)
        begun = draft.exchange or self.exchange(str(books.runs.next_step(self.run_id)), unit.now)
        left = [begun.waiting_for(reason, sets) for reason, sets in _by_reason(judged.deferred).items()]
        if draft.proposal.waits is not None:
            left.append(begun.waiting_for(draft.proposal.waits, draft.proposal.undecided))
        # What a plan left waiting waits since the plan was applied; what waited before goes on as it did.
        kept = [one if one.runs else replace(one, run_id=self.run_id) for one in draft.waits]
        asked = self.run_id, draft.report.batch or ""
        judged.waiting = [as_kept(unit, books, one, asked) for one in (*kept, *left)]
        books.waiting.remove(draft.waited)
        books.waiting.put(judged.waiting)
        return []

    def exchange(self, number: str, since: datetime, batch: Batch | None = None) -> WaitingExchange:
        """Return an exchange of this run as it begins to wait.

        Args:
            number: Its name within the pass and run: that of its batch, or of its step.
            since: The present instant.
            batch: What it is about.
        """
        return WaitingExchange(
            exchange_id=exchange_id(self.run_id, self.pass_name, number),
            run_id=self.run_id,
            pass_name=self.pass_name,
            reason="",
            since=since,
            batch=batch,
        )

    def _row(
        self,
        books: DreamStores,
        number: int,
        draft: StepDraft,
        reopen: Sequence[str],
        report: StepReport,
        *,
        closing: bool,
    ) -> StepRow:
        """Move the cursor, settle and reopen what the step dealt with, and return its row."""
        proposal = draft.proposal
        reader = f"{self.pass_name}/{draft.reader}" if draft.reader else self.pass_name
        before = books.cursors.position(reader)
        after = draft.cursor_after(before)
        if after is not None:
            reads = declared(self.dream_pass).readers.get(reader, Reads.ENTRIES)
            books.cursors.move(reader, after, reads)
        consumed = books.cursors.settle(reader, proposal.looked_at)
        changed = [[record.id, version_of(record)] for record in sources_of(proposal.change_sets)]
        return StepRow(
            number=number,
            pass_name=reader,
            batch=changed if draft.batch is None else draft.batch,
            cursor_before=None if after is None else before,
            cursor_after=after,
            reopened_consumed=consumed,
            closing=closing,
            report=replace(report, reopened=tuple(books.cursors.reopen(reader, reopen))),
        )

    @property
    def _only_proposes(self) -> bool:
        return self.options.mode(self.pass_name) is PassMode.PROPOSE

    def _propose(self, unit: UnitOfWork, books: DreamStores, judged: Admission, draft: StepDraft) -> None:
        """Have what is for review wait for a person, as far as there is room."""
        if judged.for_review:
            ReviewQueue.as_it_stands(unit, books, self.options.review).admit(judged)
        for change_set in judged.for_review:
            books.proposals.add(
                WaitingProposal(
                    proposal_id=self.new_id(),
                    scope=unit.scope,
                    run_id=self.run_id,
                    pass_name=self.pass_name,
                    proposed_at=unit.now,
                    expires_at=unit.now + self.options.review.expire_after,
                    change_set=change_set,
                    reader=draft.reader,
                    members=draft.members,
                )
            )

    def judge(self, unit: UnitOfWork, proposed: Sequence[ChangeSet], for_review: Sequence[ChangeSet] = ()) -> Admission:
        """Hold change sets against the guards, the stored records and the caps.

        What only waits for a person retires nothing yet: the caps are asked once it is approved.
        """
        change_sets = [*proposed, *for_review]
        books = dream_stores(unit)
        knowledge = knowledge_of(unit, books, change_sets, self.options)
        present = stored_records(unit, change_sets)
        judged = Admission()
        caps = Caps.of(unit, books, self.options, self.run_id, proposed, only_proposes=self._only_proposes)
        for place, given in enumerate(change_sets):
            waits = self._only_proposes or place >= len(proposed)
            change_set = rebased(given, present)
            refusal = first_refusal(change_set, knowledge)
            moved = [] if refusal else moved_since(change_set, present)
            if moved:
                refusal = Refusal.of(Refused.STALE_SOURCE, moved)
                judged.stale += [change.record_id for change in change_set.changes if change.before is not None]
            is_capped = self._only_proposes or not waits
            if is_capped and refusal is None and (refusal := caps.refusal(change_set)) is not None:
                judged.deferred.append((refusal.code, given))
            if refusal is not None:
                judged.refused.append(refusal)
                continue
            (judged.for_review if waits else judged.accepted).append(change_set)
            knowledge = after_change(change_set, knowledge)
            for change in change_set.changes:
                # A later operation on the same record was proposed on a state that is no more; a document goes on.
                present.pop((change.kind, change.record_id), None)
                goes_on = as_stored(change)
                if goes_on is not None:
                    present[change.kind, change.record_id] = goes_on
        judged.retired, judged.outputs, judged.verbatim = caps.retired, caps.written, caps.verbatim.taken
        return judged

    def _purging(self, unit: UnitOfWork, number: int) -> Purger:
        return Purger(
            unit=unit,
            run_id=self.run_id,
            step=number,
            pass_name=self.pass_name,
            is_allowed=declared(self.dream_pass).purges,
            terms=self.options.retention,
            as_of=self.as_of,
        )


def _by_reason(deferred: Sequence[tuple[str, ChangeSet]]) -> dict[str, list[ChangeSet]]:
    found: defaultdict[str, list[ChangeSet]] = defaultdict(list)
    for reason, change_set in deferred:
        found[reason].append(change_set)
    return found


def _to_defer(judged: Admission) -> list[str]:
    return [record.id for record in sources_of([change_set for _, change_set in judged.deferred])]


def _to_look_at_again(stale: Sequence[str], draft: StepDraft) -> list[str]:
    """Return what to reopen for records that moved: of a batch the members, if what moved is none of them."""
    if draft.report.batch is None or not stale:
        return list(stale)
    return list(stale) if set(stale) <= set(draft.members) else list(draft.members)


def changes_of(change_sets: Sequence[ChangeSet]) -> list[Change[Record]]:
    """Return the changes of all these sets, in order."""
    return [change for change_set in change_sets for change in change_set.changes]
