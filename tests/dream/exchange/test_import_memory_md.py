"""MEMORY.md: sections become categories, bullets become entries."""

import pytest
from exchange_desk import Desk

from agentcore.domain import Level, RecordKind, Trust
from dream.errors import InvalidFileError
from dream.interfaces.exchange import SkipReason


async def filed(desk: Desk, text: str) -> list[tuple[str, str]]:
    await desk.bring(desk.file("MEMORY.md", text))
    return [(entry.category, entry.content) for entry in await desk.entries()]


async def test_a_bullet_is_filed_under_its_section(desk: Desk) -> None:
    text = "# Health\n\n- Allergic to ibuprofen.\n\n# Money and invoices\n* 65 euros an hour\n1. first\n2. second\n"
    assert await filed(desk, text) == [
        ("Health", "Allergic to ibuprofen."),
        ("Money-and-invoices", "65 euros an hour"),
        ("Money-and-invoices", "first"),
        ("Money-and-invoices", "second"),
    ]


async def test_an_entry_dates_from_the_import_since_the_file_names_no_date(desk: Desk) -> None:
    await desk.bring(desk.file("MEMORY.md", "- Likes tea."))
    (entry,) = await desk.entries()
    assert {entry.created_at, entry.last_seen_at, entry.recorded_at} == {desk.clock.now()}
    assert (entry.level, entry.trust, entry.category) == (Level.EXPLICIT, Trust.STATED, "general")


async def test_nested_headings_are_joined_and_a_single_title_names_no_category(desk: Desk) -> None:
    text = "# Memory\n- loose\n## people/ana\n- a\n### Work\n- b\n## Travel\n- c\n"
    assert await filed(desk, text) == [
        ("general", "loose"),
        ("people/ana", "a"),
        ("people/ana/Work", "b"),
        ("Travel", "c"),
    ]


async def test_a_single_heading_is_a_section_and_no_title(desk: Desk) -> None:
    assert await filed(desk, "# Preferences\n- tea\n") == [("Preferences", "tea")]


async def test_of_several_first_level_headings_none_is_a_title(desk: Desk) -> None:
    assert await filed(desk, "# A\n- a\n## B\n- b\n# C\n- c\n") == [("A", "a"), ("A/B", "b"), ("C", "c")]


async def test_a_heading_is_read_without_its_markup(desk: Desk) -> None:
    assert await filed(desk, "## **Tools** and `files` [here](http://x)\n- a\n") == [("Tools-and-files-here", "a")]


async def test_underlined_headings_are_headings(desk: Desk) -> None:
    assert await filed(desk, "Health\n======\n- a\n\nMoney\n======\n- b\n") == [("Health", "a"), ("Money", "b")]


async def test_a_bullet_keeps_its_lines_its_paragraphs_and_its_markup(desk: Desk) -> None:
    text = "- Found in bay 3; 6.4 m across,\n  plate `Fundição` and *more*.\n\n  Second  paragraph.\n- [ ] open task\n"
    assert [content for _, content in await filed(desk, text)] == [
        "Found in bay 3; 6.4 m across, plate `Fundição` and *more*. Second  paragraph.",
        "[ ] open task",
    ]


async def test_a_nested_bullet_carries_the_text_of_its_parents(desk: Desk) -> None:
    text = "- Physio:\n  - Tuesdays 18:00\n  - Carla\n    - speaks German\n- Piano.\n  - Tuesdays 18:00\n"
    assert [content for _, content in await filed(desk, text)] == [
        "Physio: Tuesdays 18:00",
        "Physio: Carla",
        "Physio: Carla: speaks German",
        "Piano.",
        "Piano.: Tuesdays 18:00",
    ]


async def test_what_is_no_bullet_is_counted_by_kind_and_left_out(desk: Desk) -> None:
    text = (
        "---\nowner: ana\n---\nA word before.\n\n- kept <!-- seen --> and dated\n  ```\n  code\n  ```\n"
        "- Lead:\n  - below\n-\n\n> - quoted\n\n<!-- keep -->\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n"
        "```\n- not a bullet\n```\n\n    indented\n"
    )
    report = await desk.bring(desk.file("MEMORY.md", text))
    assert await desk.contents() == ["kept  and dated", "Lead: below"]
    assert report.skipped == {
        RecordKind.ENTRY: {
            SkipReason.FRONT_MATTER: 1,
            SkipReason.PROSE: 1,
            SkipReason.CODE_BLOCK: 3,
            SkipReason.LEAD_IN: 1,
            SkipReason.NO_TEXT: 1,
            SkipReason.QUOTE: 1,
            SkipReason.HTML: 1,
            SkipReason.TABLE: 1,
        },
    }


async def test_a_bullet_below_deep_nesting_is_not_lost(desk: Desk) -> None:
    text = "".join(f"{'  ' * depth}- level {depth}\n" for depth in range(30))
    assert len(await filed(desk, text)) == 30


async def test_equal_bullets_all_come_in_and_none_comes_twice(desk: Desk) -> None:
    path = desk.file("MEMORY.md", "- tea\n- tea\n# B\n- tea\n")
    assert (await desk.bring(path)).added == {RecordKind.ENTRY: 3}
    assert (await desk.bring(path)).known == {RecordKind.ENTRY: 3}


async def test_an_edited_file_adds_its_new_bullets_only(desk: Desk) -> None:
    await desk.bring(desk.file("MEMORY.md", "# A\n- tea\n- milk\n"))
    report = await desk.bring(desk.file("MEMORY.md", "# A\n- sugar\n- milk\n- tea\n"))
    assert report.added == {RecordKind.ENTRY: 1}


@pytest.mark.parametrize("end", ["\r\n", "\r"])
async def test_line_ends_of_other_systems_change_nothing(desk: Desk, end: str) -> None:
    assert await filed(desk, f"# A{end}- tea{end}  green{end}- milk{end}") == [("A", "tea green"), ("A", "milk")]


async def test_an_unusual_line_separator_does_not_cut_a_bullet(desk: Desk) -> None:
    assert [content for _, content in await filed(desk, "- one\u2028two\n")] == ["one\u2028two"]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"# A\n- caf\xe9\n", r"line 2: it is not UTF-8"),
        (b"# A\n- a\0b\n", r"line 2: it is a binary file"),
        (f"---\na: b\n---\n- a\n- {'x' * 100_001}\n".encode(), r"line 5: .*100,001 characters"),
        (b" \n\n", r"MEMORY\.md: it is empty"),
    ],
)
async def test_a_faulty_file_is_refused_with_its_line_and_writes_nothing(
    desk: Desk, content: bytes, problem: str
) -> None:
    path = desk.file("MEMORY.md", content)
    with pytest.raises(InvalidFileError, match=problem):
        await desk.bring(path)
    assert await desk.entries() == []
