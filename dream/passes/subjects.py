"""Names what entries are about: a subject and a topic, by which they meet in a prompt, and never more."""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

from agentcore.domain.filters import EntryFilter
from agentcore.domain.memory import MemoryEntry
from agentcore.stores.storage import ReadView
from dream.guards.secrets import secret_in

SUBJECT: Final = "subject"
"""Metadata: whom or what an entry is about."""
TOPIC: Final = "topic"
"""Metadata: what of that it tells, in at most three words."""
CLAIM: Final = "claim"
"""Metadata of a fact: the claim that it says, whose key is its subject and topic."""
_MOST_WORDS: Final = 3
_LONGEST: Final = 40
_LOOKED_THROUGH: Final = 1_000
"""The newest so many entries are looked through for topics."""
_SHOWN: Final = 30


def clean_topic(given: object) -> str:
    """Return a topic as it is kept; nothing if it cannot be one.

    Example:
        >>> clean_topic(" Home  address "), clean_topic("all that Ana ever said")
        ('home address', '')
    """
    topic = " ".join(given.split()).casefold() if isinstance(given, str) and given.isprintable() else ""
    fits = len(topic.split()) <= _MOST_WORDS and len(topic) <= _LONGEST
    return topic if fits and secret_in(topic) is None else ""


def topics_in_use(view: ReadView, as_of: datetime) -> Sequence[str]:
    """Return the topics that most of the newest entries have, in alphabetical order.

    Those that a run wrote itself do not count for it: which of its batches came first must change no question.
    """
    newest = view.entries.select(EntryFilter(), limit=_LOOKED_THROUGH)
    known = (entry for entry in newest if entry.recorded_at < as_of)
    counted = Counter(entry.metadata[TOPIC] for entry in known if entry.metadata.get(TOPIC))
    return sorted(topic for topic, _ in sorted(counted.items(), key=lambda one: (-one[1], one[0]))[:_SHOWN])


def about(entry: MemoryEntry) -> tuple[str, str] | None:
    """Return subject and topic of an entry, folded; None if it does not have both."""
    subject, topic = entry.metadata.get(SUBJECT, ""), entry.metadata.get(TOPIC, "")
    return (subject.casefold(), topic.casefold()) if subject and topic else None


def same_subjects(view: ReadView, fresh: Iterable[MemoryEntry], most: int) -> dict[str, list[MemoryEntry]]:
    """Return the newest active entries of the same subject and topic, *most* of them for each, by the entry's id."""
    wanted = {entry.id: key for entry in fresh if (key := about(entry)) is not None}
    if not wanted:
        return {}
    sharing: dict[tuple[str, str], list[MemoryEntry]] = {key: [] for key in wanted.values()}
    for entry in view.entries.select(EntryFilter(), limit=_LOOKED_THROUGH):
        key = about(entry)
        if key in sharing and len(sharing[key]) <= most:
            sharing[key].append(entry)
    return {
        entry_id: [other for other in sharing[key] if other.id != entry_id][:most] for entry_id, key in wanted.items()
    }
