"""Memory consolidation: a model merges and retires entries and learns from feedback; the host checks the details."""

import lazy_loader

# pyright: reportUnknownVariableType=false
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
