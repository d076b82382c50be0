"""Describes what clients send, for the OpenAPI document; nothing else is taken."""

import re
from datetime import datetime
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, JsonValue
from pydantic.config import JsonDict

from agentcore.domain.claim import LONGEST_PART
from agentcore.domain.hypothesis import LONGEST_FEEDBACK
from agentcore.domain.off_limits import LONGEST_TOPIC
from agentcore.hosting.checks import MAX_NAME

NAME: Final[JsonDict] = {"format": "name"}
"""One line that is not blank."""
PART: Final[JsonDict] = {"format": "scope-part"}
"""A part of a scope: no slash, and not blank."""
VISIBLE: Final[JsonDict] = {"format": "visible-text"}
"""Text that is not blank."""
SUBJECT_TIME: Final[JsonDict] = {"format": "subject-time"}
"""A time that a text is about, as exactly as it is known."""
SCOPE_PATTERN: Final[JsonDict] = {"format": "scope-pattern"}
"""`WORKSPACE/OBSERVER/OBSERVED`, parts of which may hold `*` and `?`."""
CARD_LINE: Final[JsonDict] = {"format": "card-line"}
"""`SECTION: content`."""

ScopeText = Annotated[str, Field(min_length=5, max_length=386, json_schema_extra=SCOPE_PATTERN)]
Id = Annotated[str, Field(min_length=1, max_length=64)]
Text = Annotated[str, Field(min_length=1, max_length=100_000, json_schema_extra=VISIBLE)]
Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME, json_schema_extra=NAME)]
OptionPath = Annotated[str, Field(min_length=1, max_length=200)]
_INSTANT = re.compile(r"\d{4}-\d\d-\d\d[Tt ]")


def _written(value: object) -> object:
    """Refuse numbers, which would be read as seconds since 1970."""
    if isinstance(value, datetime) or (isinstance(value, str) and _INSTANT.match(value)):
        return value
    raise ValueError("write an instant as in 2025-06-14T09:00:00Z")


Instant = Annotated[datetime, BeforeValidator(_written), Field(strict=False)]


