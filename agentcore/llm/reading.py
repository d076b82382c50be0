"""Reading: from a server's body to a completion, believing nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import orjson

from agentcore.llm.chat import Completion, FinishReason, Usage
from agentcore.llm.refusal import Refusal, refusal_in
from agentcore.llm.tokens import estimate_tokens

_REASONS = {
    "stop": FinishReason.STOP,
    "eos": FinishReason.STOP,
    "eos_token": FinishReason.STOP,
    "end_turn": FinishReason.STOP,
    "stop_sequence": FinishReason.STOP,
    "length": FinishReason.LENGTH,
    "max_tokens": FinishReason.LENGTH,
    "content_filter": FinishReason.CONTENT_FILTER,
    "refusal": FinishReason.CONTENT_FILTER,
    "tool_calls": FinishReason.TOOL_CALLS,
    "tool_use": FinishReason.TOOL_CALLS,
    "function_call": FinishReason.TOOL_CALLS,
}
_LONGEST_MODEL = 256


@dataclass(frozen=True, slots=True)
class Unusable:
    """A body that is no completion.

    Args:
        problem: What is wrong with it.
    """

    problem: str


def read_completion(body: bytes, *, model: str, input_estimate: int) -> Completion | Refusal | Unusable:
    """Return the completion in the body of a reply of status 200; never raises.

    Some gateways send an error with that status; it is returned as the refusal it is.

    Args:
        body: JSON, if the server is what it should be.
        model: Who was asked, for a server that names nobody.
        input_estimate: The prompt's tokens as we count them, for a server that does not.
    """
    try:
        parsed: object = orjson.loads(body)
    except ValueError:
        return Unusable("an empty body" if not body.strip() else "not JSON")
    document = _mapping(parsed)
    error = document.get("error")
    if error and not document.get("choices"):
        code = _mapping(error).get("code")
        return refusal_in(code if isinstance(code, int) and 400 <= code <= 599 else 502, document)
    choice = _mapping(next(iter(_sequence(document.get("choices"))), None))
    message = _mapping(choice.get("message"))
    if not message:
        return Unusable("no choices" if "choices" in document else "JSON of another kind")
    text = _text(message.get("content"))
    if text is None:
        return Unusable("content that is no text")
    named = document.get("model")
    return Completion(
        text=text,
        finish_reason=_finish_reason(choice.get("finish_reason"), message, text),
        usage=_usage(document.get("usage"), input_estimate, text),
        model=named[:_LONGEST_MODEL] if isinstance(named, str) and named.strip() else model,
    )


def _finish_reason(told: object, message: Mapping[str, object], text: str) -> FinishReason:
    reason = _REASONS.get(told.casefold(), FinishReason.ERROR) if isinstance(told, str) else FinishReason.ERROR
    if reason is FinishReason.STOP and not text:
        if message.get("refusal"):
            return FinishReason.CONTENT_FILTER
        if message.get("tool_calls") or message.get("function_call"):
            return FinishReason.TOOL_CALLS
    return reason


def _text(content: object) -> str | None:
    """Return a message's text, which may come in parts; None if it is none."""
    if content is None or isinstance(content, str):
        return content or ""
    parts = _sequence(content)
    texts = [_mapping(part).get("text", "") for part in parts]
    return "".join(text for text in texts if isinstance(text, str)) if parts else None


def _usage(told: object, input_estimate: int, text: str) -> Usage:
    usage = _mapping(told)
    asked, answered = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
    return Usage(
        # A prompt of no tokens does not exist: such a server does not count.
        input_tokens=asked or input_estimate,
        output_tokens=estimate_tokens(text) if answered is None else answered,
        is_estimated=not asked or answered is None,
    )


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 53 else None


def _mapping(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else {}


def _sequence(value: object) -> Sequence[object]:
    return cast("Sequence[object]", value) if isinstance(value, list) else ()
