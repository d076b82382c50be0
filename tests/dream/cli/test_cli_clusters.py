"""Near-duplicates in the report of a run, and who is left to judge them."""

from dataclasses import replace
from datetime import UTC, datetime

from agentcore.domain import MemoryEntry, Scope, Status
from dream.domain import Outcome, PassOutcome, PassReport, RunReport
from dream.interfaces.cli.render.clusters import cluster_lines, shown_ids

NOW = datetime(2025, 6, 14, 9, tzinfo=UTC)
FOUND = PassReport(
    name="near-duplicates",
    outcome=PassOutcome.UNCHANGED,
    notes={"clusters": [{"entries": [f"{one}{n}" for n in range(6)], "similarity": 0.9} for one in "abcdefg"]},
)
ENTRIES = {
    f"{one}{n}": MemoryEntry(
        id=f"{one}{n}", scope=Scope.default(), content=f"{one} {n}", created_at=NOW, recorded_at=NOW, last_seen_at=NOW
    )
    for one in "abcdefg"
    for n in range(6)
}
KEPT = ("b4", "b5", "f0")


def merged(entry: MemoryEntry) -> MemoryEntry:
    gone = replace(entry, status=Status.ARCHIVED, status_reason="merged", status_at=NOW)
    return entry if entry.id in KEPT else gone


def shown(*passes: PassReport, entries: dict[str, MemoryEntry] = ENTRIES) -> list[str]:
    report = RunReport(
        run_id="r", scope=Scope.default(), outcome=Outcome.COMPLETED, as_of=NOW, started_at=NOW, passes=passes
    )
    known = {name: entries[name] for name in shown_ids(report)}
    return [line.text for line in cluster_lines(report, known, 120, more="see --json")]


def test_what_no_model_judged_is_left_to_a_model_or_a_person():
    judging = PassReport(name="memory-consolidation", outcome=PassOutcome.SKIPPED)
    half_way = replace(judging, outcome=PassOutcome.APPLIED, calls=1, backlog=3)
    told = "7 clusters of near-duplicates for a model or a person to judge, the 5 most alike:"
    for other in (judging, half_way):
        lines = shown(FOUND, other)
        assert (lines[0], lines[-1]) == (told, "  and 2 more clusters; see --json")


def test_what_a_model_has_just_judged_is_shown_as_far_as_it_left_it_apart():
    judged = PassReport(name="memory-consolidation", outcome=PassOutcome.APPLIED, calls=1)
    after = {name: merged(entry) for name, entry in ENTRIES.items()}
    assert shown(FOUND, judged, entries=after) == [
        "7 clusters of near-duplicates, of which the model left 1 for you to judge:",
        "  1. 90% alike, they differ in: 4 / 5",
        "     b4  b 4 [general]",
        "     b5  b 5 [general]",
    ]
    gone = {name: replace(one, status=Status.ARCHIVED, status_reason="m", status_at=NOW) for name, one in after.items()}
    assert shown(FOUND, judged, entries=gone) == ["7 clusters of near-duplicates, all of them settled."]


def test_texts_that_differ_by_a_negation_or_a_value_are_not_called_the_same_words():
    found = replace(FOUND, notes={"clusters": [{"entries": ["a0", "a1"], "similarity": 1.0}]})
    for one, other, told in (
        ("Ana is allergic to hazelnuts", "Ana is not allergic to hazelnuts.", "99% alike, they differ in: not"),
        ("Ana lives in Lisbon", "Ana lives in Porto", "99% alike, they differ in: Lisbon / Porto"),
        ("Ana lives in Lisbon", "In Lisbon, Ana lives.", "the same words"),
    ):
        texts = {"a0": replace(ENTRIES["a0"], content=one), "a1": replace(ENTRIES["a1"], content=other)}
        assert shown(found, entries=texts)[1] == f"  1. {told}"
