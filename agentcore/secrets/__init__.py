"""Tells whether a text holds a secret: a password, a key, a PIN, a card number."""

import lazy_loader

# pyright: reportUnknownVariableType=false
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
