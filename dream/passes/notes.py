"""Notes of steps become notes of a pass."""

from collections.abc import Sequence

from dream.domain.proposal import Notes


def summed(notes: Sequence[Notes], *names: str) -> Notes:
    """Sum the named counts over the steps.

    Example:
        >>> summed([{"folded": 2}, {"folded": 1}], "folded")
        {'folded': 3}
    """
    return {name: sum(int(note.get(name, 0)) for note in notes) for name in names}
