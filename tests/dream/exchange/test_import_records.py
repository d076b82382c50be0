"""Skills, their uses, feedback and wisp runs; and every file of the demo data."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from exchange_desk import Desk

from agentcore.domain import FailureCategory, FeedbackKind, Rating, RecordKind
from dream.errors import InvalidFileError
from dream.interfaces.exchange import Format, SkipReason

EXAMPLES = Path(__file__).parents[3] / "docs" / "examples"
AT = "2025-09-01T08:12:02+01:00"
INSTANT = datetime(2025, 9, 1, 7, 12, 2, tzinfo=UTC)
SKILL = {"name": "mail/tone", "summary": "How mails sound", "content": "# Tone\n", "see_also": ["b", "a", "b"]}
USE = {"skill_name": "mail/tone", "session": "s1", "timestamp": AT}
FEEDBACK = {"session": "s1", "timestamp": AT, "kind": "session_summary", "summary": "Fine", "rating": "good"}
WISP = {
    "wisp_id": "wisp-1",
    "description": "export areas",
    "definition_hash": "abc",
    "succeeded": False,
    "step_count": 3,
    "steps_completed": 1,
    "failed_step_id": "read",
    "failure_category": "structural",
    "duration_ms": 120,
    "session": "s1",
    "timestamp": AT,
}

CALL = {"session": "s1", "tool_name": "mail_search", "succeeded": False, "error_message": "timed out", "timestamp": AT}


@pytest.mark.parametrize(
    ("name", "found", "added"),
    [
        ("conversation.jsonl", Format.CHAT_JSONL, {RecordKind.TURN: 334}),
        ("MEMORY.md", Format.MEMORY_MD, {RecordKind.ENTRY: 127}),
        ("memory.jsonl", Format.MEMORY_JSONL, {RecordKind.ENTRY: 54}),
        ("skills.jsonl", Format.SKILLS, {RecordKind.SKILL: 10}),
        ("skill-uses.jsonl", Format.SKILL_USES, {RecordKind.SKILL_USE: 60}),
        ("feedback.jsonl", Format.FEEDBACK, {RecordKind.FEEDBACK: 32}),
        ("wisp-runs.jsonl", Format.WISP_RUNS, {RecordKind.WISP_RUN: 40}),
    ],
)
async def test_every_file_of_the_demo_data_comes_in_whole_and_only_once(
    desk: Desk, name: str, found: Any, added: dict[RecordKind, int]
) -> None:
    report = await desk.bring(EXAMPLES / name)
    assert (report.format, report.added) == (found, added)
    before = await desk.dump()
    assert (await desk.bring(EXAMPLES / name)).known == added
    assert await desk.dump() == before


async def test_the_sections_of_the_demo_memory_are_its_categories(desk: Desk) -> None:
    await desk.bring(EXAMPLES / "MEMORY.md")
    entries = await desk.entries()
    categories = {entry.category for entry in entries}
    assert len(categories) == 13
    assert {"people/ines", "projects/tram-depot", "Moving-to-Lisbon"} <= categories
    (turntable,) = [entry for entry in entries if "6.4 m across" in entry.content]
    assert turntable.content.endswith('6.4 m across, plate "Fundição do Bolhão 1907".')


async def test_a_skill_keeps_its_name_and_its_neighbours(desk: Desk) -> None:
    await desk.bring(desk.lines("skills.jsonl", {**SKILL, "last_used_at": AT}))
    skill = await desk.storage.read(desk.scope, lambda view: view.skills.named("mail/tone"))
    assert (skill.summary, skill.content, skill.see_also) == ("How mails sound", "# Tone", ("a", "b"))
    assert (skill.created_at, skill.last_used_at) == (desk.clock.now(), INSTANT)


async def test_a_skill_whose_name_is_taken_is_left_out_with_that_reason(desk: Desk) -> None:
    await desk.bring(desk.lines("skills.jsonl", SKILL))
    changed = {**SKILL, "content": "# Another tone\n"}
    new = {**SKILL, "name": "mail/length"}
    report = await desk.bring(desk.lines("skills.jsonl", changed, new, {**new, "content": "x"}))
    assert report.skipped == {RecordKind.SKILL: {SkipReason.NAME_TAKEN: 2}}
    assert report.added == {RecordKind.SKILL: 1}


async def test_signals_keep_what_they_say_and_when(desk: Desk) -> None:
    await desk.bring(desk.lines("uses.jsonl", USE, USE))
    await desk.bring(desk.lines("feedback.jsonl", FEEDBACK))
    await desk.bring(desk.lines("wisps.jsonl", WISP))
    report = await desk.bring(desk.lines("calls.jsonl", CALL, CALL | {"tool_name": "x", "duration_ms": 7}))
    assert (report.format, report.added) == (Format.TOOL_CALLS, {RecordKind.TOOL_CALL: 2})
    uses, feedback, wisps = await desk.storage.read(
        desk.scope,
        lambda view: (view.skill_uses.newest(limit=9), view.feedback.newest(limit=9), view.wisp_runs.newest(limit=9)),
    )
    assert [(use.skill_name, use.session_id, use.occurred_at) for use in uses] == [("mail/tone", "s1", INSTANT)] * 2
    assert [(one.kind, one.rating) for one in feedback] == [(FeedbackKind.SESSION_SUMMARY, Rating.GOOD)]
    assert [(run.failure_category, run.steps_completed) for run in wisps] == [(FailureCategory.STRUCTURAL, 1)]


@pytest.mark.parametrize(
    ("good", "field", "value", "problem"),
    [
        (SKILL, "name", None, "name is missing"),
        (SKILL, "name", "a\nb", "name should be 1 to 256 printable characters"),
        (SKILL, "content", None, "content is missing"),
        (USE, "skill_name", None, "skill_name is missing"),
        (USE, "timestamp", None, "timestamp is missing"),
        (FEEDBACK, "kind", "praise", "kind should be one of correction"),
        (FEEDBACK, "kind", None, "kind is missing"),
        (FEEDBACK, "rating", "superb", "rating should be one of poor"),
        (FEEDBACK, "summary", "", "blank"),
        (WISP, "succeeded", None, "succeeded should be true or false"),
        (WISP, "step_count", -1, "step_count should be a whole number from 0 up"),
        (CALL, "duration_ms", -1, "duration_ms should be a whole number from 0 up"),
        (WISP, "duration_ms", None, "duration_ms should be a whole number"),
        (WISP, "failure_category", "bad luck", "failure_category should be one of structural"),
    ],
)
async def test_a_faulty_line_is_named_by_its_number_and_nothing_is_written(
    desk: Desk, good: dict[str, Any], field: str, value: object, problem: str
) -> None:
    path = desk.lines("records.jsonl", good, {**good, field: value})
    with pytest.raises(InvalidFileError, match=rf"records\.jsonl, line 2: .*{problem}"):
        await desk.bring(path)
    assert (await desk.dump()).count(b"\n") == 2
