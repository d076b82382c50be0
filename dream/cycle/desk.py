"""The desk: what a person decides about what is remembered, and the questions that only a person can answer."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, Unpack

from agentcore.domain.evidence import SourceKind, SourceRef
from agentcore.domain.memory import MemoryEntry, Status, Trust
from agentcore.domain.predicates import read_rules
from agentcore.domain.question import Question, QuestionCause, QuestionState, QuestionVerdict, question_id as id_of
from agentcore.domain.records import Record
from agentcore.domain.scope import Scope
from agentcore.domain.text import clean_content
from agentcore.errors import InvalidContentError, RetiredEntryError, UnknownRecordError
from agentcore.hosting.amend import MemoryChanges, checked
from agentcore.hosting.checks import clean_text
from agentcore.hosting.services import HostServices
from agentcore.stores.storage import Origin, ReadView, UnitOfWork
from dream.cycle.claim_answers import answered_claims
from dream.cycle.desk_changes import (
    ANSWER,
    EDIT,
    MERGE,
    SUPERSEDE,
    change_set,
    edited,
    kept,
    merged,
    replaced,
    rewritten,
    says_the_same,
    says_too,
    settled,
    time_told,
    twin_of,
)
from dream.cycle.running.admission import Admission
from dream.cycle.running.run_envelope import asked_for
from dream.cycle.running.step_writer import StepWriter
from dream.domain.asked_question import AskedQuestion
from dream.domain.change import Change, ChangeSet
from dream.domain.desk_decision import DeskDecision
from dream.domain.proposal import Proposal
from dream.domain.report import PassOutcome, PassReport, RunKind, RunReport
from dream.domain.step import StepDraft
from dream.errors import AnsweredQuestionError, UnknownMemberError, UnknownQuestionError
from dream.options import DreamOptions
from dream.stores import dream_stores

_DISTINCT_TEXT: Final = "Do these say the same?"

Decide = Callable[[UnitOfWork, DeskDecision], ChangeSet | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """What a person does to the memory of one scope; lives as long as the host.

    Whoever acts (`acting_as`) is named as the one who decided; without a word the host did.

    Everything is done in one transaction and told as a run of its own, which `undo` takes back. It waits for no dream:
    a dream that is under way finds the records changed and leaves them alone. What changes nothing is no run (its
    report has no id).

    Args:
        parts: What the host offers.
        options: The host's options.
        scope: Whose memory.
        told: Given the report of each run before the call returns.

    Example:
        >>> import asyncio
        >>> from agentcore import AgentHostBuilder
        >>> async def main() -> None:
        ...     async with AgentHostBuilder(None).with_memory().with_dreaming().build() as host:
        ...         tea = await host.memory.remember("Ana drinks green tea.")
        ...         await host.desk.edit(tea.id, content="Ana drinks black tea.", why="She said so.")
        ...         print((await host.memory.get(tea.id)).content)
        >>> asyncio.run(main())
        Ana drinks black tea.
    """

    parts: HostServices
    options: DreamOptions
    scope: Scope
    told: Callable[[RunReport], Awaitable[RunReport]]

    async def questions(
        self, *, state: QuestionState = QuestionState.OPEN, cause: QuestionCause | None = None
    ) -> list[AskedQuestion]:
        """Return questions with the entries that they are about, the oldest first.

        Args:
            state: Only those in this state; of the open ones those that have two active members or more.
            cause: Only those that were asked for this cause.
        """

        def read(view: ReadView) -> list[AskedQuestion]:
            store = view.questions
            found = store.waiting(cause) if state is QuestionState.OPEN else store.in_state(state, cause)
            return [_asked(view, one) for one in found]

        return await self.parts.storage.read(self.scope, read)

    async def duplicates(self) -> list[AskedQuestion]:
        """Return the open questions about near-duplicates, the most alike first."""
        found = await self.questions(cause=QuestionCause.NEAR_DUPLICATE)
        return sorted(found, key=lambda one: -(one.question.similarity or 0.0))

    async def question(self, question: str) -> AskedQuestion:
        """Return one question in whatever state.

        Args:
            question: Its id, or the beginning of it.

        Raises:
            UnknownQuestionError: there is no such question, or several.
        """
        return await self.parts.storage.read(self.scope, lambda view: _asked(view, _question(view, question)))

    async def answer(
        self,
        question: str,
        *,
        keep: str | None = None,
        text: str | None = None,
        distinct: bool = False,
        dismiss: bool = False,
        why: str | None = None,
        trust: Trust = Trust.CONFIRMED,
    ) -> RunReport:
        """Answer an open question, in one of four ways.

        Args:
            question: Its id, or the beginning of it.
            keep: The member that holds (its id or the beginning): it takes over what says the same to the
                letter, takes the place of the others, and is confirmed.
            text: A text that takes the place of all members.
            distinct: All hold and say different things: no dream puts them together, as long as their texts stay.
            dismiss: Nobody wants to be asked; nothing is decided.
            why: The reason, for people.
            trust: How far what holds is trusted from then on, where it was not already.

        Raises:
            UnknownQuestionError: there is no such question, or several.
            AnsweredQuestionError: it was answered before; `undo` of that run opens it again.
            InvalidContentError: not one way is chosen, no member is meant, or the text cannot be stored.
        """
        ways = [keep is not None, text is not None, distinct, dismiss]
        if sum(ways) != 1:
            raise InvalidContentError(field="answer", problem="choose one of keep, text, distinct and dismiss")
        content = None if text is None else clean_content(text)
        question_id = (await self.question(question)).question.id

        def decide(unit: UnitOfWork, decision: DeskDecision) -> ChangeSet:
            decision = replace(decision, trust=trust)
            asked = _open_question(unit, question_id)
            if any(ref.kind is SourceKind.CLAIM for ref in asked.members):
                if distinct or text is not None:
                    raise InvalidContentError(field="answer", problem="one of the claims holds: keep it, or dismiss")
                rules = read_rules(self.options.claims.rules)
                return answered_claims(unit, asked, keep, decision, rules=rules, new_id=self.parts.ids.new())
            members = [entry for entry in unit.entries.get_many(asked.member_ids) if entry.is_active]
            if dismiss or distinct:
                verdict = QuestionVerdict.DISTINCT if distinct else None
                return change_set(ANSWER, [settled(asked, verdict, decision)])
            if keep is None:
                return self._text(asked, content or "", members, decision)
            return _kept(asked, _member(members, keep), members, decision)

        return await self.record(ANSWER, decide, why=why, target=question_id)

    async def edit(self, entry_id: str, *, why: str | None = None, **changes: Unpack[MemoryChanges]) -> RunReport:
        """Change an active entry; whatever is not named stays as it is.

        Args:
            entry_id: Which one.
            why: The reason, for people.
            **changes: As of `Memory.update`; a new text is its own evidence from then on, and what it is about follows
                the days that it tells, unless `subject_time` is named.

        Raises:
            UnknownRecordError: no entry has this id.
            InvalidInputError: something cannot be stored, or the entry is not active.
        """
        fields = checked(changes)

        def change(entry: MemoryEntry, decision: DeskDecision) -> MemoryEntry:
            seen = decision.at if "base" in fields else entry.last_seen_at
            when = {"subject_time": time_told(entry, fields["content"])} if "content" in fields else {}
            after = replace(entry, **(when | fields))
            return entry if after == entry else replace(after, updated_at=decision.at, last_seen_at=seen)

        return await self._change_one(EDIT, entry_id, change, why=why)

    async def pin(self, entry_id: str, *, pinned: bool = True, why: str | None = None) -> RunReport:
        """Pin an active entry, so that no dream retires it; or take its pin away. Errors as of `edit`."""
        what = "pin" if pinned else "unpin"
        return await self._change_one(what, entry_id, lambda entry, _: replace(entry, pinned=pinned), why=why)

    async def confirm(self, entry_id: str, *, why: str | None = None) -> RunReport:
        """Vouch for an active entry: consolidation ranks what is confirmed first. Errors as of `edit`."""
        return await self._change_one(
            "confirm", entry_id, lambda entry, _: replace(entry, trust=Trust.CONFIRMED), why=why
        )

    async def archive(self, entry_id: str, *, why: str | None = None) -> RunReport:
        """Set an active entry aside: nobody recalls it, retention purges it later, `undo` or `restore` brings it back.

        Errors as of `edit`.
        """

        def retire(entry: MemoryEntry, decision: DeskDecision) -> MemoryEntry:
            reason = decision.told("archived")
            return replace(entry, status=Status.ARCHIVED, status_reason=reason, status_at=decision.at)

        return await self._change_one("archive", entry_id, retire, why=why)

    async def merge(self, *entry_ids: str, text: str | None = None, why: str | None = None) -> RunReport:
        """Make one entry of several active ones that say the same; open questions about them alone are answered by it.

        Args:
            entry_ids: Two or more; the first takes over the others, and is confirmed.
            text: A new text that takes the place of all of them instead.
            why: The reason, for people.

        Raises:
            UnknownRecordError: no entry has one of these ids.
            InvalidContentError: fewer than two entries are named, one is not active, or the text cannot be stored.
        """
        ids = _several(entry_ids, MERGE)
        content = None if text is None else clean_content(text)

        def decide(unit: UnitOfWork, decision: DeskDecision) -> ChangeSet:
            keep, *others = (_active(unit, entry_id) for entry_id in ids)
            if content is not None and twin_of(content, [keep]) is None:
                new_id = self.parts.ids.new()
                made = rewritten(new_id, content, [keep, *others], decision, agreeing=[keep, *others])
                verdict, result = QuestionVerdict.REWRITTEN, new_id
            else:
                made, verdict, result = merged(keep, others, decision), QuestionVerdict.KEPT, keep.id
            answered = [
                settled(one, verdict, decision, result)
                for one in unit.questions.naming(map(_ref, ids))
                if one.is_open and set(one.member_ids) <= set(ids)
            ]
            return change_set(MERGE, [*made, *answered])

        return await self.record(MERGE, decide, why=why, target=ids[0])

    async def distinct(self, *entry_ids: str, why: str | None = None) -> RunReport:
        """Say that active entries differ: no dream puts two of them together, as long as their texts stay.

        Args:
            entry_ids: Two or more.
            why: The reason, for people.

        Raises:
            UnknownRecordError: no entry has one of these ids.
            InvalidContentError: fewer than two entries are named, or one is not active.
        """
        ids = _several(entry_ids, "distinct")

        def decide(unit: UnitOfWork, decision: DeskDecision) -> ChangeSet | None:
            entries = [_active(unit, entry_id) for entry_id in ids]
            told = unit.questions.naming(map(_ref, ids))
            same = [one for one in told if set(one.member_ids) == set(ids)]
            if any(one.verdict is QuestionVerdict.DISTINCT for one in same):
                return None
            waiting = [one for one in same if one.is_open]
            made = [settled(one, QuestionVerdict.DISTINCT, decision) for one in waiting]
            return change_set("distinct", made or [_said_distinct(entries, decision)])

        return await self.record("distinct", decide, why=why, target=ids[0])

    async def _change_one(
        self,
        what: str,
        entry_id: str,
        change: Callable[[MemoryEntry, DeskDecision], MemoryEntry],
        *,
        why: str | None,
    ) -> RunReport:
        def decide(unit: UnitOfWork, decision: DeskDecision) -> ChangeSet | None:
            before = _active(unit, entry_id)
            return edited(before, change(before, decision), _DONE[what], decision)

        return await self.record(what, decide, why=why, target=entry_id)

    async def record(
        self, what: str, decide: Decide, *, why: str | None, target: str, declines: bool = False
    ) -> RunReport:
        """Decide and write in one transaction, as a run of its own; where nothing changes, there is no run.

        Args:
            what: What the run calls it.
            decide: Returns what changes, None for nothing.
            why: The reason, for people.
            target: What it is about.
            declines: Whether no dream does again what the change takes back.
        """
        reason = None if why is None else clean_text("reason", why)
        opening = asked_for(self.parts, self.scope, RunKind.EDIT, target)
        run_id = self.parts.ids.new()
        opening = replace(opening, run_id=run_id)
        work = partial(self._write, what=what, decide=decide, opening=opening, why=reason, declines=declines)
        report = await self.parts.storage.write(self.scope, work, origin=Origin.HOST)
        return await self.told(report)

    def _write(
        self, unit: UnitOfWork, what: str, decide: Decide, opening: RunReport, why: str | None, *, declines: bool
    ) -> RunReport:
        decision = DeskDecision(by=str(unit.actor), at=unit.now, why=why)
        opening = replace(opening, actor=decision.by)
        made = decide(unit, decision)
        if made is None:
            nothing = PassReport(name=what, outcome=PassOutcome.UNCHANGED)
            return replace(opening.with_passes((nothing,), unit.now), run_id="")
        books = dream_stores(unit)
        books.runs.open(opening, {"passes": []})
        writer = StepWriter(
            run_id=opening.run_id,
            pass_name=what,
            as_of=unit.now,
            lease=None,
            options=self.options.applying(),
            new_id=self.parts.ids.new,
        )
        step = writer.write(unit, StepDraft(proposal=Proposal(), batch=[]), Admission(accepted=[made]))
        if declines:
            books.decisions.decline(set(made.fingerprints.values()), run_id=opening.run_id)
        done = PassReport(name=what, outcome=PassOutcome.APPLIED, accepted=step.report.accepted)
        report = opening.with_passes((done,), unit.now)
        books.runs.close(report)
        return report

    def _text(self, asked: Question, content: str, members: Sequence[MemoryEntry], decision: DeskDecision) -> ChangeSet:
        twin = twin_of(content, members)
        if twin is not None:
            return _kept(asked, twin, members, decision)
        alike = [one for one in members if says_too(one.content, content)] if says_the_same(asked) else []
        new_id = self.parts.ids.new()
        made = rewritten(new_id, content, members, decision, agreeing=alike)
        closed = settled(asked, QuestionVerdict.REWRITTEN, decision, new_id)
        return change_set(MERGE if alike else SUPERSEDE, [*made, closed])


_DONE: Final = {
    EDIT: "edited",
    "pin": "pinned",
    "unpin": "unpinned",
    "confirm": "confirmed",
    "archive": "archived",
}


def _kept(asked: Question, keep: MemoryEntry, members: Sequence[MemoryEntry], decision: DeskDecision) -> ChangeSet:
    others = [member for member in members if member.id != keep.id]
    made = kept(keep, others, decision) if says_the_same(asked) else replaced(keep, others, decision)
    closed = settled(asked, QuestionVerdict.KEPT, decision, keep.id)
    united = any(isinstance(one.after, MemoryEntry) and one.after.status is Status.ARCHIVED for one in made)
    return change_set(MERGE if united else SUPERSEDE, [*made, closed])


def _said_distinct(entries: Sequence[MemoryEntry], decision: DeskDecision) -> Change[Record]:
    members = tuple(_ref(entry.id) for entry in entries)
    versions = [(_ref(entry.id), entry.version) for entry in entries]
    asked = Question(
        # Not the id that a dream gives the same question: that one may be there, dismissed.
        id=id_of(QuestionCause.NEAR_DUPLICATE, [*versions, (SourceRef(SourceKind.DOCUMENT, decision.by), 0)]),
        scope=entries[0].scope,
        cause=QuestionCause.NEAR_DUPLICATE,
        members=members,
        text=_DISTINCT_TEXT,
        asked_at=decision.at,
        asked_by=decision.by,
    )
    return replace(settled(asked, QuestionVerdict.DISTINCT, decision), before=None)


def _ref(entry_id: str) -> SourceRef:
    return SourceRef(SourceKind.ENTRY, entry_id)


def _several(entry_ids: Sequence[str], what: str) -> list[str]:
    ids = list(dict.fromkeys(entry_ids))
    if len(ids) < 2:
        raise InvalidContentError(field=what, problem="give two different entries or more")
    return ids


def _active(view: ReadView, entry_id: str) -> MemoryEntry:
    entry = view.entries.get(entry_id)
    if entry is None:
        raise UnknownRecordError(kind="entry", value=entry_id)
    if not entry.is_active:
        raise RetiredEntryError(entry_id=entry_id, status=entry.status, successor=entry.successor)
    return entry


def _asked(view: ReadView, question: Question) -> AskedQuestion:
    found = {entry.id: entry for entry in view.entries.get_many(question.member_ids)}
    claims = view.claims.get_many([ref.id for ref in question.members if ref.kind is SourceKind.CLAIM])
    return AskedQuestion(question, tuple(found[one] for one in question.member_ids if one in found), tuple(claims))


def _question(view: ReadView, prefix: str) -> Question:
    found = view.questions.beginning_with(prefix)
    exact = [one for one in found if one.id == prefix]
    if len(exact or found) != 1:
        raise UnknownQuestionError(value=prefix, matches=len(found))
    return (exact or found)[0]


def _open_question(view: ReadView, prefix: str) -> Question:
    question = _question(view, prefix)
    if not question.is_open:
        raise AnsweredQuestionError(question_id=question.id, state=question.state.value, by=question.answered_by or "")
    return question


def _member(members: Sequence[MemoryEntry], prefix: str) -> MemoryEntry:
    found = [member for member in members if prefix and member.id.startswith(prefix)]
    if len(found) != 1:
        raise UnknownMemberError(value=prefix, members=[member.id for member in members])
    return found[0]
