"""Write a file that appears whole or not at all."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def replacing(path: Path) -> Generator[BinaryIO]:
    """Open a file beside *path* that takes its place when the context ends well, and else is gone.

    Raises:
        OSError: it cannot be written; what stood at *path* is untouched.
    """
    partial = path.parent / f".{path.name}.partial"
    try:
        with partial.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
