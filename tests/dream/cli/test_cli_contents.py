"""How a diff shows what records say: of long texts what differs, and all of it where a person has to decide."""

from collections.abc import Iterator

from dream.interfaces.cli.render.changes import SHORT, content_lines, difference_lines
from dream.interfaces.cli.render.text import Line

STEPS = "\n".join(f"{place}. Do what step {place} of the long procedure says." for place in range(1, 31))


def told(lines: Iterator[Line]) -> list[str]:
    return [line.text for line in lines]


def test_short_texts_are_shown_both():
    assert told(difference_lines("Ana likes\ntea", "Ana likes rye", 80, "  ", whole=False)) == [
        '  - "Ana likes tea"',
        '  + "Ana likes rye"',
    ]


def test_of_a_long_text_the_lines_that_differ_are_shown_wherever_they_stand():
    changed = STEPS.replace("20. Do what", "20. Ask, then do what") + "\n31. Rest."
    assert told(difference_lines(STEPS, changed, 80, "", whole=False)) == [
        "  (19 lines unchanged)",
        "- 20. Do what step 20 of the long procedure says.",
        "+ 20. Ask, then do what step 20 of the long procedure says.",
        "  (10 lines unchanged)",
        "+ 31. Rest.",
    ]


def test_a_long_line_is_shown_from_where_it_differs():
    line = "word " * 200
    shown = told(difference_lines(f"{line}ends here", f"{line}goes on", 100, "", whole=False))
    assert [text.endswith(end) for text, end in zip(shown, ("ends here", "goes on"), strict=True)] == [True, True]
    assert told(difference_lines(line, f"{line.strip()} and more", 100, "", whole=False))[-1].endswith("and more")


def test_much_that_differs_is_shown_whole_only_where_a_person_has_to_decide():
    other = "\n".join(f"step {place} is another one now, so do that" for place in range(1, 31))
    shown = told(difference_lines(STEPS, other, 80, "", whole=False))
    assert (len(shown), shown[-1]) == (41, "... and 20 more lines")
    assert len(told(difference_lines(STEPS, other, 80, "", whole=True))) == 60
    assert sum(map(len, told(content_lines(STEPS, 80, "", whole=False)))) < 1.1 * SHORT
    assert [line.removeprefix("| ") for line in told(content_lines(STEPS, 80, "", whole=True))] == STEPS.splitlines()
