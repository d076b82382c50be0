"""Runs `dream bench dream --model` against rules: `python -m tests.bench.scripted_dream --data FILE`.

Whatever else is given goes to the command as it is, such as `--sample conv-26` and `--json`.
"""

import asyncio
import os
import sys
from itertools import repeat

from agentcore.testing import ChatServer, ServedRequest
from dream.interfaces.benchmark import scripted_answer
from dream.interfaces.cli import main


async def _serve_and_measure(arguments: list[str]) -> int:
    async with ChatServer(repeat(_answer)) as server:
        os.environ |= {"OPENAI_BASE_URL": server.base_url, "AGENTCORE_MODEL": "scripted"}
        # The command has an event loop of its own, so it runs beside the server's.
        return await asyncio.to_thread(main, ["bench", "dream", "--model", *arguments])


def _answer(request: ServedRequest) -> str:
    return scripted_answer(request.prompt)


if __name__ == "__main__":
    sys.exit(asyncio.run(_serve_and_measure(sys.argv[1:])))
