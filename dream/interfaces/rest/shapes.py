"""Describes what clients are sent, for the OpenAPI document; records have more fields than are listed here."""

from typing import Any

from pydantic import BaseModel, ConfigDict

from dream.interfaces.rest.bodies import Instant


class ResponseBody(BaseModel):
    """What a client is sent."""

    model_config = ConfigDict(extra="allow")


class MemoryResponse(ResponseBody):
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


class MemoryPage(ResponseBody):
    """Memories, the latest stored first; `next_cursor` is null on the last page."""

    memories: list[MemoryResponse]
    next_cursor: str | None


class HitResponse(ResponseBody):
    """An answer of recall."""

    score: float
    entry: MemoryResponse


class HitsResponse(ResponseBody):
    """Answers, the best first."""

    query: str
    hits: list[HitResponse]
    related_dreams: list[dict[str, Any]]
    """Hypotheses that have to do with it, as many as were asked for: unproven, and no memory."""


class SkillVersionsResponse(ResponseBody):
    """The texts of a skill, the oldest first: since and until when, its uses, and those in sessions that failed."""

    versions: list[dict[str, Any]]


class HistoryResponse(ResponseBody):
    """Why a record is as it is: who wrote it, what runs did to it, where it came from."""

    writes: list[dict[str, Any]]
    history: list[dict[str, Any]]
    asked_by: dict[str, str]


class ForgottenResponse(ResponseBody):
    """What a forget removed."""

    removed: list[str]
    restored: list[str]
    withheld: list[str]


class TurnResponse(ResponseBody):
    """One message of a conversation."""

    id: str
    session_id: str
    role: str
    content: str
    occurred_at: Instant
    recorded_at: Instant


class TurnPage(ResponseBody):
    """Turns, the latest stored first; `next_cursor` is null on the last page."""

    turns: list[TurnResponse]
    next_cursor: str | None


class SessionsResponse(ResponseBody):
    """Conversations and dreams, the newest first."""

    sessions: list[dict[str, Any]]


class ContextResponse(ResponseBody):
    """What a turn should see, as one block for the prompt."""

    text: str
    tokens: int
    query: str
    memories: list[str]
    turns: list[str]
    skills: list[str]


class SkillResponse(ResponseBody):
    """A named procedure."""

    id: str
    name: str
    summary: str
    content: str
    status: str


class SkillsResponse(ResponseBody):
    """The catalogue."""

    skills: list[SkillResponse]


class FeedbackResponse(ResponseBody):
    """One signal about the agent's work."""

    id: str
    session_id: str
    kind: str
    summary: str


class FeedbackList(ResponseBody):
    """Signals, the newest first."""

    feedback: list[FeedbackResponse]


class RunResponse(ResponseBody):
    """A run: its report; `state` is `finished`, `running` or `interrupted`, and before the end there is no outcome."""

    run_id: str
    scope: str
    kind: str
    outcome: str | None
    changes: int
    started_at: Instant
    finished_at: Instant | None
    passes: list[dict[str, Any]]


class RunPage(ResponseBody):
    """Runs, the newest first; `next_cursor` is null on the last page."""

    runs: list[RunResponse]
    next_cursor: str | None


class ChangesResponse(ResponseBody):
    """What a run changed, record by record, before and after."""

    run_id: str
    changes: list[dict[str, Any]]


class PlanResponse(ResponseBody):
    """What a run would change; apply it with its `plan_id`."""

    plan_id: str
    changes: Any


class ProposalResponse(ResponseBody):
    """A change that waits for a person."""

    proposal_id: str
    run_id: str
    operation: str
    changes: list[dict[str, Any]]


class ProposalsResponse(ResponseBody):
    """All that wait, in the order they were proposed."""

    proposals: list[ProposalResponse]


class QuestionResponse(ResponseBody):
    """What only a person can answer, with the memories it is about."""

    id: str
    cause: str
    state: str
    members: list[MemoryResponse]


class QuestionsResponse(ResponseBody):
    """Questions, the oldest first."""

    questions: list[QuestionResponse]


class DocumentResponse(ResponseBody):
    """A document of the workspace."""

    name: str
    text: str


class ScheduleResponse(ResponseBody):
    """When the scope dreams next, and what holds it back."""

    due_at: Instant | None
    reason: str
    waits_for: list[str]
    gates: list[dict[str, Any]]


class TimelineResponse(ResponseBody):
    """Dreams that were, the newest first, and dreams to come, the next one first."""

    past: list[dict[str, Any]]
    coming: list[dict[str, Any]]


