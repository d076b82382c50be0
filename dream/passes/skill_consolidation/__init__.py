"""Skill consolidation: overlapping skills become one, related ones lead to each other, nothing is lost."""

from dream.passes.skill_consolidation.consolidation import SkillConsolidation

__all__ = ["SkillConsolidation"]
