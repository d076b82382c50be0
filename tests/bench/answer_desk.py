"""Serves a model that is whoever writes the answers: each request becomes a file, and waits for its answer's file.

python -m tests.bench.answer_desk --folder FOLDER --port PORT

A request stands in `FOLDER/0007-1f0c9a52b7e4.request.txt`: its messages, and the JSON schema that the answer has to
keep to. Whoever answers writes the model's text, and nothing else, into `0007-1f0c9a52b7e4.answer.txt` beside it; best
under another name first, renamed when it is whole. As many requests wait at once as there are. The number says in which
order they came, the rest is a digest of the messages: the same question, asked again by a retry, after a restart or in
another run, has the file it had and gets the same answer.
"""

import argparse
import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import repeat
from pathlib import Path
from typing import Any, Final

import orjson

from agentcore.testing import ChatServer, ServedRequest

_POLL: Final = 0.25
"""Seconds between two looks at the folder; an answer counts once it is the same in two of them."""
_DAY: Final = 86_400
_MARKER: Final = re.compile(r"^<<<(\S+)$", re.MULTILINE)
_HEADING: Final = "=" * 12


@dataclass(frozen=True, slots=True)
class AnswerDesk:
    """A folder of requests and answers; lives as long as the server that asks it.

    Args:
        folder: Where they are kept.
        poll: Seconds between two looks at it.
    """

    folder: Path
    poll: float = _POLL

    async def answer(self, request: ServedRequest) -> str:
        """Write the request down, unless it is, and return its answer, however long that takes."""
        path = self._asked(request)
        before: str | None = None
        while True:
            text = path.read_text("utf-8", errors="replace") if path.exists() else ""
            if text.strip() and text == before:
                return text.strip()
            before = text
            await asyncio.sleep(self.poll)

    def waiting(self) -> list[str]:
        """Return the names of the requests without an answer, the oldest first."""
        asked = sorted(path.name.removesuffix(".request.txt") for path in self.folder.glob("*.request.txt"))
        return [name for name in asked if not (self.folder / f"{name}.answer.txt").exists()]

    def _asked(self, request: ServedRequest) -> Path:
        """Return where the answer of a request is to stand."""
        text = readable(request.body)
        # A run fences its data with a mark of its own, which says nothing.
        marks = set(_MARKER.findall(text))
        plain = re.sub("|".join(map(re.escape, marks)), "", text) if marks else text
        key = blake2b(plain.encode(), digest_size=6).hexdigest()
        self.folder.mkdir(parents=True, exist_ok=True)
        known = list(self.folder.glob(f"*-{key}.request.txt"))
        if not known:
            number = 1 + max((int(path.name[:4]) for path in self.folder.glob("*.request.txt")), default=0)
            known = [self.folder / f"{number:04}-{key}.request.txt"]
            unfinished = known[0].with_suffix(".part")
            unfinished.write_text(text, "utf-8")
            unfinished.rename(known[0])
            print(f"asked: {known[0].name}", flush=True)
        return known[0].with_name(known[0].name.replace(".request.", ".answer."))


def readable(body: Mapping[str, Any]) -> str:
    """Return the messages of a request and what its answer has to look like, as text."""
    messages: Sequence[Mapping[str, Any]] = body.get("messages", ())
    parts = [f"{_HEADING} {message['role']} {_HEADING}\n{message['content']}" for message in messages]
    form: Mapping[str, Any] = body.get("response_format", {})
    if form.get("type") == "json_schema":
        schema = orjson.dumps(form["json_schema"]["schema"], option=orjson.OPT_INDENT_2).decode()
        parts.append(f"{_HEADING} answer with one JSON object of this schema {_HEADING}\n{schema}")
    return "\n\n".join(parts) + "\n"


async def serve(folder: Path, port: int) -> None:
    """Serve until the process is ended."""
    async with ChatServer(repeat(AnswerDesk(folder).answer), port=port) as server:
        print("The dream to be answered is started with:", flush=True)
        # One answer may take a day; a client that gave up sooner would ask again.
        variables = {"OPENAI_BASE_URL": server.base_url, "AGENTCORE_MODEL": "desk", "AGENTCORE_TIMEOUT": _DAY}
        for name, value in variables.items():
            print(f"export {name}={value}", flush=True)
        await asyncio.Event().wait()


def main() -> None:
    """Read the command line and serve."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.answer_desk", description="Answers from files.")
    parser.add_argument("--folder", type=Path, required=True, help="where requests and answers are kept")
    parser.add_argument("--port", type=int, default=0, help="where to listen on 127.0.0.1; any free port by default")
    asked = parser.parse_args()
    try:
        asyncio.run(serve(asked.folder, asked.port))
    except KeyboardInterrupt:
        print(f"{len(AnswerDesk(asked.folder).waiting())} requests are without an answer")


if __name__ == "__main__":
    main()
