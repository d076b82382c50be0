from .consolidation import (
    SkillConsolidation as SkillConsolidation,
)
