"""Episodes: keeps what happened in conversations, once each, and counts the sessions that come back to it."""

import lazy_loader

# pyright: reportUnknownVariableType=false
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
