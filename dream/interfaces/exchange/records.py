"""Skills, their uses, feedback, wisp runs and tool calls: one JSON object per line, as in `docs/examples`.

Fields are named as in the records, save that `session` stands for the session and `timestamp` for the instant. Signals
say when they happened; a skill that does not say when it was written was written now.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime

import orjson

from agentcore.domain.memory import Trust
from agentcore.domain.records import Record
from agentcore.domain.signals import FailureCategory, Feedback, FeedbackKind, Rating, ToolCall, WispRun
from agentcore.domain.skill import Skill, SkillUse
from dream.interfaces.exchange.fields import Fields
from dream.interfaces.exchange.items import UNNAMED, Item, SourceKeys
from dream.interfaces.exchange.source import Source

_TRUST = {trust.name.lower(): trust for trust in Trust}
_KINDS = {kind.value: kind for kind in FeedbackKind}
_RATINGS = {rating.value: rating for rating in Rating}
_FAILURES = {category.value: category for category in FailureCategory}


def parse_skills(source: Source) -> Iterator[Item]:
    """Yield the lines as skills; InvalidFileError if one is none."""
    return _items(source, "skills", _skill)


def parse_skill_uses(source: Source) -> Iterator[Item]:
    """Yield the lines as uses of skills; InvalidFileError if one is none."""
    return _items(source, "skill-uses", _skill_use)


def parse_feedback(source: Source) -> Iterator[Item]:
    """Yield the lines as feedback; InvalidFileError if one is none."""
    return _items(source, "feedback", _feedback)


def parse_wisp_runs(source: Source) -> Iterator[Item]:
    """Yield the lines as wisp runs; InvalidFileError if one is none."""
    return _items(source, "wisp-runs", _wisp_run)


def parse_tool_calls(source: Source) -> Iterator[Item]:
    """Yield the lines as tool calls; InvalidFileError if one is none."""
    return _items(source, "tool-calls", _tool_call)


def _items(source: Source, name: str, build: Callable[[Source, Fields], Record]) -> Iterator[Item]:
    keys = SourceKeys(name)
    for line, values in source.objects():
        record = build(source, Fields(source, line, values))
        yield Item(record=record, source_key=keys.new(*_identity(record, values)), line=line)


def _identity(record: Record, values: Mapping[str, object]) -> tuple[str, ...]:
    if isinstance(record, Skill):
        return (record.name, record.content)
    return (orjson.dumps(values, option=orjson.OPT_SORT_KEYS).decode(),)


def _skill(source: Source, fields: Fields) -> Skill:
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
        trust=fields.choice("trust", _TRUST) or Trust.STATED,
    )


def _skill_use(source: Source, fields: Fields) -> SkillUse:
    return SkillUse(
        id=UNNAMED,
        scope=source.scope,
        skill_name=fields.name("skill_name"),
        session_id=fields.name("session"),
        occurred_at=_instant(fields),
        recorded_at=source.now,
    )


def _feedback(source: Source, fields: Fields) -> Feedback:
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


def _wisp_run(source: Source, fields: Fields) -> WispRun:
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


def _tool_call(source: Source, fields: Fields) -> ToolCall:
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
