"""Images: everything a person could miss goes in, and comes back as it was."""

import dataclasses
import string
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest
from hypothesis import given, strategies as st

from agentcore.domain import (
    Bearing,
    CardLine,
    CardSection,
    Claim,
    ClaimState,
    Confidence,
    Entailment,
    Evidence,
    EvidenceVerdict,
    Factor,
    FailureCategory,
    Feedback,
    FeedbackKind,
    Hypothesis,
    HypothesisDecision,
    HypothesisSource,
    HypothesisSourceKind,
    HypothesisState,
    Level,
    LoggedDecision,
    MemoryEntry,
    OffLimitsTopic,
    PartialDate,
    Pattern,
    Premise,
    Question,
    QuestionCause,
    QuestionState,
    QuestionVerdict,
    Rating,
    Record,
    RecordKind,
    Scope,
    Skill,
    SkillUse,
    SourceKind,
    SourceRef,
    Status,
    StoredDocument,
    SubjectTime,
    ToolCall,
    Trust,
    Turn,
    WeighedEntry,
    WispRun,
    from_image,
    kind_of,
    to_image,
)
from agentcore.errors import InvalidContentError
from agentcore.testing.contracts.samples import (
    SCOPE,
    a_card_line,
    a_claim,
    a_document,
    a_feedback,
    a_full_entry,
    a_hypothesis,
    a_question,
    a_skill,
    a_skill_use,
    a_tool_call,
    a_turn,
    a_wisp_run,
    an_entry,
    an_off_limits_topic,
)

_TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=12)
_IDS = st.text("abcdef0123456789-", min_size=1, max_size=16)
_INSTANTS = st.datetimes(timezones=st.just(UTC))
_NUMBERS = st.integers(0, 2**31)
_SOURCES = st.builds(SourceRef, st.sampled_from(SourceKind), _IDS)
_TIMES = st.sampled_from(["2019", "2019-06", "2019-06-14", "2019-06-14T09:30", "1995..2003", "2020..?", "?..2003"])
_COUNTS = st.dictionaries(_IDS, st.integers(1, 99), max_size=3).map(lambda counts: tuple(sorted(counts.items())))
_STATE = {
    "status": st.sampled_from(Status),
    "status_reason": st.none() | _TEXTS,
    "successor": st.none() | _IDS,
    "status_at": st.none() | _INSTANTS,
}
_EVIDENCE = st.builds(
    Evidence,
    source=_SOURCES,
    speaker=st.none() | _TEXTS,
    said_at=_INSTANTS,
    sentence=_TEXTS.filter(str.strip),
    verdict=st.sampled_from(EvidenceVerdict),
    written_by=st.just("") | _TEXTS,
    verified_by=st.just("") | _TEXTS,
    round=st.integers(0, 9),
)

