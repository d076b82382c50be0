"""Whatever a model answers about turns: nothing is raised, no guard objects, and a retry changes nothing."""

import itertools
from collections.abc import Callable
from typing import Any

from dreaming import NOW
from hypothesis import event, given, settings, strategies as st

from agentcore.domain import Feedback, FeedbackKind, Level, MemoryEntry, Scope, Trust, Turn
from dream.domain import ChangeSet
from dream.guards import Knowledge, builtin_vocabulary, first_refusal
from dream.guards.verdict import Verdict
from dream.options import PreferenceOptions
from dream.passes import PromptTurn, episodes, preferences
from dream.passes.conversation import KnownEntries, StatementRules

SAID = (
    ("user", "s1", "Shorter answers about the roof, please!"),
    ("assistant", "s1", "The roof is red."),
    ("user", "s1", "Yes, the roof is red."),
    ("user", "s2", "Again: shorter answers, the roof costs 640 euros."),
    ("user", "s3", "I never want emoji."),
)
OLD = "Ana wants longer answers about the roof."
TERMS = StatementRules(builtin_vocabulary(), ("active-plans",), 0.8)


def turn(place: int, role: str, session: str, text: str) -> Turn:
    trust = Trust.STATED if role == "user" else Trust.INFERRED
    return Turn(id=f"turn{place}", scope=Scope.default(), session_id=session, role=role, speaker="Ana",
                content=text, occurred_at=NOW, recorded_at=NOW, trust=trust)  # fmt: skip


TURNS = [turn(place, *said) for place, said in enumerate(SAID, 1)]
SHOWN = [PromptTurn(f"t{place}", one, place != 5, place) for place, one in enumerate(TURNS, 1)]
HANDLES = frozenset(one.handle for one in SHOWN)
SIGNAL = Feedback(id="signal", scope=Scope.default(), session_id="s9", kind=FeedbackKind.CORRECTION,
                  summary="shorter answers", occurred_at=NOW, recorded_at=NOW)  # fmt: skip


def known(category: str) -> MemoryEntry:
    return MemoryEntry(id="old", scope=Scope.default(), content=OLD, category=category, created_at=NOW,
                       recorded_at=NOW, last_seen_at=NOW, level=Level.DERIVED, trust=Trust.UNTRUSTED)  # fmt: skip


TEXTS = [text for _, _, text in SAID]
junk = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=9), st.just([]), st.just({}))
handles = st.sampled_from([*sorted(HANDLES) * 3, "[t1]", "f6", "e7", "t99", "", "*"])
contents = st.sampled_from(
    [*TEXTS, "Ana wants shorter answers.", "The roof is red.", "Ana paid 7 euros.", OLD, " ", "\0"]
)
quotes = st.sampled_from(["roof is red", "shorter answers", "Shorter answers", "never want emoji", "roof", "", "no"])


SOUND = (
    ("Ana wants shorter answers.", "shorter answers", ["t1", "t4"]),
    ("Ana wants shorter answers about the roof.", "shorter answers", ["t1", "t4", "f6"]),
    ("The roof is red.", "roof is red", ["t2", "t3"]),
    ("The roof costs 640 euros.", "costs 640 euros", ["t4"]),
    ("Ana never wants emoji.", "never want emoji", ["t4", "t5"]),
)


@st.composite
def answers(draw: st.DrawFn, cites: str) -> dict[str, Any]:
    """Sound answers, of which places are bent."""
    bent = {
        "content": contents,
        "quote": quotes,
        cites: st.lists(handles, max_size=4),
        "existing": st.sampled_from(["e7", "e9", "t1"]),
        "supersedes": st.sampled_from(["e7", "e9"]),
        "sentiment": st.sampled_from(["frustrated", "casual"]),
        "eventType": st.sampled_from(["task", "party"]),
        "actor": st.sampled_from(["user", "Mallory"]),
        "importance": st.floats(),
        "tags": st.just([None, "password is hunter2"]),
    }
    items: list[Any] = []
    for content, quote, cited in draw(st.lists(st.sampled_from(SOUND), min_size=1, max_size=4)):
        named = cited if cites == "sourceIds" else [one for one in cited if one != "f6"]
        item = {"content": content, "quote": quote, cites: named, "sentiment": "irritated", "eventType": "task"}
        for name in draw(st.lists(st.sampled_from(sorted(bent)), max_size=2)):
            item[name] = draw(st.one_of(bent[name], bent[name], bent[name], junk))
        items.append(item)
    saved = draw(st.sampled_from([items] * 8 + [[*items, None], {"items": items}]))
    return {"toSave": saved, "toDelete": draw(st.one_of(st.just([]), junk))}


