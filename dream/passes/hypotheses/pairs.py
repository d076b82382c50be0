"""Finds pairs of records that share something rare and of which nothing says how they stand to each other."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import chain
from typing import Final

from agentcore.domain.claim import Claim, ClaimState
from agentcore.domain.evidence import SourceKind, SourceRef
from agentcore.domain.hypothesis import Factor, HypothesisSource, HypothesisSourceKind, hypothesis_id, rank_of
from agentcore.domain.memory import MemoryEntry, Trust
from agentcore.domain.text import fold_key
from agentcore.recall.off_limits import named_topic
from agentcore.recall.results import SharedTerms
from agentcore.stores.values import EntryMaterial
from dream.domain.step import Batch
from dream.options import HypothesisOptions
from dream.passes.commonplace import commonplace
from dream.passes.protocol import ModelContext, PassView

_NEIGHBOURS: Final = 12
"""Records looked at beside each new one."""
_LAST: Final = 2**62
"""A position beyond all others."""
_DAY: Final = timedelta(days=1)
_WEEK: Final = 7.0
_STANDING: Final = frozenset({ClaimState.VALIDATED, ClaimState.PROMOTED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two records that may have to do with each other.

    Args:
        sources: The two, each with the key of its text, sorted.
        texts: What they say, in the same order.
        terms: The rare terms that both hold; none where they are claims of a chain.
        factors: What speaks for a relation, and how well founded that is.
        entries: The entries, where they are entries.
        claims: The claims, where they are claims, the first one first.
        fresh: Ids of those that are new.
    """

    sources: tuple[tuple[HypothesisSource, str], ...]
    texts: tuple[str, str]
    terms: tuple[str, ...]
    factors: tuple[Factor, ...]
    entries: tuple[MemoryEntry, ...] = ()
    claims: tuple[Claim, ...] = ()
    fresh: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """The id of a hypothesis about them as they are."""
        return hypothesis_id(self.sources)

    @property
    def refs(self) -> tuple[HypothesisSource, ...]:
        """The two."""
        return tuple(ref for ref, _ in self.sources)

    @property
    def score(self) -> float:
        """How early it is told: rank of what speaks for it."""
        return rank_of(self.factors)

    @property
    def trust(self) -> Trust:
        """The least of the two."""
        return min(one.trust for one in chain(self.entries, self.claims))


@dataclass(frozen=True, slots=True, kw_only=True)
class PairSearch:
    """What one look at new records found.

    Args:
        pairs: Those that nobody looked at yet, the most telling first.
        known: How many pairs were looked at before.
        off_limits: How many of the others name a topic about which nothing is to be kept.
        usable: How many active entries there are, counted up to two.
        looked_at: Ids of the new records.
        cursor: Position up to which they are.
        backlog: New records left for later.
    """

    pairs: tuple[Pair, ...] = ()
    known: int = 0
    off_limits: int = 0
    usable: int = 0
    looked_at: tuple[str, ...] = ()
    cursor: int = 0
    backlog: int = 0


def apart(pairs: Iterable[Pair], most: int) -> list[Pair]:
    """Return the first pairs of which no two have a record in common."""
    met: set[HypothesisSource] = set()
    found: list[Pair] = []
    for pair in pairs:
        if len(found) < most and met.isdisjoint(pair.refs):
            met.update(pair.refs)
            found.append(pair)
    return found


async def shown_pairs(context: ModelContext, batch: Batch) -> list[Pair]:
    """Return the pairs that a batch shows, each a member and what stands beside it, if both are as they were."""
    versions = {**dict(batch.members), **dict(batch.beside)}
    terms = context.options.hypotheses
    told = await context.read(lambda view: view.claims.get_many(list(versions)))
    claims = {one.id: one for one in told if one.state in _STANDING and one.version == versions[one.id]}
    items = await context.read(
        lambda view: view.entries.material(after=_LAST, also=batch.member_ids, limit=len(batch.members))
    )
    shared = await context.recall.sharing([item.key for item in items], limit=_NEIGHBOURS)
    keys = {*shared, *(one.key for found in shared.values() for one in found)}
    stored = await context.read(lambda view: view.entries.by_keys(sorted(keys)))
    entries = {key: one for key, one in stored.items() if one.version == versions.get(one.id)}
    made = {
        frozenset(ref.id for ref in pair.refs): pair
        for pair in (*_of_entries(items, shared, entries, terms), *_of_claims(list(claims.values())))
    }
    places = zip(batch.members, batch.beside, strict=True)
    wanted = [frozenset((member, other)) for (member, _), (other, _) in places]
    return [made[ids] for ids in wanted if ids in made]


async def find_pairs(context: ModelContext) -> PairSearch:
    """Look at new records, a bounded number of them, and at what shares rare terms with each."""
    terms: HypothesisOptions = context.options.hypotheses
    fresh = await context.read(
        lambda view: view.entries.material(after=context.cursor, also=context.reopened, limit=terms.max_entries)
    )
    pending = await context.read(lambda view: view.entries.count_material(after=context.cursor, also=context.reopened))
    shared = await context.recall.sharing([item.key for item in fresh], limit=_NEIGHBOURS)
    keys = {*shared, *(one.key for found in shared.values() for one in found)}
    entries = await context.read(lambda view: view.entries.by_keys(sorted(keys)))
    claims = await context.read(lambda view: view.claims.in_states(_STANDING))
    made = {pair.id: pair for pair in (*_of_entries(fresh, shared, entries, terms), *_of_claims(claims))}
    known = await context.read(lambda view: view.hypotheses.existing(list(made)))
    known |= {one.fingerprint for one in await context.settled()} & made.keys()
    known |= await context.declined(made)
    # Reading many texts takes longer than the event loop may stall.
    barred = await asyncio.to_thread(_naming_topics, list(made.values()), context.off_limits)
    told = (pair for pair in made.values() if pair.id not in known | barred)
    left = sorted(told, key=lambda one: (-one.score, one.id))
    pairs = await context.read(lambda view: _unrelated(view, left, 2 * terms.shown))
    return PairSearch(
        pairs=tuple(pairs),
        known=len(known),
        off_limits=len(barred - known),
        usable=len(entries) if len(entries) > 1 else await context.read(_usable),
        looked_at=tuple(item.id for item in fresh),
        cursor=max([context.cursor, *(item.position for item in fresh)]),
        backlog=max(0, pending - len(fresh)),
    )


