from .documents import (
    Documents as Documents,
)
from .draft import (
    Draft as Draft,
)
from .dreams import (
    Dreams as Dreams,
)
from .forecast import (
    REVIEWER as REVIEWER,
    Forecast as Forecast,
    forecast as forecast,
    read_forecast as read_forecast,
)
from .history import (
    History as History,
    Status as Status,
)
from .leftovers import (
    Leftovers as Leftovers,
)
from .runner import (
    Runner as Runner,
)
from .running.context import (
    ContextFactory as ContextFactory,
    fence_marker as fence_marker,
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
    Shared as Shared,
)
from .skill_history import (
    SkillHistory as SkillHistory,
)
from .steps import (
    StepWriter as StepWriter,
)
from .watching import (
    Watch as Watch,
)
