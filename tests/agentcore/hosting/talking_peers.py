"""Ana talks, a fact is learnt of each sentence, and observers follow, until somebody kills this process."""

import asyncio
import sys
from pathlib import Path

from peering import Company, peer, scope_of

from agentcore import AgentHostBuilder

OBSERVERS = ("ben", "cleo", "dora")


async def main(folder: Path) -> None:
    made = AgentHostBuilder(folder).with_memory().with_conversation_log().with_dreaming()
    async with made.build() as host:
        company = Company(host)
        talk = await company.session("s1", "ana", *(peer(name, others=True) for name in OBSERVERS))
        start = len(await company.heard("ana", "ana"))
        for number in range(start, start + 1_000):
            await talk.append("ana", f"I keep parcel {number}.")
            if number % 5 == 4:
                await company.read("ana")
                print("learnt", flush=True)
            if number % 20 == 19:
                entry = await company.entry("ana", "ana", f"I keep parcel {number - 10}.")
                await host.for_scope(scope_of("ana", "ana")).memory.forget(entry.id)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
