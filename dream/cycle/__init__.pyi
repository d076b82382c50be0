from .contexts import (
    Contexts as Contexts,
    fence_marker as fence_marker,
)
from .documents import (
    Documents as Documents,
)
from .draft import (
    StepDraft as StepDraft,
)
from .dreams import (
    Dreams as Dreams,
)
from .forecast import (
    REVIEWER as REVIEWER,
    DirectiveForecast as DirectiveForecast,
    directive_forecast as directive_forecast,
    read_directive_forecast as read_directive_forecast,
)
from .history import (
    EntryHistory as EntryHistory,
    ScopeStatus as ScopeStatus,
)
from .leftovers import (
    OutboxFlush as OutboxFlush,
)
from .runner import (
    Runner as Runner,
)
from .scheduling.planning import (
    Planner as Planner,
)
from .scheduling.service import (
    LONGEST_WAIT as LONGEST_WAIT,
    DreamService as DreamService,
)
from .scheduling.work import (
    Backlog as Backlog,
)
from .session_evaluator import (
    SESSION_EVALUATOR as SESSION_EVALUATOR,
    SessionEvaluator as SessionEvaluator,
)
from .shared import (
    HostDreams as HostDreams,
)
from .skill_history import (
    SkillHistory as SkillHistory,
)
from .steps import (
    StepWriter as StepWriter,
)
from .watching import (
    DreamListeners as DreamListeners,
)
