"""Reading conversations: which turns are new, how a prompt shows them, and what they bear out.

What every pass shares that makes memories of turns; the passes themselves stand beside this package.
"""

import lazy_loader

# pyright: reportUnknownVariableType=false
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
