"""Shows clusters of near-duplicates: candidates for a model or a person, never merged by themselves."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from agentcore.domain.memory import MemoryEntry
from dream.cycle.forecast import REVIEWER
from dream.domain.asked_question import differing_words, words_alone
from dream.domain.report import RunReport
from dream.interfaces.cli.render.text import Line, Lines, Tone, clip, counted, paragraph

_SHOWN = 5
_SHOWN_ENTRIES = 4
_MAX_TEXT = 160


@dataclass(frozen=True, slots=True)
class _Cluster:
    """Entries that share most of their rare words."""

    entries: Sequence[str]
    similarity: float


def shown_ids(report: RunReport, *, limit: int = _SHOWN) -> list[str]:
    """Return the ids of the entries that `cluster_lines` goes by: where a model judged, of all clusters."""
    found = _clusters(report)
    if _is_judged(report):
        return [entry_id for cluster in found for entry_id in cluster.entries]
    return [entry_id for cluster in found[:limit] for entry_id in cluster.entries[:_SHOWN_ENTRIES]]


def cluster_lines(
    report: RunReport, entries: Mapping[str, MemoryEntry], width: int, *, more: str, limit: int = _SHOWN
) -> Lines:
    """Yield the most alike clusters with their texts, and how many more there are.

    Where a model judged all entries of the run, those alone that it left more than one entry of.

    Args:
        report: The report of the run that found them.
        entries: The entries that `shown_ids` names, by id; one that is missing is gone since.
        width: Columns of a line.
        more: Where to see the rest.
        limit: How many clusters to show.
    """
    all_found = found = _clusters(report)
    if not all_found:
        return
    whose = " for a model or a person to judge"
    if _is_judged(report):
        left = [_Cluster(_active(cluster, entries), cluster.similarity) for cluster in all_found]
        found = [cluster for cluster in left if len(cluster.entries) > 1]
        whose = f", of which the model left {len(found):,} for you to judge" if found else ", all of them settled"
    title = f"{counted(len(all_found), 'cluster')} of near-duplicates{whose}"
    if not found:
        yield from paragraph(f"{title}.", width)
        return
    most = f", the {limit} most alike" if len(found) > limit else ""
    yield from paragraph(f"{title}{most}:", width, tone=Tone.TITLE)
    for place, cluster in enumerate(found[:limit], start=1):
        texts = [entries[one].content for one in cluster.entries if one in entries]
        yield from paragraph(alike(cluster.similarity, texts), width, first=f"  {place}. ", rest="     ")
        for entry_id in cluster.entries[:_SHOWN_ENTRIES]:
            entry = entries.get(entry_id)
            text = "(no longer here)" if entry is None else f"{clip(entry.content, _MAX_TEXT)}  [{entry.category}]"
            yield from paragraph(text, width, first=f"     {entry_id}  ", rest="       ")
        if len(cluster.entries) > _SHOWN_ENTRIES:
            yield Line(f"     and {len(cluster.entries) - _SHOWN_ENTRIES} more", Tone.FAINT)
    if len(found) > limit:
        yield Line(f"  and {counted(len(found) - limit, 'more cluster', 'more clusters')}; {more}", Tone.FAINT)


def alike(similarity: float, texts: Sequence[str]) -> str:
    """Return how alike texts are, and by which words they differ: a `not` is no rare word, and says the contrary.

    Example:
        >>> alike(0.874, ["Ana has a cat.", "Ana has a dog."]), alike(1.0, ["Ana eats.", "Ana, eats"])
        ('87% alike, they differ in: cat / dog', 'the same words')
        >>> alike(1.0, ["Ana is well", "Ana is not well"])
        '99% alike, they differ in: not'
    """
    differ = differing_words(texts)
    if similarity >= 1 and differ is None and len({words_alone(text) for text in texts}) == 1:
        return "the same words"
    told = f"{min(similarity, 0.99):.0%} alike"
    return f"{told}, they differ in: {differ}" if differ else told


def _is_judged(report: RunReport) -> bool:
    """Tell whether a model of the same run was shown whatever is new, and nothing is left for the next one."""
    return any(item.name == REVIEWER and item.calls and not item.backlog for item in report.passes)


def _active(cluster: _Cluster, entries: Mapping[str, MemoryEntry]) -> list[str]:
    return [entry_id for entry_id in cluster.entries if entry_id in entries and entries[entry_id].is_active]


def _clusters(report: RunReport) -> list[_Cluster]:
    noted = [cast("Sequence[Mapping[str, Any]]", item.notes.get("clusters", ())) for item in report.passes]
    return [
        _Cluster([str(entry_id) for entry_id in cluster["entries"]], float(cluster["similarity"]))
        for clusters in noted
        for cluster in clusters
    ]
