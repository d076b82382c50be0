from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from agentcore import AgentHostBuilder, Host, Scope
from agentcore.domain import FeedbackKind, Rating
from agentcore.errors import InvalidContentError
from agentcore.hosting import FeedbackLog
from agentcore.testing import ManualClock, SequentialIds

NOON = datetime(2025, 6, 14, 12, tzinfo=UTC)


def builder():
    return AgentHostBuilder(None, clock=ManualClock(NOON), ids=SequentialIds("feedback"))


@pytest.fixture
async def host():
    async with builder().with_feedback().build() as running:
        yield running


@pytest.fixture
def feedback(host: Host):
    return host.feedback


async def test_a_signal_is_logged_as_it_was_given(feedback: FeedbackLog):
    signal = await feedback.append(
        session_id="s1", kind="session_summary", summary="Went well", detail="All done", rating="good"
    )
    assert (signal.kind, signal.rating) == (FeedbackKind.SESSION_SUMMARY, Rating.GOOD)
    assert (signal.summary, signal.detail, signal.occurred_at) == ("Went well", "All done", NOON)
    assert await feedback.newest() == [signal]
    assert await feedback.count() == 1


async def test_the_newest_are_given_not_the_first(feedback: FeedbackLog):
    for minute in range(5):
        at = NOON + timedelta(minutes=minute)
        await feedback.append(session_id="s", kind="correction", summary=f"no. {minute}", occurred_at=at)
    assert [one.summary for one in await feedback.newest(limit=2)] == ["no. 3", "no. 4"]
    since = NOON + timedelta(minutes=4)
    assert [one.summary for one in await feedback.newest(since=since)] == ["no. 4"]


async def test_a_long_detail_is_cut_where_the_options_say():
    async with builder().with_feedback(lambda options: options.replace(max_detail=5)).build() as host:
        signal = await host.feedback.append(session_id="s", kind="correction", summary="no", detail="0123456789")
        assert signal.detail == "01234"


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"kind": "praise"}, "kind cannot be stored: 'praise' is none; give one of correction, tool_failure"),
        ({"rating": "great"}, "rating cannot be stored: 'great' is none; give one of poor, fair, good, excellent"),
        ({"summary": ""}, "summary cannot be stored: it is blank"),
        ({"session_id": ""}, "session id cannot be stored: it is blank"),
    ],
)
async def test_what_cannot_be_stored_is_refused_in_a_sentence_and_nothing_is_written(
    feedback: FeedbackLog, change: dict[str, Any], sentence: str
):
    with pytest.raises(InvalidContentError, match=sentence):
        await feedback.append(**({"session_id": "s", "kind": "correction", "summary": "no"} | change))
    assert await feedback.count() == 0


async def test_scopes_are_never_mixed(host: Host):
    ben = host.for_scope(Scope("acme", "agent", "ben")).feedback
    await host.feedback.append(session_id="s", kind="thumbs_up", summary="nice")
    assert await ben.newest() == []
