"""Cuts long texts into passages of whole sentences, and keeps records by their passages in one index."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log2
from typing import Final

import numpy as np

from agentcore.recall.bm25.arrays import PART_BITS, Keys, PostingArrays, Slots, runs
from agentcore.recall.bm25.index import FEW, Bm25Index
from agentcore.recall.results import Passage
from agentcore.recall.tokenizer import Tokenizer

BYTES_PER_TOKEN: Final = 4
"""Bytes of UTF-8 that count as a token, as `agentcore.llm.chat.estimate_tokens` counts."""

# Each look behind has one width, so that a run of full stops costs no more than its length.
_END: Final = re.compile(r"\n|(?<=[.!?…])\s|(?<=[.!?…][\"')\]»”\u2019*])\s|(?<=[。\uff01\uff1f｡।])(?=.)")

_PLACES: Final = 2
"""Columns that hold where a passage begins and ends."""


@dataclass(frozen=True, slots=True)
class CutRecord:
    """A record as it is indexed.

    Args:
        key: The store's key, below 2^43.
        passages: Its parts.
        terms: The terms of each.
        values: Numbers beside it.
        beside: How many of the last terms of each are what it is filed under.
    """

    key: int
    passages: Sequence[Passage]
    terms: Sequence[list[str]]
    values: tuple[float, ...]
    beside: int = 0

    @property
    def length(self) -> int:
        """Terms of all passages."""
        return sum(map(len, self.terms))


class PassageIndex:
    """A BM25 index of records whose long texts are cut into passages, each a document; lives as long as what holds it.

    The passages of a record have neighbouring keys, `record << PART_BITS | number`, and neighbouring slots.

    Not thread-safe: the recall thread owns it.

    Args:
        tokenizer: Cuts texts into terms.
        passage_tokens: Size of a passage at most.
        k1: See `Bm25Index`.
        b: The same, of passages.
        columns: Numbers kept beside each record.
    """

    def __init__(self, tokenizer: Tokenizer, *, passage_tokens: int, k1: float, b: float, columns: int) -> None:
        self._tokenizer = tokenizer
        self._passage_tokens = passage_tokens
        self._columns = columns
        self.index: Final = Bm25Index(k1=k1, b=b, columns=columns + _PLACES)
        """The passages."""
        self._many: dict[int, int] = {}
        self._more = 0

    def __len__(self) -> int:
        return len(self.index) - self._more

    def __contains__(self, key: int) -> bool:
        return key << PART_BITS in self.index

    @property
    def has_parts(self) -> bool:
        """Whether any record has more than one passage."""
        return bool(self._many)

    def cut(self, key: int, content: str, values: Sequence[float], *, before: str = "", after: str = "") -> CutRecord:
        """Return a record cut into passages.

        Args:
            key: The store's key.
            content: What is cut.
            values: Numbers beside it.
            before: What stands before each passage.
            after: What each is filed under: a text of its own.
        """
        passages = cut_passages(content, self._passage_tokens)
        terms, beside = self._tokenizer.tokens, self._tokenizer.tokens(after) if after else []
        texts = [before + content[start:end] for start, end in passages] if len(passages) > 1 else [before + content]
        return CutRecord(key, passages, [terms(text) + beside for text in texts], tuple(values), len(beside))

    def put(self, records: Sequence[CutRecord]) -> None:
        """Index records of distinct keys, in place of what they were before."""
        for record in records:
            self.remove(record.key)
            if len(record.passages) > 1:
                self._many[record.key] = len(record.passages)
                self._more += len(record.passages) - 1
        keys = [key for record in records for key in self.passages_of(record.key, len(record.passages))]
        terms = [terms for record in records for terms in record.terms]
        values = [(*record.values, *places) for record in records for places in record.passages]
        besides = [record.beside for record in records for _ in record.passages]
        if len(keys) < FEW:
            for one in zip(keys, terms, values, besides, strict=True):
                self.index.add(*one)
        else:
            self.index.update_many(keys, terms, values, besides)

    def remove(self, key: int) -> None:
        """Leave out a record; one that is not here changes nothing."""
        count = self._many.pop(key, 1)
        self._more -= count - 1
        for passage in self.passages_of(key, count):
            self.index.remove(passage)

    def adopt(self, lists: PostingArrays) -> None:
        """Take over postings that were kept."""
        self.index.postings.lists = lists
        keys = np.array(lists.keys, dtype=np.int64)
        records, counts = runs(np.sort(keys[keys & ((1 << PART_BITS) - 1) > 0] >> PART_BITS))
        self._many = dict(zip(records.tolist(), (counts + 1).tolist(), strict=True))
        self._more = int(counts.sum())

    def passages_of(self, key: int, count: int | None = None) -> range:
        """Return the keys of a record's passages, of which there are *count*."""
        first = key << PART_BITS
        return range(first, first + (self._many.get(key, 1) if count is None else count))

    def passages_of_all(self, keys: Keys) -> Keys:
        """Return the keys of the passages of records, known or not."""
        if not self._many:
            return keys << PART_BITS
        long = self._many.keys() & set(keys.tolist())
        more = [passage for key in sorted(long) for passage in self.passages_of(key)[1:]]
        return np.concatenate((keys << PART_BITS, np.array(more, dtype=np.int64)))

    def slots_of(self, key: int) -> Slots:
        """Return the slots of a record's passages.

        Raises:
            KeyError: If the record is not here.
        """
        first = self.index.postings.slot_of(key << PART_BITS)
        return np.arange(first, first + self._many.get(key, 1))

    def spans(self, passages: Sequence[int]) -> list[Passage | None]:
        """Return where passages begin and end in their records' texts; None of one that is its record's only one.

        Args:
            passages: Their keys; each is here.
        """
        if not self._many:
            return [None] * len(passages)
        first, postings = self._columns, self.index.postings
        long = [key for key in passages if key >> PART_BITS in self._many]
        slots = np.array([postings.slot_of(key) for key in long], dtype=np.intp)
        starts, ends = (postings.column(first + one, slots).astype(np.int64).tolist() for one in range(_PLACES))
        found = dict(zip(long, map(Passage, starts, ends), strict=True))
        return [found.get(key) for key in passages]


