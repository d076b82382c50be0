"""Asks a person, or a model that no client reaches: each request becomes a file, and waits for its answer's file.

A request stands in `FOLDER/007.request.md`: its messages, and the JSON schema of the answer. Whoever answers writes the
text of the answer, and nothing else, into `FOLDER/007.answer.txt`; best under another name first, renamed when it is
whole. As many requests wait at once as a dream asks. The same request, asked again by a run that was broken off, has
the file it had.
"""

import re
from dataclasses import dataclass, field
from datetime import timedelta
from hashlib import blake2b
from pathlib import Path
from typing import Final

import orjson

from agentcore.clock import Clock, SystemClock
from agentcore.llm.chat import ChatRequest, Completion, FinishReason, Usage, estimate_tokens

NAME: Final = "asked"
"""What the model is called whose answers are written by hand."""
_POLL: Final = timedelta(seconds=0.25)
"""Between two looks at the folder; an answer counts once it is the same in two of them."""
_MARKER: Final = re.compile(r"^<<<(\S+)$", re.MULTILINE)


@dataclass(slots=True)
class AnswerFolder:
    """A chat client whose answers are files; lives as long as a benchmark.

    Args:
        path: Where requests and answers are kept.
        poll: Between two looks at it.
        clock: What it waits by.
    """

    path: Path
    poll: timedelta = _POLL
    clock: Clock = field(default_factory=SystemClock)
    _numbers: dict[str, int] = field(default_factory=dict[str, int], init=False)

    def __post_init__(self) -> None:
        """Look which requests stand there already."""
        self.path.mkdir(parents=True, exist_ok=True)
        for one in sorted(self.path.glob("*.request.md")):
            self._numbers[_digest(one.read_text("utf-8"))] = int(one.name.partition(".")[0])

    async def complete(self, request: ChatRequest) -> Completion:
        """Write the request down, unless it is, and return its answer, however long that takes."""
        text = readable(request)
        answer = await self._answer(self._asked(text))
        asked = sum(estimate_tokens(message.content) for message in request.messages)
        usage = Usage(input_tokens=asked, output_tokens=estimate_tokens(answer), is_estimated=True)
        return Completion(text=answer, finish_reason=FinishReason.STOP, usage=usage, model=NAME)

    def _asked(self, text: str) -> int:
        key = _digest(text)
        if key not in self._numbers:
            self._numbers[key] = 1 + max(self._numbers.values(), default=0)
            unfinished = self.path / f"{self._numbers[key]:03}.part"
            unfinished.write_text(text, "utf-8")
            unfinished.rename(self.path / f"{self._numbers[key]:03}.request.md")
        return self._numbers[key]

    async def _answer(self, number: int) -> str:
        path = self.path / f"{number:03}.answer.txt"
        before: str | None = None
        while True:
            text = path.read_text("utf-8", errors="replace").strip() if path.exists() else ""
            if text and text == before:
                return text
            before = text
            await self.clock.sleep(self.poll)


def readable(request: ChatRequest) -> str:
    """Return the messages of a request and what its answer has to look like, as text."""
    parts = [f"# {message.role.value}\n\n{message.content}" for message in request.messages]
    if request.response_format is not None:
        schema = orjson.dumps(request.response_format.schema).decode()
        parts.append(f"# answer with one JSON object of this schema\n\n{schema}")
    return "\n\n".join(parts) + "\n"


def _digest(text: str) -> str:
    """Return what a request is known by; a run fences its data with a mark of its own, which says nothing."""
    marks = set(_MARKER.findall(text))
    plain = re.sub("|".join(map(re.escape, marks)), "", text) if marks else text
    return blake2b(plain.encode("utf-8", "replace"), digest_size=16).hexdigest()
