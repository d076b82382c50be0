from .dream_pass import (
    SkillConsolidation as SkillConsolidation,
)
