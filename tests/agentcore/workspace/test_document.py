"""Documents: read and written back they are the same; an edit touches its item and nothing else."""

import pytest
from hypothesis import given, strategies as st

from agentcore.workspace import Append, Document, EditRefusal, ItemKind, Remove, Replace, lines_of
from tests.agentcore.workspace.shapes import SHAPES


@pytest.mark.parametrize("text", SHAPES.values(), ids=SHAPES)
def test_reading_and_writing_back_is_the_identity(text: str):
    document = Document(text)
    assert document.text == text
    assert document.edited([]).document.text == text
    assert "".join(lines_of(text)) == text


@pytest.mark.parametrize("text", SHAPES.values(), ids=SHAPES)
def test_a_replacement_touches_the_lines_of_its_item_alone(text: str):
    document = Document(text)
    lines = lines_of(text.removeprefix("\ufeff"))
    for item in document.items:
        edited = document.edited([Replace(item.id, "Something else altogether.")])
        if edited.refused:
            assert item.kind is ItemKind.BLOCK or item.prefix is None
            assert edited.document.text == text
            continue
        after = lines_of(edited.document.text.removeprefix("\ufeff"))
        assert after[: item.first_line] == lines[: item.first_line]
        assert after[item.first_line + 1 :] == lines[item.end_line :]
        assert after[item.first_line].startswith(f"{item.prefix}Something else altogether.")


@pytest.mark.parametrize("text", SHAPES.values(), ids=SHAPES)
def test_a_removal_takes_the_lines_of_its_item_alone(text: str):
    document = Document(text)
    lines = lines_of(text.removeprefix("\ufeff"))
    for item in document.items:
        edited = document.edited([Remove(item.id)])
        if edited.refused:
            assert edited.document.text == text
            continue
        after = lines_of(edited.document.text.removeprefix("\ufeff"))
        assert after == lines[: item.first_line] + lines[item.end_line :]


@pytest.mark.parametrize("text", SHAPES.values(), ids=SHAPES)
def test_what_is_added_stands_at_the_end_of_its_section_and_all_else_stays(text: str):
    document = Document(text)
    for section in {section.path for section in document.sections} | {("Brand", "New")}:
        edited = document.edited([Append(section, ("Said later.", "And this."))])
        if edited.refused:
            assert edited.document.text == text
            continue
        assert [item.text for item in edited.document.items if item.section == section][-2:] == [
            "Said later.",
            "And this.",
        ]
        after = edited.document.text
        assert any(after.startswith(text[:at]) and after.endswith(text[at:]) for at in range(len(text) + 1))
        assert [item.text for item in edited.document.items if item.text not in {"Said later.", "And this."}] == [
            item.text for item in document.items
        ]


@pytest.mark.parametrize("name", ["broken", "blank", "empty", "plain", "CRLF", "prose alone", "merge conflict", "CJK"])
def test_a_new_section_can_be_added_to_any_document_that_is_closed(name: str):
    edited = Document(SHAPES[name]).edited([Append(("Dreamed",), ("Ana likes tea.",))])
    if name == "broken":  # Its fence is never closed: whatever follows is code.
        assert edited.refused[0].reason is EditRefusal.NOT_ONE_ITEM
    else:
        assert edited.document.items[-1].section[-1] == "Dreamed"


@pytest.mark.parametrize("text", SHAPES.values(), ids=SHAPES)
def test_an_item_keeps_its_id_while_others_come_and_go(text: str):
    document = Document(text)
    ids = {item.id for item in document.items}
    assert len(ids) == len(document.items)
    for item in document.items:
        edited = document.edited([Remove(item.id)])
        if not edited.refused and "-" not in item.id and f"{item.id}-2" not in ids:
            assert {one.id for one in edited.document.items} == ids - {item.id}


def test_items_that_say_the_same_are_told_apart_and_edited_together():
    document = Document("- a\n- a\n- a\n")
    first, second, third = document.items
    edited = document.edited([Remove(first.id), Replace(second.id, "b"), Remove(third.id)])
    assert (edited.document.text, edited.refused) == ("- b\n", ())


@pytest.mark.parametrize(
    "text",
    ["# A heading", "- a bullet", "1. one", "```", "<!-- a comment", "> quoted", "", "---", "| a |\n|---|\n| b |"],
)
def test_what_would_be_more_or_less_than_one_item_is_refused(text: str):
    document = Document("# Notes\n\n- Ana likes tea.\n- Bo moved.\n")
    edited = document.edited([Replace(document.items[0].id, text)])
    if edited.refused:
        assert edited.refused[0].reason is EditRefusal.NOT_ONE_ITEM
        assert edited.document.text == document.text
    else:
        assert [item.text for item in edited.document.items] == [" ".join(text.split()), "Bo moved."]


def test_each_refusal_has_its_reason():
    document = Document("- parent\n  - child\n\n```\ncode\n```\n")
    parent, child, code = document.items
    edits = [Remove(parent.id), Replace(child.id, "x"), Remove(child.id), Replace(code.id, "y"), Remove("gone")]
    edited = document.edited(edits)
    assert {(refused.edit, refused.reason) for refused in edited.refused} == {
        (edits[0], EditRefusal.HAS_NESTED),
        (edits[1], EditRefusal.TWICE),
        (edits[2], EditRefusal.TWICE),
        (edits[3], EditRefusal.NOT_EDITABLE),
        (edits[4], EditRefusal.NOT_FOUND),
    }
    assert edited.document.text == document.text


def test_what_stands_between_keep_marks_is_known_as_kept():
    kept = {item.text: item.is_kept for item in Document(SHAPES["HTML comments"]).items}
    assert kept["Never remove this."]
    assert not kept["This may go."]


_FRAGMENTS = st.sampled_from(
    [
        "- a",
        "- b c",
        "  - nested",
        "# H",
        "## H2",
        "",
        "text",
        "```",
        "| a |",
        "|---|",
        "> q",
        "1. n",
        "<!-- keep -->",
        "\t- t",
    ]
)
_TEXTS = st.lists(st.tuples(_FRAGMENTS, st.sampled_from(["\n", "\r\n", "\n\n"]))).map(
    lambda parts: "".join(f"{line}{end}" for line, end in parts)
)


@given(text=_TEXTS | st.text(max_size=80), words=st.text(max_size=20), number=st.integers(0, 20))
def test_whatever_stands_there_an_edit_changes_its_item_or_nothing(text: str, words: str, number: int):
    document = Document(text)
    assert document.text == text
    edits = [Append((), (words,)), *[Replace(item.id, words) for item in document.items[number : number + 1]]]
    for edit in edits:
        edited = document.edited([edit])
        if edited.refused:
            assert edited.document.text == text
            continue
        others = [item.text for item in document.items if isinstance(edit, Append) or item.id != edit.item_id]
        now = [item.text for item in edited.document.items]
        now.remove(" ".join(words.split()))
        assert sorted(now) == sorted(others)
