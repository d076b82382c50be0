"""Tool calls: one method feeds them, and the newest are the newest."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from agentcore import AgentHostBuilder, Host
from agentcore.errors import InvalidContentError
from agentcore.testing import ManualClock, SequentialIds

NOON = datetime(2025, 6, 14, 12, tzinfo=UTC)


@pytest.fixture
async def host():
    builder = AgentHostBuilder(None, clock=ManualClock(NOON), ids=SequentialIds("call"))
    async with builder.with_tool_calls(lambda options: options.replace(max_text=5)).build() as running:
        yield running


async def test_a_call_is_logged_as_it_was_reported_and_cut_where_the_options_say(host: Host):
    call = await host.tool_calls.append(
        session_id="s1",
        tool_name="mail_search",
        succeeded=False,
        arguments="123456",
        error_message="timed out",
        duration_ms=30,
    )
    assert (call.arguments, call.error_message, call.duration_ms, call.succeeded) == ("12345", "timed", 30, False)
    assert (call.occurred_at, call.recorded_at, call.session_id) == (NOON, NOON, "s1")
    assert (await host.tool_calls.newest(), await host.tool_calls.count()) == ([call], 1)


async def test_the_newest_are_those_made_last_whenever_they_were_told(host: Host):
    for hours in (3, 1, 4, 2):
        at = NOON - timedelta(hours=hours)
        await host.tool_calls.append(session_id="s1", tool_name=f"t{hours}", succeeded=True, occurred_at=at)
    assert [call.tool_name for call in await host.tool_calls.newest(limit=2)] == ["t2", "t1"]
    since = NOON - timedelta(hours=3)
    assert [call.tool_name for call in await host.tool_calls.newest(since=since)] == ["t3", "t2", "t1"]


@pytest.mark.parametrize("bad", [{"session_id": ""}, {"tool_name": ""}, {"duration_ms": -1}])
async def test_what_cannot_be_stored_is_refused_and_nothing_is(host: Host, bad: dict[str, Any]):
    with pytest.raises(InvalidContentError):
        await host.tool_calls.append(**({"session_id": "s", "tool_name": "t", "succeeded": True} | bad))
    assert await host.tool_calls.count() == 0
