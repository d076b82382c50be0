"""Whatever a model answers: nothing is raised, and nothing changes that the sources do not bear out."""

from collections import Counter
from datetime import timedelta
from typing import Any

from dreaming import NOW
from hypothesis import event, given, settings, strategies as st

from agentcore.domain import (
    EvidenceVerdict,
    Feedback,
    FeedbackKind,
    MemoryEntry,
    Scope,
    Status,
    SubjectTime,
    Trust,
    fold_key,
)
from dream.domain import Batch
from dream.guards import Knowledge, builtin_vocabulary, first_refusal
from dream.guards.verdict import Verdict
from dream.guards.wording import sentences_of, words_of
from dream.options import DreamOptions
from dream.passes.exchange_state import Settled
from dream.passes.memory_consolidation import (
    ConsolidationAnswer,
    ConsolidationHandles,
    ConsolidationInput,
    JudgedConsolidation,
    judge_entries,
    judge_feedback,
    learned,
    made_of,
    parse,
)
from dream.passes.prompts import feedback_text

OPTIONS = DreamOptions()
TEXTS = [
    "Ana lives in Lisbon.",
    "Ana lives in Porto.",
    "Ana pays 640 euros.",
    "Ana never eats fish.",
    "ok thanks",
    "Call `sync_all()` on 12 May 2025.",
    "アナは紅茶が好きです。",
]

_COMMON_FILES = ["general", "people/ana"] * 4
_TIMES = [None] * 6 + [SubjectTime.parse("2019"), SubjectTime.parse("2025-05")]

dates = st.integers(-400, 0).map(lambda days: NOW + timedelta(days=days))


@st.composite
def entries(draw: st.DrawFn) -> list[MemoryEntry]:
    count = draw(st.integers(2, 6))
    found: list[MemoryEntry] = []
    for place in range(count):
        said = draw(dates)
        found.append(
            MemoryEntry(
                id=f"m{place}",
                scope=Scope.default(),
                content=draw(st.sampled_from(TEXTS)),
                category=draw(st.sampled_from([*_COMMON_FILES, "active-plans/x", "anti-patterns/routing"])),
                base=draw(st.sampled_from([0.1, 0.5, 0.9])),
                created_at=said,
                recorded_at=said,
                last_seen_at=said,
                own_count=draw(st.sampled_from([1, 1, 3, 9])),
                subject_time=draw(
                    st.sampled_from([None, None, SubjectTime.parse("2019"), SubjectTime.parse("2025-05")])
                ),
                trust=draw(st.sampled_from(list(Trust))),
                pinned=draw(st.sampled_from([False, False, False, True])),
                status=draw(st.sampled_from([Status.ACTIVE] * 15 + [Status.ARCHIVED])),
                version=draw(st.sampled_from([1] * 15 + [2])),
            )
        )
    return found


def answers(texts: list[str], handles: list[str]) -> st.SearchStrategy[dict[str, Any]]:
    """Answers in about the right shape, which name about the right records."""
    names = st.sampled_from([*handles, *handles, *handles, "e99", "", "[e1]"])
    joined = st.lists(st.sampled_from(texts), min_size=1, max_size=3).map(" ".join)
    content = st.one_of(joined, joined, st.sampled_from(TEXTS), st.text(max_size=20), st.none())
    tags = st.lists(st.sampled_from(["tea", "Mallory", "x y"]), max_size=2)
    saving = st.fixed_dictionaries(
        {"content": content, "sourceIds": st.lists(names, max_size=4)},
        optional={
            "category": st.sampled_from(["people/ana", "active-plans/x", "anti-patterns/routing", "\0", None]),
            "tags": tags,
            "importance": st.one_of(st.floats(), st.booleans(), st.none(), st.integers()),
        },
    )
    successor = st.one_of(names, st.integers(-1, 3), st.none())
    going = st.one_of(names, st.fixed_dictionaries({"id": names, "supersededBy": successor, "reason": st.text()}))
    return st.fixed_dictionaries({"toSave": st.lists(saving, max_size=3), "toDelete": st.lists(going, max_size=4)})


@st.composite
def sensible(draw: st.DrawFn, texts: list[str]) -> dict[str, Any]:
    """Answers as a good model gives them: each record in one item, texts made of their sources."""
    handles = [f"e{place}" for place in range(1, len(texts) + 1)]
    rest = draw(st.permutations(range(len(texts))))
    saves: list[dict[str, Any]] = []
    deletes: list[Any] = []
    while rest:
        size = draw(st.integers(1, 3))
        group, rest = rest[:size], rest[size:]
        named = [handles[place] for place in group]
        match draw(st.sampled_from(["merge", "merge", "supersede", "keep", "drop", "give way"])):
            case "merge":
                saves.append({"content": " ".join(texts[place] for place in group), "sourceIds": named})
            case "supersede" if len(group) > 1:
                deletes.append({"id": named[0], "supersededBy": named[1]})
            case "drop":
                deletes += named
            case "give way" if len(group) > 1:
                deletes.append({"id": named[0], "supersededBy": len(saves)})
                told = group if draw(st.booleans()) else group[1:]
                saves.append({"content": " ".join(texts[place] for place in told), "sourceIds": named[1:]})
    return {"toSave": saves, "toDelete": deletes}


