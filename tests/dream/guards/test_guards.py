from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from agentcore.domain import MemoryEntry, Scope, Skill, SourceKind, SourceRef, Status, Trust, Turn, absorb
from dream.domain import Change, ChangeSet, Promotion, fingerprint
from dream.guards import GUARDS, Knowledge, first_refusal, is_purgeable
from dream.options import RetentionOptions

SEEN = datetime(2025, 6, 1, tzinfo=UTC)
NOTHING_KNOWN = Knowledge()


def entry(name: str = "a", **fields: Any) -> MemoryEntry:
    given = {"id": name, "scope": Scope.default(), "created_at": SEEN, "recorded_at": SEEN, "last_seen_at": SEEN}
    return MemoryEntry(content="Ana likes tea", **(given | fields))


def skill(**fields: Any) -> Skill:
    given = {"id": "a", "scope": Scope.default(), "name": "mail", "summary": "s", "content": "c", "created_at": SEEN}
    return Skill(**(given | fields))


def made(*pairs: tuple[Any, Any], reason: str = "because", prints: dict[str, str] | None = None) -> ChangeSet:
    changes = tuple(Change(before=before, after=after, reason=reason) for before, after in pairs)
    return ChangeSet(operation="test", changes=changes, fingerprints=prints or {})


def refused(change_set: ChangeSet, knowledge: Knowledge = NOTHING_KNOWN) -> str | None:
    refusal = first_refusal(change_set, knowledge)
    return None if refusal is None else str(refusal.code)


def archived(one: MemoryEntry, **fields: Any) -> MemoryEntry:
    return replace(one, status=Status.ARCHIVED, **({"status_reason": "a copy", "successor": "b"} | fields))


def test_an_honest_fold_passes_every_guard():
    survivor, copy = entry("b", pinned=True), entry("a", base=0.9, own_count=4, last_seen_at=SEEN + timedelta(days=1))
    fold = made((survivor, absorb(survivor, [copy])), (copy, archived(copy)))
    assert [guard(fold, NOTHING_KNOWN) for guard in GUARDS] == [None] * len(GUARDS)


def test_an_honest_rewrite_passes_every_guard():
    assert refused(made((entry(), replace(entry(), content="Ana likes green tea", base=0.4)))) is None


def test_a_new_entry_made_of_others_passes_when_it_is_no_more_than_they_are():
    sources = [entry("a", base=0.7, trust=Trust.INFERRED), entry("b")]
    merge = entry("m", base=0.7, trust=Trust.INFERRED, absorbed=(("a", 1), ("b", 1)))
    assert refused(made((None, merge), *((one, archived(one, successor="m")) for one in sources))) is None


@pytest.mark.parametrize(
    ("before", "after", "code"),
    [
        (entry(), None, "destroys"),
        (skill(), None, "destroys"),
        (entry("a"), entry("b"), "mismatched"),
        (entry(), skill(), "mismatched"),
        (skill(), entry(), "mismatched"),
        (entry(), entry(scope=Scope("other", "agent", "agent")), "mismatched"),
        (entry(), archived(entry(), status_reason=None), "no_reason"),
        (entry(), archived(entry(), status_reason=""), "no_reason"),
        (skill(), skill(status=Status.ARCHIVED), "no_reason"),
        (entry(), entry(trust=Trust.CONFIRMED), "trust_raised"),
        (entry(trust=Trust.UNTRUSTED), entry(trust=Trust.INFERRED), "trust_raised"),
        (None, entry(trust=Trust.CONFIRMED), "trust_raised"),
        (entry(), entry(base=0.51), "importance_raised"),
        (None, entry(base=0.51), "importance_raised"),
        (entry(), entry(last_seen_at=SEEN + timedelta(microseconds=1)), "importance_raised"),
        (entry(), entry(own_count=2), "reinforcement_raised"),
        (entry(), entry(absorbed=(("b", 1),)), "reinforcement_raised"),
        (None, entry(own_count=2), "reinforcement_raised"),
        (entry(pinned=True), entry(), "pinned"),
        (entry(pinned=True), archived(entry(pinned=True)), "pinned"),
    ],
)
def test_a_guard_refuses(before: Any, after: Any, code: str):
    assert refused(made((before, after))) == code


@pytest.mark.parametrize("reason", ["", " ", "\n\t"])
def test_a_change_without_a_reason_is_refused(reason: str):
    assert refused(made((entry(), replace(entry(), content="Ana likes rye")), reason=reason)) == "no_reason"


def test_one_bad_change_refuses_the_whole_operation():
    assert refused(made((entry("a"), replace(entry("a"), content="x")), (entry("b"), None))) == "destroys"


