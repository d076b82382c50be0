"""One SQLAlchemy Core schema on SQLite today, PostgreSQL by the same code later."""

import lazy_loader

# pyright: reportUnknownVariableType=false
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
