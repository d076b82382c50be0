"""The directive library: what the model is told, built in or in the host's own words.

It imports neither guards nor passes: passes declare the directives they send, the runner reads them here.
"""

import lazy_loader

# pyright: reportUnknownVariableType=false
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
