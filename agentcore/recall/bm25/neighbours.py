"""Finds documents that say nearly the same: candidates for a judge, never a verdict."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import pairwise
from typing import Final

import numpy as np

from agentcore.errors import InvalidOptionsError
from agentcore.recall.bm25.arrays import Floats, Slots, numbered, runs
from agentcore.recall.bm25.index import Bm25Index
from agentcore.recall.bm25.postings import Postings
from agentcore.recall.results import Neighbour

# Weights are multiples of this, so that sums below 8,192 are exact in whatever order they are added: likeness
# is then symmetric to the last bit, and a pair at the threshold is always on the same side of it.
_QUANTUM: Final = 2.0**-40

_LEFT_TO_COMMON_TERMS: Final = 0.5
_ROUNDING: Final = 1e-9
_VERIFIED_AT_ONCE: Final = 50_000


def similar(
    index: Bm25Index,
    key: int,
    threshold: float = 0.5,
    limit: int = 20,
    *,
    parts: bool = False,
    text_alone: bool = False,
) -> list[Neighbour]:
    """The documents whose terms overlap with a document's; exact, no candidate is missed.

    Similarity is the weight of the terms both hold over the weight of the terms either holds, each term
    weighing log(1 + (N - df + 0.5) / (df + 0.5)) as of now, however often a document repeats it. Paraphrases
    and contradictions score alike: only something that understands the texts may decide between them.

    Found by prefix filtering (Chaudhuri, Ganti and Kaushik, "A Primitive Operator for Similarity Joins in
    Data Cleaning", ICDE 2006; Bayardo, Ma and Srikant, "Scaling Up All Pairs Similarity Search", WWW 2007):
    whoever reaches the threshold shares at least threshold x W of the document's weight W, so if the
    commonest terms, left out, weigh R, it shares threshold x W - R among the rare ones.

    Args:
        index: Where to look; documents of any scope it holds.
        key: The document asked about; it is not its own neighbour.
        threshold: Least similarity, above 0, at most 1.
        limit: How many at most; 0 or less gives none.
        parts: Whether documents are parts of records (see `Postings.heads`): whole records are then compared, each
            known by the key of its first part.
        text_alone: Whether what stands beside a text, as its category does, is left out of the likeness.

    Returns:
        Neighbours by falling similarity, equal ones by ascending key.

    Raises:
        KeyError: If the key is not in the index.
        InvalidOptionsError: If the threshold is out of range.

    Example:
        >>> index = Bm25Index()
        >>> index.add(1, ["ana", "move", "lisbon", "may"])
        >>> index.add(2, ["ana", "move", "lisbon", "spring"])
        >>> index.add(3, ["ben", "play", "chess"])
        >>> [neighbour.key for neighbour in similar(index, 1, threshold=0.3)]
        [2]
    """
    _check(threshold)
    postings = index.postings
    slot = postings.slot_of(key)
    terms_at = partial(_terms_at, postings, parts=parts, text_alone=text_alone)
    terms, _ = terms_at(np.array([slot]))
    if limit <= 0 or len(terms) == 0:
        return []
    weights = _weights(postings, terms)
    candidates = _candidates(index, slot, terms, weights, threshold, parts=parts)
    found = [
        _verified(
            postings, terms_at, candidates[start : start + _VERIFIED_AT_ONCE], terms, weights, threshold=threshold
        )
        for start in range(0, len(candidates), _VERIFIED_AT_ONCE)
    ]
    pairs = [pair for slots, likeness in found for pair in _pairs(postings, slots, likeness)]
    pairs.sort(key=lambda pair: (-pair.similarity, pair.key))
    return pairs[:limit]


def alike(
    index: Bm25Index, keys: Sequence[int], threshold: float = 0.5, *, parts: bool = False
) -> list[tuple[int, int, float]]:
    """Which of some documents overlap with each other: every pair of them that `similar` would find, without a limit.

    Takes a table of the documents by their terms; meant for the few that stand in one question.

    Args:
        index: Where they are.
        keys: The documents.
        threshold: Least similarity, above 0, at most 1.
        parts: As in `similar`.

    Returns:
        Pairs of keys, the smaller one first, with their similarity; sorted.

    Raises:
        KeyError: If a key is not in the index.
        InvalidOptionsError: If the threshold is out of range.

    Example:
        >>> index = Bm25Index()
        >>> index.add(1, ["ana", "move", "lisbon", "may"])
        >>> index.add(2, ["ana", "move", "lisbon", "spring"])
        >>> index.add(3, ["ben", "play", "chess"])
        >>> [pair[:2] for pair in alike(index, [3, 2, 1], threshold=0.3)]
        [(1, 2)]
    """
    _check(threshold)
    ordered = sorted(set(keys))
    postings = index.postings
    slots = np.array([postings.slot_of(key) for key in ordered], dtype=np.intp)
    terms, sizes = _terms_at(postings, slots, parts=parts)
    distinct, columns = numbered(terms)
    holds = np.zeros((len(ordered), len(distinct)))
    holds[np.repeat(np.arange(len(ordered)), sizes), columns] = 1.0
    weighed = holds * _weights(postings, distinct)
    own, told_twice = weighed.sum(axis=1), holds.sum(axis=0) > 1.0
    # The product `@` would wake a thread of the numeric library per core, which then spin longer than this takes.
    shared = np.einsum("it,jt->ij", weighed[:, told_twice], holds[:, told_twice])
    either = own[:, None] + own[None, :] - shared
    likeness = np.divide(shared, either, out=np.zeros_like(shared), where=either > 0)
    one, other = np.nonzero(np.triu(likeness >= threshold, k=1))
    found = zip(one.tolist(), other.tolist(), likeness[one, other].tolist(), strict=True)
    return [(ordered[first], ordered[second], similarity) for first, second, similarity in found]


def clusters(pairs: Iterable[tuple[int, int]], max_size: int | None = None) -> list[tuple[int, ...]]:
    """Groups of keys that hang together through pairs, directly or by others (single link).

    Args:
        pairs: Keys of neighbours, in any order, repeated or not.
        max_size: Most keys of a group, at least 2; a larger group is cut, in key order, into parts of nearly
            the same size (of which one may be a single key if `max_size` is 2).

    Returns:
        Groups with ascending keys, ordered by their first key.

    Raises:
        InvalidOptionsError: If `max_size` is below 2.

    Example:
        >>> clusters([(4, 9), (1, 4), (7, 6)])
        [(1, 4, 9), (6, 7)]
        >>> clusters([(1, 2), (2, 3), (3, 4), (4, 5)], max_size=3)
        [(1, 2, 3), (4, 5)]
    """
    if max_size is not None and max_size < 2:
        raise InvalidOptionsError(field="max_size", value=max_size, allowed="give 2 or more")
    leader: dict[int, int] = {}

    def lead(key: int) -> int:
        leader.setdefault(key, key)
        while leader[key] != key:
            leader[key] = leader[leader[key]]
            key = leader[key]
        return key

    for one, other in pairs:
        first, second = sorted((lead(one), lead(other)))
        leader[second] = first
    groups: dict[int, list[int]] = {}
    for key in sorted(leader):
        groups.setdefault(lead(key), []).append(key)
    return sorted(part for group in groups.values() if len(group) > 1 for part in _cut(group, max_size))


def _cut(group: list[int], max_size: int | None) -> list[tuple[int, ...]]:
    parts = 1 if max_size is None else -(-len(group) // max_size)
    size, larger = divmod(len(group), parts)
    bounds = [part * size + min(part, larger) for part in range(parts + 1)]
    return [tuple(group[start:end]) for start, end in pairwise(bounds)]


def _check(threshold: float) -> None:
    if not 0.0 < threshold <= 1.0:
        raise InvalidOptionsError(field="threshold", value=threshold, allowed="give a number above 0, at most 1")


def _weights(postings: Postings, terms: Slots) -> Floats:
    held = postings.frequencies_of(terms)
    weights = np.log1p((len(postings) - held + 0.5) / (held + 0.5))
    return np.maximum(np.rint(weights / _QUANTUM), 1.0) * _QUANTUM


def _terms_at(postings: Postings, slots: Slots, *, parts: bool, text_alone: bool = False) -> tuple[Slots, Slots]:
    """Return the distinct terms of documents, or of records in parts, one after the other, and how many each has."""
    if not parts:
        return postings.terms_at(slots, text_alone=text_alone)
    of_parts, counts = postings.parts(slots)
    terms, sizes = postings.terms_at(of_parts, text_alone=text_alone)
    owners = np.repeat(np.repeat(np.arange(len(slots)), counts), sizes)
    pairs, _ = runs(np.sort(owners * postings.term_count + terms))
    return pairs % postings.term_count, np.bincount(pairs // postings.term_count, minlength=len(slots))


def _candidates(index: Bm25Index, slot: int, terms: Slots, weights: Floats, threshold: float, *, parts: bool) -> Slots:
    """Every live document that shares enough with a document to reach the threshold, and some that are too long."""
    postings, sums = index.postings, index.sums
    order = (-weights).argsort(kind="stable")
    terms, weights = terms[order], weights[order]
    total = float(weights.sum())
    left_out = total - weights.cumsum()
    least = (threshold - _ROUNDING) * total
    enough = int((left_out <= _LEFT_TO_COMMON_TERMS * threshold * total).argmax()) + 1
    held = np.array([postings.posting_count(term) for term in terms.tolist()])
    prefix = max(enough, int(held.cumsum().searchsorted(index.cost.neighbours, side="right")))
    sums.begin(postings.slot_count)
    holding, amounts = postings.slots_of(terms[:prefix].tolist()), weights[:prefix].repeat(held[:prefix])
    if parts:
        # A record holds a term once, however many of its parts do.
        holding = postings.heads(holding)
        of_term = np.arange(prefix).repeat(held[:prefix])
        new = np.ones(len(holding), dtype=np.bool_)
        new[1:] = (holding[1:] != holding[:-1]) | (of_term[1:] != of_term[:-1])
        holding, amounts = holding[new], amounts[new]
    sums.add_repeatedly(holding, amounts)
    slots, shared = sums.drain_from(least - float(left_out[prefix - 1]))
    for term, weight in zip(terms[prefix:].tolist(), weights[prefix:].tolist(), strict=True):
        found = postings.found_in_parts(term, slots) if parts else postings.found(term, slots)[0]
        shared[found] += weight
    slots = slots[shared >= least]
    return slots[postings.alive(slots) & (slots != slot)]


def _verified(
    postings: Postings,
    terms_at: Callable[[Slots], tuple[Slots, Slots]],
    slots: Slots,
    terms: Slots,
    weights: Floats,
    *,
    threshold: float,
) -> tuple[Slots, Floats]:
    """Those of the candidates that reach the threshold, with their similarity."""
    theirs, sizes = terms_at(slots)
    slots, sizes = slots[sizes > 0], sizes[sizes > 0]
    if len(slots) == 0:
        return slots, np.zeros(0)
    told = _weights(postings, theirs)
    starts = sizes.cumsum() - sizes
    asked = np.zeros(postings.term_count, dtype=np.bool_)
    asked[terms] = True
    shared = np.add.reduceat(np.where(asked[theirs], told, 0.0), starts)
    likeness = shared / (np.add.reduceat(told, starts) + weights.sum() - shared)
    near = likeness >= threshold
    return slots[near], likeness[near]


def _pairs(postings: Postings, slots: Slots, likeness: Floats) -> Iterable[Neighbour]:
    return map(Neighbour, postings.keys(slots).tolist(), likeness.tolist())
