"""Dense-Mem's variables are read where ours are not set."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from agentcore import AgentHostBuilder
from agentcore.errors import InvalidOptionsError
from agentcore.testing import ManualClock
from dream.domain import Outcome
from dream.options import PassMode
from dream.options.sources import configured


def test_the_variables_of_dense_mem_are_read_where_ours_are_not_set(monkeypatch: pytest.MonkeyPatch):
    for name, value in {
        "DREAMING_ENABLED": "true",
        "DREAMING_START_TIME_LOCAL": "04:30",
        "DREAMING_REFLECT_ENABLED": "false",
        "DREAMING_MAX_OUTPUTS": "9",
        "DREAMING_FORCE_ENABLED": "true",
        "APP_TIMEZONE": "America/New_York",
    }.items():
        monkeypatch.setenv(name, value)
    options = configured().options
    assert (options.schedule.enabled, options.schedule.zone) == (True, "America/New_York")
    assert getattr(options.schedule.trigger, "at", "") == "04:30"
    assert [options.mode(name) for name in ("reflect", "hypotheses")] == [PassMode.OFF, PassMode.APPLY]
    assert (options.hypotheses.max_outputs, options.ignore_scope_switches) == (9, True)
    monkeypatch.setenv("AGENTCORE_DREAMING__SCHEDULE__TRIGGER__AT", "05:00")
    monkeypatch.setenv("AGENTCORE_DREAMING__SCHEDULE__TRIGGER__KIND", "daily")
    assert getattr(configured().options.schedule.trigger, "at", "") == "05:00"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DREAMING_ENABLED", "maybe"),
        ("DREAMING_FORCE_ENABLED", "maybe"),
        ("DREAMING_DREAM_ENABLED", "maybe"),
        ("DREAMING_MAX_OUTPUTS", "many"),
        ("DREAMING_MAX_OUTPUTS", "0"),
        ("DREAMING_MAX_OUTPUTS", "51"),
    ],
)
def test_a_variable_of_dense_mem_that_cannot_be_read_is_named(monkeypatch: pytest.MonkeyPatch, name: str, value: str):
    monkeypatch.setenv(name, value)
    with pytest.raises(InvalidOptionsError, match=name):
        configured()


async def test_a_schedule_that_is_switched_off_stops_no_run_by_hand(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("DREAMING_ENABLED", "false")
    options = configured().options
    assert not options.schedule.enabled
    clock = ManualClock(datetime(2025, 6, 1, tzinfo=UTC))
    builder = AgentHostBuilder(tmp_path, clock=clock).with_memory().with_dreaming(options, in_background=False)
    async with builder.build() as host:
        await host.memory.remember("Ana likes tea.")
        assert (await host.hypotheses.run()).outcome is Outcome.COMPLETED
        assert (await host.dreams.run()).outcome is Outcome.COMPLETED
