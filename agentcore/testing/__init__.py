"""Public doubles: what a test passes in instead of the clock, the ids and the model."""

from agentcore.testing.chat import ScriptedChatClient, ScriptExhaustedError
from agentcore.testing.clock import ManualClock
from agentcore.testing.ids import SequentialIds

__all__ = ["ManualClock", "ScriptExhaustedError", "ScriptedChatClient", "SequentialIds"]
