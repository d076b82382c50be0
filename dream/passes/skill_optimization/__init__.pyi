from .optimization import (
    SkillOptimization as SkillOptimization,
)