entries = st.builds(
    MemoryEntry,
    id=_IDS,
    scope=st.just(SCOPE),
    content=_TEXTS,
    category=_TEXTS,
    tags=st.sets(_TEXTS, max_size=3).map(lambda tags: tuple(sorted(tags))),
    base=st.floats(0, 1),
    created_at=_INSTANTS,
    recorded_at=_INSTANTS,
    updated_at=st.none() | _INSTANTS,
    last_seen_at=_INSTANTS,
    own_count=st.integers(1, 99),
    absorbed=_COUNTS,
    subject_time=st.none() | _TIMES.map(SubjectTime.parse),
    metadata=st.dictionaries(_TEXTS, _TEXTS, max_size=3),
    level=st.sampled_from([Level.EXPLICIT, Level.DERIVED]),
    sources=st.sets(_SOURCES, max_size=3).map(lambda sources: tuple(sorted(sources))),
    evidence=st.lists(_EVIDENCE, max_size=3).map(tuple),
    valid_until=st.none() | _TIMES.filter(lambda text: ".." not in text).map(PartialDate.parse),
    trust=st.sampled_from(Trust),
    pinned=st.booleans(),
    **_STATE,
)
_PREMISE = st.builds(
    Premise,
    entry_id=_IDS,
    text_key=_IDS,
    said_at=_INSTANTS,
    session=st.just("") | _TEXTS,
    against=st.booleans(),
    past=st.booleans(),
)
_RESTING = {"premises": st.lists(_PREMISE, min_size=1, max_size=3).map(lambda some: tuple(sorted(some)))}
conclusions = st.builds(
    lambda entry, fields: dataclasses.replace(
        entry,
        sources=tuple(sorted({SourceRef(SourceKind.ENTRY, one.entry_id) for one in fields["premises"]})),
        **fields,
    ),
    entries,
    st.fixed_dictionaries(_RESTING | {"level": st.just(Level.DEDUCTIVE)})
    | st.fixed_dictionaries(
        _RESTING
        | {
            "level": st.just(Level.INDUCTIVE),
            "pattern": st.sampled_from(Pattern),
            "confidence": st.sampled_from(Confidence),
        }
    ),
)
turns = st.builds(
    Turn,
    id=_IDS,
    scope=st.just(SCOPE),
    session_id=_TEXTS,
    role=_TEXTS,
    content=_TEXTS,
    speaker=st.none() | _TEXTS,
    occurred_at=_INSTANTS,
    recorded_at=_INSTANTS,
    consumed_at=st.none() | _INSTANTS,
    trust=st.sampled_from(Trust),
    generated=st.booleans(),
)
skills = st.builds(
    Skill,
    id=_IDS,
    scope=st.just(SCOPE),
    name=_TEXTS,
    summary=_TEXTS,
    content=_TEXTS,
    created_at=_INSTANTS,
    updated_at=st.none() | _INSTANTS,
    last_used_at=st.none() | _INSTANTS,
    see_also=st.lists(_TEXTS, max_size=3).map(tuple),
    trust=st.sampled_from(Trust),
    **_STATE,
)
skill_uses = st.builds(
    SkillUse,
    id=_IDS,
    scope=st.just(SCOPE),
    skill_name=_TEXTS,
    session_id=_TEXTS,
    occurred_at=_INSTANTS,
    recorded_at=_INSTANTS,
)
feedback = st.builds(
    Feedback,
    id=_IDS,
    scope=st.just(SCOPE),
    session_id=_TEXTS,
    kind=st.sampled_from(FeedbackKind),
    summary=_TEXTS,
    detail=st.none() | _TEXTS,
    rating=st.none() | st.sampled_from(Rating),
    occurred_at=_INSTANTS,
    recorded_at=_INSTANTS,
)
wisp_runs = st.builds(
    WispRun,
    id=_IDS,
    scope=st.just(SCOPE),
    wisp_id=_TEXTS,
    description=_TEXTS,
    definition_hash=_TEXTS,
    shape_hash=st.none() | _TEXTS,
    succeeded=st.booleans(),
    step_count=_NUMBERS,
    steps_completed=_NUMBERS,
    failed_step_id=st.none() | _TEXTS,
    failure_category=st.none() | st.sampled_from(FailureCategory),
    error_message=st.none() | _TEXTS,
    failed_tool_name=st.none() | _TEXTS,
    duration_ms=_NUMBERS,
    session_id=st.none() | _TEXTS,
    retry_of=st.none() | _IDS,
    batch_id=st.none() | _TEXTS,
    definition_body=st.none() | _TEXTS,
    occurred_at=_INSTANTS,
    recorded_at=_INSTANTS,
)
documents = st.builds(StoredDocument, id=_IDS, scope=st.just(SCOPE), content=_TEXTS, updated_at=_INSTANTS)
tool_calls = st.builds(
    ToolCall,
    id=_IDS,
    scope=st.just(SCOPE),
    session_id=_TEXTS,
    tool_name=_TEXTS,
    succeeded=st.booleans(),
    arguments=st.none() | _TEXTS,
    error_message=st.none() | _TEXTS,
    duration_ms=st.none() | _NUMBERS,
    occurred_at=_INSTANTS,
    recorded_at=_INSTANTS,
)

