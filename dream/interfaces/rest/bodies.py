"""Describes what clients send, for the OpenAPI document; nothing else is taken."""

import re
from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

Id = Annotated[str, Field(min_length=1, max_length=64)]
Text = Annotated[str, Field(min_length=1, max_length=100_000)]
Name = Annotated[str, Field(min_length=1, max_length=512)]
_INSTANT = re.compile(r"\d{4}-\d\d-\d\d[Tt ]")


def _written(value: object) -> object:
    """Refuse numbers, which would be read as seconds since 1970."""
    if isinstance(value, datetime) or (isinstance(value, str) and _INSTANT.match(value)):
        return value
    raise ValueError("write an instant as in 2025-06-14T09:00:00Z")


Instant = Annotated[datetime, BeforeValidator(_written)]


class Body(BaseModel):
    """What a client sends: nothing but what is listed."""

    model_config = ConfigDict(extra="forbid")


class NewMemory(Body):
    """A text to remember, and what is known beside it."""

    content: Text
    category: Annotated[str, Field(max_length=1_000)] | None = None
    tags: Annotated[list[Annotated[str, Field(max_length=200)]], Field(max_length=100)] = []
    importance: Annotated[float, Field(ge=0, le=1)] = 0.5
    subject_time: Annotated[str, Field(max_length=100)] | None = None
    occurred_at: Instant | None = None
    metadata: dict[str, str] | None = None
    pinned: bool = False
    trust: Literal["untrusted", "inferred", "stated"] = "stated"


class MemoryChange(Body):
    """What shall be changed; whatever is left out stays as it is."""

    content: Text = Field(default_factory=str)
    category: Annotated[str, Field(max_length=1_000)] | None = None
    tags: Annotated[list[Annotated[str, Field(max_length=200)]], Field(max_length=100)] = Field(default_factory=list)
    importance: Annotated[float, Field(ge=0, le=1)] = Field(default_factory=float)
    subject_time: Annotated[str, Field(max_length=100)] | None = None
    metadata: dict[str, str] | None = None
    pinned: bool = Field(default_factory=bool)


class ReasonRequest(Body):
    """Why, for people."""

    reason: Annotated[str, Field(min_length=1, max_length=2_000)]


class NewTurn(Body):
    """One message of a conversation."""

    role: Literal["user", "assistant", "system", "tool"]
    content: Annotated[str, Field(min_length=1, max_length=6_000_000)]
    speaker: Name | None = None
    occurred_at: Instant | None = None
    generated: bool = False


class ContextAsked(Body):
    """What a turn is about, and how much it may be given."""

    session_id: Name
    message: Annotated[str, Field(max_length=100_000)]
    budget_tokens: Annotated[int, Field(ge=0, le=1_000_000)] = 1_500


class SkillRequest(Body):
    """A procedure in Markdown."""

    summary: Annotated[str, Field(min_length=1, max_length=1_000)]
    content: Text
    see_also: Annotated[list[Name], Field(max_length=100)] = []


class NewFeedback(Body):
    """How the agent did."""

    session_id: Name
    kind: Name
    summary: Annotated[str, Field(min_length=1, max_length=10_000)]
    detail: Annotated[str, Field(max_length=100_000)] | None = None
    rating: Name | None = None
    occurred_at: Instant | None = None


class RunAsked(Body):
    """Which passes shall run; all enabled ones if none is named. A plan is applied exactly as it stands."""

    passes: Annotated[list[Name], Field(min_length=1, max_length=100)] | None = None
    plan: Id | None = None
    max_outputs: Annotated[int, Field(ge=1, le=10_000)] | None = None


class PlanAsked(Body):
    """Which passes shall be planned; all enabled ones if none is named."""

    passes: Annotated[list[Name], Field(min_length=1, max_length=100)] | None = None


class UndoAsked(Body):
    """What of a run shall be taken back; all of it if nothing is named."""

    pass_name: Annotated[str | None, Field(alias="pass", min_length=1, max_length=64)] = None
    change: Annotated[int, Field(ge=1, le=2**31)] | None = None


class DecisionRequest(Body):
    """Proposals that a person decides."""

    proposals: Annotated[list[Id], Field(min_length=1, max_length=500)]


class AnswerRequest(Body):
    """How a question is answered: in exactly one of four ways."""

    keep: Id | None = None
    text: Text | None = None
    distinct: bool = False
    dismiss: bool = False
    why: Annotated[str, Field(max_length=2_000)] | None = None


class Confirmation(Body):
    """Why a memory holds, for people."""

    why: Annotated[str, Field(max_length=2_000)] | None = None


class Distinction(Body):
    """Memories that differ."""

    memories: Annotated[list[Id], Field(min_length=2, max_length=100)]
    why: Annotated[str, Field(max_length=2_000)] | None = None


class Merge(Distinction):
    """Memories that say the same, and a text for all of them if the first shall not stay as it is."""

    text: Text | None = None


class DocumentItems(Body):
    """Items for a document, a line each."""

    texts: Annotated[list[Text], Field(min_length=1, max_length=100)]
    section: Annotated[list[Name], Field(max_length=6)] = []


class ItemChange(Body):
    """An item of a document, the whole of it, and what it shall say."""

    old: Text
    new: Text


class SwitchChange(Body):
    """What shall be on or off; null leaves it to the wider level, what is left out stays as it is."""

    session_id: Name | None = None
    dream: bool | None = None
    learning: bool | None = None
