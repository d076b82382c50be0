"""dream: memory consolidation in idle time, on top of agentcore."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dream.cycle.dreams import Dreams
    from dream.domain.alarm import Alarm
    from dream.domain.forecast import PassForecast
    from dream.domain.report import PassReport, RunReport
    from dream.domain.session import DreamSession, ModelCall
    from dream.domain.usage import UsageKey, UsageRow
    from dream.domain.waiting import WaitingProposal
    from dream.errors import DreamError
    from dream.options import DreamOptions

__all__ = [
    "Alarm",
    "DreamError",
    "DreamOptions",
    "DreamSession",
    "Dreams",
    "ModelCall",
    "PassForecast",
    "PassReport",
    "RunReport",
    "UsageKey",
    "UsageRow",
    "WaitingProposal",
]

_HOMES = {
    "Alarm": "dream.domain.alarm",
    "DreamError": "dream.errors",
    "DreamOptions": "dream.options",
    "DreamSession": "dream.domain.session",
    "Dreams": "dream.cycle.dreams",
    "ModelCall": "dream.domain.session",
    "PassForecast": "dream.domain.forecast",
    "PassReport": "dream.domain.report",
    "RunReport": "dream.domain.report",
    "UsageKey": "dream.domain.usage",
    "UsageRow": "dream.domain.usage",
    "WaitingProposal": "dream.domain.waiting",
}


# A type checker must not see this: it would take every misspelt name for one that exists.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Import public names when they are first used, so that importing the package costs nothing."""
        if name not in _HOMES:
            raise AttributeError(f"module 'dream' has no attribute {name!r}")
        from importlib import import_module  # noqa: PLC0415 - only for lazy names

        return getattr(import_module(_HOMES[name]), name)

    def __dir__() -> list[str]:
        """List the public names too, for those who complete names as they type."""
        return sorted({*globals(), *__all__})
