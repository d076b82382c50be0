"""Entries, answers of recall, and what a forget did."""

from collections.abc import Sequence

from agentcore.domain.memory import MemoryEntry
from agentcore.recall.results import DenseScore, Explanation, Hit
from agentcore.stores.values import Forgotten
from dream.domain.report import Outcome, RunReport
from dream.interfaces.cli.render.line import Line, Lines, Tone, clipped, paragraph
from dream.interfaces.cli.render.reasons import explained
from dream.interfaces.cli.render.text import clip, counted, one_line, when
from dream.interfaces.cli.session import Session

OUT_OF_REACH = ("turns of the conversation log", "git history", "backups", "exports")
"""Where a forgotten text may still stand."""

_MAX_TEXT = 240
"""Columns shown of a content in a list; `why` shows it whole."""


def entry_lines(entry: MemoryEntry, width: int, *, prefix: str = "") -> Lines:
    """Yield an entry as a list shows it: its id, how much it matters, where it is filed, and what it says."""
    marks = [f"{entry.importance:.2f}", entry.category, *(f"#{tag}" for tag in entry.tags)]
    if entry.reinforcement_count > 1:
        marks.append(f"seen {entry.reinforcement_count}x")
    if entry.subject_time is not None:
        marks.append(f"about {entry.subject_time}")
    if entry.pinned:
        marks.append("pinned")
    if not entry.is_active:
        marks.append(entry.status.value)
    indent = " " * (len(prefix) - len(prefix.lstrip()))
    yield clipped(", ".join(marks), width, first=f"{prefix}{entry.id}  ", tone=Tone.TITLE)
    yield from paragraph(clip(entry.content, _MAX_TEXT), width, first=f"{indent}    ")


def entry_list_lines(entries: Sequence[MemoryEntry], total: int, width: int) -> Lines:
    """Yield entries, and how many more there are."""
    for entry in entries:
        yield from entry_lines(entry, width)
    if not total:
        yield Line("There are no such entries.")
    elif len(entries) < total:
        yield Line(f"{len(entries):,} of {counted(total, 'entry', 'entries')}; --limit shows more.", Tone.FAINT)
    else:
        yield Line(f"{counted(total, 'entry', 'entries')}.", Tone.FAINT)


def hit_lines(query: str, hits: Sequence[tuple[Hit, Explanation | None]], width: int) -> Lines:
    """Yield the answers to a query, best first, each with how its score came about where that is given."""
    if not hits:
        yield from paragraph(f"Nothing is known about {query!r}.", width)
    for place, (hit, why) in enumerate(hits, start=1):
        yield from entry_lines(hit.entry, width, prefix=f"{place}. {hit.score:.2f}  ")
        if why is not None:
            yield from _explanation_lines(why, width)


def _explanation_lines(why: Explanation, width: int) -> Lines:
    for term in why.terms:
        reason = f"{term.score:.3f}  {term.term}: idf {term.idf:.3f}, {term.count} in it, norm {term.norm:.3f}"
        yield from paragraph(reason, width, first="    + ", rest="      ", tone=Tone.FAINT)
    if why.dense is not None:
        yield from paragraph(_dense_line(why.dense, why.bm25), width, first="    + ", rest="      ", tone=Tone.FAINT)
    factors = [f"relevance {why.relevance:.3f}", f"importance {why.importance:.3f}", f"recency {why.recency:.3f}",
               f"phrase {why.phrase:.3f}"]  # fmt: skip
    yield from paragraph(" x ".join(factors), width, first="    = ", rest="      ", tone=Tone.FAINT)


def _dense_line(dense: DenseScore, bm25: float) -> str:
    near = "no vector yet" if dense.similarity is None else f"similarity {dense.similarity:.3f}"
    return f"{dense.share:.3f}  by meaning: {near}; words count {bm25 * dense.scale:.3f} of {bm25:.3f}"


def explanation_json(why: Explanation) -> dict[str, object]:
    """Return plain JSON values of how a score came about."""
    return {
        "relevance": round(why.relevance, 6),
        "importance": round(why.importance, 6),
        "recency": round(why.recency, 6),
        "phrase": round(why.phrase, 6),
        "terms": [
            {
                "term": one.term,
                "idf": round(one.idf, 6),
                "count": one.count,
                "norm": round(one.norm, 6),
                "score": round(one.score, 6),
            }
            for one in why.terms
        ],
        **({} if why.dense is None else {"dense": _dense_json(why.dense)}),
    }


def _dense_json(dense: DenseScore) -> dict[str, object]:
    return {
        "similarity": None if dense.similarity is None else round(dense.similarity, 6),
        "share": round(dense.share, 6),
        "scale": round(dense.scale, 6),
    }


def remembered_lines(entry: MemoryEntry, width: int) -> Lines:
    """Yield what became of a text that was to be remembered."""
    count = entry.reinforcement_count
    done = "Remembered" if count == 1 else f"Known already; reinforced, now seen {count} times"
    yield Line(f"{done}:")
    yield from entry_lines(entry, width)


def restored_lines(session: Session, report: RunReport, entry: MemoryEntry | None) -> Lines:
    """Yield what a restore did."""
    width = session.screen.width
    if report.outcome is Outcome.DEFERRED or entry is None:
        yield from paragraph(f"Not restored: {explained(report.reason)}.", width, tone=Tone.WARNING)
        return
    yield Line("Restored; no dream retires it for the same reason again:")
    yield from entry_lines(entry, width)
    yield Line(f"Take that back: {session.command('undo', report.run_id)}", Tone.FAINT)


def forgotten_lines(done: Forgotten, restored: Sequence[MemoryEntry], width: int) -> Lines:
    """Yield what a forget removed, brought back and withheld, and where the text may still stand."""
    yield Line(f"Forgotten for good: {counted(len(done.removed), 'entry', 'entries')}.", Tone.TITLE)
    for entry_id in done.removed:
        yield Line(f"    {one_line(entry_id)}", Tone.REMOVED)
    if restored:
        yield Line(f"Brought back, since only their merge had to go: {counted(len(restored), 'entry', 'entries')}.")
        for entry in restored:
            yield from entry_lines(entry, width)
    if done.withheld:
        turns = counted(len(done.withheld), "turn")
        yield from paragraph(f"Withheld from recall and from dreams: {turns} of the conversation log.", width)
    yield from paragraph(
        f"Out of reach, look there yourself if it matters: {', '.join(OUT_OF_REACH)}.", width, tone=Tone.FAINT
    )


def provenance_of(entry: MemoryEntry) -> str:
    """Return in one sentence how an entry came to be known and how much it matters."""
    about = f", about {entry.subject_time}" if entry.subject_time else ""
    pinned = ", pinned" if entry.pinned else ""
    return (
        f"{entry.level.value}, trust {entry.trust.name.lower()}{about}{pinned}; importance {entry.importance:.2f} now, "
        f"{entry.base:.2f} when last seen on {when(entry.last_seen_at)}; first said {when(entry.created_at)}, "
        f"seen {counted(entry.reinforcement_count, 'time')}."
    )