def _whole(value: object) -> object:
    """Take 50.0 for 50, as JSON does."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


WHOLE = BeforeValidator(_whole)


def _each_once(named: list[str]) -> list[str]:
    if len(set(named)) < len(named):
        raise ValueError("name each once")
    return named


_EACH_ONCE = AfterValidator(_each_once)
_UNIQUE: Final[JsonDict] = {"uniqueItems": True}


class Body(BaseModel):
    """What a client sends: nothing but what is listed."""

    model_config = ConfigDict(extra="forbid", strict=True)


class NewMemory(Body):
    """A text to remember, and what is known beside it."""

    content: Text
    category: Annotated[str, Field(max_length=1_000)] | None = None
    tags: Annotated[list[Annotated[str, Field(max_length=200)]], Field(max_length=100)] = []
    importance: Annotated[float, Field(ge=0, le=1)] = 0.5
    subject_time: Annotated[str, Field(max_length=100, json_schema_extra=SUBJECT_TIME)] | None = None
    occurred_at: Instant | None = None
    metadata: dict[Name, str] | None = None
    pinned: bool = False
    trust: Literal["untrusted", "inferred", "stated"] = "stated"


class MemoryChange(Body):
    """What shall be changed; whatever is left out stays as it is."""

    content: Text = Field(default_factory=str)
    category: Annotated[str, Field(max_length=1_000)] | None = None
    tags: Annotated[list[Annotated[str, Field(max_length=200)]], Field(max_length=100)] = Field(default_factory=list)
    importance: Annotated[float, Field(ge=0, le=1)] = Field(default_factory=float)
    subject_time: Annotated[str, Field(max_length=100, json_schema_extra=SUBJECT_TIME)] | None = None
    metadata: dict[Name, str] | None = None
    pinned: bool = Field(default_factory=bool)


class MemoryEdit(MemoryChange):
    """What a person changes, and why."""

    why: Annotated[str, Field(min_length=1, max_length=2_000, json_schema_extra=VISIBLE)] | None = None


class ReasonRequest(Body):
    """Why, for people."""

    reason: Annotated[str, Field(min_length=1, max_length=2_000, json_schema_extra=VISIBLE)]


class NewTurn(Body):
    """One message of a conversation."""

    role: Literal["user", "assistant", "system", "tool"]
    content: Annotated[str, Field(min_length=1, max_length=6_000_000, json_schema_extra=VISIBLE)]
    speaker: Name | None = None
    occurred_at: Instant | None = None
    generated: bool = False


class ContextAsked(Body):
    """What a turn is about, and how much it may be given."""

    session_id: Name
    message: Annotated[str, Field(max_length=100_000)]
    budget_tokens: Annotated[int, Field(ge=0, le=1_000_000), WHOLE] = 1_500


class SkillRequest(Body):
    """A procedure in Markdown."""

    summary: Annotated[str, Field(min_length=1, max_length=1_000, json_schema_extra=VISIBLE)]
    content: Text
    see_also: Annotated[list[Name], Field(max_length=100)] = []


class NewFeedback(Body):
    """How the agent did."""

    session_id: Name
    kind: Literal["correction", "tool_failure", "session_summary", "thumbs_up", "thumbs_down", "wisp_correction"]
    summary: Annotated[str, Field(min_length=1, max_length=10_000, json_schema_extra=VISIBLE)]
    detail: Annotated[str, Field(max_length=100_000)] | None = None
    rating: Literal["poor", "fair", "good", "excellent"] | None = None
    occurred_at: Instant | None = None


class RunAsked(Body):
    """Which passes shall run; all enabled ones if none is named. A plan is applied exactly as it stands."""

    passes: Annotated[list[Name], Field(min_length=1, max_length=100)] | None = None
    plan: Id | None = None
    max_outputs: Annotated[int, Field(ge=1, le=10_000), WHOLE] | None = None


class PlanAsked(Body):
    """Which passes shall be planned; all enabled ones if none is named."""

    passes: Annotated[list[Name], Field(min_length=1, max_length=100)] | None = None


class UndoAsked(Body):
    """What of a run shall be taken back; all of it if nothing is named."""

    pass_name: Annotated[str | None, Field(alias="pass", min_length=1, max_length=64)] = None
    change: Annotated[int, Field(ge=1, le=2**31), WHOLE] | None = None


ALL_PASSES: Final = RunAsked()
ALL_TO_PLAN: Final = PlanAsked()
WHOLE_RUN: Final = UndoAsked()
"""What a request without a body asks for."""


class DecisionRequest(Body):
    """Proposals that a person decides."""

    proposals: Annotated[list[Id], Field(min_length=1, max_length=500)]


def _one_way(name: str, said: dict[str, Any]) -> dict[str, Any]:
    others = {other: {"enum": [None, False]} for other in ("keep", "text", "distinct", "dismiss") if other != name}
    return {"required": [name], "properties": {name: said, **others}}


class AnswerRequest(Body):
    """How a question is answered: in exactly one of four ways."""

    model_config = ConfigDict(
        json_schema_extra={
            "oneOf": [
                _one_way("keep", {"type": "string"}),
                _one_way("text", {"type": "string"}),
                _one_way("distinct", {"const": True}),
                _one_way("dismiss", {"const": True}),
            ]
        }
    )

    keep: Id | None = None
    text: Text | None = None
    distinct: bool = False
    dismiss: bool = False
    why: Annotated[str, Field(min_length=1, max_length=2_000, json_schema_extra=VISIBLE)] | None = None


class Confirmation(Body):
    """Why, for people, such as why a memory holds."""

    why: Annotated[str, Field(min_length=1, max_length=2_000, json_schema_extra=VISIBLE)] | None = None


NO_REASON: Final = Confirmation()


class Distinction(Body):
    """Memories that differ."""

    memories: Annotated[list[Id], Field(min_length=2, max_length=100, json_schema_extra=_UNIQUE), _EACH_ONCE]
    why: Annotated[str, Field(min_length=1, max_length=2_000, json_schema_extra=VISIBLE)] | None = None


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
    whole_workspace: bool = False
    dream: bool | None = None
    learning: bool | None = None


class OptionChanges(Body):
    """Options of dreams by path, as a settings file would give them; and those that nobody shall have said here."""

    said: Annotated[dict[OptionPath, JsonValue], Field(max_length=50)] = {}
    leave: Annotated[list[OptionPath], Field(max_length=50, json_schema_extra=_UNIQUE), _EACH_ONCE] = []


class DirectiveText(Body):
    """What the model shall be told."""

    text: Text


class NewToken(Body):
    """A token: what people call it, what it reaches and may do, and for how many days; else until it is revoked."""

    name: Annotated[str, Field(min_length=1, max_length=64, json_schema_extra=NAME)]
    scopes: Annotated[list[ScopeText], Field(min_length=1, max_length=50)]
    rights: Annotated[list[Literal["read", "write", "review", "admin"]], Field(min_length=1, max_length=4)] = ["read"]
    days: Annotated[int, Field(ge=1, le=36_500), WHOLE] | None = None


class TopicWords(Body):
    """A person's own words for a topic: they are kept, and stand as a rule in what models are sent."""

    words: Annotated[str, Field(min_length=1, max_length=LONGEST_TOPIC, json_schema_extra=NAME)]


class NewCardLine(Body):
    """A line for the peer card; on a full card it takes the place of another."""

    line: Annotated[str, Field(min_length=1, max_length=300, json_schema_extra=CARD_LINE)]
    replaces: Annotated[str, Field(min_length=1, max_length=300)] | None = None
    why: Annotated[str, Field(min_length=1, max_length=2_000, json_schema_extra=VISIBLE)] | None = None


class CycleAsked(Body):
    """Which phases of a dreaming cycle run; one that is not named does unless the options switch it off by its name."""

    reflect_enabled: bool | None = None
    reevaluate_enabled: bool | None = None
    dream_enabled: bool | None = None
    max_outputs: Annotated[int, Field(ge=1, le=50), WHOLE] | None = None


class DreamDecision(Body):
    """What a person decided about a hypothesis, in their words; `promote_candidate` needs these."""

    decision: Literal["reinforce", "stale", "reject", "promote_candidate"]
    feedback: Annotated[str, Field(min_length=1, max_length=LONGEST_FEEDBACK, json_schema_extra=VISIBLE)] | None = None


_Part = Annotated[str, Field(min_length=1, max_length=LONGEST_PART, json_schema_extra=NAME)]


class NewClaim(Body):
    """What a memory or a turn says: subject, predicate and object, with the words that say it."""

    subject: _Part
    predicate: _Part
    object: _Part
    source: Annotated[str, Field(max_length=80, pattern=r"^(entry|turn):\S+$")]
    quote: Text | None = None
    negated: bool = False
    when: Annotated[str, Field(max_length=100, json_schema_extra=SUBJECT_TIME)] | None = None
    confidence: Annotated[float, Field(ge=0, le=1)] = 0.9
