"""Scopes with options of their own dream by these, beside others in one host."""

from datetime import timedelta

from watching_over import ANA, HOUR, Stage

from agentcore import Scope
from agentcore.domain import ScopePattern
from agentcore.hosting.option_layers import OptionSource
from dream.options import DailyAt, DreamOptions
from dream.options.levels import ScopeLevel, of_code

REX = Scope("acme", "rex", "ben")


def level(pattern: str, **values: object) -> ScopeLevel:
    return ScopeLevel(ScopePattern.parse(pattern), OptionSource.FILE, values)


async def test_each_scope_dreams_by_the_schedule_of_its_own(stage: Stage):
    at_three = {"schedule": {"zone": "UTC", "trigger": {"kind": "daily", "at": "03:00"}}}
    stage.levels = [level("acme/rex/*", **at_three)]
    async with stage.watched() as watched:
        await stage.learn("Ana likes tea.")
        await stage.learn("Ben likes tea.", scope=REX)
        await watched.go_on(24 * HOUR, by=10 * timedelta(minutes=1))
        told = {run.scope: (run.trigger, run.started_at.hour) for run in stage.reports}
    assert told[REX] == ("daily", 3)
    assert told[ANA][0] == "interval"


async def test_a_scope_that_is_switched_off_by_its_options_dreams_not_and_says_so(stage: Stage):
    stage.levels = [level("acme/rex/*", enabled=False)]
    async with stage.watched() as watched:
        await stage.learn("Ana likes tea.")
        await stage.learn("Ben likes tea.", scope=REX)
        await watched.go_on(5 * HOUR, by=HOUR)
        assert {run.scope for run in stage.reports} == {ANA}
        told = await stage.dreams.explain(REX)
        assert "dreaming" in [gate.name.value for gate in told.waits_for]


async def test_other_options_of_some_scopes_are_taken_up_by_the_next_host_for_these_alone(stage: Stage):
    async with stage.watched() as watched:
        await stage.learn("Ana likes tea.")
        await stage.learn("Ben likes tea.", scope=REX)
        await watched.go_on(HOUR, by=10 * timedelta(minutes=1))
    assert len(stage.reports) == 2
    stage.levels = [of_code(ScopePattern.parse("acme/rex/*"), DreamOptions(schedule={"trigger": DailyAt(at="05:00")}))]
    async with stage.watched():
        told = {scope: (await stage.dreams.explain(scope)).reason for scope in (ANA, REX)}
        await stage.learn("Ben likes coffee.", scope=REX)
        later = await stage.dreams.explain(REX)
    assert later.reason == "daily"
    assert told[ANA] != "daily"
