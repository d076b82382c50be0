"""What is shown fits, and obeys nobody."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcore.errors import InvalidContentError, StorageCorruptError
from dream.domain.proposal import Refusal
from dream.domain.reasons import Deferral, NotUndone, Refused, Skip
from dream.interfaces.cli.faults import Exit, exit_code, sentence
from dream.interfaces.cli.render.reasons import explained, refusal_lines
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
    out = " ".join(line.text.strip() for line in refusal_lines(refused, 80, indent="  "))
    assert "5 changes, stale_source" in out
    assert "(entry-0; entry-1; entry-2; and 2 more)" in out
    assert "1 change, pinned: a person pinned the record (p)" in out


def test_several_errors_are_one_sentence_with_the_gravest_code():
    group = ExceptionGroup("several", [_BAD, ExceptionGroup("more", [StorageCorruptError(path="x")])])
    assert exit_code(group) is Exit.FAILED
    assert exit_code(ExceptionGroup("one", [_BAD])) is Exit.BAD_INPUT
    assert sentence(group) == "The content cannot be stored: it is blank. (And 1 more.)"


def test_the_unforeseen_is_told_in_one_line_too():
    assert sentence(RuntimeError("a\nb")).startswith("Something unexpected happened (RuntimeError: a b)")
    assert "check the path" in sentence(PermissionError(13, "Permission denied", "/root/x"))
