"""What a pass declares of itself, and what counts for a pass that leaves it out."""

from collections.abc import Iterable

from dream.domain.reads import Reads
from dream.passes.protocol import DreamPass, ModelPass


def reads_of(dream_pass: object, side: str = "") -> Reads:
    """Return what the cursor of a pass counts; entries if the pass does not say.

    Args:
        dream_pass: The pass.
        side: Name of a reader that it has beside its own (`Batch.reader`).

    Example:
        >>> from dream.passes.fact_mining import FactMining
        >>> reads_of(FactMining())
        <Reads.TURNS: 'turns'>
    """
    found = getattr(dream_pass, "side_readers", {}).get(side) if side else getattr(dream_pass, "reads", None)
    return found or Reads.ENTRIES


def readers_of(passes: Iterable[DreamPass | ModelPass]) -> dict[str, Reads]:
    """Return what each reader of these passes reads, by the name of its cursor.

    Example:
        >>> from dream.passes.memory_consolidation import MemoryConsolidation
        >>> [str(reads) for reads in readers_of([MemoryConsolidation()]).values()]
        ['entries', 'feedback']
    """
    found: dict[str, Reads] = {}
    for one in passes:
        found[one.name] = reads_of(one)
        found |= {f"{one.name}/{side}": reads_of(one, side) for side in getattr(one, "side_readers", {})}
    return found


def purges(dream_pass: object) -> bool:
    """Tell whether a pass removes records for good, which retention alone may.

    Example:
        >>> from dream.passes.retention import Retention
        >>> purges(Retention())
        True
    """
    return bool(getattr(dream_pass, "purges", False))


def categories_of(dream_pass: object) -> tuple[str, ...]:
    """Return the categories that a pass alone writes, with all below them; by default none.

    Example:
        >>> from dream.passes.episodes import EpisodeExtraction
        >>> categories_of(EpisodeExtraction())
        ('episodes',)
    """
    return tuple(getattr(dream_pass, "categories", ()))


def reviews_entries(dream_pass: object) -> bool:
    """Tell whether a pass has a model review entries, so that they are reviewed anew under another directive.

    Example:
        >>> from dream.passes.memory_consolidation import MemoryConsolidation
        >>> reviews_entries(MemoryConsolidation())
        True
    """
    return bool(getattr(dream_pass, "reviews_entries", False))
