"""A preference: what is left of an item of the answer once the host has checked and computed all it can."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from agentcore.domain.memory import Level, MemoryEntry
from agentcore.domain.temporal import marks_of
from agentcore.domain.text import clean_tags
from dream.domain.built_in_passes import PREFERENCE_INFERENCE
from dream.domain.proposal import Refusal
from dream.options import PreferenceOptions
from dream.passes.conversation.statement import (
    Terms,
    base_below,
    made_up,
    protected,
    secret_told,
    statement,
    usable_tags,
)
from dream.passes.conversation.times import ToldTimes
from dream.passes.preferences.answer import Item
from dream.passes.preferences.occasions import Occasions, too_few
from dream.passes.preferences.permission import needs_permission
from dream.passes.prompts import feedback_text

PREFERENCES: Final = "user-preferences"
"""The category of what users want, inferred or stated."""
INFERRED: Final = PREFERENCE_INFERENCE.categories[0]
"""The category of inferred preferences."""
TAG: Final = "inferred"
PERMISSION: Final = "requires_user_permission"
"""Metadata: the assistant must ask before it acts on the preference."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Preference:
    """A checked preference.

    Args:
        item: As the model gave it.
        content: What the user wants.
        tags: Its tags.
        base: Its importance, below what protects.
        occasions: What it rests on.
        asks_permission: Whether the assistant must ask before it acts on it.
    """

    item: Item
    content: str
    tags: tuple[str, ...]
    base: float
    occasions: Occasions
    asks_permission: bool

    def entry(self, entry_id: str, as_of: datetime, old: MemoryEntry | None = None) -> MemoryEntry:
        """Return the entry it makes: one observation, however many occasions show it.

        Args:
            entry_id: Its id.
            as_of: The instant the run judges by.
            old: The preference that it takes the place of: its mark stays, and neither its importance nor its trust is
                exceeded.
        """
        said = self.occasions.said
        is_marked = self.asks_permission or (old is not None and PERMISSION in marks_of(old))
        return MemoryEntry(
            id=entry_id,
            scope=self.occasions.evidence.quoted.scope,
            content=self.content,
            category=INFERRED,
            tags=self.tags,
            base=self.base if old is None else min(self.base, old.base),
            created_at=min(said),
            recorded_at=as_of,
            last_seen_at=min(max(said), as_of),
            metadata={"source": TAG, **({PERMISSION: "true"} if is_marked else {})},
            level=Level.DERIVED,
            sources=self.occasions.sources,
            trust=self.occasions.trust if old is None else min(self.occasions.trust, old.trust),
        )


def preference_of(item: Item, occasions: Occasions, terms: Terms, options: PreferenceOptions) -> Preference | Refusal:
    """Check what a preference says against what it cites; return it, or why it must not be remembered."""
    content = statement(item.content, item.label)
    if isinstance(content, Refusal):
        return content
    evidence = occasions.evidence
    refusal = (
        secret_told(item.label, f"turn {evidence.quoted.id}", content, evidence.quote)
        or protected(item.label, INFERRED, terms)
        or made_up(
            item.label,
            content,
            INFERRED,
            evidence=evidence,
            told=ToldTimes.of(evidence),
            also=[feedback_text(one) for one in occasions.feedback],
            terms=terms,
        )
        or too_few(item, occasions, options)
    )
    if refusal is not None:
        return refusal
    tags = usable_tags(item.tags)
    return Preference(
        item=item,
        content=content,
        tags=clean_tags((*tags, TAG)),
        base=base_below(item.importance, terms.protect_importance),
        occasions=occasions,
        asks_permission=item.asks_permission or needs_permission(content, evidence.quote, *tags),
    )
