"""The files an agent and its people share: documents whose items have an identity, and their safe way to the disk."""

import lazy_loader

# pyright: reportUnknownVariableType=false
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
