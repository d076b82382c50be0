"""What a dream does to a memory, measured: `dream bench dream`.

`samples` reads conversations with questions whose answers are known to stand in certain turns, `provenance` says which
turns an entry goes back to, `asking` asks the questions, `support` examines a run's changes, `trial` does all that for
one sample around a real run, and `result` holds the figures. `scripted` stands in for a model where none may be asked.
"""

import lazy_loader

# pyright: reportUnknownVariableType=false
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
