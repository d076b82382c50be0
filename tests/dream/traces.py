"""Looks for what is left of a text, in whatever form, in every file of a folder."""

import re
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})")
_SHINGLE = 5


def traces(folder: Path, text: str, *stems: str) -> list[str]:
    """Return where in *folder* five words of *text* in a row are left, or a stem, and in which form.

    Files are read as they are, free pages and logs included, as UTF-8 and UTF-16; so are the cells of databases and the
    objects of git after they are inflated. Case, spacing, punctuation and escapes of JSON make no difference.
    """
    words = _folded(text).split()
    wanted = {" ".join(words[at : at + _SHINGLE]) for at in range(max(1, len(words) - _SHINGLE + 1))} | {*stems}
    found = set[str]()
    for name, content in _contents(folder):
        for form, read in _read(content):
            found.update(f"{name} as {form}: {one}" for one in wanted if one in read)
    return sorted(found)


def _contents(folder: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            content, name = path.read_bytes(), str(path.relative_to(folder))
            yield name, content
            with suppress(zlib.error):
                yield f"{name} inflated", zlib.decompress(content)
            if content.startswith(b"SQLite format 3"):
                yield from ((f"{name} in {table}", cell) for table, cell in _cells(path))


def _cells(path: Path) -> Iterator[tuple[str, bytes]]:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        for (table,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            for row in database.execute(f'SELECT * FROM "{table}"'):
                for cell in row:
                    if isinstance(cell, bytes):
                        with suppress(zlib.error):
                            yield table, zlib.decompress(cell)


def _read(content: bytes) -> Iterator[tuple[str, str]]:
    told = content.decode("utf-8", "ignore")
    yield "UTF-8", _folded(told)
    yield "JSON", _folded(_ESCAPE.sub(lambda match: chr(int(match[1], 16)), told).replace("\\n", " "))
    for order in ("utf-16-le", "utf-16-be"):
        yield order, _folded(content.decode(order, "ignore"))
        yield f"{order}, shifted", _folded(content[1:].decode(order, "ignore"))


def _folded(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))
