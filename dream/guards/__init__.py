"""Guards: pure functions that hold a proposed operation against the laws.

Each takes the change set and what the transaction knows, and returns why it must not happen, or None. The order is the
order in which a person would want to hear the reasons.
"""

from collections.abc import Callable

from dream.domain.change import ChangeSet
from dream.domain.proposal import Refusal
from dream.guards.destruction import keeps_records
from dream.guards.documents import writes_no_secret
from dream.guards.knowledge import Knowledge
from dream.guards.protection import keeps_pins, leaves_protected_categories
from dream.guards.provenance import raises_nothing
from dream.guards.purging import is_purgeable
from dream.guards.skills import raises_no_skill, replaces_skills, takes_no_name, tells_no_secret
from dream.guards.undone import respects_undo
from dream.guards.words import keeps_words

Guard = Callable[[ChangeSet, Knowledge], Refusal | None]

GUARDS: tuple[Guard, ...] = (
    keeps_records,
    keeps_words,
    raises_nothing,
    leaves_protected_categories,
    keeps_pins,
    replaces_skills,
    takes_no_name,
    raises_no_skill,
    tells_no_secret,
    writes_no_secret,
    respects_undo,
)


def first_refusal(change_set: ChangeSet, knowledge: Knowledge) -> Refusal | None:
    """Return the first reason against *change_set*, or None."""
    for guard in GUARDS:
        refusal = guard(change_set, knowledge)
        if refusal is not None:
            return refusal
    return None


__all__ = ["GUARDS", "Guard", "Knowledge", "first_refusal", "is_purgeable"]
