"""Writes and reads an index as a file: raw arrays behind a header, sealed by a checksum; never executes anything."""

from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import Any, Final
from unicodedata import unidata_version

import orjson

from agentcore.recall.bm25.arrays import LengthCountPairs, PostingArrays, TermIds
from agentcore.stores.values import FeedPosition

FORMAT: Final = 5
"""Grows with every change of the layout, of our tokenizer or of the text that is indexed."""

_MAGIC: Final = b"agentcore recall index\n"
_LENGTH_BYTES: Final = 8
_SEAL_BYTES: Final = 32


class UnusableSnapshotError(Exception):
    """A file is no snapshot that can be used; `str(error)` says why, in words that hold nothing of the memory."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What an index is made of.

    Args:
        lists: Its postings, without tombstones.
        names: Texts that the index has beside them.
        beside: Whole numbers that it has beside them, of 8 bytes.
        cut: How texts were cut into passages.
    """

    lists: PostingArrays
    names: Sequence[str] = ()
    beside: "Sequence[array[int]]" = ()
    cut: str = ""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What is in the file.

    Args:
        kept: The index.
        position: How far it had followed the change feed.
        seal: The file's checksum, in hexadecimal digits.
    """

    kept: Kept
    position: FeedPosition
    seal: str


def write_snapshot(path: Path, kept: Kept, position: FeedPosition, *, scope: str) -> str:
    """Write a file that must not exist; return its seal.

    Args:
        path: Where.
        kept: The index.
        position: How far it has followed the change feed.
        scope: Whose index it is.

    Raises:
        OSError: The file cannot be written.
    """
    seal = blake2b(digest_size=_SEAL_BYTES)
    path.touch(mode=0o600, exist_ok=False)
    with path.open("wb") as file:
        for part in _parts(kept, position, scope):
            seal.update(part)
            file.write(part)
        file.write(seal.digest())
    return seal.hexdigest()


def read_snapshot(path: Path, *, scope: str) -> Snapshot:
    """Read a file back.

    Raises:
        FileNotFoundError: There is none.
        UnusableSnapshotError: It is damaged, of another version, or of another scope.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise
    except OSError as error:
        raise UnusableSnapshotError("it cannot be read") from error
    if not content.startswith(_MAGIC):
        raise UnusableSnapshotError("it is no index")
    seal = blake2b(memoryview(content)[:-_SEAL_BYTES], digest_size=_SEAL_BYTES)
    if seal.digest() != content[-_SEAL_BYTES:]:
        raise UnusableSnapshotError("its checksum is wrong")
    try:
        return _decoded(memoryview(content)[:-_SEAL_BYTES], scope, seal.hexdigest())
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise UnusableSnapshotError("its parts do not fit together") from error


def _parts(kept: Kept, position: FeedPosition, scope: str) -> Iterator[bytes | memoryview]:
    lists, names = kept.lists, orjson.dumps(list(kept.names))
    terms = "\n".join(lists.terms).encode("utf-8", "surrogatepass")
    arrays = [*_arrays(lists), *kept.beside]
    header = orjson.dumps(
        {
            "format": FORMAT,
            "made_by": _tokenizer(),
            "scope": scope,
            "cut": kept.cut,
            "position": asdict(position),
            "widths": [one.itemsize for one in arrays],
            "sizes": [len(one) for one in arrays],
            "columns": len(lists.columns),
            "beside": len(kept.beside),
            "names_size": len(names),
            "terms": len(lists.terms),
            "terms_size": len(terms),
        },
    )
    yield _MAGIC
    yield len(header).to_bytes(_LENGTH_BYTES, "little")
    yield header
    yield names
    yield terms
    for one in chain(arrays, lists.postings):
        yield memoryview(one).cast("B")


def _arrays(lists: PostingArrays) -> "list[array[int] | array[float]]":
    shapes = (lists.shapes.counts, lists.shapes.lengths)
    return [lists.keys, lists.lengths, lists.starts, lists.forward, lists.frequencies, *shapes, *lists.columns]


def _decoded(content: memoryview, scope: str, seal: str) -> Snapshot:
    start = len(_MAGIC) + _LENGTH_BYTES
    length = int.from_bytes(content[len(_MAGIC) : start], "little")
    header: dict[str, Any] = orjson.loads(content[start : start + length])
    if (header["format"], header["made_by"]) != (FORMAT, _tokenizer()):
        raise UnusableSnapshotError("it is of another version")
    if header["scope"] != scope:
        raise UnusableSnapshotError("it is of another scope")
    rest = content[start + length :]
    take = _taker(rest)
    lists = PostingArrays(columns=tuple(array("d") for _ in range(header["columns"])), shapes=LengthCountPairs())
    names: list[str] = orjson.loads(take(header["names_size"]))
    terms = bytes(take(header["terms_size"])).decode("utf-8", "surrogatepass")
    lists.terms = terms.split("\n") if header["terms"] else []
    beside: list[array[int]] = [array("q") for _ in range(header["beside"])]
    arrays = [*_arrays(lists), *beside]
    for one, width, size in zip(arrays, header["widths"], header["sizes"], strict=True):
        if one.itemsize != width:
            raise UnusableSnapshotError("it is of another kind of machine")
        del one[:]
        one.frombytes(take(width * size))
    for frequency in lists.frequencies:
        postings = array("q")
        postings.frombytes(take(8 * frequency))
        lists.postings.append(postings)
    if len(take(1)) or len({len(lists.terms), len(lists.frequencies), header["terms"]}) != 1:
        raise UnusableSnapshotError("its parts do not fit together")
    _complete(lists)
    return Snapshot(Kept(lists, names, beside, header["cut"]), FeedPosition(**header["position"]), seal)


def _tokenizer() -> str:
    """Return what decides beside this package which terms a text has."""
    versions = [f"{name} {version(name)}" for name in ("regex", "snowballstemmer")]
    return ", ".join([*versions, f"Unicode {unidata_version}"])


def _taker(content: memoryview) -> Callable[[int], memoryview]:
    place = 0

    def take(size: int) -> memoryview:
        nonlocal place
        place += size
        return content[place - size : place]

    return take


def _complete(lists: PostingArrays) -> None:
    """Make what follows from the rest."""
    lists.alive = bytearray(b"\x01" * len(lists.keys))
    lists.slot_of = {key: slot for slot, key in enumerate(lists.keys)}
    lists.term_ids = TermIds(zip(lists.terms, range(len(lists.terms)), strict=True))
    lists.total_length = sum(lists.lengths)
    lists.shapes.renumber()