anything = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5) | st.sampled_from(["e1", "e2"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["toSave", "toDelete", "content", "sourceIds", "id", "tags"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)


def desk(found: list[MemoryEntry], *, merge_only: bool = False) -> ConsolidationInput:
    twins: dict[str, tuple[MemoryEntry, ...]] = {}
    for entry in found:
        if entry.is_active:
            twins[fold_key(entry.content)] = (*twins.get(fold_key(entry.content), ()), entry)
    ids = iter(range(1_000))
    return ConsolidationInput(
        as_of=NOW,
        options=OPTIONS,
        vocabulary=builtin_vocabulary(),
        new_id=lambda: f"new{next(ids)}",
        twins=twins,
        merge_only=merge_only,
        speakers={},
    )


def judged(found: list[MemoryEntry], members: int, answer: dict[str, Any], *, merge_only: bool) -> JudgedConsolidation:
    packed = [(entry.id, 1) for entry in found]
    batch = Batch(number="1", kind="entries", members=tuple(packed[:members]), beside=tuple(packed[members:]))
    parsed = parse(answer, len(batch.members))
    if not isinstance(parsed, ConsolidationAnswer):
        return JudgedConsolidation()
    return judge_entries(parsed, ConsolidationHandles.of(batch, found), desk(found, merge_only=merge_only))


@given(anything)
def test_an_answer_of_any_shape_is_read_or_refused(answer: Any):
    if isinstance(answer, dict):
        parse(answer, 3)


@settings(max_examples=100)
@given(st.data())
def test_no_answer_changes_what_the_sources_do_not_bear_out(data: st.DataObject):
    found = data.draw(entries())
    members = data.draw(st.sampled_from([len(found), len(found), len(found) - 1]))
    handles = [f"e{place}" for place in range(1, len(found) + 1)]
    texts = [entry.content for entry in found]
    answer = data.draw(st.one_of(sensible(texts), sensible(texts), answers(texts, handles)))
    merge_only = data.draw(st.sampled_from([False, False, True]))
    result = judged(found, members, answer, merge_only=merge_only)
    # Whatever a second reading says: at worst it finds all of it borne out.
    readers = [Verdict.PROVEN, data.draw(st.sampled_from([Verdict.PROVEN, Verdict.UNDECIDED]))]
    settled = [
        Settled(value=item.value, verdict=_READ[item.verdict]) for item in result.items if item.verdict in readers
    ]
    change_sets, _ = made_of(settled, desk(found, merge_only=merge_only))
    event(" ".join(sorted({one.operation for one in change_sets})) or "nothing")

    changed = [change for one in change_sets for change in one.changes]
    assert all(count == 1 for count in Counter(change.record_id for change in changed).values())
    final = {entry.id: entry for entry in found} | {change.record_id: change.after for change in changed}
    for change_set in change_sets:
        assert first_refusal(change_set, Knowledge(protected=OPTIONS.protected_categories)) is None
        before = [change.before for change in change_set.changes if change.before is not None]
        told = {words_of(one) for entry in found if entry in before for one in sentences_of(entry.content)}
        for change in change_set.changes:
            after = change.after
            assert isinstance(after, MemoryEntry)
            if change.before is not None and not after.is_active:
                assert change.record_id in {entry.id for entry in found[:members]}
                assert change.before.version == 1
                assert _ends_well(change_set.operation, change.before, after, final, merge_only=merge_only)
            elif change.before is None or after.content != change.before.content:
                if Verdict.UNDECIDED not in readers:
                    assert {words_of(one) for one in sentences_of(after.content)} <= told
                assert after.trust <= min(entry.trust for entry in before)
                assert min(entry.base for entry in before) <= after.base <= max(entry.base for entry in before)


_READ = {Verdict.PROVEN: EvidenceVerdict.PROVEN, Verdict.UNDECIDED: EvidenceVerdict.VERIFIED}


def _ends_well(
    operation: str, before: MemoryEntry, after: MemoryEntry, final: dict[str, Any], *, merge_only: bool
) -> bool:
    """Tell whether what went has a live successor, or was noise."""
    if operation == "drop":
        return not merge_only and not before.pinned and before.base < 0.8 and before.reinforcement_count < 5
    heir, steps = after, 0
    while not heir.is_active and steps < 9:
        heir, steps = final[heir.successor], steps + 1
    return heir.is_active and heir.id != before.id


@given(st.data())
def test_no_answer_about_feedback_invents_or_retires_anything(data: st.DataObject):
    # No other signal of a mistake is ever shown.
    taught = sorted(set(FeedbackKind) - {FeedbackKind.SESSION_SUMMARY, FeedbackKind.THUMBS_UP})
    kinds = data.draw(st.lists(st.sampled_from(taught), min_size=1, max_size=4))
    given_feedback = {
        f"f{place}": Feedback(
            id=f"s{place}",
            scope=Scope.default(),
            session_id="s",
            kind=kind,
            summary=data.draw(st.sampled_from(TEXTS)),
            occurred_at=NOW,
            recorded_at=NOW,
        )
        for place, kind in enumerate(kinds, 1)
    }
    texts = [feedback_text(one) for one in given_feedback.values()]
    parsed = parse(data.draw(answers(texts, list(given_feedback))), len(kinds))
    if not isinstance(parsed, ConsolidationAnswer):
        return
    items, _ = judge_feedback(parsed, given_feedback, desk([]))
    for item in items:
        change_set = learned(Settled(value=item.value, verdict=EvidenceVerdict.VERIFIED), desk([]))
        (change,) = change_set.changes
        assert change.before is None
        assert isinstance(change.after, MemoryEntry)
        assert change.after.category.startswith("anti-patterns/")
        if item.verdict is Verdict.PROVEN:
            told = {words_of(one) for text in texts for one in sentences_of(text)}
            assert {words_of(one) for one in sentences_of(change.after.content)} <= told
        assert change.after.trust <= Trust.STATED
        assert first_refusal(change_set, Knowledge(protected=OPTIONS.protected_categories)) is None