def test_the_trust_of_a_rewrite_may_not_rise_to_that_of_another_member():
    low, high = entry("a", trust=Trust.UNTRUSTED), entry("b", trust=Trust.CONFIRMED)
    assert refused(made((low, replace(low, trust=Trust.CONFIRMED)), (high, archived(high)))) == "trust_raised"


def test_a_new_entry_may_not_be_trusted_more_than_the_least_of_its_sources():
    low, high = entry("a", trust=Trust.UNTRUSTED), entry("b", trust=Trust.CONFIRMED)
    new = entry("m", trust=Trust.STATED)
    assert refused(made((None, new), (low, archived(low)), (high, archived(high)))) == "trust_raised"


def test_trust_and_importance_may_fall():
    assert refused(made((entry(trust=Trust.CONFIRMED), entry(trust=Trust.INFERRED, base=0.1)))) is None


@pytest.mark.parametrize("protected", ["active-plans", "Active-Plans", "active-plans/"])
@pytest.mark.parametrize(
    ("category", "code"),
    [
        ("active-plans", "protected_category"),
        ("ACTIVE-plans/lisbon", "protected_category"),
        ("active-plans-old", None),
        ("plans/active-plans", None),
    ],
)
def test_a_protected_category_is_left_alone_with_everything_below(protected: str, category: str, code: str | None):
    knowledge = Knowledge(protected=(protected,))
    inside, outside = entry(category=category), entry(category="general")
    assert refused(made((inside, replace(inside, content="x"))), knowledge) == code
    assert refused(made((outside, inside)), knowledge) == code
    assert refused(made((inside, outside)), knowledge) == code


def test_a_pinned_copy_may_go_where_a_pinned_successor_takes_its_place():
    survivor, copy = entry("b"), entry("a", pinned=True)
    pinned, bare = absorb(survivor, [copy]), absorb(survivor, [entry("a")])
    assert refused(made((survivor, pinned), (copy, archived(copy)))) is None
    assert refused(made((survivor, bare), (copy, archived(copy)))) == "pinned"
    assert refused(made((survivor, pinned), (copy, archived(copy, successor="elsewhere")))) == "pinned"


@pytest.mark.parametrize(
    ("declined", "code"),
    [(set(), None), ({"1"}, None), ({"1", "2"}, "undone_by_person"), ({"1", "2", "3"}, "undone_by_person")],
)
def test_two_that_a_person_took_apart_are_not_brought_together(declined: set[str], code: str | None):
    marks = {"a": "1", "b": "2", "c": "3"}
    rewrites = ((entry(name), replace(entry(name), content="x")) for name in marks)
    assert refused(made(*rewrites, prints=marks), Knowledge(declined=frozenset(declined))) == code


def test_an_operation_with_one_mark_is_not_repeated_once_declined():
    change_set = made((entry(), replace(entry(), content="x")), prints={"a": "1"})
    assert refused(change_set, Knowledge(declined=frozenset({"1"}))) == "undone_by_person"
    assert refused(change_set, Knowledge(declined=frozenset({"2"}))) is None


@pytest.mark.parametrize(
    ("fields", "needed", "code"),
    [
        ({"last_seen_at": SEEN + timedelta(days=5)}, {"a": 5}, None),
        ({"last_seen_at": SEEN + timedelta(days=6)}, {"a": 5}, "importance_raised"),
        ({"last_seen_at": SEEN + timedelta(days=5)}, {}, "importance_raised"),
        ({"last_seen_at": SEEN + timedelta(days=5)}, {"b": 5}, "importance_raised"),
        ({"base": 0.9}, {"a": 5}, "importance_raised"),
        ({"own_count": 2}, {"a": 5}, "reinforcement_raised"),
    ],
)
def test_what_counts_as_promoted_for_the_first_time_was_seen_when_it_was_needed_last_and_no_more(
    fields: dict[str, Any], needed: dict[str, int], code: str | None
):
    first = Promotion(entry_id="a", score=0.5, hits=3, run_id="r", promoted_at=SEEN)
    said = replace(made((entry(), replace(entry(), **fields))), promotions=(first,))
    knowledge = Knowledge(needed={name: SEEN + timedelta(days=days) for name, days in needed.items()})
    assert refused(said, knowledge) == code
    unsaid = replace(said, promotions=())
    assert refused(unsaid, knowledge) == (code or "importance_raised")


def test_an_operation_without_marks_cannot_have_been_declined():
    change_set = made((entry(), replace(entry(), content="x")))
    assert refused(change_set, Knowledge(declined=frozenset({"1"}))) is None


def test_the_refusal_names_the_records():
    refusal = first_refusal(made((entry("the-entry"), None)), NOTHING_KNOWN)
    assert refusal is not None
    assert "the-entry" in refusal.detail


