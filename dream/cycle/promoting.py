"""What change sets promote, and when it was needed."""

from collections.abc import Sequence
from datetime import datetime

from dream.domain.change import ChangeSet
from dream.domain.promotion import Promotion
from dream.stores import DreamStores


def promotions_of(change_sets: Sequence[ChangeSet]) -> list[Promotion]:
    """Return what counts as promoted once *change_sets* are made."""
    return [promotion for change_set in change_sets for promotion in change_set.promotions]


def newly_needed(books: DreamStores, change_sets: Sequence[ChangeSet]) -> dict[str, datetime]:
    """Return when those that *change_sets* promote for the first time were recalled last, by id."""
    ids = {promotion.entry_id for promotion in promotions_of(change_sets)}
    if not ids:
        return {}
    return books.recalls.last(ids - books.promotions.known().keys())
