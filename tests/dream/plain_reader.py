"""A model behind HTTP that takes each sentence that is said for a fact, and finds nothing else worth a word."""

import re
from typing import Any

import orjson

from agentcore.testing import ServedRequest

_TURN = re.compile(r'^\[(t\d+)\] .*"([^"]+)"$', re.MULTILINE)


def form_of(request: ServedRequest) -> dict[str, Any]:
    """The form of the answer that is asked for: its name and schema."""
    return request.body.get("response_format", {}).get("json_schema", {})


def purpose_of(request: ServedRequest) -> str:
    return str(form_of(request).get("name", ""))


def facts_of(request: ServedRequest) -> list[tuple[str, str]]:
    """Handle and text of each new turn of a prompt."""
    return [(handle, text) for handle, text in _TURN.findall(request.prompt)]


def plain_answer(request: ServedRequest) -> str:
    """Tell each new turn as a fact, word by word; of all else that is asked, that there is nothing."""
    properties = form_of(request).get("schema", {}).get("properties", {})
    answer: dict[str, Any] = {name: _nothing(one) for name, one in properties.items()}
    if purpose_of(request) == "reading":
        answer["fact-mining"] = [[handle, text, "people"] for handle, text in facts_of(request)]
    elif purpose_of(request) == "facts":
        answer["facts"] = [
            {"content": text, "category": "people", "tags": [], "sourceTurns": [handle]}
            for handle, text in facts_of(request)
        ]
    return orjson.dumps(answer).decode()


def _nothing(schema: dict[str, Any]) -> Any:
    kind = schema.get("type")
    return {} if kind == "object" else "" if kind == "string" else []