topics = st.builds(OffLimitsTopic, id=_IDS, scope=st.just(SCOPE), words=_TEXTS, created_at=_INSTANTS)
_SOURCES = st.builds(SourceRef, st.just(SourceKind.ENTRY), _IDS)
questions = st.builds(
    Question,
    id=_IDS,
    scope=st.just(SCOPE),
    cause=st.sampled_from(QuestionCause),
    members=st.lists(_SOURCES, min_size=2, max_size=4, unique=True).map(tuple),
    text=_TEXTS,
    asked_at=_INSTANTS,
    asked_by=_TEXTS,
    similarity=st.none() | st.floats(0, 1),
    state=st.sampled_from(QuestionState),
    verdict=st.none() | st.sampled_from(QuestionVerdict),
    result=st.none() | _SOURCES,
    answered_by=st.none() | _TEXTS,
    answered_at=st.none() | _INSTANTS,
    reason=st.none() | _TEXTS,
)

card_lines = st.builds(
    CardLine,
    id=_IDS,
    scope=st.just(SCOPE),
    section=st.sampled_from(CardSection),
    content=st.text(string.ascii_letters, min_size=1, max_size=200),
    set_at=_INSTANTS,
    set_by=_TEXTS,
    reason=_TEXTS,
    pinned=st.booleans(),
    sources=st.lists(_SOURCES, max_size=3, unique=True).map(lambda given: tuple(sorted(given))),
    premises=st.lists(st.builds(Premise, _IDS, _IDS, _INSTANTS, _IDS), max_size=3).map(
        lambda given: tuple(sorted(given))
    ),
    status=st.sampled_from(Status),
    status_reason=st.none() | _TEXTS,
    successor=st.none() | _IDS,
    status_at=st.none() | _INSTANTS,
)

_WORDS = st.text(string.ascii_letters, min_size=1, max_size=12)
_RANKS = st.integers(0, 100).map(lambda percent: percent / 100)

claims = st.builds(
    Claim,
    id=_IDS,
    scope=st.just(SCOPE),
    subject=_WORDS,
    predicate=_WORDS,
    object=_WORDS,
    quote=_WORDS,
    sources=st.lists(_SOURCES, min_size=1, max_size=3).map(tuple),
    asserted_at=_INSTANTS,
    asserted_by=_TEXTS,
    negated=st.booleans(),
    subject_time=st.none() | st.just(SubjectTime.parse("2014..2016")),
    confidence=_RANKS,
    trust=st.sampled_from(Trust),
    entailment=st.none() | st.sampled_from(Entailment),
    verified_by=st.none() | _TEXTS,
    state=st.sampled_from(ClaimState),
    state_reason=st.none() | _TEXTS,
    state_at=st.none() | _INSTANTS,
    fact=st.none() | _IDS,
)

hypotheses = st.builds(
    Hypothesis,
    id=_IDS,
    scope=st.just(SCOPE),
    hypothesis=_WORDS,
    what_if=_WORDS,
    possible_outcome=_TEXTS,
    rationale=_TEXTS,
    question=_TEXTS,
    likelihood=_RANKS,
    confidence=_RANKS,
    source_refs=st.lists(
        st.builds(HypothesisSource, st.sampled_from(HypothesisSourceKind), _IDS), min_size=2, max_size=4, unique=True
    ).map(tuple),
    created_at=_INSTANTS,
    created_by=_TEXTS,
    expires_at=_INSTANTS,
    factors=st.lists(st.builds(Factor, _WORDS, _RANKS), max_size=3).map(tuple),
    premises=st.lists(st.builds(Premise, _IDS, _IDS, _INSTANTS, _IDS), max_size=3).map(
        lambda given: tuple(sorted(given))
    ),
    quotes=st.lists(_TEXTS, max_size=3).map(tuple),
    support=st.integers(0, 9),
    weighed=st.lists(
        st.builds(
            WeighedEntry,
            entry_id=_IDS,
            text_key=_IDS,
            bearing=st.sampled_from(Bearing),
            counts=st.booleans(),
            quote=_TEXTS,
            by=_TEXTS,
        ),
        max_size=3,
    ).map(lambda given: tuple(sorted(given))),
    touching=st.lists(_SOURCES, max_size=3, unique=True).map(lambda given: tuple(sorted(given))),
    trust=st.sampled_from(Trust),
    state=st.sampled_from(HypothesisState),
    state_reason=st.none() | _TEXTS,
    state_at=st.none() | _INSTANTS,
    evaluated_at=st.none() | _INSTANTS,
    decisions=st.lists(
        st.builds(
            LoggedDecision, decision=st.sampled_from(HypothesisDecision), by=_TEXTS, at=_INSTANTS, feedback=_TEXTS
        ),
        max_size=3,
    ).map(tuple),
    fragment=st.none() | _IDS,
)

