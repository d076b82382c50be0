from .builder import (
    AgentHostBuilder as AgentHostBuilder,
)
from .busy import (
    DURATION as DURATION,
    LOOK as LOOK,
    RENEWAL as RENEWAL,
    ROWS_EVERY as ROWS_EVERY,
    SOURCES_EVERY as SOURCES_EVERY,
    BusyAnnouncer as BusyAnnouncer,
    BusySource as BusySource,
    BusyWatch as BusyWatch,
)
from .context import (
    Context as Context,
    TurnContext as TurnContext,
)
from .conversation import (
    Conversation as Conversation,
)
from .correction_detector import (
    is_correction as is_correction,
)
from .errors import (
    AlreadyBuiltError as AlreadyBuiltError,
    NotRestartableError as NotRestartableError,
    ServiceFailedError as ServiceFailedError,
    ShutdownTimeoutError as ShutdownTimeoutError,
)
from .feedback import (
    FeedbackLog as FeedbackLog,
)
from .host import (
    Host as Host,
)
from .lifecycle import (
    BackgroundService as BackgroundService,
    Lifecycle as Lifecycle,
    LifecycleState as LifecycleState,
    WorkerFailure as WorkerFailure,
)
from .memory import (
    Memory as Memory,
)
from .off_limits import (
    OffLimits as OffLimits,
    off_limits_topics as off_limits_topics,
)
from .options import (
    ContextOptions as ContextOptions,
    ConversationOptions as ConversationOptions,
    EmbeddingOptions as EmbeddingOptions,
    FeedbackOptions as FeedbackOptions,
    MemoryOptions as MemoryOptions,
    Options as Options,
    SkillOptions as SkillOptions,
    WispOptions as WispOptions,
)
from .recall_filters import (
    recall_filter as recall_filter,
)
from .services import (
    HostServices as HostServices,
)
from .skills import (
    Skills as Skills,
)
from .tool_calls import (
    ToolCallLog as ToolCallLog,
)
from .tools.actions import (
    LONGEST_SHOWN as LONGEST_SHOWN,
    MOST_HITS as MOST_HITS,
    SET_ASIDE as SET_ASIDE,
    TOKENS as TOKENS,
)
from .wisps import (
    WispLog as WispLog,
)
from .workspace import (
    AgentWorkspace as AgentWorkspace,
)
from .write_behind import (
    EVERY as EVERY,
    INTERVAL as INTERVAL,
    ActivityRecorder as ActivityRecorder,
    RecallNotes as RecallNotes,
)
