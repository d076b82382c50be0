from .dream_pass import (
    SkillGaps as SkillGaps,
)
