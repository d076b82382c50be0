"""Promotion: what recall proved useful goes to MEMORY.md, by arithmetic alone."""

from dream.passes.promotion.promotion_pass import PromotionPass

__all__ = ["PromotionPass"]
