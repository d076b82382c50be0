"""Public doubles: what a test passes in instead of the clock, the ids and the model."""

from agentcore.testing.chat import ScriptedChatClient, ScriptExhaustedError
from agentcore.testing.chat_replies import Ending, ServerReply
from agentcore.testing.chat_server import ChatServer, ServedRequest
from agentcore.testing.clock import ManualClock
from agentcore.testing.embeddings import embedded, hashed_words
from agentcore.testing.ids import SequentialIds

__all__ = [
    "ChatServer",
    "Ending",
    "ManualClock",
    "ScriptExhaustedError",
    "ScriptedChatClient",
    "SequentialIds",
    "ServedRequest",
    "ServerReply",
    "embedded",
    "hashed_words",
]
