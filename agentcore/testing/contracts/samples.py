"""Makes samples of records of every kind, and tests what the store of each kind owes."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from agentcore.domain.card import CardLine, CardSection
from agentcore.domain.claim import Claim, ClaimState, Entailment
from agentcore.domain.conclusion import Confidence, Pattern, Premise, confidence_of
from agentcore.domain.conversation import Turn
from agentcore.domain.document import StoredDocument
from agentcore.domain.evidence import Evidence, EvidenceVerdict, SourceKind, SourceRef
from agentcore.domain.hypothesis import (
    Bearing,
    Factor,
    Hypothesis,
    HypothesisDecision,
    HypothesisSource,
    HypothesisState,
    LoggedDecision,
    WeighedEntry,
)
from agentcore.domain.memory import Level, MemoryEntry, Status, Trust
from agentcore.domain.off_limits import OffLimitsTopic
from agentcore.domain.question import Question, QuestionCause, QuestionState, QuestionVerdict
from agentcore.domain.records import RECORD_TYPES, Record, RecordKind, kind_of, version_of
from agentcore.domain.scope import Scope
from agentcore.domain.signals import FailureCategory, Feedback, FeedbackKind, Rating, ToolCall, WispRun
from agentcore.domain.skill import Skill, SkillUse
from agentcore.domain.subject_time import PartialDate, SubjectTime
from agentcore.domain.text import fold_key
from agentcore.errors import StaleVersionError
from agentcore.stores.storage import Storage

E = TypeVar("E", bound=BaseException)
T = TypeVar("T")


def expect_equal(found: T, wanted: T) -> None:
    """Fail unless *found* equals *wanted*.

    Raises:
        AssertionError: it does not; the message shows both.

    Example:
        >>> expect_equal(len("tea"), 3)
    """
    if found != wanted:
        raise AssertionError(f"The storage gave\n    {found!r}\nwhere the contract wants\n    {wanted!r}")


def expect_within(part: str, text: str) -> None:
    """Fail unless *part* stands somewhere in *text*.

    Raises:
        AssertionError: it does not.
    """
    if part not in text:
        raise AssertionError(f"The storage said\n    {text!r}\nwhere the contract wants\n    {part!r}")


def expect_some(found: T | None) -> T:
    """Return *found*, which must not be None.

    Raises:
        AssertionError: it is.
    """
    if found is None:
        raise AssertionError("The storage gave None where the contract wants a record")
    return found


async def expect_error(kind: type[E], call: Awaitable[object]) -> E:
    """Return the error of that *kind* that *call* has to end in; any other passes unchanged.

    Raises:
        AssertionError: *call* ended well.
    """
    try:
        result = await call
    except kind as error:
        return error
    raise AssertionError(f"The storage gave\n    {result!r}\nwhere the contract wants {kind.__name__}")


START = datetime(2025, 6, 14, 9, 30, tzinfo=UTC)
"""The instant at which the clock of a contract test stands."""

SCOPE = Scope("acme", "agent", "ana")
"""The scope most contract tests write to."""

OTHER_SCOPE = Scope("acme", "agent", "ben")
"""A scope that differs from it in one part."""

DAY = timedelta(days=1)
MINUTE = timedelta(minutes=1)

_ONCE = {"occurred_at": START, "recorded_at": START}


def an_entry(entry_id: str, content: str = "Ana likes green tea.", **fields: Any) -> MemoryEntry:
    """Return an active, explicit entry, said at `START`; *fields* say what is different."""
    usual: dict[str, Any] = {"scope": SCOPE, "created_at": START, "recorded_at": START, "last_seen_at": START}
    return MemoryEntry(id=entry_id, content=content, **(usual | fields))


def a_full_entry(entry_id: str) -> MemoryEntry:
    """Return an entry with something in every field."""
    return an_entry(
        entry_id,
        'Ana moved to Lisboa; 葡萄牙 \N{HERB} it\'s "hers".',
        category="people/ana",
        tags=("home", 'quoted "tag"'),
        base=0.3,
        created_at=START - 400 * DAY,
        recorded_at=START - 3 * DAY,
        updated_at=START - DAY,
        last_seen_at=START - timedelta(microseconds=1),
        own_count=2,
        absorbed=(("older", 3),),
        subject_time=SubjectTime.parse("2024-05..?"),
        metadata={"requires_user_permission": "true", "city": "Lisboa"},
        level=Level.DERIVED,
        sources=(SourceRef(SourceKind.ENTRY, "older"), SourceRef(SourceKind.TURN, "turn-1")),
        evidence=(
            some_evidence("I moved to Lisboa; 葡萄牙.", said_at=START - 400 * DAY, source="document:home"),
            some_evidence(
                'It is "hers".',
                source="turn:turn-1",
                speaker="Ana",
                verdict=EvidenceVerdict.VERIFIED,
                written_by="another-model",
                verified_by="a-model",
                round=2,
            ),
        ),
        trust=Trust.INFERRED,
        pinned=True,
        status=Status.SUPERSEDED,
        status_reason="She moved again.",
        successor="newer",
        status_at=START,
        valid_until=PartialDate.parse("2025-06"),
    )


def a_premise(entry_id: str, **fields: Any) -> Premise:
    """Return a premise that says that Ana likes green tea, said at `START` in no session."""
    usual: dict[str, Any] = {"text_key": fold_key("Ana likes green tea."), "said_at": START}
    return Premise(entry_id, **(usual | fields))


def of_level(level: Level) -> dict[str, Any]:
    """Return the fields that an entry of *level* has to have."""
    if level is Level.INDUCTIVE:
        return _fields_of(a_pattern("a", "p", "q"))
    return _fields_of(a_deduction("a", "p", "q")) if level is Level.DEDUCTIVE else {"level": level}


def _fields_of(conclusion: MemoryEntry) -> dict[str, Any]:
    return {name: getattr(conclusion, name) for name in ("level", "sources", "pattern", "confidence", "premises")}


def a_deduction(entry_id: str, *premises: str, **fields: Any) -> MemoryEntry:
    """Return a deduction from entries with these ids that say that Ana likes green tea."""
    resting = {"premises": tuple(map(a_premise, sorted(premises))), "sources": _entries_named(premises)}
    return an_entry(entry_id, f"Conclusion {entry_id}.", **({"level": Level.DEDUCTIVE} | resting | fields))


def a_pattern(entry_id: str, *premises: str, **fields: Any) -> MemoryEntry:
    """Return a pattern over such entries, each said in a session of its own."""
    resting = tuple(a_premise(one, session=f"s-{one}") for one in sorted(premises))
    usual: dict[str, Any] = {
        "level": Level.INDUCTIVE,
        "pattern": Pattern.PREFERENCE,
        "confidence": confidence_of(resting) or Confidence.LOW,
        "premises": resting,
        "sources": _entries_named(premises),
    }
    return an_entry(entry_id, f"Conclusion {entry_id}.", **(usual | fields))


def _entries_named(ids: Sequence[str]) -> tuple[SourceRef, ...]:
    return tuple(SourceRef(SourceKind.ENTRY, one) for one in sorted(ids))


def some_evidence(sentence: str, *, source: str = "turn:t1", **fields: Any) -> Evidence:
    """Return an unverified sentence, said at `START`; *fields* say what is different."""
    usual: dict[str, Any] = {"said_at": START}
    return Evidence(sentence=sentence, source=SourceRef.parse(source), **(usual | fields))


def a_turn(turn_id: str, content: str = "I moved to Lisbon.", **fields: Any) -> Turn:
    """Return an unread turn of session `s1`, said at `START`."""
    usual: dict[str, Any] = {
        "scope": SCOPE,
        "session_id": "s1",
        "role": "user",
        "occurred_at": START,
        "recorded_at": START,
    }
    return Turn(id=turn_id, content=content, **(usual | fields))


def a_skill(skill_id: str, name: str = "mail/send", **fields: Any) -> Skill:
    """Return an active skill."""
    usual: dict[str, Any] = {
        "scope": SCOPE,
        "summary": "Send a mail.",
        "content": "1. Write.\n2. Send.",
        "created_at": START,
    }
    return Skill(id=skill_id, name=name, **(usual | fields))


def a_skill_use(use_id: str, **fields: Any) -> SkillUse:
    """Return an invocation of `mail/send`."""
    usual: dict[str, Any] = {"scope": SCOPE, "skill_name": "mail/send", "session_id": "s1", **_ONCE}
    return SkillUse(id=use_id, **(usual | fields))


def a_feedback(feedback_id: str, **fields: Any) -> Feedback:
    """Return a session summary with a rating."""
    usual: dict[str, Any] = {
        "scope": SCOPE,
        "session_id": "s1",
        "kind": FeedbackKind.SESSION_SUMMARY,
        "summary": "It went well.",
        "rating": Rating.GOOD,
        **_ONCE,
    }
    return Feedback(id=feedback_id, **(usual | fields))


def a_wisp_run(run_id: str, **fields: Any) -> WispRun:
    """Return a failed wisp run."""
    usual: dict[str, Any] = {
        "scope": SCOPE,
        "wisp_id": "weather",
        "description": "Look up the weather.",
        "definition_hash": "d1",
        "succeeded": False,
        "step_count": 3,
        "steps_completed": 1,
        "failed_step_id": "fetch",
        "failure_category": FailureCategory.EXTERNAL,
        "duration_ms": 1200,
        **_ONCE,
    }
    return WispRun(id=run_id, **(usual | fields))


def a_document(name: str, **fields: Any) -> StoredDocument:
    """Return a document with one bullet."""
    usual: dict[str, Any] = {"scope": SCOPE, "content": "# Memory\n\n- Ana likes tea.\n", "updated_at": START}
    return StoredDocument(id=name, **(usual | fields))


def an_off_limits_topic(topic_id: str, **fields: Any) -> OffLimitsTopic:
    """Return a topic about which nothing is kept."""
    usual: dict[str, Any] = {"scope": SCOPE, "words": "my health", "created_at": START}
    return OffLimitsTopic(id=topic_id, **(usual | fields))


def a_tool_call(call_id: str, **fields: Any) -> ToolCall:
    """Return a successful call of `mail_search`."""
    usual: dict[str, Any] = {
        "scope": SCOPE,
        "session_id": "s1",
        "tool_name": "mail_search",
        "succeeded": True,
        **_ONCE,
    }
    return ToolCall(id=call_id, **(usual | fields))


def a_question(question_id: str, **fields: Any) -> Question:
    """Return an answered question about two entries, with something in every field."""
    usual: dict[str, Any] = {
        "scope": SCOPE,
        "cause": QuestionCause.NEAR_DUPLICATE,
        "members": (SourceRef.parse("entry:older"), SourceRef.parse("entry:newer")),
        "text": "Do these say the same?",
        "asked_at": START,
        "asked_by": "a-pass",
        "similarity": 0.91,
        "state": QuestionState.RESOLVED,
        "verdict": QuestionVerdict.KEPT,
        "result": SourceRef.parse("entry:newer"),
        "answered_by": "person",
        "answered_at": START + DAY,
        "reason": 'It is the "newer" one.',
    }
    return Question(id=question_id, **(usual | fields))


def a_card_line(line_id: str, **fields: Any) -> CardLine:
    """Return a line that another one took the place of, with something in every field."""
    usual: dict[str, Any] = {
        "scope": SCOPE,
        "section": CardSection.RELATIONSHIP,
        "content": f'Married to "Rui" ({line_id}).',
        "set_at": START,
        "set_by": "a-pass",
        "reason": "She said so.",
        "pinned": True,
        "sources": (SourceRef.parse("entry:wedding"),),
        "premises": (Premise("wedding", "4f00c2", START, "s1"),),
        "status": Status.SUPERSEDED,
        "status_reason": "They parted.",
        "successor": "later",
        "status_at": START + DAY,
    }
    return CardLine(id=line_id, **(usual | fields))


def a_claim(claim_id: str, **fields: Any) -> Claim:
    """Return a claim whose fields hold unusual values unless told otherwise."""
    usual: dict[str, Any] = {
        "scope": SCOPE, "subject": "Álvaro", "predicate": "works_at", "object": "Acme & Söhne", "negated": True,
        "quote": "Álvaro does not work at Acme & Söhne any longer.", "confidence": 0.85, "trust": Trust.INFERRED,
        "sources": (SourceRef(SourceKind.ENTRY, "later"), SourceRef(SourceKind.TURN, "t1")), "asserted_at": START,
        "asserted_by": "host", "subject_time": SubjectTime.parse("2014..2016"), "entailment": Entailment.ENTAILED,
        "verified_by": "words", "state": ClaimState.SUPERSEDED, "state_reason": "He left.", "state_at": START + DAY,
        "fact": "later",
    }  # fmt: skip
    return Claim(id=claim_id, **(usual | fields))


def a_hypothesis(hypothesis_id: str, **fields: Any) -> Hypothesis:
    """Return a hypothesis whose fields hold unusual values unless told otherwise."""
    usual: dict[str, Any] = {
        "scope": SCOPE, "hypothesis": "Álvaro's move and the closed office may belong together.",
        "what_if": "What if the office closed because he moved?", "possible_outcome": "Letters would go to Lisbon.",
        "rationale": 'Both speak of "Acme".', "question": "Did he move for his work?", "likelihood": 0.25,
        "confidence": 1.0, "created_at": START, "created_by": "host", "expires_at": START + 30 * DAY, "support": 2,
        "source_refs": tuple(map(HypothesisSource.parse, ("claim:c", "entry:later", "hypothesis:h", "turn:t1"))),
        "factors": (Factor("rarity", 0.125), Factor("independence", 1.0)), "quotes": ('He said "Lisbon".',),
        "premises": (Premise("later", "4f00c2", START, "s1"),), "generator": "shared-terms", "trust": Trust.INFERRED,
        "touching": (SourceRef(SourceKind.ENTRY, "new"),), "weighed": (
            WeighedEntry(entry_id="new", text_key="4", bearing=Bearing.SUPPORTS, counts=True, quote='"So"', by="model"),
        ), "state": HypothesisState.REJECTED, "fragment": "said",
        "state_reason": "rejected by person", "state_at": START + DAY, "evaluated_at": START + DAY,
        "decisions": (LoggedDecision(decision=HypothesisDecision.REJECT, by="person", at=START + DAY, feedback="No."),),
    }  # fmt: skip
    return Hypothesis(id=hypothesis_id, **(usual | fields))


SAMPLES: Mapping[RecordKind, Callable[[str], Record]] = {
    RecordKind.ENTRY: a_full_entry,
    RecordKind.TURN: a_turn,
    RecordKind.SKILL: lambda skill_id: a_skill(skill_id, name=f"mail/{skill_id}"),
    RecordKind.SKILL_USE: a_skill_use,
    RecordKind.FEEDBACK: a_feedback,
    RecordKind.WISP_RUN: a_wisp_run,
    RecordKind.TOOL_CALL: a_tool_call,
    RecordKind.DOCUMENT: a_document,
    RecordKind.OFF_LIMITS_TOPIC: an_off_limits_topic,
    RecordKind.QUESTION: a_question,
    RecordKind.CARD_LINE: a_card_line,
    RecordKind.CLAIM: a_claim,
    RecordKind.HYPOTHESIS: a_hypothesis,
}
"""What makes a record of each kind, given its id."""


_WORDS = {RecordKind.QUESTION: "text", RecordKind.CLAIM: "quote", RecordKind.HYPOTHESIS: "rationale"}


class RecordKindContract:
    """What a storage owes to each kind of record alike."""

    async def test_a_sample_of_every_kind_is_at_hand(self) -> None:
        """A kind without one is not tested here."""
        expect_equal(list(SAMPLES), list(RECORD_TYPES))
        expect_equal([kind_of(make("a")) for make in SAMPLES.values()], list(RECORD_TYPES))

    async def test_records_of_every_kind_come_back_as_they_were_added(self, storage: Storage) -> None:
        """By id, in one stream, and in their own scope alone."""
        for kind in RECORD_TYPES:
            both = await _added(storage, kind, "b", "a")
            found = await storage.read(SCOPE, lambda view, kind=kind: view.of_kind(kind).get_many(["b", "none", "a"]))
            expect_equal(found, both)
            expect_equal(await _every(storage, kind), both)
            taken = await storage.read(SCOPE, lambda view, kind=kind: view.of_kind(kind).existing(["none", "a"]))
            expect_equal(taken, {"a"})
            elsewhere = await storage.read(OTHER_SCOPE, lambda view, kind=kind: list(view.of_kind(kind).every()))
            expect_equal(elsewhere, [])
        streamed = await storage.read(SCOPE, lambda view: [(kind_of(one), one.id) for one in view.records()])
        expect_equal(streamed, [(kind, name) for kind in RECORD_TYPES for name in ("a", "b")])

    async def test_an_id_of_any_kind_is_taken_once(self, storage: Storage) -> None:
        """And nothing of the second is kept."""
        for kind in RECORD_TYPES:
            both = await _added(storage, kind, "b", "a")
            await expect_error(StaleVersionError, _added(storage, kind, "c", "a"))
            expect_equal(await _every(storage, kind), both)

    async def test_records_of_every_kind_are_removed_for_good(self, storage: Storage) -> None:
        """Counting those that there were, and changing the scope."""
        for kind in RECORD_TYPES:
            await _added(storage, kind, "b", "a")
            before = await storage.read(SCOPE, lambda view: view.revision)
            gone = await storage.write(SCOPE, lambda unit, kind=kind: unit.of_kind(kind).delete(["a", "none"]))
            expect_equal(gone, 1)
            expect_equal([one.id for one in await _every(storage, kind)], ["b"])
            expect_equal(await storage.read(SCOPE, lambda view: view.revision), before + 1)

    async def test_what_dreams_add_and_change_is_written_over_under_versions(self, storage: Storage) -> None:
        """A change on what is no longer stored is refused; one that removes leaves nothing."""
        for kind in (kind for kind, of in RECORD_TYPES.items() if of.dreams_add and of.dreams_change):
            (before,) = await _added(storage, kind, "a")
            words = _WORDS.get(kind, "content")
            wanted: Record = replace(before, **{words: "Something else."})
            await _apply(storage, kind, (before, wanted))
            (after,) = await _every(storage, kind)
            expect_equal((after, version_of(after)), (wanted, 2))
            await expect_error(StaleVersionError, _apply(storage, kind, (before, wanted)))
            await _apply(storage, kind, (after, None))
            expect_equal(await _every(storage, kind), [])


async def _added(storage: Storage, kind: RecordKind, *names: str) -> list[Any]:
    """Add a sample for each of *names*; return them sorted by id."""
    made = [SAMPLES[kind](name) for name in names]
    await storage.write(SCOPE, lambda unit: unit.of_kind(kind).apply([(None, one) for one in made]))
    return sorted(made, key=lambda one: one.id)


async def _every(storage: Storage, kind: RecordKind) -> list[Any]:
    return await storage.read(SCOPE, lambda view: list(view.of_kind(kind).every()))


async def _apply(storage: Storage, kind: RecordKind, *changes: tuple[Record | None, Record | None]) -> None:
    await storage.write(SCOPE, lambda unit: unit.of_kind(kind).apply(changes))
