from .chat import (
    ScriptedChatClient as ScriptedChatClient,
    ScriptExhaustedError as ScriptExhaustedError,
)
from .chat_replies import (
    Ending as Ending,
    ServerReply as ServerReply,
    answer as answer,
    cut_off as cut_off,
    rate_limited as rate_limited,
)
from .chat_server import (
    ChatServer as ChatServer,
    ServedRequest as ServedRequest,
    ServerScript as ServerScript,
)
from .clock import (
    ManualClock as ManualClock,
)
from .embeddings import (
    embedded as embedded,
    hashed_words as hashed_words,
)
from .ids import (
    SequentialIds as SequentialIds,
)
