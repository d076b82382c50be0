"""Moves memory in and out of files.

One file per format, each a pure parser from a `SourceFile` to `ImportItem`s: `locomo`, `chat_jsonl`, `memory_md`,
`records` (memories, skills, signals) and `export` (our own, with its writer). `formats` tells them apart, and
`importer` checks a whole file before it writes what is new of it. Import the modules you need: this package stays
empty, so that a command that only exports does not load the parsers.
"""

import lazy_loader

# pyright: reportUnknownVariableType=false
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
