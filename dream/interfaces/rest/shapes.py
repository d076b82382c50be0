"""Describes requests and answers for the OpenAPI document; records have more fields than are listed here."""

import re
from datetime import datetime
from typing import Annotated, Any, Literal

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


class Document(BaseModel):
    """What a client is sent."""

    model_config = ConfigDict(extra="allow")


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

    content: Text | None = None
    category: Annotated[str, Field(max_length=1_000)] | None = None
    tags: Annotated[list[Annotated[str, Field(max_length=200)]], Field(max_length=100)] | None = None
    importance: Annotated[float, Field(ge=0, le=1)] | None = None
    subject_time: Annotated[str, Field(max_length=100)] | None = None
    metadata: dict[str, str] | None = None
    pinned: bool | None = None


class Reason(Body):
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


class NewSkill(Body):
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


class Decision(Body):
    """Proposals that a person decides."""

    proposals: Annotated[list[Id], Field(min_length=1, max_length=500)]


class Answer(Body):
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


class Memory(Document):
    """One thing the agent knows."""

    id: str
    content: str
    category: str
    tags: list[str]
    importance: float
    created_at: Instant
    last_seen_at: Instant
    status: str
    trust: str
    pinned: bool
    level: str
    reinforcement_count: int


class MemoryPage(Document):
    """Memories, the latest stored first; `next_cursor` is null on the last page."""

    memories: list[Memory]
    next_cursor: str | None


class Hit(Document):
    """An answer of recall."""

    score: float
    entry: Memory


class Hits(Document):
    """Answers, the best first."""

    query: str
    hits: list[Hit]


class History(Document):
    """Why a record is as it is: who wrote it, what runs did to it, where it came from."""

    writes: list[dict[str, Any]]
    history: list[dict[str, Any]]
    asked_by: dict[str, str]


class Forgotten(Document):
    """What a forget removed."""

    removed: list[str]
    restored: list[str]
    withheld: list[str]


class Turn(Document):
    """One message of a conversation."""

    id: str
    session_id: str
    role: str
    content: str
    occurred_at: Instant
    recorded_at: Instant


class TurnPage(Document):
    """Turns, the latest stored first; `next_cursor` is null on the last page."""

    turns: list[Turn]
    next_cursor: str | None


class Sessions(Document):
    """Conversations and dreams, the newest first."""

    sessions: list[dict[str, Any]]


class Context(Document):
    """What a turn should see, as one block for the prompt."""

    text: str
    tokens: int
    query: str
    memories: list[str]
    turns: list[str]
    skills: list[str]


class Skill(Document):
    """A named procedure."""

    id: str
    name: str
    summary: str
    content: str
    status: str


class Skills(Document):
    """The catalogue."""

    skills: list[Skill]


class Feedback(Document):
    """One signal about the agent's work."""

    id: str
    session_id: str
    kind: str
    summary: str


class FeedbackList(Document):
    """Signals, the newest first."""

    feedback: list[Feedback]


class Run(Document):
    """A run: its report; `state` is `finished`, `running` or `interrupted`, and before the end there is no outcome."""

    run_id: str
    scope: str
    kind: str
    outcome: str | None
    changes: int
    started_at: Instant
    finished_at: Instant | None
    passes: list[dict[str, Any]]


class RunPage(Document):
    """Runs, the newest first; `next_cursor` is null on the last page."""

    runs: list[Run]
    next_cursor: str | None


class Changes(Document):
    """What a run changed, record by record, before and after."""

    run_id: str
    changes: list[dict[str, Any]]


class Plan(Document):
    """What a run would change; apply it with its `plan_id`."""

    plan_id: str
    changes: Any


class Proposal(Document):
    """A change that waits for a person."""

    proposal_id: str
    run_id: str
    operation: str
    changes: list[dict[str, Any]]


class Proposals(Document):
    """All that wait, in the order they were proposed."""

    proposals: list[Proposal]


class Question(Document):
    """What only a person can answer, with the memories it is about."""

    id: str
    cause: str
    state: str
    members: list[Memory]


class Questions(Document):
    """Questions, the oldest first."""

    questions: list[Question]


class DocumentText(Document):
    """A document of the workspace."""

    name: str
    text: str


class Schedule(Document):
    """When the scope dreams next, and what holds it back."""

    due_at: Instant | None
    reason: str
    waits_for: list[str]
    gates: list[dict[str, Any]]


class DreamRequested(Document):
    """What became of a request for a dream."""

    scope: str
    requested_at: Instant | None
    reason: str | None


class Paused(Document):
    """Whether the dreams of the scope are paused."""

    scope: str
    paused: bool


class Switches(Document):
    """How a switch stands; null leaves it to the wider level."""

    level: str
    session_id: str | None
    dream: bool | None
    learning: bool | None


class Status(Document):
    """How the scope stands."""

    scope: str
    entries: dict[str, int]
    turns: int
    skills: int
    paused: bool


class Usage(Document):
    """What models cost."""

    usage: list[dict[str, Any]]
    total: dict[str, Any]
    tokens_left_today: int | None


class Options(Document):
    """Every option in force, and who said so."""

    options: list[dict[str, Any]]


class Imported(Document):
    """What an import added, knew already, and left out."""

    format: str
    added: dict[str, int]
    known: dict[str, int]
    skipped: dict[str, dict[str, int]]


class DreamingStatus(Document):
    """Options in force with their source, the latest run, and how many proposals wait."""

    effective_config: dict[str, Any]
    latest_run: dict[str, Any] | None
    pending_count: int


class ProblemDocument(Document):
    """What is wrong (RFC 9457): `code` never changes, `detail` is one sentence for people."""

    type: str
    title: str
    status: int
    code: str
    detail: str
