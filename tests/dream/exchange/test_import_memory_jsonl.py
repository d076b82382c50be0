"""Memory JSONL: dated entries."""

from datetime import UTC, datetime

import pytest
from exchange_desk import Desk

from agentcore.domain import Level, RecordKind, SubjectTime, Trust
from dream.errors import InvalidFileError
from dream.interfaces.exchange import Format


async def test_every_field_of_a_line_reaches_the_entry(desk: Desk) -> None:
    line = {
        "content": " Ana moved to Lisbon. ",
        "category": "people / ana",
        "tags": ["home", "ana", "home"],
        "importance": 0.95,
        "created_at": "2024-06-02T12:00:00+01:00",
        "last_seen_at": "2024-08-15T09:30:00Z",
        "reinforcement_count": 3,
        "subject_time": "2024-05",
        "trust": "confirmed",
        "pinned": True,
        "metadata": {"requires_user_permission": "true"},
        "level": "derived",
    }
    await desk.bring(desk.lines("memory.jsonl", line))
    (entry,) = await desk.entries()
    assert (entry.content, entry.category, entry.tags) == ("Ana moved to Lisbon.", "people/ana", ("ana", "home"))
    assert (entry.base, entry.reinforcement_count, entry.pinned) == (0.95, 3, True)
    assert (entry.created_at, entry.last_seen_at, entry.recorded_at) == (
        datetime(2024, 6, 2, 11, tzinfo=UTC),
        datetime(2024, 8, 15, 9, 30, tzinfo=UTC),
        desk.clock.now(),
    )
    assert (entry.subject_time, entry.trust, entry.level) == (
        SubjectTime.parse("2024-05"),
        Trust.CONFIRMED,
        Level.DERIVED,
    )
    assert entry.metadata == {"requires_user_permission": "true"}


async def test_content_alone_is_enough(desk: Desk) -> None:
    await desk.bring(desk.lines("memory.jsonl", {"content": "Ana likes tea."}))
    (entry,) = await desk.entries()
    assert (entry.category, entry.base, entry.own_count, entry.trust) == ("general", 0.5, 1, Trust.STATED)
    assert {entry.created_at, entry.last_seen_at} == {desk.clock.now()}


@pytest.mark.parametrize("trust", Trust)
async def test_how_far_a_line_is_trusted_stands_as_the_file_says(desk: Desk, trust: Trust) -> None:
    told = {"content": "Ana likes tea.", "trust": trust.name.lower()}
    await desk.bring(desk.lines("memory.jsonl", told))
    await desk.bring(desk.lines("skills.jsonl", {**told, "name": "tea"}), file_format=Format.SKILLS)
    (entry,) = await desk.entries()
    skill = await desk.storage.read(desk.scope, lambda view: view.skills.named("tea"))
    assert (entry.trust, skill.trust) == (trust, trust)


@pytest.mark.parametrize(("given", "read"), [("2014..", "2014..?"), ("..2014", "?..2014"), ("2014", "2014")])
async def test_an_open_end_of_a_subject_time_may_be_left_blank(desk: Desk, given: str, read: str) -> None:
    await desk.bring(desk.lines("memory.jsonl", {"content": "a", "subject_time": given}))
    (entry,) = await desk.entries()
    assert str(entry.subject_time) == read


async def test_equal_lines_all_come_in_and_none_comes_twice(desk: Desk) -> None:
    path = desk.lines("memory.jsonl", {"content": "a"}, {"content": "a"})
    assert (await desk.bring(path)).added == {RecordKind.ENTRY: 2}
    assert (await desk.bring(path)).known == {RecordKind.ENTRY: 2}


LONG = "Ana likes green tea with lemon and honey from her neighbour's hives in Porto"
"""Long enough for its hash to be kept, so that it is known in another file too."""


async def test_a_text_that_a_person_asked_to_forget_does_not_come_back(desk: Desk) -> None:
    path = desk.lines("memory.jsonl", {"content": f"{LONG}."}, {"content": "Ana likes milk."})
    await desk.bring(path)
    tea, _ = await desk.entries()
    await desk.storage.write(desk.scope, lambda unit: unit.forget(tea.id))
    report = await desk.bring(path)
    assert report.document()["skipped"] == {"entry": {"forgotten": 1}}
    assert report.document()["known"] == {"entry": 1}
    other = await desk.bring(desk.file("MEMORY.md", f"- {LONG.upper()}\n"))
    assert other.document()["skipped"] == {"entry": {"forgotten": 1}}
    said = await desk.bring(desk.lines("log.jsonl", {"role": "user", "content": LONG}))
    assert said.document()["skipped"] == {"turn": {"forgotten": 1}}
    assert await desk.contents() == ["Ana likes milk."]


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [
        ("content", 5, "it is int, not text"),
        ("content", " ", "blank"),
        ("content", "x" * 100_001, "100,001 characters"),
        ("category", 5, "category should be a text"),
        ("tags", "home", "tags should be a list of texts"),
        ("tags", [1], "tags should be a list of texts"),
        ("importance", 1.5, "importance should be a number from 0 to 1"),
        ("importance", True, "importance should be a number from 0 to 1"),
        ("created_at", 1e300, "seconds since 1970"),
        ("created_at", [], "created_at should be an instant"),
        ("last_seen_at", "2020-01-01", "last_seen_at should be no earlier than created_at"),
        ("reinforcement_count", 0, "reinforcement_count should be a whole number from 1 up"),
        ("reinforcement_count", 1.0, "reinforcement_count should be a whole number"),
        ("subject_time", "soon", "'soon' is not a subject time"),
        ("subject_time", "..", "is not a subject time"),
        ("trust", "great", "trust should be one of untrusted, inferred, stated, confirmed"),
        ("pinned", "yes", "pinned should be true or false"),
        ("metadata", {"a": 1}, "metadata should be an object whose values are texts"),
        ("metadata", [], "metadata should be an object"),
        ("level", "guess", "level should be one of explicit, derived"),
    ],
)
async def test_a_faulty_field_is_named_with_its_line_and_nothing_is_written(
    desk: Desk, field: str, value: object, problem: str
) -> None:
    good = {"content": "a", "created_at": "2025-01-01T00:00:00Z"}
    path = desk.lines("memory.jsonl", good, {**good, field: value})
    with pytest.raises(InvalidFileError, match=rf"memory\.jsonl, line 2: .*{problem}"):
        await desk.bring(path)
    assert await desk.entries() == []
