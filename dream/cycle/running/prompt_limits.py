"""Notices a server that cuts prompts silently, and remembers how much of a prompt each of its models reads."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

import orjson

from agentcore.domain.temporal import from_text, to_text
from agentcore.llm.chat import ModelTier, estimate_tokens
from agentcore.llm.settings import ChatOptions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentcore.llm.chat import ChatClient, ChatRequest, Usage
    from agentcore.stores.storage import ReadView, UnitOfWork
    from dream.options import DreamOptions

SETTING: Final = "dream.prompt_limits"
LEAST_SHARE: Final = 0.6
"""A server that counts less than this of our estimate read less than it was sent.

Tokenizers count 0.99 to 1.83 times our estimate of a whole prompt, and never below 0.72 of a text in any of thirteen
languages: see `docs/explanation/verification.md`. For the same reason a prompt of this share of what a model reads fits
it, whatever its tokenizer.
"""
_SHORTEST: Final = 500
"""Prompts of fewer tokens prove nothing: templates and roundings weigh too much."""
_REMEMBERED: Final = timedelta(days=7)
_LEAST_ROOM: Final = 500


@dataclass(slots=True, kw_only=True)
class PromptLimits:
    """How many tokens of a prompt the models of one endpoint read, as far as that is known; lives as long as a pass.

    It is kept among the scope's settings for seven days, so that a server that was given a larger context is noticed.

    Args:
        endpoint: The client's own model and its address.
        read: Tokens that were read, by the model's name in requests, "" for the client's own.
        since: When the first of them was noticed; None while there is none.
    """

    endpoint: str
    read: dict[str, int] = field(default_factory=dict[str, int])
    since: datetime | None = None

    @classmethod
    def of(cls, view: ReadView, chat: ChatClient | None) -> PromptLimits:
        """Return what is remembered of the endpoint that *chat* asks."""
        unknown = cls.unknown(chat)
        told = orjson.loads(view.settings.get(SETTING) or "{}")
        if told.get("endpoint") != unknown.endpoint or view.now - from_text(told["since"]) > _REMEMBERED:
            return unknown
        return cls(endpoint=unknown.endpoint, read=told["read"], since=from_text(told["since"]))

    @classmethod
    def unknown(cls, chat: ChatClient | None) -> PromptLimits:
        """Return limits of the endpoint that *chat* asks, of which nothing is known yet."""
        return cls(endpoint=_named(chat))

    def was_cut(self, request: ChatRequest, usage: Usage) -> bool:
        """Tell whether the server read less of a prompt than it was sent, by its own count."""
        sent, known = estimated_prompt(request), self.read.get(request.model or "")
        if usage.is_estimated or sent < _SHORTEST:
            return False
        return usage.input_tokens < LEAST_SHARE * sent or (known is not None and usage.input_tokens >= known)

    def learn(self, request: ChatRequest, usage: Usage, now: datetime) -> None:
        """Take in how much was read of a prompt that was cut."""
        model = request.model or ""
        self.read[model] = min(usage.input_tokens, self.read.get(model, usage.input_tokens))
        self.since = self.since or now

    def save(self, unit: UnitOfWork) -> None:
        """Remember what is known."""
        if self.since is None:
            return
        told = {"endpoint": self.endpoint, "since": to_text(self.since), "read": self.read}
        unit.settings.put(SETTING, orjson.dumps(told).decode())

    def allow(self, request: ChatRequest) -> bool:
        """Tell whether a prompt is short enough to be read whole, as far as is known."""
        known = self.read.get(request.model or "")
        return known is None or estimated_prompt(request) <= max(_SHORTEST, LEAST_SHARE * known)

    def applied(self, options: DreamOptions, directives: Mapping[str, str]) -> DreamOptions:
        """Return options under which whole prompts, with these directives, are short enough."""
        known = self.read.get("")
        if known is None:
            return options
        room = int(LEAST_SHARE * known) - sum(map(estimate_tokens, directives.values()))
        tokens = min(options.model.prompt_tokens, max(_LEAST_ROOM, room))
        return options.replace(model=options.model.replace(prompt_tokens=tokens))


def estimated_prompt(request: ChatRequest) -> int:
    """Return the tokens of a prompt by our own count."""
    return sum(estimate_tokens(message.content) for message in request.messages)


def _named(chat: ChatClient | None) -> str:
    options: object = getattr(chat, "options", None)
    if isinstance(options, ChatOptions):
        return f"{options.model_of(ModelTier.DREAMING)} at {options.base_url}"
    return type(chat).__name__
