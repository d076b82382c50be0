"""Keeps records: the contract (`storage`), what it takes and gives (`values`), and its SQL implementation (`sql`)."""

import lazy_loader

# pyright: reportUnknownVariableType=false
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
