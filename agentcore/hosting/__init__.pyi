from .activity import (
    EVERY as EVERY,
    ActivityRecorder as ActivityRecorder,
)
from .announcing import (
    DURATION as DURATION,
    LOOK as LOOK,
    RENEWAL as RENEWAL,
    BusyAnnouncer as BusyAnnouncer,
)
from .builder import (
    AgentHostBuilder as AgentHostBuilder,
)
from .conditions import (
    recall_filter as recall_filter,
)
from .context import (
    Context as Context,
)
from .conversation import (
    Conversation as Conversation,
)
from .corrections import (
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
    Lifecycle as Lifecycle,
    LifecycleState as LifecycleState,
)
from .memory import (
    Memory as Memory,
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
from .parts import (
    HostParts as HostParts,
)
from .recall_notes import (
    INTERVAL as INTERVAL,
    RecallNotes as RecallNotes,
)
from .service import (
    BackgroundService as BackgroundService,
    WorkerFailure as WorkerFailure,
)
from .skills import (
    Skills as Skills,
)
from .tools.forgetting import (
    SET_ASIDE as SET_ASIDE,
)
from .tools.recalling import (
    LONGEST_SHOWN as LONGEST_SHOWN,
    MOST_HITS as MOST_HITS,
    TOKENS as TOKENS,
)
from .turn_context import (
    TurnContext as TurnContext,
)
from .watching import (
    ROWS_EVERY as ROWS_EVERY,
    SOURCES_EVERY as SOURCES_EVERY,
    BusySource as BusySource,
    BusyWatch as BusyWatch,
)
from .wisps import (
    WispLog as WispLog,
)
from .workspace import (
    AgentWorkspace as AgentWorkspace,
)
