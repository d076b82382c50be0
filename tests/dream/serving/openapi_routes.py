"""Every route of the OpenAPI document, and requests of it."""

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from dream.interfaces.rest.api import api

_BODIES: dict[str, Any] = {
    "NewMemory": {"content": "Ana likes tea"},
    "MemoryChange": {"pinned": True},
    "MemoryEdit": {"pinned": True},
    "ReasonRequest": {"reason": "no longer"},
    "NewTurn": {"role": "user", "content": "Ana likes tea"},
    "ContextAsked": {"session_id": "s", "message": "What is the key?"},
    "SkillRequest": {"summary": "Brew", "content": "Boil"},
    "NewFeedback": {"session_id": "s", "kind": "correction", "summary": "wrong"},
    "RunAsked": {"passes": ["exact-fold"]},
    "PlanAsked": {},
    "UndoAsked": {},
    "AnswerRequest": {"dismiss": True},
    "Confirmation": {},
    "DocumentItems": {"texts": ["Ana likes tea."]},
    "ItemChange": {"old": "a", "new": "b"},
    "SwitchChange": {},
    "PeerInSession": {"observe_others": True},
    "PeerEverywhere": {"observe_me": True},
    "PeerTurn": {"content": "Ana likes tea"},
    "ErasureAsked": {"confirm": "acme/agent/ben"},
    "NewCardLine": {"line": "IDENTITY: Name is Ana."},
    "TopicWords": {"words": "my health"},
    "CycleAsked": {},
    "DreamDecision": {"decision": "reject"},
    "NewClaim": {"subject": "Ana", "predicate": "likes", "object": "tea", "source": "entry:none"},
    "OptionChanges": {"said": {"alarm_after": 5}},
    "DirectiveText": {"text": "Keep everything."},
    "NewToken": {"name": "ana", "scopes": ["umbra/agent/ana"]},
    "DecisionRequest": {"proposals": ["none"]},
    "Merge": {"memories": ["a", "b"]},
    "Distinction": {"memories": ["a", "b"]},
}
"""A body of each kind that the document names; a new kind has to come in."""


@dataclass(frozen=True)
class Route:
    """One method of one path."""

    method: str
    path: str
    parameters: tuple[str, ...]
    required: tuple[str, ...]
    body: str | None

    def __str__(self) -> str:
        return f"{self.method} {self.path}"

    @property
    def is_stream(self) -> bool:
        return self.path.endswith("/events")

    def drawn(self, data: st.DataObject, ids: dict[str, list[str]]) -> tuple[str, dict[str, Any], Any]:
        """Return a path with ids of somebody else's, parameters, and a body."""
        known = [one for some in ids.values() for one in some]
        path = self.path
        for name in self.parameters:
            # What a client names itself it may well be told again: only ids of records are tried.
            likely = ids.get(name, known) if name.endswith("_id") and name != "session_id" else []
            path = path.replace(f"{{{name}}}", data.draw(st.sampled_from([*likely, "MEMORY.md", "none"]), label=name))
        params = dict.fromkeys(self.required, "key")
        if self.body == "DecisionRequest":
            return path, params, {"proposals": known}
        if self.body in {"Merge", "Distinction"}:
            return path, params, {"memories": [*known, "none"]}
        return path, params, None if self.body is None else _BODIES[self.body]


def routes() -> list[Route]:
    """Return all of them."""
    found: list[Route] = []
    for path, operations in api().openapi()["paths"].items():
        for method, operation in operations.items():
            given = operation.get("parameters", [])
            schemas = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
            found.append(
                Route(
                    method=method.upper(),
                    path=path,
                    parameters=tuple(one["name"] for one in given if one["in"] == "path"),
                    required=tuple(one["name"] for one in given if one["in"] == "query" and one.get("required")),
                    body=schemas.get("$ref", "").rpartition("/")[2] or None,
                )
            )
    return found
