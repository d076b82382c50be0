from .dream_pass import (
    SkillOptimization as SkillOptimization,
)
