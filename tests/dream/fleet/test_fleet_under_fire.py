"""A minute of three real workers that are killed, stopped, halted and cut off: nothing is lost, nothing done twice."""

import os

import pytest

from tests.bench.fleet import arguments, main
from tests.postgres_server import Server

pytest.importorskip("pgqueuer")


@pytest.mark.slow
@pytest.mark.skipif("AGENTCORE_FLEET" not in os.environ, reason="set AGENTCORE_FLEET to put a fleet under fire")
async def test_no_step_is_taken_twice_no_due_dream_is_lost_and_no_answer_is_paid_twice(postgres_server: Server):
    _ = postgres_server  # skipped where there is none
    found = await main(arguments(["--seconds", "60", "--scopes", "60", "--tenants", "6", "--at-once", "10"]))
    assert found["steps taken twice"] == 0
    assert found["scopes without a dream"] == 0
    assert found["answers paid twice"] == 0
    assert found["faults"]
    assert all(times["most"] < 60 for kind, times in found["takeovers"].items() if "stopped" not in kind)
