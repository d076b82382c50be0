"""Skill optimization: skills that fail, or say too little, are improved on trial."""

from dream.passes.skill_optimization.optimization import SkillOptimization

__all__ = ["SkillOptimization"]