KINDS = {
    RecordKind.ENTRY: entries | conclusions,
    RecordKind.TURN: turns,
    RecordKind.SKILL: skills,
    RecordKind.SKILL_USE: skill_uses,
    RecordKind.FEEDBACK: feedback,
    RecordKind.WISP_RUN: wisp_runs,
    RecordKind.TOOL_CALL: tool_calls,
    RecordKind.DOCUMENT: documents,
    RecordKind.OFF_LIMITS_TOPIC: topics,
    RecordKind.QUESTION: questions,
    RecordKind.CARD_LINE: card_lines,
    RecordKind.CLAIM: claims,
    RecordKind.HYPOTHESIS: hypotheses,
}
SAMPLES: list[Record] = [
    a_full_entry("a"),
    a_turn("a", observers=("ben", "cleo"), learning=False),
    a_skill("a"),
    a_skill_use("a"),
    a_feedback("a"),
    a_wisp_run("a"),
    a_tool_call("a"),
    a_document("a"),
    an_off_limits_topic("a"),
    a_question("a"),
    a_card_line("a"),
    a_claim("a"),
    a_hypothesis("a"),
]


@pytest.mark.parametrize("kind", list(RecordKind))
@given(data=st.data())
def test_a_record_survives_its_image(kind: RecordKind, data: st.DataObject):
    """Through JSON and back, and the image of what came back is the same to the byte."""
    record = data.draw(KINDS[kind])
    text = orjson.dumps(to_image(record), option=orjson.OPT_SORT_KEYS)
    again = from_image(kind, SCOPE, orjson.loads(text))
    assert again == record
    assert orjson.dumps(to_image(again), option=orjson.OPT_SORT_KEYS) == text


@pytest.mark.parametrize("record", SAMPLES, ids=kind_of)
def test_an_image_is_read_without_json_between(record: Record):
    assert from_image(kind_of(record), record.scope, to_image(record)) == record


def test_every_kind_has_its_type():
    assert [kind_of(sample) for sample in SAMPLES] == list(RecordKind)


@pytest.mark.parametrize("record", SAMPLES, ids=kind_of)
def test_an_image_leaves_nothing_out_but_what_the_store_needs(record: Record):
    fields = {field.name for field in dataclasses.fields(record) if getattr(record, field.name) is not None}
    sparse = [name for name in ("premises", "observers") if not getattr(record, name, ())]
    assert set(to_image(record)) == fields - {"scope", "version", "importance", *sparse}


def test_an_image_tells_neither_version_nor_faded_importance():
    """So that a record written by an undo is, byte for byte, what it was."""
    entry = an_entry("a", base=0.8)
    later = dataclasses.replace(entry, version=9, importance=0.3)
    assert to_image(later) == to_image(entry)
    assert from_image(RecordKind.ENTRY, SCOPE, to_image(later)).version == 1


def test_an_image_belongs_to_the_scope_it_is_read_into():
    other = Scope("acme", "agent", "zoe")
    assert from_image(RecordKind.ENTRY, other, to_image(an_entry("a"))) == an_entry("a", scope=other)


