"""Three real workers that are killed, stopped and halted, and whose server restarts: nothing is lost or done twice."""

import os

import pytest

from tests.bench.fleet import arguments, main
from tests.postgres_server import Server

pytest.importorskip("pgqueuer")
FAULTS = ("SIGSTOP", "SIGTERM", "server restarted", "kill -9")
A_SLICE = (
    "--seconds 12 --scopes 200 --tenants 6 --at-once 10 --answer-seconds 4 --pause 3 --side-by-side --stored-within 1"
)


@pytest.mark.slow
@pytest.mark.skipif("AGENTCORE_FLEET" not in os.environ, reason="set AGENTCORE_FLEET to put a fleet under fire")
async def test_no_step_is_taken_twice_no_due_dream_is_lost_and_no_answer_is_paid_twice(postgres_server: Server):
    _ = postgres_server  # skipped where there is none
    found = await main(arguments([*A_SLICE.split(), "--faults", *FAULTS]))
    assert set(found["faults"]) == set(FAULTS)
    assert found["steps taken twice"] == 0
    assert found["scopes without a dream"] == 0
    assert found["answers paid twice"] == 0
    assert all(one["not seen"] == 0 for one in found["takeovers"].values())
