"""Fact mining: turns conversations into memories, each borne out by the turns that it cites."""

import lazy_loader

# pyright: reportUnknownVariableType=false
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
