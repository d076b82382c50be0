from datetime import UTC, datetime
from typing import Any

import pytest

from agentcore import AgentHostBuilder, Host, Scope
from agentcore.domain import FailureCategory
from agentcore.errors import InvalidContentError
from agentcore.hosting import WispLog
from agentcore.testing import ManualClock, SequentialIds

NOON = datetime(2025, 6, 14, 12, tzinfo=UTC)
RUN = {
    "wisp_id": "w1",
    "description": "Fetch the weather",
    "definition_hash": "abc",
    "succeeded": True,
    "step_count": 3,
    "steps_completed": 3,
    "duration_ms": 1200,
}


def builder():
    return AgentHostBuilder(None, clock=ManualClock(NOON), ids=SequentialIds("run"))


@pytest.fixture
async def host():
    async with builder().with_wisps().build() as running:
        yield running


@pytest.fixture
def wisps(host: Host):
    return host.wisps


async def test_a_run_is_logged_as_it_was_reported(wisps: WispLog):
    failed = RUN | {"succeeded": False, "steps_completed": 1}
    run = await wisps.append(
        **failed, failed_step_id="fetch", failure_category="data", error_message="no such city", session_id="s1"
    )
    assert (run.failure_category, run.failed_step_id, run.error_message) == (
        FailureCategory.DATA,
        "fetch",
        "no such city",
    )
    assert (run.occurred_at, run.recorded_at, run.shape_hash) == (NOON, NOON, None)
    assert await wisps.newest() == [run]
    assert await wisps.count() == 1


async def test_a_definition_is_kept_of_successful_runs_that_are_short_enough():
    async with builder().with_wisps(lambda options: options.replace(max_definition=5)).build() as host:
        kept = await host.wisps.append(**RUN, definition_body="12345")
        long = await host.wisps.append(**RUN, definition_body="123456")
        failed = await host.wisps.append(**(RUN | {"succeeded": False}), definition_body="12345")
        assert [kept.definition_body, long.definition_body, failed.definition_body] == ["12345", None, None]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"step_count": -1}, "step count cannot be stored: -1 is not a whole number"),
        ({"duration_ms": 1.5}, "duration cannot be stored: 1.5 is not a whole number"),
        ({"failure_category": "luck"}, "failure category cannot be stored: 'luck' is none"),
        ({"description": " "}, "description cannot be stored: it is blank"),
    ],
)
async def test_what_cannot_be_stored_is_refused_in_a_sentence_and_nothing_is_written(
    wisps: WispLog, change: dict[str, Any], sentence: str
):
    with pytest.raises(InvalidContentError, match=sentence):
        await wisps.append(**(RUN | change))
    assert await wisps.count() == 0


async def test_missing_and_misspelt_arguments_are_refused_as_python_would(wisps: WispLog):
    with pytest.raises(TypeError, match="give definition_hash, description"):
        await wisps.append(**{name: value for name, value in RUN.items() if not name.startswith("de")})
    with pytest.raises(TypeError, match="no argument 'error'"):
        await wisps.append(**RUN, error="x")


async def test_scopes_are_never_mixed(host: Host):
    ben = host.for_scope(Scope("acme", "agent", "ben")).wisps
    await host.wisps.append(**RUN)
    assert await ben.newest() == []
