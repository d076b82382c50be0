"""The model seam: what a caller asks, what a model answers, and the gate that lets people go first."""

import lazy_loader

# pyright: reportUnknownVariableType=false
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
