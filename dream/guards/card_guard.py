"""Holds changes of the peer card against its laws: what was said, holds and lasts; a person's lines are theirs."""

from collections.abc import Collection, Mapping
from typing import Final

from agentcore.domain.card import MOST_LINES, CardLine, CardSection
from agentcore.domain.memory import MemoryEntry, Trust
from agentcore.domain.text import fold_key
from dream.domain.change import Change
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.guards.secrets import secret_in

_LEAST_TRUST: Final = {CardSection.INSTRUCTION: Trust.STATED}
"""How far what a line rests on has to be trusted: an instruction stands in every prompt."""


def not_stated(entry: MemoryEntry, section: CardSection | None) -> Refusal | None:
    """Return why no line may rest on an entry: nobody said it, it does not hold, or it came from elsewhere."""
    if entry.is_conclusion:
        return Refusal(Refused.NO_PREMISE, f"{entry.id} was concluded and not said")
    if not entry.is_active:
        return Refusal(Refused.NO_PREMISE, f"{entry.id} does not hold any longer")
    least = Trust.INFERRED if section is None else _LEAST_TRUST.get(section, Trust.INFERRED)
    return Refusal(Refused.UNTRUSTED, entry.id) if entry.trust < least else None


def card_fault(
    changes: Collection[Change[CardLine]], card: Collection[str], premises: Mapping[str, MemoryEntry]
) -> Refusal | None:
    """Return why changes of the card must not happen.

    Args:
        changes: Those of one change set.
        card: Ids of the lines that stand on the card.
        premises: The entries that the lines rest on, by id.
    """
    for change in changes:
        fault = _line_fault(change, premises)
        if fault is not None:
            return fault
    gone = {one.record_id for one in changes if one.after is None or not one.after.is_active}
    new = [one.record_id for one in changes if one.after is not None and one.after.is_active]
    kept = set(card) - gone
    if set(new) - kept and len(kept | set(new)) > MOST_LINES:
        return Refusal(Refused.CARD_FULL, f"it has {len(kept)} lines")
    return None


def _line_fault(change: Change[CardLine], premises: Mapping[str, MemoryEntry]) -> Refusal | None:
    before, after = change.before, change.after
    if after is None:
        return None
    if after.pinned or (before is not None and before.pinned):
        return Refusal(Refused.PINNED, f"line {after.id}")
    if before is not None and _told(before) != _told(after):
        return Refusal(Refused.MISMATCHED, after.id)
    if before is not None or not after.is_active:
        return None
    return _new_line_fault(after, premises)


def _new_line_fault(line: CardLine, premises: Mapping[str, MemoryEntry]) -> Refusal | None:
    if not line.premises or {one.entry_id for one in line.premises} != {ref.id for ref in line.sources}:
        return Refusal(Refused.NO_SOURCES, line.id)
    secret = secret_in(line.content)
    if secret is not None:
        return Refusal(Refused.SECRET, f"line {line.id} looks like it holds a {secret}")
    for one in line.premises:
        entry = premises.get(one.entry_id)
        if entry is None or fold_key(entry.content) != one.text_key:
            return Refusal(Refused.PREMISE_GONE, one.entry_id)
        refusal = not_stated(entry, line.section)
        if refusal is not None:
            return refusal
    return None


def _told(line: CardLine) -> tuple[object, ...]:
    return line.section, line.content, line.sources, line.premises, line.set_by, line.set_at
