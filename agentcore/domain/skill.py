"""Defines a skill, a procedure the agent can look up, and the record of its uses."""

from dataclasses import dataclass, field
from datetime import datetime

from agentcore.domain.memory import Status, Trust
from agentcore.domain.scope import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Skill:
    """A named procedure in Markdown; immutable, replaced whole under optimistic versions.

    Args:
        id: Unique within the scope.
        scope: Whose skill it is.
        name: Slash path such as `mcp/email`; unique among the active skills of a scope.
        summary: One line for the catalogue.
        content: The procedure in Markdown.
        created_at: When it was first written.
        updated_at: Last rewrite; None if never rewritten.
        last_used_at: Last use; None if never used.
        see_also: Names of related skills, sorted.
        trust: Trust of its origin.
        status: Active, superseded or archived.
        status_reason: Why it is not active.
        successor: Name of the skill that took its place.
        status_at: When it left the active state.
        version: Optimistic version.
    """

    id: str
    scope: Scope
    name: str
    summary: str
    content: str
    created_at: datetime
    updated_at: datetime | None = None
    last_used_at: datetime | None = None
    see_also: tuple[str, ...] = ()
    trust: Trust = Trust.STATED
    status: Status = Status.ACTIVE
    status_reason: str | None = None
    successor: str | None = None
    status_at: datetime | None = None
    version: int = field(default=1, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillUse:
    """One invocation of a skill.

    Args:
        id: Unique within the scope.
        scope: Whose use it is.
        skill_name: The skill that was invoked.
        session_id: The conversation in which it was.
        occurred_at: When it was invoked.
        recorded_at: When this store first held it.
    """

    id: str
    scope: Scope
    skill_name: str
    session_id: str
    occurred_at: datetime
    recorded_at: datetime
