"""Skill gaps: writes a skill for what users ask for again and again and no skill covers."""

import lazy_loader

# pyright: reportUnknownVariableType=false
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
