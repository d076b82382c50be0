"""Groups similar entries into clusters, and keeps those that a model left alone until they are shown again."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from agentcore.domain.memory import MemoryEntry
from agentcore.stores.storage import ReadView
from dream.domain.change import fingerprint
from dream.domain.cluster import SettledCluster
from dream.options import ConsolidationOptions
from dream.passes.memory_consolidation.operations import is_under
from dream.passes.protocol import ModelContext


@dataclass(frozen=True, slots=True, order=True)
class AlikePair:
    """Two records that share much of their rare words; the ids in order."""

    similarity: float
    one: str
    other: str

    @classmethod
    def of(cls, one: str, other: str, similarity: float) -> "AlikePair":
        """Order the ids."""
        return cls(similarity, min(one, other), max(one, other))


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """How much one call may hold.

    Args:
        entries: Records at most.
        tokens: Tokens of their lines at most.
    """

    entries: int
    tokens: int

    def hold(self, entries: int, tokens: int) -> bool:
        """Tell whether so much fits."""
        return entries <= self.entries and tokens <= self.tokens


def gather(weights: Mapping[str, int], pairs: Iterable[AlikePair], bounds: Bounds) -> list[tuple[str, ...]]:
    """Partition records into groups that hang together, none beyond the bounds.

    The most alike are joined first (Kruskal, "On the Shortest Spanning Subtree of a Graph", Proc. AMS 1956), so a
    group that would grow too large is cut where its records are least alike.

    Args:
        weights: Tokens per record id, in the order in which groups and their records are returned.
        pairs: Which are alike; pairs with other ids are passed over.
        bounds: What one group may hold.

    Example:
        >>> alike = [AlikePair.of("a", "b", 0.9), AlikePair.of("b", "c", 0.4)]
        >>> gather({"a": 1, "b": 1, "c": 1, "d": 1}, alike, Bounds(entries=2, tokens=9))
        [('a', 'b'), ('c',), ('d',)]
    """
    groups: dict[str, list[str]] = {record_id: [record_id] for record_id in weights}
    heavy = dict(weights)
    leader = {record_id: record_id for record_id in weights}
    for pair in sorted(pairs, key=lambda pair: (-pair.similarity, pair.one, pair.other)):
        if pair.one not in weights or pair.other not in weights:
            continue
        small, large = sorted((leader[pair.one], leader[pair.other]), key=lambda one: (len(groups[one]), one))
        if small == large or not bounds.hold(len(groups[small]) + len(groups[large]), heavy[small] + heavy[large]):
            continue
        for record_id in groups[small]:
            leader[record_id] = large
        groups[large] += groups.pop(small)
        heavy[large] += heavy.pop(small)
    place = {record_id: number for number, record_id in enumerate(weights)}
    found = [tuple(sorted(group, key=place.__getitem__)) for group in groups.values()]
    return sorted(found, key=lambda group: place[group[0]])


def fill(groups: Sequence[tuple[str, ...]], weights: Mapping[str, int], bounds: Bounds) -> list[list[str]]:
    """Put whole groups into calls, those of several records first, each in the order given.

    Example:
        >>> fill([("a",), ("b", "c"), ("d",)], dict.fromkeys("abcd", 1), Bounds(entries=3, tokens=9))
        [['b', 'c', 'a'], ['d']]
    """
    calls: list[list[str]] = []
    tokens = 0
    for group in sorted(groups, key=lambda group: len(group) == 1):
        weight = sum(weights[record_id] for record_id in group)
        if calls and bounds.hold(len(calls[-1]) + len(group), tokens + weight):
            calls[-1] += group
            tokens += weight
        else:
            calls.append(list(group))
            tokens = weight
    return calls


def linked(members: Sequence[str], pairs: Iterable[AlikePair]) -> list[tuple[str, ...]]:
    """Return the groups of two or more of *members* that hang together, sorted, as are their ids.

    Example:
        >>> linked(["a", "b", "c"], [AlikePair.of("c", "a", 0.5)])
        [('a', 'c')]
    """
    unbounded = Bounds(entries=len(members), tokens=0)
    groups = gather(dict.fromkeys(sorted(members), 0), pairs, unbounded)
    return [group for group in groups if len(group) > 1]


def beside(
    calls: Sequence[Sequence[str]], pairs: Iterable[AlikePair], weights: Mapping[str, int], bounds: Bounds
) -> list[tuple[str, ...]]:
    """Return, per call, the most alike records of other calls or of none, as many as it has room for.

    Example:
        >>> alike = [AlikePair.of("a", "b", 0.5), AlikePair.of("a", "x", 0.9)]
        >>> beside([["a"], ["b"]], alike, dict.fromkeys("abx", 1), Bounds(entries=2, tokens=9))
        [('x',), ('a',)]
    """
    home = {record_id: number for number, call in enumerate(calls) for record_id in call}
    wanted: dict[int, list[tuple[float, str]]] = {}
    for pair in pairs:
        for mine, theirs in ((pair.one, pair.other), (pair.other, pair.one)):
            if mine in home and theirs in weights and home.get(theirs) != home[mine]:
                wanted.setdefault(home[mine], []).append((-pair.similarity, theirs))
    return [_guests(call, wanted.get(number, []), weights, bounds) for number, call in enumerate(calls)]


def _guests(
    call: Sequence[str], wanted: Iterable[tuple[float, str]], weights: Mapping[str, int], bounds: Bounds
) -> tuple[str, ...]:
    tokens = sum(weights[record_id] for record_id in call)
    guests: list[str] = []
    for record_id in dict.fromkeys(record_id for _, record_id in sorted(wanted)):
        if bounds.hold(len(call) + len(guests) + 1, tokens + weights[record_id]):
            guests.append(record_id)
            tokens += weights[record_id]
    return tuple(guests)


_CLUSTER = "cluster"


@dataclass(frozen=True, slots=True)
class DueClusters:
    """Clusters whose time has come.

    Args:
        clusters: The entries of each, longest overdue first.
        gone: Fingerprints of those that are no longer what was settled.
    """

    clusters: tuple[tuple[MemoryEntry, ...], ...]
    gone: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Settlement:
    """What becomes of the clusters of one batch.

    Args:
        settled: Those left as they are.
        unsettled: Fingerprints of those that are no more.
    """

    settled: tuple[SettledCluster, ...] = ()
    unsettled: tuple[str, ...] = ()


def reopens_at(cluster: SettledCluster, terms: ConsolidationOptions) -> datetime:
    """Return when a cluster is shown again: the wait doubles each time it is left as it is, up to a bound."""
    doubled = 2 ** min(cluster.declines - 1, 40)
    bounded = doubled >= terms.reopen_within / terms.reopen_after
    wait: timedelta = terms.reopen_within if bounded else terms.reopen_after * doubled
    return cluster.declined_at + wait


async def next_date(context: ModelContext) -> datetime | None:
    """Return when the first settled cluster is shown again; None if there is none."""
    terms = context.options.consolidation
    return min((reopens_at(cluster, terms) for cluster in await context.settled()), default=None)


async def due_clusters(context: ModelContext) -> DueClusters:
    """Return the clusters to show again in this run."""
    known = await context.settled()
    return await context.read(lambda view: _due(view, context, known))


def _due(view: ReadView, context: ModelContext, known: Sequence[SettledCluster]) -> DueClusters:
    terms = context.options.consolidation
    waited = [cluster for cluster in known if reopens_at(cluster, terms) <= context.as_of]
    whole: list[tuple[MemoryEntry, ...]] = []
    gone: list[str] = []
    for cluster in sorted(waited, key=lambda cluster: (reopens_at(cluster, terms), cluster.fingerprint)):
        if len(whole) == terms.reopen_clusters:
            break
        entries = tuple(view.entries.get_many(cluster.record_ids))
        if _is_whole(cluster, entries, context.options.protected_categories):
            whole.append(entries)
        else:
            gone.append(cluster.fingerprint)
    return DueClusters(tuple(whole), tuple(gone))


def _is_whole(cluster: SettledCluster, entries: Sequence[MemoryEntry], protected: tuple[str, ...]) -> bool:
    return (
        len(entries) == len(cluster.record_ids)
        and all(entry.is_active and not is_under(entry.category, protected) for entry in entries)
        and mark(entries) == cluster.fingerprint
    )


def mark(entries: Sequence[MemoryEntry]) -> str:
    """Return what identifies a cluster: its entries and what they say."""
    return fingerprint(_CLUSTER, *entries)


async def settle(context: ModelContext, entries: Sequence[MemoryEntry], changed: Collection[str]) -> Settlement:
    """Return what becomes of the clusters among *entries*, of which those with an id in *changed* are touched."""
    known = await context.settled()
    ids, waited = await context.read(
        lambda view: (_keys(view, [entry.id for entry in entries]), _due(view, context, known))
    )
    alike = await _alike(context, ids)
    by_id = {entry.id: entry for entry in entries if entry.id not in changed}
    declines = {cluster.fingerprint: cluster.declines for cluster in known}
    settled = tuple(
        SettledCluster(
            fingerprint=found,
            record_ids=group,
            declines=declines.get(found, 0) + 1,
            declined_at=context.as_of,
        )
        for group in linked(list(by_id), alike)
        for found in [mark([by_id[record_id] for record_id in group])]
    )
    touched = {*changed, *(record_id for cluster in settled for record_id in cluster.record_ids)}
    kept = {cluster.fingerprint for cluster in settled}
    overlapping = {
        cluster.fingerprint
        for cluster in known
        if cluster.fingerprint not in kept and not touched.isdisjoint(cluster.record_ids)
    }
    gone = set(waited.gone) - kept
    return Settlement(settled, tuple(sorted(overlapping | gone)))


def _keys(view: ReadView, record_ids: Sequence[str]) -> dict[int, str]:
    last = view.entries.last_position()
    found = view.entries.material(after=last, also=record_ids, limit=len(record_ids))
    return {item.key: item.id for item in found}


async def _alike(context: ModelContext, ids: Mapping[int, str]) -> list[AlikePair]:
    """Return which of these active entries, by key, are alike."""
    found = await context.recall.alike(sorted(ids), threshold=context.options.consolidation.threshold)
    return [AlikePair.of(ids[one], ids[other], similarity) for one, other, similarity in found]
