"""The rule by which a text tells an answer: words, values, dates in any spelling, and what it cannot judge."""

import pytest

from dream.interfaces.benchmark import AnswerKey, Unjudged


def key(question: str, answer: str, *evidence: str) -> AnswerKey:
    found = AnswerKey.of(question, answer, evidence)
    assert isinstance(found, AnswerKey), found
    return found


FERRY = key("When did Ines book the ferry?", "7 May 2024", "[8 May 2024] Ines: I booked the ferry yesterday.")
PRICE = key("What did the ferry cost?", "84 pounds", "[8 May 2024] Ines: The ferry cost 84 pounds.")
BREAD = key("What does Rui bake?", "rye bread with walnuts", "[3 March 2024] Ines: Rui bakes rye bread with walnuts.")


@pytest.mark.parametrize(
    "text",
    [
        "- [8 May 2024] Ines: I booked the ferry yesterday.",
        "- Ines booked the ferry on 2024-05-07. (travel; seen 2024-05-08)",
        "- Ines said: I booked the ferry yesterday (travel; seen 2024-05-08)",
        "- Booked on May 7th: the ferry of Ines. (travel; seen 2024-05-20)",
        "- [7 May 2024] Ines: Just booked the ferry!",
    ],
)
def test_a_date_is_told_in_any_spelling_and_relative_to_its_line(text: str):
    assert FERRY.is_told_by(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "- Ines booked the ferry. (travel; seen 2024-05-20)",
        "- [20 May 2024] Ines: I booked the ferry yesterday.",
        "- Ines booked the ferry in 2024. (travel; seen 2024-05-20)",
        "- Ines booked the ferry. (travel; seen 2024-05-20)\n- It rained on 7 May 2024. (weather; seen 2024-05-20)",
    ],
)
def test_a_vaguer_date_another_one_and_one_of_another_line_tell_nothing(text: str):
    assert not FERRY.is_told_by(text)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("The ferry cost eighty-four pounds.", True),
        ("Ines paid 84 for the ferry, which was what it cost.", True),
        ("The ferry cost 48 pounds.", False),
        ("The ferry cost much.", False),
    ],
)
def test_a_number_is_told_in_digits_or_words(text: str, told: bool):
    assert PRICE.is_told_by(text) is told


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Rui baked a walnut bread, with rye.", True),
        ("Rui bakes rye bread.", False),
        ("Rui bakes bread.", False),
        ("Rui!", False),
    ],
)
def test_of_three_words_all_must_be_told_in_any_form(text: str, told: bool):
    assert BREAD.is_told_by(text) is told


def test_words_may_be_told_by_several_lines():
    assert BREAD.is_told_by("Rui bakes rye bread.\nNo walnuts for Paul.")


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (None, Unjudged.NO_ANSWER),
        (" ".join(f"part{number}" for number in range(20)), Unjudged.LONG),
        ("Probably not", Unjudged.OTHER_WORDS),
        ("six weeks", Unjudged.OTHER_WORDS),
        ("Yes", Unjudged.OTHER_WORDS),
    ],
)
def test_what_the_evidence_does_not_tell_by_the_rule_is_not_judged(answer: str | None, reason: Unjudged):
    assert AnswerKey.of("How long did it rain?", answer, ["[3 March 2024] Ines: Rain from 3 to 15 May."]) is reason


def test_of_a_computed_answer_what_stands_in_parentheses_is_looked_for():
    rain = key("How long did it rain?", "12 days (from 3 May to 15 May)", "[16 May 2024] Ines: Rain 3 May to 15 May!")
    assert rain.is_told_by("Rain fell from May 3rd until May 15th. (weather; seen 2024-05-16)")
    assert not rain.is_told_by("Rain fell until May 15th. (weather; seen 2024-05-16)")


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("The week before 9 June 2023", "[9 June 2023] Ana: We met last week."),
        ("The Friday before 24June, 2022.", "[24 June 2022] Ana: We met last Friday."),
        ("2022", "[13 October 2023] Ana: We met last year."),
        ("Since 2016", "[13 October 2023] Ana: We met seven years ago."),
    ],
)
def test_a_stretch_of_time_is_told_by_a_relative_date(answer: str, said: str):
    assert key("When did Ana and Rui meet?", answer, said).is_told_by(f"- {said}")
