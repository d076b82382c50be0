"""Clusters that were left as they are: when they are shown again, and what becomes of them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from agentcore.domain.memory import MemoryEntry
from agentcore.stores.storage import ReadView
from dream.domain.change import fingerprint
from dream.domain.cluster import SettledCluster
from dream.options import ConsolidationOptions
from dream.passes.memory_consolidation.clusters import Pair, linked
from dream.passes.memory_consolidation.desk import is_under
from dream.passes.protocol import ModelContext

_CLUSTER = "cluster"


@dataclass(frozen=True, slots=True)
class Due:
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


async def due(context: ModelContext) -> Due:
    """Return the clusters to show again in this run."""
    known = await context.settled()
    return await context.read(lambda view: _due(view, context, known))


def _due(view: ReadView, context: ModelContext, known: Sequence[SettledCluster]) -> Due:
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
    return Due(tuple(whole), tuple(gone))


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


async def _alike(context: ModelContext, ids: Mapping[int, str]) -> list[Pair]:
    """Return which of these active entries, by key, are alike."""
    found = await context.recall.alike(sorted(ids), threshold=context.options.consolidation.threshold)
    return [Pair.of(ids[one], ids[other], similarity) for one, other, similarity in found]
