"""The stores of dreams, in the same transaction as the records they are about; `dream_stores` opens them."""

import lazy_loader

# pyright: reportUnknownVariableType=false
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
