"""Memory JSONL: one dated entry per line.

    {"content": "...", "category": "people/ana", "tags": [], "importance": 0.5, "created_at": "2025-05-01T10:00:00Z",
     "last_seen_at": "2025-06-01T10:00:00Z", "reinforcement_count": 2, "subject_time": "2014..2016", "trust": "stated",
     "pinned": false, "metadata": {}}

All but `content` may be missing. `importance` is the base, as of `last_seen_at`. An open end of a subject time may be
left blank (`2014..`).
"""

from collections.abc import Iterator

from agentcore.domain.memory import Level, MemoryEntry, Trust
from agentcore.domain.subject_time import SubjectTime
from agentcore.domain.text import clean_category, clean_tags
from dream.interfaces.exchange.fields import Fields
from dream.interfaces.exchange.items import UNNAMED, Item, SourceKeys
from dream.interfaces.exchange.source import Source

_TRUST = {trust.name.lower(): trust for trust in Trust}
_LEVELS = {level.value: level for level in Level}


def parse_memory_jsonl(source: Source) -> Iterator[Item]:
    """Yield the lines as entries.

    Raises:
        InvalidFileError: a line is no entry.
    """
    keys = SourceKeys("memory-jsonl")
    for line, values in source.objects():
        entry = _entry(source, Fields(source, line, values))
        created = values.get("created_at")
        key = keys.new(entry.category, entry.content, str(created), str(entry.subject_time))
        yield Item(record=entry, source_key=key, line=line)


def _entry(source: Source, fields: Fields) -> MemoryEntry:
    created = fields.instant("created_at") or source.now
    last_seen = fields.instant("last_seen_at") or created
    if last_seen < created:
        raise fields.refusal("last_seen_at", "no earlier than created_at")
    return MemoryEntry(
        id=UNNAMED,
        scope=source.scope,
        content=fields.content("content"),
        category=clean_category(fields.optional_text("category")),
        tags=clean_tags(fields.strings("tags")),
        base=fields.fraction("importance", 0.5),
        created_at=created,
        recorded_at=source.now,
        last_seen_at=last_seen,
        own_count=fields.count("reinforcement_count", 1, least=1),
        subject_time=_subject_time(source, fields),
        metadata=fields.pairs("metadata"),
        level=fields.choice("level", _LEVELS) or Level.EXPLICIT,
        trust=fields.choice("trust", _TRUST) or Trust.STATED,
        pinned=fields.flag("pinned", default=False),
    )


def _subject_time(source: Source, fields: Fields) -> SubjectTime | None:
    text = fields.optional_text("subject_time")
    if not text:
        return None
    start, dots, end = text.partition("..")
    with source.at(fields.line):
        return SubjectTime.parse(f"{start or '?'}..{end or '?'}" if dots else text)
