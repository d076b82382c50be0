"""Copies the arrays without tombstones, in steps while everything goes on."""

from array import array
from collections.abc import Generator
from typing import Final

import numpy as np

from agentcore.recall.bm25.arrays import SHAPE_MASK, SLOT_SHIFT, PostingArrays

_DOCUMENTS_AT_ONCE: Final = 5_000
_POSTINGS_AT_ONCE: Final = 200_000
_TERMS_AT_ONCE: Final = 1_000
_LATE_AT_ONCE: Final = 100


class Compaction:
    """Copies lists without their tombstones; lives until it has given the copy.

    The old lists stay in use: what is appended, removed or changed meanwhile is taken over at the end. A step takes a
    few milliseconds.

    Args:
        old: The lists to copy; nothing of them is changed.
    """

    def __init__(self, old: PostingArrays) -> None:
        self._old = old
        self._new = PostingArrays(columns=tuple(array("d") for _ in old.columns))
        self._new.shapes = old.shapes
        self._origin: array[int] = array("q")
        self._steps = self._run()

    def step(self) -> PostingArrays | None:
        """Go on; return the copy once it is whole, and never ask again."""
        try:
            next(self._steps)
        except StopIteration:
            return self._new
        return None

    def _run(self) -> Generator[None]:
        limit = len(self._old.keys)
        alive = np.array(self._old.alive, dtype=np.bool_)
        held = np.flatnonzero(np.array(self._old.frequencies, dtype=np.intc))
        yield from self._copy_terms(held)
        yield from self._copy_postings(held, alive)
        yield from self._copy_documents(held, alive)
        done = limit
        while len(self._old.keys) - done > _LATE_AT_ONCE:
            self._copy_late(done, done + _LATE_AT_ONCE)
            done += _LATE_AT_ONCE
            yield
        self._copy_late(done, len(self._old.keys))
        self._take_over_changes()

    def _copy_terms(self, held: "np.ndarray[tuple[int], np.dtype[np.intp]]") -> Generator[None]:
        old, new = self._old, self._new
        for number, term in enumerate(held.tolist()):
            new.term_ids[old.terms[term]] = number
            new.terms.append(old.terms[term])
            if number % _DOCUMENTS_AT_ONCE == 0:
                yield

    def _copy_postings(
        self,
        held: "np.ndarray[tuple[int], np.dtype[np.intp]]",
        alive: "np.ndarray[tuple[int], np.dtype[np.bool_]]",
    ) -> Generator[None]:
        slot_now = np.cumsum(alive) - 1
        taken = 0
        for term in held.tolist():
            packed = np.array(self._old.postings[term], dtype=np.int64)
            slots = packed >> SLOT_SHIFT
            # Documents that came after the first step are copied by themselves.
            known = slots < len(alive)
            if not known.all():
                packed, slots = packed[known], slots[known]
            live = alive.take(slots)
            kept = (slot_now.take(slots[live]) << SLOT_SHIFT) | (packed[live] & SHAPE_MASK)
            self._new.postings.append(array("q", kept.tobytes()))
            self._new.frequencies.append(len(kept))
            taken += len(packed) + _POSTINGS_AT_ONCE // _TERMS_AT_ONCE
            if taken >= _POSTINGS_AT_ONCE:
                taken = 0
                yield

    def _copy_documents(
        self,
        held: "np.ndarray[tuple[int], np.dtype[np.intp]]",
        alive: "np.ndarray[tuple[int], np.dtype[np.bool_]]",
    ) -> Generator[None]:
        old, new = self._old, self._new
        number_now = np.zeros(len(old.terms), dtype=np.intc)
        number_now[held] = np.arange(len(held))
        for start in range(0, len(alive), _DOCUMENTS_AT_ONCE):
            some = alive[start : start + _DOCUMENTS_AT_ONCE]
            end = start + len(some)
            keys = np.array(old.keys[start:end], dtype=np.int64)[some]
            lengths = np.array(old.lengths[start:end], dtype=np.intc)[some]
            sizes = np.diff(np.array(old.starts[start : end + 1], dtype=np.int64))
            forward = np.array(old.forward[old.starts[start] : old.starts[end]], dtype=np.intc)
            first = len(new.keys)
            ends = np.cumsum(sizes[some]) + len(new.forward)
            kept = forward[np.repeat(some, sizes)]
            # A term that stands beside a text is held by its complement, and the shift fills with its sign.
            new.forward.frombytes((number_now.take(np.maximum(kept, ~kept)) ^ (kept >> 31)).tobytes())
            new.starts.frombytes(ends.tobytes())
            new.keys.frombytes(keys.tobytes())
            new.lengths.frombytes(lengths.tobytes())
            new.alive.extend(b"\x01" * len(keys))
            for column, numbers in zip(new.columns, old.columns, strict=True):
                column.frombytes(np.array(numbers[start:end])[some].tobytes())
            new.slot_of.update(zip(keys.tolist(), range(first, first + len(keys)), strict=True))
            new.total_length += int(lengths.sum())
            self._origin.frombytes((np.flatnonzero(some) + start).astype(np.int64).tobytes())
            yield

    def _copy_late(self, start: int, end: int) -> None:
        old, new = self._old, self._new
        for slot in range(start, end):
            if old.alive[slot]:
                key = old.keys[slot]
                new.bury(key)
                tokens, beside = old.tokens_at(slot)
                new.append(key, tokens, tuple(column[slot] for column in old.columns), beside)
                self._origin.append(slot)

    def _take_over_changes(self) -> None:
        """Bury what died since it was copied, and take the numbers beside the documents as they are now."""
        old, new = self._old, self._new
        origin = np.array(self._origin, dtype=np.int64)
        gone = np.flatnonzero(~np.array(old.alive, dtype=np.bool_).take(origin))
        for slot in gone.tolist():
            if new.slot_of.get(new.keys[slot]) == slot:
                new.bury(new.keys[slot])
        new.columns = tuple(array("d", np.array(column).take(origin).tobytes()) for column in old.columns)
