"""Counts what a model is sent: by what it is asked for, and how much of it a provider's cache has read before."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Final

from agentcore.llm.chat import ChatClient, ChatRequest, Completion, estimate_tokens

LEAST_CACHED: Final = 1_024
"""Tokens that prompts must begin with in common before providers keep them, as the largest of them say."""


@dataclass(slots=True)
class CountedClient:
    """A chat client that passes requests on; lives as long as the dreams that are counted.

    Args:
        client: Who answers.
        spent: Tokens sent and received, by the purpose of the call.
        cached: Tokens at the beginnings of prompts that an earlier prompt for the same purpose began with too.
    """

    client: ChatClient
    spent: Counter[str] = field(default_factory=Counter[str])
    cached: int = 0
    _begun: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict[str, list[str]](list))

    async def complete(self, request: ChatRequest) -> Completion:
        """Return the client's answer."""
        text = "\n".join(message.content for message in request.messages)
        earlier = self._begun[request.purpose]
        shared = max((estimate_tokens(_beginning(text, one)) for one in earlier), default=0)
        earlier.append(text)
        completion = await self.client.complete(request)
        self.cached += shared if shared >= LEAST_CACHED else 0
        self.spent[request.purpose] += completion.usage.input_tokens + completion.usage.output_tokens
        return completion


def _beginning(one: str, other: str) -> str:
    r"""Return what two texts begin with in common, in whole lines.

    Example:
        >>> _beginning("a\nb\nc", "a\nb\nd")
        'a\nb\n'
    """
    lines = (text.splitlines(keepends=True) for text in (one, other))
    pairs = takewhile(lambda pair: pair[0] == pair[1], zip(*lines, strict=False))
    return "".join(line for line, _ in pairs)
