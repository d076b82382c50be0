"""Promotion: writes what recall proved useful into MEMORY.md, by arithmetic alone."""

import lazy_loader

# pyright: reportUnknownVariableType=false
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