def records_of(passages: Keys) -> Keys:
    """Return the keys of the records of passages."""
    return passages >> PART_BITS


def share_of_length(text: str, *, passage_tokens: int, weight: float) -> float:
    """Return what a text's length leaves of its score: 1 / (1 + weight * log2(its length in passages)), at most 1.

    A score is that of the best passage, and the best of many passages is good by chance: the expected maximum of n
    draws grows with log n (Gumbel, "Statistics of Extremes", 1958).

    Example:
        >>> share_of_length("word " * 320, passage_tokens=100, weight=0.25)
        0.6666666666666666
    """
    passages = _size(text) / (BYTES_PER_TOKEN * passage_tokens)
    return 1.0 if passages <= 1.0 else 1.0 / (1.0 + weight * log2(passages))


def cut_passages(text: str, tokens: int) -> list[Passage]:
    """Return the passages of a text: all of it if it is short enough, else as many whole sentences each as fit.

    A line ends a sentence too, so that code and lists are cut at their lines. A sentence that is too long by itself is
    cut at a space, or anywhere where there is none. What stands between two passages is white space.

    Args:
        text: Any text.
        tokens: Size of a passage at most, 1 or more, a token being four bytes of UTF-8.

    Example:
        >>> text = "It rained. Ana moved to Porto. It was May."
        >>> [text[start:end] for start, end in cut_passages(text, 6)]
        ['It rained.', 'Ana moved to Porto.', 'It was May.']
    """
    most = tokens * BYTES_PER_TOKEN
    if _size(text) <= most:
        return [Passage(0, len(text))]
    found: list[Passage] = []
    first = last = held = 0
    for start, end in _sentences(text, most):
        sized = _size(text[start:end])
        if held and held + sized > most:
            found.append(_stripped(text, first, last))
            held = 0
        if held or not text[start:end].isspace():
            first, last = (first, end) if held else (start, end)
            held += sized
    if held:
        found.append(_stripped(text, first, last))
    return found or [Passage(0, len(text))]


def _size(text: str) -> int:
    """Return the bytes of a text in UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _sentences(text: str, most: int) -> Iterator[tuple[int, int]]:
    """Yield where sentences begin and end, with the white space behind them; none has more than *most* bytes."""
    start = 0
    for match in _END.finditer(text):
        yield from _pieces(text, start, match.end(), most)
        start = match.end()
    yield from _pieces(text, start, len(text), most)


def _pieces(text: str, start: int, end: int, most: int) -> Iterator[tuple[int, int]]:
    while end - start > most or _size(text[start:end]) > most:
        head = text[start : start + most].encode("utf-8", "surrogatepass")[:most]
        at = start + max(1, len(head.decode("utf-8", "ignore")))
        space = text.rfind(" ", start + (at - start) // 2, at)
        at = space + 1 if space > start else at
        yield start, at
        start = at
    if start < end:
        yield start, end


def _stripped(text: str, start: int, end: int) -> Passage:
    inside = text[start:end]
    return Passage(start + len(inside) - len(inside.lstrip()), start + len(inside.rstrip()))
