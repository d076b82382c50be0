"""agentcore: memory, skills and logs of an agent, and the host they live in."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentcore.domain.conversation import Turn
    from agentcore.domain.decay import Decay
    from agentcore.domain.memory import Level, MemoryEntry, Status, Trust
    from agentcore.domain.scope import Scope
    from agentcore.domain.signals import Feedback, Purpose, ToolCall, WispRun
    from agentcore.domain.skill import Skill
    from agentcore.domain.subject_time import SubjectTime
    from agentcore.errors import AgentcoreError
    from agentcore.hosting.builder import AgentHostBuilder
    from agentcore.hosting.host import Host
    from agentcore.hosting.service import BackgroundService, HostedService
    from agentcore.hosting.tools.agent_tools import AgentTools
    from agentcore.hosting.turn_context import TurnContext
    from agentcore.recall.hit import Hit

__all__ = [
    "AgentHostBuilder",
    "AgentTools",
    "AgentcoreError",
    "BackgroundService",
    "Decay",
    "Feedback",
    "Hit",
    "Host",
    "HostedService",
    "Level",
    "MemoryEntry",
    "Purpose",
    "Scope",
    "Skill",
    "Status",
    "SubjectTime",
    "ToolCall",
    "Trust",
    "Turn",
    "TurnContext",
    "WispRun",
]

_HOMES = {
    "AgentHostBuilder": "agentcore.hosting.builder",
    "AgentTools": "agentcore.hosting.tools.agent_tools",
    "AgentcoreError": "agentcore.errors",
    "BackgroundService": "agentcore.hosting.service",
    "Decay": "agentcore.domain.decay",
    "Feedback": "agentcore.domain.signals",
    "Hit": "agentcore.recall.hit",
    "Host": "agentcore.hosting.host",
    "HostedService": "agentcore.hosting.service",
    "Level": "agentcore.domain.memory",
    "MemoryEntry": "agentcore.domain.memory",
    "Purpose": "agentcore.domain.signals",
    "Scope": "agentcore.domain.scope",
    "Skill": "agentcore.domain.skill",
    "Status": "agentcore.domain.memory",
    "SubjectTime": "agentcore.domain.subject_time",
    "ToolCall": "agentcore.domain.signals",
    "Trust": "agentcore.domain.memory",
    "Turn": "agentcore.domain.conversation",
    "TurnContext": "agentcore.hosting.turn_context",
    "WispRun": "agentcore.domain.signals",
}


# A type checker must not see this: it would take every misspelt name for one that exists.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Import public names when they are first used, so that importing the package costs nothing."""
        if name not in _HOMES:
            raise AttributeError(f"module 'agentcore' has no attribute {name!r}")
        from importlib import import_module  # noqa: PLC0415 - only for lazy names

        return getattr(import_module(_HOMES[name]), name)

    def __dir__() -> list[str]:
        """List the public names too, for those who complete names as they type."""
        return sorted({*globals(), *__all__})