def holds(change_sets: tuple[ChangeSet, ...]) -> list[MemoryEntry]:
    """Check that no guard objects, and return the entries after the changes."""
    knowledge = Knowledge(protected=("active-plans",), turns={one.id: one for one in TURNS})
    for change_set in change_sets:
        event(change_set.operation)
        assert first_refusal(change_set, knowledge) is None, change_set
    return [change.after for one in change_sets for change in one.changes if isinstance(change.after, MemoryEntry)]


def ids() -> Callable[[], str]:
    counter = itertools.count()
    return lambda: f"new{next(counter)}"


def after(entry: MemoryEntry, changed: list[MemoryEntry]) -> tuple[MemoryEntry, ...]:
    """What is active of the entry and of what changed."""
    found = {one.id: one for one in (entry, *changed)}
    return tuple(one for one in found.values() if one.is_active)


@settings(max_examples=120)
@given(answers("sourceTurns"))
def test_no_answer_breaks_or_doubles_episodes(answer: dict[str, Any]):
    old = known("episodes/task")
    items, _ = episodes.read_items(answer)
    sheet = episodes.EpisodeHandles(SHOWN, HANDLES, {"e7": "old", "e9": "gone"}, {"e7": old})
    judged, _ = episodes.judge(items, sheet, TERMS)
    told = [item.value for item in judged if item.verdict is not Verdict.REFUTED]

    def met(*entries: MemoryEntry) -> tuple[ChangeSet, ...]:
        reconciler = episodes.EpisodeReconciler(
            known=KnownEntries(entries), new_id=ids(), as_of=NOW, vocabulary=builtin_vocabulary()
        )
        reconciler.add_all(told)
        return reconciler.change_sets

    changed = holds(met(old))
    assert met(*after(old, changed)) == ()
    assert all(entry.base <= 0.8 and entry.trust <= Trust.STATED for entry in changed)


@settings(max_examples=120)
@given(answers("sourceIds"))
def test_no_answer_breaks_or_doubles_preferences(answer: dict[str, Any]):
    old = known("user-preferences/inferred")
    items, _ = preferences.read_items(answer)
    sheet = preferences.PreferenceHandles(
        turns=SHOWN, entries={"e7": old}, feedback={"f6": SIGNAL}, turn_handles=HANDLES,
        feedback_handles=frozenset({"f6"}), entry_ids={"e7": "old", "e9": "gone"}, packed={"old": 1},
    )  # fmt: skip
    judged, _ = preferences.judge(items, sheet, TERMS, PreferenceOptions())
    shown = [item.value for item in judged if item.verdict is not Verdict.REFUTED]

    def met(*entries: MemoryEntry) -> tuple[ChangeSet, ...]:
        reconciler = preferences.PreferenceReconciler(
            known=KnownEntries(entries), new_id=ids(), as_of=NOW, vocabulary=builtin_vocabulary()
        )
        reconciler.add_all(shown)
        return reconciler.change_sets

    changed = holds(met(old))
    # The same again, once it is stored: a contradiction is settled, so it can no longer be one of the old entry.
    again = met(*after(old, changed))
    assert [
        change for one in again for change in one.changes if change.before is None and not _waits(one, changed)
    ] == []
    assert all(entry.base <= 0.8 and entry.trust <= Trust.INFERRED for entry in changed)


def _waits(change_set: ChangeSet, changed: list[MemoryEntry]) -> bool:
    """Tell whether what is new there was held up the first time by another item about the same old preference."""
    return change_set.operation == preferences.SUPERSEDE and not any(
        entry.content == change.after.content
        for change in change_set.changes
        if isinstance(change.after, MemoryEntry) and change.before is None
        for entry in changed
    )
