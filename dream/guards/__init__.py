"""Guards: pure functions that hold a proposed operation against the laws, and a text against its sources."""

import lazy_loader

# pyright: reportUnknownVariableType=false
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
