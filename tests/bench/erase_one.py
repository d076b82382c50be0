"""Erases one of many scopes and compares the exports of all others: `python -m tests.bench.erase_one --scopes 1000`."""

import argparse
import asyncio
import tempfile
import time
from pathlib import Path

from agentcore import AgentHostBuilder
from agentcore.domain import Scope, SourceKind, SourceRef
from tests.bench.forget_kills import exported


async def changed_by_erasing_one(folder: Path, count: int) -> tuple[int, int, float]:
    """Return how many records the erased scope has left, how many other exports differ, and the seconds it took."""
    scopes = [Scope("acme", "agent", f"user{number:04}") for number in range(count)]
    async with AgentHostBuilder(folder).with_memory().with_conversation_log().build() as host:
        for scope in scopes:
            here = host.for_scope(scope)
            turn = await here.conversation.append(
                session_id="s", role="user", content=f"I am {scope.observed}, and ill."
            )
            await here.memory.remember(f"{scope.observed} is ill.", sources=(SourceRef(SourceKind.TURN, turn.id),))
        gone = scopes[count // 2]
        before = {scope: await exported(host, scope) for scope in scopes}
        begun = time.perf_counter()
        await host.erase(gone)
        taken = time.perf_counter() - begun
        left = await host.for_scope(gone).memory.count(status=None)
        after = {scope: await exported(host, scope) for scope in scopes if scope != gone}
    return left, sum(before[scope] != export for scope, export in after.items()), taken


def main() -> None:
    """Erase one scope of as many as was asked for, and print what that changed."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.erase_one")
    parser.add_argument("--scopes", type=int, default=1_000)
    count = parser.parse_args().scopes
    with tempfile.TemporaryDirectory(prefix="erase-one-") as temporary:
        left, differing, taken = asyncio.run(changed_by_erasing_one(Path(temporary) / "data", count))
    told = f"{left} records of it left, {differing} other exports differ"
    print(f"erased 1 of {count:,} scopes in {1000 * taken:.0f} ms: {told}")


if __name__ == "__main__":
    main()
