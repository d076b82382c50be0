"""What is shown fits, and obeys nobody."""

import pytest
from hypothesis import given, strategies as st

from agentcore.clock import Clock
from agentcore.domain import MemoryEntry, Scope
from agentcore.errors import InvalidContentError, StorageCorruptError
from dream.domain import Deferral, NotUndone, Refusal, Refused, Skip
from dream.interfaces.cli.exit_codes import Exit, exit_code, sentence
from dream.interfaces.cli.render.reasons import explained, refusal_lines, refused_about
from dream.interfaces.cli.render.text import clip, columns, harmless, one_line, wrapped

_BAD = InvalidContentError(field="content", problem="it is blank")
_TEXTS = st.text(st.characters(), max_size=200) | st.text("a 林é\u0301\u200d\x1b\n", max_size=200)


@given(_TEXTS)
def test_one_line_is_printable_and_stable(text: str):
    line = one_line(text)
    assert all(character.isprintable() or character in "\u200c\u200d" for character in line)
    assert "\n" not in line
    assert harmless(line) == line


@given(_TEXTS, st.integers(2, 100))
def test_a_clipped_text_fits(text: str, width: int):
    assert columns(clip(text, width)) <= width


@given(_TEXTS, st.integers(10, 100))
def test_wrapped_lines_fit_and_lose_nothing(text: str, width: int):
    lines = list(wrapped(text, width, first="- ", rest="  "))
    assert all(columns(line) <= width for line in lines)
    assert "".join(line[2:] for line in lines).replace(" ", "") == one_line(text).replace(" ", "")


def test_wide_characters_count_twice_and_marks_not_at_all():
    assert columns("林美玲") == 6
    assert columns("e\u0301") == 1
    assert list(wrapped("林美玲林美玲", 8)) == ["林美玲林", "美玲"]


@pytest.mark.parametrize("code", [*Skip, *Refused, *Deferral, *NotUndone])
def test_each_reason_code_has_words_for_people(code: str):
    assert explained(str(code)) != str(code)


def test_refusals_are_counted_by_code_with_the_first_particulars():
    refused = [Refusal("stale_source", f"entry-{number}") for number in range(5)] + [Refusal("pinned", "p")]
    lines = [line.text for line in refusal_lines(refused, 80, indent="  ")]
    assert lines[:2] == ["  refused  1 change, pinned: a person pinned the record", "           - p"]
    assert "5 changes, stale_source" in lines[2]
    assert [line.strip() for line in lines[-4:]] == ["- entry-0", "- entry-1", "- entry-2", "- and 2 more"]


def test_a_refusal_about_an_entry_shows_what_it_says(scope: Scope, clock: Clock):
    now = clock.now()
    entry = MemoryEntry(
        id="0b1165c938484cf2", scope=scope, content="Ana likes tea.", category="c", created_at=now, recorded_at=now,
        last_seen_at=now,
    )  # fmt: skip
    refused = [Refusal("lost_detail", f"{entry.id}, 1b1165c938484cf2: 1 x name")]
    assert refused_about(refused) == [entry.id, "1b1165c938484cf2"]
    *_, last = refusal_lines(refused, 80, indent="", entries={entry.id: entry})
    assert last.text == '         - "Ana likes tea.", 1b1165c938484cf2: 1 x name'


def test_several_errors_are_one_sentence_with_the_gravest_code():
    group = ExceptionGroup("several", [_BAD, ExceptionGroup("more", [StorageCorruptError(path="x")])])
    assert exit_code(group) is Exit.FAILED
    assert exit_code(ExceptionGroup("one", [_BAD])) is Exit.BAD_INPUT
    assert sentence(group) == "The content cannot be stored: it is blank. (And 1 more.)"


def test_the_unforeseen_is_told_in_one_line_too():
    assert sentence(RuntimeError("a\nb")).startswith("Something unexpected happened (RuntimeError: a b)")
    assert "check the path" in sentence(PermissionError(13, "Permission denied", "/root/x"))
