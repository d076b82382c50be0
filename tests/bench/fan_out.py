"""Measures what telling observers costs: `python -m tests.bench.fan_out --facts 1000 --observers 10`."""

import argparse
import asyncio
import tempfile
import time
from pathlib import Path

from agentcore import AgentHostBuilder, Host, Scope, SessionPeer
from agentcore.domain import SourceKind, SourceRef
from agentcore.stores import Origin

ANA = Scope("acme", "ana", "ana")


async def followed(host: Host, observers: list[Scope]) -> float:
    """Have every observer follow, and return the processor's milliseconds for each of them."""
    begun = time.process_time()
    for scope in observers:
        more = True
        while more:
            done = await host._parts.storage.write(scope, lambda unit: unit.fan_out.follow(), origin=Origin.PEERS)
            more = done.more
    return (time.process_time() - begun) * 1_000 / len(observers)


async def measured(folder: Path, facts: int, count: int) -> None:
    """Print what following costs for many facts, for none, and for one more."""
    names = [f"peer{number}" for number in range(count)]
    observers = [Scope("acme", name, "ana") for name in names]
    async with AgentHostBuilder(folder).with_memory().with_conversation_log().build() as host:
        peers = [SessionPeer(name=name, observe_others=True) for name in names]
        talk = await host.session("s1", workspace="acme", peers=["ana", *peers])
        memory = host.for_scope(ANA).memory

        async def say(number: int) -> None:
            turn = await talk.append("ana", f"I keep parcel number {number} in the shed of my uncle.")
            await memory.remember(turn.content, sources=[SourceRef(SourceKind.TURN, turn.id)])

        await host._parts.fan_out.stop()  # what is measured is what the calls below do
        for number in range(facts):
            await say(number)
        print(f"{facts:,} facts: {await followed(host, observers):,.1f} ms for each observer")
        print(f"nothing new: {await followed(host, observers):,.1f} ms")
        await say(facts)
        print(f"one more fact: {await followed(host, observers):,.1f} ms")


def main() -> None:
    """Measure with as many facts and observers as were asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.fan_out")
    parser.add_argument("--facts", type=int, default=1_000)
    parser.add_argument("--observers", type=int, default=10)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fan-out-") as folder:
        asyncio.run(measured(Path(folder) / "data", asked.facts, asked.observers))


if __name__ == "__main__":
    main()
