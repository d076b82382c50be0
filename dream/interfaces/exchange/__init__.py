"""Memory in and out of files.

One file per format, each a pure parser from a `Source` to `Item`s: `locomo`, `chat_jsonl`, `memory_md`,
`memory_jsonl`, `records` (skills, their uses, feedback, wisp runs) and `export` (our own, with its writer). `formats`
tells them apart, `importer` checks a whole file before it writes any of it, and `intake` decides what is new. Import
the modules you need: this package stays empty, so that a command that only exports does not load the parsers.
"""

import lazy_loader

# pyright: reportUnknownVariableType=false
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
