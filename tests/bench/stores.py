"""Data folders filled with generated entries, made once and copied for each measurement that changes them."""

import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.bench.processes import fresh


@dataclass(frozen=True, slots=True)
class Stores:
    """Filled folders; they last as long as their parent folder.

    Args:
        folder: Where they stand.
        locomo: Whose words they are made of; the example conversation's if None.
        quick: Whether the large ones are left out.
        sizes: What sizes to compare recall at; the benchmark's own if empty.
    """

    folder: Path
    locomo: Path | None = None
    quick: bool = False
    sizes: tuple[int, ...] = ()

    def filled(self, size: int) -> Path:
        """Return the folder with *size* entries, filling it first if it does not exist."""
        folder = self.folder / f"{self.locomo.stem if self.locomo else 'example'}-{size}"
        if not folder.exists():
            making = Path(tempfile.mkdtemp(prefix="filling-", dir=self.folder))
            fresh("filling", making, size, *([] if self.locomo is None else [self.locomo.resolve()]))
            making.rename(folder)
        return folder

    @contextmanager
    def copied(self, size: int) -> Generator[Path]:
        """Lend a copy of that folder, deleted afterwards."""
        target = Path(tempfile.mkdtemp(prefix="copy-", dir=self.folder))
        try:
            shutil.copytree(self.filled(size), target, dirs_exist_ok=True)
            yield target
        finally:
            shutil.rmtree(target, ignore_errors=True)