def test_an_image_is_plain_and_sorted():
    image = to_image(a_full_entry("a"))
    assert image["trust"] == "inferred"
    assert image["sources"] == ["entry:older", "turn:turn-1"]
    assert image["absorbed"] == [["older", 3]]
    assert image["subject_time"] == "2024-05..?"
    assert image["status_at"] == "2025-06-14T09:30:00Z"
    assert image["valid_until"] == "2025-06"
    assert image["evidence"][1] == {
        "source": "turn:turn-1",
        "speaker": "Ana",
        "said_at": "2025-06-14T09:30:00Z",
        "sentence": 'It is "hers".',
        "verdict": "verified",
        "written_by": "another-model",
        "verified_by": "a-model",
        "round": 2,
    }
    assert list(image["metadata"]) == ["city", "requires_user_permission"]


def test_an_entry_without_evidence_has_the_image_that_it_had_before_there_was_any():
    assert "evidence" not in to_image(an_entry("a"))
    assert "valid_until" not in to_image(an_entry("a"))


def test_evidence_of_an_image_that_names_no_writer_has_none():
    image = to_image(a_full_entry("a"))
    for one in image["evidence"]:
        one.pop("written_by", None)
    read = from_image(RecordKind.ENTRY, SCOPE, image)
    assert [one.written_by for one in read.evidence] == ["", ""]


def test_what_an_image_leaves_out_has_its_usual_value():
    needed = ("id", "content", "created_at", "recorded_at", "last_seen_at")
    image = {name: to_image(an_entry("a"))[name] for name in needed}
    assert from_image(RecordKind.ENTRY, SCOPE, image) == an_entry("a")
    assert from_image(RecordKind.ENTRY, SCOPE, image | {"updated_at": None}) == an_entry("a")


def test_what_an_image_says_beyond_its_kind_is_ignored():
    """A later version may say more."""
    assert from_image(RecordKind.TURN, SCOPE, to_image(a_turn("a")) | {"mood": "good", "version": 7}) == a_turn("a")


@pytest.mark.parametrize(
    "wrong",
    [
        {"content": 5},
        {"content": ["Tea."]},
        {"tags": "home"},
        {"tags": [1]},
        {"base": "high"},
        {"base": 1.5},
        {"base": []},
        {"own_count": 0},
        {"own_count": "2"},
        {"own_count": True},
        {"absorbed": [["a"]]},
        {"absorbed": [["a", "b"]]},
        {"absorbed": {"a": 1}},
        {"metadata": ["a"]},
        {"metadata": {"a": 1}},
        {"level": "guessed"},
        {"sources": ["elsewhere:a"]},
        {"sources": [7]},
        {"subject_time": "once"},
        {"subject_time": 2019},
        {"trust": "blind"},
        {"trust": 3},
        {"pinned": "yes"},
        {"status": "asleep"},
        {"created_at": "yesterday"},
        {"created_at": "2025-06-14T09:30:00"},
        {"created_at": 1749893400},
    ],
    ids=str,
)
def test_an_image_that_describes_no_record_is_refused(wrong: dict[str, Any]):
    with pytest.raises((KeyError, ValueError, TypeError)):
        from_image(RecordKind.ENTRY, SCOPE, to_image(an_entry("a")) | wrong)


@pytest.mark.parametrize("missing", ["id", "content", "created_at", "last_seen_at"])
def test_an_image_without_what_every_record_has_is_refused(missing: str):
    image = to_image(an_entry("a"))
    del image[missing]
    with pytest.raises(TypeError):
        from_image(RecordKind.ENTRY, SCOPE, image)


def test_a_merged_entry_need_not_have_been_observed_itself():
    """What a model wrote from others has only their observations."""
    merged = an_entry("m", own_count=0, absorbed=(("a", 2), ("b", 1)))
    assert merged.reinforcement_count == 3
    assert from_image(RecordKind.ENTRY, SCOPE, to_image(merged)) == merged


@pytest.mark.parametrize(("own_count", "absorbed"), [(0, ()), (-1, ()), (-1, (("a", 1),))])
def test_an_entry_that_nobody_ever_observed_is_refused(own_count: int, absorbed: tuple[tuple[str, int], ...]):
    with pytest.raises(InvalidContentError, match="reinforcement count"):
        an_entry("a", own_count=own_count, absorbed=absorbed)


def test_samples_stand_at_one_instant():
    assert an_entry("a").created_at == datetime(2025, 6, 14, 9, 30, tzinfo=UTC)
