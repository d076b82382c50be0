"""Describes what clients are sent of a scope's configuration, for the OpenAPI document."""

from typing import Any

from dream.interfaces.rest.bodies import Instant
from dream.interfaces.rest.shapes import ResponseBody


class OptionEditsResponse(ResponseBody):
    """What admins edited of the options of the scope: values by path, what of it is void and why, the latest edits."""

    version: int
    said: dict[str, Any]
    refused: dict[str, str]
    edits: list[dict[str, Any]]


class DirectiveResponse(ResponseBody):
    """What the model is told: the words in force, whose they are, and the built-in ones."""

    name: str
    purpose: str
    passes: list[str]
    origin: str
    hash: str | None
    text: str | None
    built_in: str


class DirectivesResponse(ResponseBody):
    """Each directive, without its text."""

    directives: list[dict[str, Any]]


class CheckedDirectiveResponse(ResponseBody):
    """What was found of a text, and what saving it would cost."""

    finding: dict[str, str]
    forecast: dict[str, Any] | None


class TokenResponse(ResponseBody):
    """A token; its secret stands in the answer that made it, and nowhere else."""

    name: str
    scopes: list[str]
    rights: list[str]
    created_at: Instant
    expires_at: Instant | None
    revoked_at: Instant | None


class TokensResponse(ResponseBody):
    """Tokens that reach nothing beyond what the caller reaches, the newest last."""

    tokens: list[TokenResponse]
