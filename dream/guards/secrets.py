"""Keeps secrets out of what a dream writes, by the check that the tools of agents ask, too."""

from agentcore.secrets import secret_in

__all__ = ["secret_in"]
