"""Skill consolidation: overlapping skills become one, related ones lead to each other, nothing is lost."""

import lazy_loader

# pyright: reportUnknownVariableType=false
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
