"""Dialect: how much of the protocol a model's server understands, learned from what it refuses."""

from enum import IntEnum
from typing import Any

from agentcore.llm.chat import ChatRequest, ResponseFormat
from agentcore.llm.refusal import Refusal

_STATUSES = frozenset({400, 404, 422})
_FORMAT_WORDS = ("response_format", "response format", "json_schema", "json_object", "guided_json", "structured output")


class FormatLevel(IntEnum):
    """How an answer's JSON is asked for, the strictest first."""

    SCHEMA = 0
    OBJECT = 1
    PLAIN = 2


class Dialect:
    """What is known of one model at one server; lives as long as the client, and only ever asks for less.

    Example:
        >>> dialect = Dialect()
        >>> dialect.level.name
        'SCHEMA'
    """

    def __init__(self) -> None:
        self.level = FormatLevel.SCHEMA
        self._limit_name = "max_tokens"
        self._sends_temperature = True

    def body(self, request: ChatRequest, *, model: str, max_output_tokens: int) -> dict[str, Any]:
        """Return the request's JSON as this server understands it."""
        body: dict[str, Any] = {
            "model": model,
            "messages": [{"role": one.role.value, "content": one.content} for one in request.messages],
            self._limit_name: max_output_tokens,
        }
        if request.temperature is not None and self._sends_temperature:
            body["temperature"] = request.temperature
        if request.response_format is not None and self.level is not FormatLevel.PLAIN:
            body["response_format"] = self._format(request.response_format)
        return body

    def learn(self, refusal: Refusal, body: dict[str, Any]) -> bool:
        """Ask for less from now on, if *refusal* of *body* is about a parameter; return whether to ask again."""
        if refusal.status not in _STATUSES:
            return False
        if "response_format" in body and refusal.is_about("response_format", _FORMAT_WORDS):
            # Calls in flight at once are refused together; each level is left once.
            asked = FormatLevel.SCHEMA if body["response_format"]["type"] == "json_schema" else FormatLevel.OBJECT
            self.level = max(self.level, FormatLevel(asked + 1))
            return True
        if "max_tokens" in body and refusal.is_about("max_tokens", ("max_completion_tokens",)):
            self._limit_name = "max_completion_tokens"
            return True
        if "temperature" in body and refusal.is_about("temperature", ()):
            self._sends_temperature = False
            return True
        return False

    def _format(self, wanted: ResponseFormat) -> dict[str, Any]:
        if self.level is FormatLevel.OBJECT:
            return {"type": "json_object"}
        return {"type": "json_schema", "json_schema": {"name": wanted.name, "schema": dict(wanted.schema)}}
