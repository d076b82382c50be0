"""The calendar of the page: dreams that were and dreams to come, month by month."""

import re
from datetime import UTC, datetime, timedelta

from served import served
from visiting import HOME, texts, visiting

from agentcore import AgentHostBuilder
from agentcore.testing import ManualClock
from dream.options import DailyAt, DreamOptions, SchedulingOptions

TIMELINE = "/api/v1/schedule/timeline"


def _builder(clock: ManualClock) -> AgentHostBuilder:
    schedule = SchedulingOptions(trigger=DailyAt(at="03:00", timezone="UTC"))
    return AgentHostBuilder(None, clock=clock).with_dreaming(DreamOptions(schedule=schedule))


async def test_the_calendar_shows_dreams_that_were_and_those_to_come():
    clock = ManualClock(datetime(2026, 3, 10, 12, tzinfo=UTC))
    async with served(builder=_builder(clock)) as server:
        await server.host.memory.remember_many(["The boat is blue.", "Ana likes tea."])
        runs = [(await server.host.dreams.run()).run_id for _ in range(5)]
        clock.advance(timedelta(days=2))
        async with visiting(server) as person:
            march = await person.see("schedule")
            april = texts(await person.see("schedule?month=2026-04"))
            february = texts(await person.see("schedule?month=2026-02"))
    days = dict(re.findall(r"<li class=\"[^\"]*\"><b>\w+ (\d\d)</b>(.*?)</li>", march, re.DOTALL))
    assert len(days) == 31
    assert "March 2026" in texts(march)
    assert [run for run in runs if f"{HOME}runs/{run}" in days["10"]] == runs[-3:]
    assert "and 2 more" in days["10"]
    assert [day for day, told in days.items() if "03:00" in texts(told)] == [f"{day}" for day in range(13, 32)]
    assert "April 2026" in april
    assert april.count("03:00 to come") == 30
    assert "03:00 to come" not in february


async def test_a_month_that_is_none_shows_the_present_one():
    clock = ManualClock(datetime(2026, 3, 10, 12, tzinfo=UTC))
    async with served(builder=_builder(clock)) as server, visiting(server) as person:
        for month in ("2026-13", "9999-12", "1969-12", "<script>", "", "0000-00"):
            assert "March 2026" in texts(await person.see(f"schedule?month={month}"))


async def test_the_timeline_over_rest_holds_what_is_asked_for_alone():
    clock = ManualClock(datetime(2026, 3, 10, 12, tzinfo=UTC))
    async with served(builder=_builder(clock)) as server:
        first = await server.host.dreams.run()
        clock.advance(timedelta(days=40))
        second = await server.host.dreams.run()
        found = (await server.client.get(TIMELINE)).json()
        assert [one["run_id"] for one in found["past"]] == [second.run_id]
        assert len(found["coming"]) == 31
        assert found["coming"][0] == {"at": "2026-04-20T03:00:00Z", "reason": "daily"}
        asked = {"since": "2026-03-01T00:00:00Z", "until": "2026-04-01T00:00:00Z"}
        found = (await server.client.get(TIMELINE, params=asked)).json()
        assert [one["run_id"] for one in found["past"]] == [first.run_id]
        assert found["coming"] == []
        refused = await server.client.get(TIMELINE, params={"since": "2026-03-01T00:00:00"})
        assert refused.status_code == 422
