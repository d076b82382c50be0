"""Defines what a host can do, and so what a dream pass may ask for."""

from enum import StrEnum


class Capability(StrEnum):
    """A store or client that a host was built with; a pass that requires a missing one is skipped.

    Example:
        >>> Capability.MEMORY in {Capability.MEMORY, Capability.LLM}
        True
    """

    MEMORY = "memory"
    SKILLS = "skills"
    CONVERSATION = "conversation"
    FEEDBACK = "feedback"
    WISPS = "wisps"
    TOOL_CALLS = "tool_calls"
    WORKSPACE = "workspace"
    LLM = "llm"
