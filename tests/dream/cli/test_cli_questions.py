"""Open questions in the report of a run."""

from datetime import UTC, datetime

import pytest

from agentcore.domain import MemoryEntry, Scope
from dream.domain import Outcome, PassOutcome, PassReport, RunReport
from dream.interfaces.cli.render.reports import asked_about, question_lines

NOW = datetime(2025, 6, 14, 9, tzinfo=UTC)


def report(questions: int) -> RunReport:
    noted = [{"entries": [f"a{place}", f"b{place}"], "question": "Which holds?"} for place in range(questions)]
    asked = PassReport(name="memory-consolidation", outcome=PassOutcome.UNCHANGED, notes={"questions": noted})
    return RunReport(
        run_id="r", scope=Scope.default(), outcome=Outcome.COMPLETED, as_of=NOW, started_at=NOW, passes=(asked,)
    )


def entry(entry_id: str, content: str) -> MemoryEntry:
    return MemoryEntry(
        id=entry_id, scope=Scope.default(), content=content, created_at=NOW, recorded_at=NOW, last_seen_at=NOW
    )


def shown(questions: int, *entries: MemoryEntry) -> list[str]:
    known = {one.id: one for one in entries}
    return [line.text for line in question_lines(report(questions), known, 80, more="see --json")]


def test_a_question_is_shown_with_the_texts_it_is_about():
    said = shown(1, entry("a0", "Ana lives in Lisbon."), entry("b0", "Ana lives in Porto."))
    assert said == [
        "1 open question:",
        "  1. Which holds?",
        "     a0  Ana lives in Lisbon. [general]",
        "     b0  Ana lives in Porto. [general]",
    ]


def test_an_entry_that_is_gone_is_said_to_be_gone():
    assert "     a0  (no longer here)" in shown(1)


@pytest.mark.parametrize(("questions", "ids"), [(0, 0), (5, 10), (7, 10)])
def test_no_more_is_read_than_is_shown(questions: int, ids: int):
    assert len(asked_about(report(questions))) == ids


def test_of_many_the_first_are_shown_and_the_rest_counted():
    assert shown(7)[-1] == "  and 2 more; see --json"
    assert shown(0) == []