@pytest.mark.parametrize(
    "reworded",
    [
        lambda one: replace(one, own_count=9),
        lambda one: replace(one, base=0.9),
        lambda one: replace(one, last_seen_at=SEEN + timedelta(days=9)),
        lambda one: replace(one, tags=("new",)),
        lambda one: replace(one, version=7),
    ],
)
def test_statistics_do_not_reopen_a_decision(reworded: Callable[[MemoryEntry], MemoryEntry]):
    assert fingerprint("fold", reworded(entry())) == fingerprint("fold", entry())


@pytest.mark.parametrize("fields", [{"content": "Ana likes rye"}, {"category": "drinks"}, {"id": "b"}])
def test_another_text_another_place_or_another_entry_is_another_decision(fields: dict[str, str]):
    assert fingerprint("fold", replace(entry(), **fields)) != fingerprint("fold", entry())
    assert fingerprint("merge", entry()) != fingerprint("fold", entry())


AS_OF = SEEN + timedelta(days=100)
OLD = {"status": Status.ARCHIVED, "status_reason": "a copy", "status_at": SEEN}


@pytest.mark.parametrize(
    ("fields", "may_go"),
    [
        (OLD, True),
        (OLD | {"status": Status.SUPERSEDED}, True),
        ({}, False),
        (OLD | {"status_at": None}, False),
        (OLD | {"status_at": AS_OF - timedelta(days=90)}, False),
        (OLD | {"status_at": AS_OF - timedelta(days=90, microseconds=1)}, True),
        (OLD | {"base": 0.8}, False),
        (OLD | {"own_count": 5}, False),
        (OLD | {"pinned": True}, False),
    ],
)
def test_only_what_is_retired_past_its_window_and_unprotected_may_go_for_good(fields: dict[str, Any], may_go: bool):
    assert is_purgeable(entry(**fields), RetentionOptions(), AS_OF) is may_go


LATER = SEEN + timedelta(days=1)


def turn(name: str, **fields: Any) -> Turn:
    given = {"id": name, "scope": Scope.default(), "session_id": "s", "role": "user", "occurred_at": LATER}
    return Turn(content="I like tea", **(given | {"recorded_at": LATER} | fields))


def knowing(*turns: Turn) -> Knowledge:
    return Knowledge(turns={one.id: one for one in turns})


def citing(*names: str) -> tuple[SourceRef, ...]:
    return tuple(SourceRef(SourceKind.TURN, name) for name in names)


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({}, None),
        ({"base": 0.79}, None),
        ({"base": 0.8}, "importance_raised"),
        ({"own_count": 2}, None),
        ({"own_count": 3}, "reinforcement_raised"),
        ({"trust": Trust.CONFIRMED}, "trust_raised"),
        ({"last_seen_at": LATER + timedelta(days=1)}, "importance_raised"),
    ],
)
def test_a_new_entry_rests_on_the_turns_it_cites(fields: dict[str, Any], code: str | None):
    knowledge = knowing(turn("t1"), turn("t2"), turn("t3", role="assistant"))
    fact = entry("m", sources=citing("t1", "t2", "t3"), **({"last_seen_at": LATER} | fields))
    assert refused(made((None, fact)), knowledge) == code


def test_a_new_entry_has_the_least_trust_of_the_turns_it_cites():
    knowledge = knowing(turn("t1"), turn("t2", trust=Trust.INFERRED))
    assert refused(made((None, entry("m", sources=citing("t1", "t2")))), knowledge) == "trust_raised"


def test_an_entry_that_cites_a_generated_turn_is_refused():
    knowledge = knowing(turn("t1"), turn("t2", generated=True))
    assert refused(made((None, entry("m", sources=citing("t1", "t2")))), knowledge) == "not_evidence"


@pytest.mark.parametrize(
    ("known", "heard", "count", "code"),
    [
        ((), turn("t1"), 2, None),
        ((), turn("t1"), 3, "reinforcement_raised"),
        (("t1",), turn("t1"), 2, "reinforcement_raised"),
        ((), turn("t1", role="assistant"), 2, "reinforcement_raised"),
        ((), turn("t1", trust=Trust.INFERRED), 2, "reinforcement_raised"),
    ],
)
def test_a_turn_reinforces_an_entry_once(known: tuple[str, ...], heard: Turn, count: int, code: str | None):
    before = entry(sources=citing(*known))
    after = replace(before, own_count=count, sources=citing("t1"))
    assert refused(made((before, after)), knowing(heard)) == code


def test_a_turn_moves_the_last_sight_no_further_than_it_was_said():
    before = entry()
    seen = [replace(before, last_seen_at=instant, sources=citing("t1")) for instant in (LATER, LATER + timedelta(1))]
    assert [refused(made((before, after)), knowing(turn("t1"))) for after in seen] == [None, "importance_raised"]