class DreamRequested(ResponseBody):
    """What became of a request for a dream."""

    scope: str
    requested_at: Instant | None
    reason: str | None


class PausedResponse(ResponseBody):
    """Whether the dreams of the scope are paused."""

    scope: str
    paused: bool


class SwitchesResponse(ResponseBody):
    """How a switch stands; null leaves it to the wider level."""

    level: str
    session_id: str | None
    dream: bool | None
    learning: bool | None


class ScopesResponse(ResponseBody):
    """Scopes by name."""

    scopes: list[str]


class StatusResponse(ResponseBody):
    """How the scope stands."""

    scope: str
    entries: dict[str, int]
    turns: int
    skills: int
    paused: bool


class GrowthResponse(ResponseBody):
    """How many active memories came on each day, and how many are of each tenth of importance, the least first."""

    days: list[dict[str, Any]]
    importance: list[int]


class UsageResponse(ResponseBody):
    """What models cost."""

    usage: list[dict[str, Any]]
    total: dict[str, Any]
    tokens_left_today: int | None


class OptionsResponse(ResponseBody):
    """Every option in force, and who said so."""

    options: list[dict[str, Any]]


class TopicResponse(ResponseBody):
    """A topic that nothing is kept about."""

    id: str
    words: str
    created_at: Instant


class RemovedTopic(ResponseBody):
    """Which topic is allowed again; its words are gone."""

    removed: str


class TopicsResponse(ResponseBody):
    """The topics, the first named first."""

    topics: list[TopicResponse]


class CardLineResponse(ResponseBody):
    """One line of the peer card."""

    id: str
    section: str
    content: str
    set_at: Instant
    set_by: str
    reason: str
    pinned: bool
    status: str


class CardResponse(ResponseBody):
    """Lines of the peer card, and how many may stand on it."""

    lines: list[CardLineResponse]
    most: int


class BackupResponse(ResponseBody):
    """A backup that was read back and found whole, in the folder of backups on the server."""

    name: str
    bytes: int
    entries: int
    turns: int
    skills: int


class NotedBackupResponse(ResponseBody):
    """A backup that was made earlier; whether the file is still there nobody looked."""

    name: str
    made_at: Instant
    records: int


class BackupsResponse(ResponseBody):
    """The backups that are on record, the earliest first."""

    backups: list[NotedBackupResponse]


class ImportedResponse(ResponseBody):
    """What an import added, knew already, and left out."""

    format: str
    added: dict[str, int]
    known: dict[str, int]
    skipped: dict[str, dict[str, int]]


class DreamItems(ResponseBody):
    """Hypotheses, the latest first."""

    items: list[dict[str, Any]]
    next_cursor: str | None


class DreamPage(ResponseBody):
    """Hypotheses, page by page: unproven, and no memories."""

    data: DreamItems


class DreamResponse(ResponseBody):
    """One hypothesis: unproven, and no memory."""

    data: dict[str, Any]


class CycleResponse(ResponseBody):
    """One dream as Dense-Mem's record of a cycle."""

    data: dict[str, Any]


class CyclesResponse(ResponseBody):
    """The newest dreams as Dense-Mem's records of cycles."""

    data: list[dict[str, Any]]


class ResolutionResponse(ResponseBody):
    """A hypothesis as decided, the words that confirmed it as they are kept, and what the gates said of each claim."""

    data: dict[str, Any]


class StandingOfDreams(ResponseBody):
    """The configuration in force, the latest dream, and how many proposals and hypotheses wait."""

    effective_config: dict[str, Any]
    latest_run: dict[str, Any] | None
    pending_count: int


class DreamingStatus(ResponseBody):
    """How the dreams of a scope stand, in Dense-Mem's envelope."""

    data: StandingOfDreams


class ClaimsResponse(ResponseBody):
    """Claims, the oldest first."""

    claims: list[dict[str, Any]]


class ClaimResponse(ResponseBody):
    """A claim as it stands."""

    claim: dict[str, Any]


class GateResponse(ResponseBody):
    """A claim as its gate left it: what the gate says, and the fact or the question that came of it."""

    claim: dict[str, Any]
    outcome: str
    reason: str
    fact_id: str | None
    question_id: str | None


class ProblemDocument(ResponseBody):
    """What is wrong (RFC 9457): `code` never changes, `detail` is one sentence for people."""

    type: str
    title: str
    status: int
    code: str
    detail: str