def _naming_topics(pairs: Sequence[Pair], topics: Sequence[str]) -> set[str]:
    """Return the ids of pairs of which a text names one of these topics."""
    texts = {text for pair in pairs for text in pair.texts} if topics else set[str]()
    named = {text for text in texts if named_topic(topics, text) is not None}
    return {pair.id for pair in pairs if not named.isdisjoint(pair.texts)}


def _usable(view: PassView) -> int:
    return len(view.entries.material(after=0, also=(), limit=2))


def _of_entries(
    fresh: Sequence[EntryMaterial],
    shared: Mapping[int, Sequence[SharedTerms]],
    entries: Mapping[int, MemoryEntry],
    terms: HypothesisOptions,
) -> Iterable[Pair]:
    """Yield pairs of entries that share a thread, are no two wordings of one thing, and were said independently."""
    for item in fresh:
        new = entries.get(item.key)
        for one in shared.get(item.key, ()):
            old = entries.get(one.key)
            if new is None or old is None or not terms.least_likeness <= one.likeness <= terms.most_likeness:
                continue
            told = [(term, holders) for term, holders in one.terms if term not in commonplace()]
            if told and _may_pair(new, old):
                yield _entry_pair(new, old, told, one.likeness, terms)


def _may_pair(one: MemoryEntry, other: MemoryEntry) -> bool:
    """Tell whether both are first-hand, and neither rests on what the other rests on, or was said on one occasion."""
    if not (one.is_active and other.is_active) or one.is_conclusion or other.is_conclusion:
        return False
    together = set(one.sources) & set(other.sources) or {one.id, other.id} & {
        ref.id for ref in (*one.sources, *other.sources)
    }
    return not together and abs(one.created_at - other.created_at) >= _DAY


def _entry_pair(
    new: MemoryEntry,
    old: MemoryEntry,
    told: Sequence[tuple[str, int]],
    likeness: float,
    terms: HypothesisOptions,
) -> Pair:
    one, other = sorted((new, old), key=lambda entry: entry.id)
    days = abs(one.created_at - other.created_at) / _DAY
    rarity = 1.0 - 1.0 / (1.0 + sum(1.0 / holders for _, holders in told))
    factors = (
        Factor("likeness", round(likeness / terms.most_likeness, 4)),
        Factor("rarity", round(rarity, 4)),
        Factor("distance", round(days / (days + _WEEK), 4)),
        Factor("independence", 1.0 if one.sources and other.sources else 0.5),
    )
    return Pair(
        sources=tuple(
            (HypothesisSource(HypothesisSourceKind.ENTRY, entry.id), fold_key(entry.content)) for entry in (one, other)
        ),
        texts=(one.content, other.content),
        terms=tuple(term for term, _ in told),
        factors=factors,
        entries=(one, other),
        fresh=(new.id,),
    )


def _of_claims(claims: Sequence[Claim]) -> Iterable[Pair]:
    """Yield chains A-B-C: what one claim ends in is what another is about."""
    about: dict[str, list[Claim]] = {}
    for claim in claims:
        about.setdefault(fold_key(claim.subject), []).append(claim)
    for first in claims:
        for second in about.get(fold_key(first.object), ()):
            ends = fold_key(second.object)
            if not first.negated and not second.negated and ends != fold_key(first.subject):
                yield _chain(first, second)


def _chain(first: Claim, second: Claim) -> Pair:
    both = (first, second)
    apart = set(first.sources).isdisjoint(second.sources)
    return Pair(
        sources=tuple(
            sorted((HypothesisSource(HypothesisSourceKind.CLAIM, one.id), fold_key(str(one))) for one in both)
        ),
        texts=(first.quote, second.quote),
        terms=(first.object,),
        factors=(
            Factor("likeness", 1.0),
            Factor("rarity", 0.5),
            Factor("confidence", round(min(one.confidence for one in both), 4)),
            Factor("independence", 1.0 if apart else 0.25),
        ),
        claims=both,
    )


def _unrelated(view: PassView, pairs: Sequence[Pair], most: int) -> list[Pair]:
    """Return the pairs but those, among the first *most*, of which something says how they stand to each other."""
    found: list[Pair] = []
    for place, pair in enumerate(pairs):
        if len(found) >= most:
            return [*found, *pairs[place:]]
        if not _is_related(view, pair):
            found.append(pair)
    return found


def _is_related(view: PassView, pair: Pair) -> bool:
    """Tell whether a question, a conclusion or a merge is about both."""
    refs = [SourceRef(SourceKind.ENTRY, entry.id) for entry in pair.entries]
    if not refs:
        return False
    if any(one.names(refs) for one in view.questions.naming(refs[:1])):
        return True
    made = view.entries.derived_from(SourceKind.ENTRY.value, refs[0].id)
    return any(set(refs) <= set(one.sources) for one in (*made, *view.conclusions.resting_on({refs[0].id})))
