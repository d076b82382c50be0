from .desk import (
    Desk as Desk,
)
from .documents.delivery import (
    Documents as Documents,
    OutboxFlush as OutboxFlush,
)
from .dreams import (
    Dreams as Dreams,
    HostDreams as HostDreams,
)
from .forecast import (
    REVIEWER as REVIEWER,
    DirectiveForecast as DirectiveForecast,
    directive_forecast as directive_forecast,
    read_directive_forecast as read_directive_forecast,
)
from .history import (
    EntryHistory as EntryHistory,
    SkillHistory as SkillHistory,
)
from .listeners import (
    DreamListeners as DreamListeners,
)
from .running.context import ContextFactory as ContextFactory, fence_marker as fence_marker
from .running.runner import (
    Runner as Runner,
)
from .running.step_writer import (
    StepWriter as StepWriter,
)
from .scheduling.backlog import (
    Backlog as Backlog,
)
from .scheduling.due_times import (
    LONGEST_WAIT as LONGEST_WAIT,
)
from .scheduling.planner import (
    Planner as Planner,
)
from .scheduling.service import (
    DreamService as DreamService,
)
from .scope_status import (
    ScopeStatus as ScopeStatus,
)
from .session_evaluator import (
    SESSION_EVALUATOR as SESSION_EVALUATOR,
    SessionEvaluator as SessionEvaluator,
)
