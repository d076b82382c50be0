"""Parses records that stand as one JSON object on each line.

Memories, skills, their uses, feedback, wisp runs and tool calls, as in `docs/examples`. Fields are named as in the
records, save that `session` stands for the session, `timestamp` for the instant of a signal and `importance` for the
base as of `last_seen_at`. Signals say when they happened; a skill that does not say when it was written was written
now. Of a memory all but `content` may be missing:

    {"content": "...", "category": "people/ana", "tags": [], "importance": 0.5, "created_at": "2025-05-01T10:00:00Z",
     "last_seen_at": "2025-06-01T10:00:00Z", "reinforcement_count": 2, "subject_time": "2014..2016", "trust": "stated",
     "pinned": false, "metadata": {}}

An open end of a subject time may be left blank (`2014..`).
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime

import orjson

from agentcore.domain.memory import CONCLUSIONS, Level, MemoryEntry, Trust
from agentcore.domain.records import Record
from agentcore.domain.signals import FailureCategory, Feedback, FeedbackKind, Rating, ToolCall, WispRun
from agentcore.domain.skill import Skill, SkillUse
from agentcore.domain.subject_time import SubjectTime
from agentcore.domain.text import clean_category, clean_tags
from dream.interfaces.exchange.files import Fields, SourceFile
from dream.interfaces.exchange.items import UNNAMED, ImportItem, SourceKeys, UnknownField

_TRUST = {trust.name.lower(): trust for trust in Trust}
_KINDS = {kind.value: kind for kind in FeedbackKind}
_RATINGS = {rating.value: rating for rating in Rating}
_FAILURES = {category.value: category for category in FailureCategory}


def parse_skills(source: SourceFile) -> Iterator[ImportItem | UnknownField]:
    """Yield the lines as skills; InvalidFileError if one is none."""
    return _items(source, "skills", _skill)


def parse_skill_uses(source: SourceFile) -> Iterator[ImportItem | UnknownField]:
    """Yield the lines as uses of skills; InvalidFileError if one is none."""
    return _items(source, "skill-uses", _skill_use)


def parse_feedback(source: SourceFile) -> Iterator[ImportItem | UnknownField]:
    """Yield the lines as feedback; InvalidFileError if one is none."""
    return _items(source, "feedback", _feedback)


def parse_wisp_runs(source: SourceFile) -> Iterator[ImportItem | UnknownField]:
    """Yield the lines as wisp runs; InvalidFileError if one is none."""
    return _items(source, "wisp-runs", _wisp_run)


def parse_tool_calls(source: SourceFile) -> Iterator[ImportItem | UnknownField]:
    """Yield the lines as tool calls; InvalidFileError if one is none."""
    return _items(source, "tool-calls", _tool_call)


def _items(
    source: SourceFile, name: str, build: Callable[[SourceFile, Fields], Record]
) -> Iterator[ImportItem | UnknownField]:
    keys = SourceKeys(name)
    for line, values in source.objects():
        fields = Fields(source, line, values)
        record = build(source, fields)
        yield ImportItem(record=record, source_key=keys.new(*_identity(record, values)), line=line)
        yield from fields.unknown()


def _identity(record: Record, values: Mapping[str, object]) -> tuple[str, ...]:
    if isinstance(record, Skill):
        return (record.name, record.content)
    return (orjson.dumps(values, option=orjson.OPT_SORT_KEYS).decode(),)


def _skill(source: SourceFile, fields: Fields) -> Skill:
    return Skill(
        id=UNNAMED,
        scope=source.scope,
        name=fields.name("name"),
        summary=fields.optional_text("summary") or "",
        content=fields.content("content"),
        created_at=fields.instant("created_at") or source.now,
        updated_at=fields.instant("updated_at"),
        last_used_at=fields.instant("last_used_at"),
        see_also=tuple(sorted(set(fields.strings("see_also")))),
        trust=fields.required_choice("trust", _TRUST, Trust.STATED),
    )


def _skill_use(source: SourceFile, fields: Fields) -> SkillUse:
    return SkillUse(
        id=UNNAMED,
        scope=source.scope,
        skill_name=fields.name("skill_name"),
        session_id=fields.name("session"),
        occurred_at=_instant(fields),
        recorded_at=source.now,
    )


def _feedback(source: SourceFile, fields: Fields) -> Feedback:
    return Feedback(
        id=UNNAMED,
        scope=source.scope,
        session_id=fields.name("session"),
        kind=fields.required_choice("kind", _KINDS),
        summary=fields.content("summary"),
        detail=fields.optional_text("detail"),
        rating=fields.choice("rating", _RATINGS),
        occurred_at=_instant(fields),
        recorded_at=source.now,
    )


def _wisp_run(source: SourceFile, fields: Fields) -> WispRun:
    return WispRun(
        id=UNNAMED,
        scope=source.scope,
        wisp_id=fields.name("wisp_id"),
        description=fields.content("description"),
        definition_hash=fields.name("definition_hash"),
        shape_hash=fields.optional_name("shape_hash"),
        succeeded=fields.flag("succeeded"),
        step_count=fields.count("step_count"),
        steps_completed=fields.count("steps_completed"),
        failed_step_id=fields.optional_name("failed_step_id"),
        failure_category=fields.choice("failure_category", _FAILURES),
        error_message=fields.optional_text("error_message"),
        failed_tool_name=fields.optional_name("failed_tool_name"),
        duration_ms=fields.count("duration_ms"),
        session_id=fields.optional_name("session"),
        retry_of=fields.optional_name("retry_of"),
        batch_id=fields.optional_name("batch_id"),
        definition_body=fields.optional_text("definition_body"),
        occurred_at=_instant(fields),
        recorded_at=source.now,
    )


def _tool_call(source: SourceFile, fields: Fields) -> ToolCall:
    return ToolCall(
        id=UNNAMED,
        scope=source.scope,
        session_id=fields.name("session"),
        tool_name=fields.name("tool_name"),
        succeeded=fields.flag("succeeded"),
        arguments=fields.optional_text("arguments"),
        error_message=fields.optional_text("error_message"),
        duration_ms=fields.optional_count("duration_ms"),
        occurred_at=_instant(fields),
        recorded_at=source.now,
    )


def _instant(fields: Fields) -> datetime:
    return fields.required_instant("timestamp")


_LEVELS = {level.value: level for level in Level if level not in CONCLUSIONS}
"""A conclusion has premises, which no line of such a file can name."""


def parse_memory_jsonl(source: SourceFile) -> Iterator[ImportItem | UnknownField]:
    """Yield the lines as entries.

    Raises:
        InvalidFileError: a line is no entry.
    """
    keys = SourceKeys("memory-jsonl")
    for line, values in source.objects():
        fields = Fields(source, line, values)
        entry = _memory(source, fields)
        created = values.get("created_at")
        key = keys.new(entry.category, entry.content, str(created), str(entry.subject_time))
        yield ImportItem(record=entry, source_key=key, line=line)
        yield from fields.unknown()


def _memory(source: SourceFile, fields: Fields) -> MemoryEntry:
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
        level=fields.required_choice("level", _LEVELS, Level.EXPLICIT),
        trust=fields.required_choice("trust", _TRUST, Trust.STATED),
        pinned=fields.flag("pinned", default=False),
    )


def _subject_time(source: SourceFile, fields: Fields) -> SubjectTime | None:
    text = fields.optional_text("subject_time")
    if not text:
        return None
    start, dots, end = text.partition("..")
    with source.at(fields.line):
        return SubjectTime.parse(f"{start or '?'}..{end or '?'}" if dots else text)
