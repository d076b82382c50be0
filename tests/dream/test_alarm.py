"""Which runs give rise to an alarm."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from dreaming import NOW
from hypothesis import given, strategies as st

from agentcore.domain import Scope
from dream.domain import (
    AlarmKind,
    Outcome,
    PassOutcome,
    PassReport,
    Refusal,
    Refused,
    RunReport,
    Skip,
    Stop,
    find_alarm,
)

REFUSED = (Refusal(Refused.STALE_SOURCE, "batch 1"),)


def passed(name: str = "mine", outcome: PassOutcome = PassOutcome.UNCHANGED, **values: Any) -> PassReport:
    return PassReport(name=name, outcome=outcome, **values)


def run(*passes: PassReport, hour: int = 0, outcome: Outcome | None = None) -> RunReport:
    started = NOW + timedelta(hours=hour)
    report = RunReport(
        run_id=f"run-{hour}", scope=Scope.default(), outcome=Outcome.UNCHANGED, as_of=started, started_at=started
    ).with_passes(passes, started)
    return report if outcome is None else replace(report, outcome=outcome)


FAILED = passed("broken", PassOutcome.FAILED, reason="ValueError: no")
FINE = passed("fine", PassOutcome.APPLIED, accepted=1)
IDLE = passed("idle", reason=Skip.NO_WORK)
LOOKING = passed("looking", looked_at=40, backlog=60, reason=Skip.NOTHING_TO_CHANGE)
STUCK = passed("stuck", backlog=7, reason=Skip.NOTHING_TO_CHANGE)
BROKE = passed("broke", backlog=7, reason=Stop.DAY_BUDGET)
IN_VAIN = passed("in-vain", calls=3, looked_at=7, refused=REFUSED, reason=Skip.NOTHING_TO_CHANGE)
ABSENT = passed("absent", PassOutcome.SKIPPED, reason=f"{Skip.MISSING}: llm", backlog=3)


@pytest.mark.parametrize(
    ("passes", "kind", "names"),
    [
        ((FAILED,), AlarmKind.FAILED, ("broken",)),
        ((FAILED, FINE), AlarmKind.FAILED, ("broken",)),
        ((STUCK, IDLE), AlarmKind.NO_OP, ("stuck",)),
        ((BROKE,), AlarmKind.NO_OP, ("broke",)),
        ((IN_VAIN, LOOKING, STUCK), AlarmKind.NO_OP, ("in-vain", "stuck")),
    ],
)
def test_runs_that_come_to_nothing_raise_an_alarm(passes: tuple[PassReport, ...], kind: AlarmKind, names: Any):
    newest_first = [run(*passes, hour=hour) for hour in (2, 1, 0)]
    alarm = find_alarm(newest_first, 3)
    assert alarm is not None
    assert (alarm.kind, alarm.runs, alarm.since, alarm.run_id, alarm.passes) == (kind, 3, NOW, "run-2", names)
    assert all(name in alarm.sentence for name in names)
    assert "2025-06-14 09:00 UTC" in alarm.sentence
    assert "`dream show run-2 --scope default/agent/agent`" in alarm.sentence
    assert find_alarm(newest_first[:2], 3) is None


@pytest.mark.parametrize(
    "passes",
    [
        (IDLE,),
        (LOOKING,),
        (ABSENT, IDLE),
        (STUCK, FINE),
        (BROKE, FINE),
        (IN_VAIN, FINE),
        (),
        (replace(STUCK, purged=1),),
    ],
)
def test_runs_that_get_on_or_have_nothing_to_do_raise_none(passes: tuple[PassReport, ...]):
    assert find_alarm([run(*passes, hour=hour) for hour in range(9, 0, -1)], 1) is None


def test_a_run_that_was_interrupted_and_given_up_has_failed():
    alarm = find_alarm([run(FINE, outcome=Outcome.PARTIAL)], 1)
    assert alarm is not None
    assert alarm.kind is AlarmKind.FAILED
    assert "the whole run" in alarm.sentence


def test_the_newest_run_says_what_is_wrong():
    mixed = [run(STUCK, hour=2), run(FAILED, hour=1), run(STUCK)]
    alarm = find_alarm(mixed, 3)
    assert alarm is not None
    assert (alarm.kind, alarm.runs) == (AlarmKind.NO_OP, 3)


def test_the_sentence_holds_nothing_that_an_error_may_quote():
    secret = passed("broken", PassOutcome.FAILED, reason="ValueError: the code of the door is 4711")
    alarm = find_alarm([run(secret)], 1)
    assert alarm is not None
    assert "4711" not in str(alarm.to_json())


@given(bad=st.lists(st.booleans(), max_size=12), after=st.integers(1, 5))
def test_only_the_newest_runs_in_a_row_count(bad: list[bool], after: int):
    reports = [run(FAILED if is_bad else FINE, hour=len(bad) - place) for place, is_bad in enumerate(bad)]
    in_a_row = bad.index(False) if False in bad else len(bad)
    alarm = find_alarm(reports, after)
    assert (0 if alarm is None else alarm.runs) == (in_a_row if in_a_row >= after else 0)
