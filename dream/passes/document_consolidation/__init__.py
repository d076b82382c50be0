"""Document consolidation: the model proposes edits of MEMORY.md, item by item; the host checks each of them."""

import lazy_loader

# pyright: reportUnknownVariableType=false
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
