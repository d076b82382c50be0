"""Two processes decide about the same hypotheses at once: the table of transitions holds, and all is logged."""

import asyncio
import sys
from pathlib import Path

from agentcore import AgentHostBuilder
from agentcore.domain import HypothesisState
from agentcore.domain.hypothesis import TRANSITIONS

DECIDER = """
import asyncio, random, sys
from agentcore import AgentHostBuilder
from agentcore.domain import HypothesisDecision
from agentcore.errors import ForbiddenTransitionError

async def main(folder, seed):
    chance = random.Random(seed)
    done = refused = same = 0
    async with AgentHostBuilder(folder).with_memory().with_dreaming(in_background=False).build() as host:
        ids = [one.id for one in await host.hypotheses.list()]
        for _ in range(60):
            decision = chance.choice(list(HypothesisDecision))
            try:
                made = await host.hypotheses.resolve(chance.choice(ids), decision, feedback=f"Words of {seed}.")
            except ForbiddenTransitionError:
                refused += 1
            else:
                same += made.is_unchanged
                done += not made.is_unchanged
    print(done, refused, same)

asyncio.run(main(sys.argv[1], int(sys.argv[2])))
"""
_TO = {"reinforce": "reinforced", "stale": "stale", "reject": "rejected", "promote_candidate": "promoted"}


async def test_the_table_of_transitions_holds_under_random_decisions_from_two_processes(tmp_path: Path):
    builder = AgentHostBuilder(tmp_path).with_memory().with_dreaming(in_background=False)
    async with builder.build() as host:
        entries = [await host.memory.remember(f"Fact {n} about bees.") for n in range(25)]
        for one in entries[1:]:
            await host.hypotheses.propose(
                f"Guess about {one.id}.", what_if="What if?", sources=[f"entry:{entries[0].id}", f"entry:{one.id}"]
            )
        deciders = [
            await asyncio.create_subprocess_exec(
                sys.executable, "-c", DECIDER, str(tmp_path), str(seed), stdout=asyncio.subprocess.PIPE
            )
            for seed in (1, 2)
        ]
        told = [list(map(int, (await one.communicate())[0].split())) for one in deciders]
        found = await host.hypotheses.list()
        memories = [one.content for one in await host.memory.list()]
    assert [one.returncode for one in deciders] == [0, 0]
    assert all(sum(counts) == 60 for counts in told)
    assert sum(len(one.decisions) for one in found) == sum(counts[0] for counts in told)
    for one in found:
        state = HypothesisState.PROPOSED
        for logged in one.decisions:
            to = HypothesisState(_TO[logged.decision])
            assert to in TRANSITIONS[state]
            state = to
        assert one.state is state
    promoted = sum(one.state is HypothesisState.PROMOTED for one in found)
    assert sum(text.startswith("Words of") for text in memories) == promoted
