"""Whether a text says what its sources say, and nothing else."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from agentcore.domain.memory import MemoryEntry, Trust
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.guards.detail import Detail, DetailKind
from dream.guards.merge_coverage import Coverage, Superseded, coverage, untold
from dream.passes.conflicts import is_later
from dream.passes.memory_consolidation.desk import Desk


def compare(
    desk: Desk, content: str, sources: Sequence[MemoryEntry], gives_way: Sequence[MemoryEntry], category: str
) -> Coverage:
    """Compare a text with its sources; what it takes the place of need not be repeated if it is older, or corrected."""
    confirmed = next((source for source in sources if source.trust is Trust.CONFIRMED), None)
    categories = (category, *(source.category for source in (*sources, *gives_way)))
    exempt = not any(desk.vocabulary.numbers_matter(one) for one in categories)
    found = coverage(
        [source.content for source in sources],
        content,
        desk.vocabulary,
        # A text that moves into an exempt category does not leave its numbers behind.
        category=category if exempt else None,
        document_frequency=desk.document_frequency,
        superseded=[
            Superseded(
                content=old.content,
                is_older=is_later(desk.evidence([old]), desk.evidence(sources), desk.as_of),
                correction=confirmed.content if confirmed and old.trust < Trust.CONFIRMED else None,
            )
            for old in gives_way
        ],
    )
    left_out = untold([source.content for source in sources], content, desk.vocabulary, desk.tokenizer)
    return replace(found, lost=(*found.lost, *(Detail(DetailKind.SENTENCE, one[:200], one) for one in left_out)))


def unfaithful(found: Coverage, record_ids: Sequence[str]) -> Refusal | None:
    """Return why a text is not taken, or None; the particulars are told by kind: a report outlives what it is about."""
    if found.faithful:
        return None
    code, details = (Refused.LOST_DETAIL, found.lost) if found.lost else (Refused.INVENTED_DETAIL, found.invented)
    return Refusal(code, f"{Refusal.of(code, record_ids).detail}: {_counted(details)}")


def _counted(details: Sequence[Detail]) -> str:
    return ", ".join(f"{count} x {kind.value}" for kind, count in Counter(item.kind for item in details).items())
