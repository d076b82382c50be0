"""What relative dates mean, said on Saturday, 14 June 2025."""

from datetime import date

import pytest
from hypothesis import given, strategies as st

from dream.guards import nearest_years, relative_dates

SATURDAY = date(2025, 6, 14)

READ = [
    ("I moved in today.", "2025-06-14"),
    ("We met yesterday", "2025-06-13"),
    ("We met the day before yesterday", "2025-06-12"),
    ("The flight is tomorrow.", "2025-06-15"),
    ("The flight is the day after tomorrow.", "2025-06-16"),
    ("She called last night", "2025-06-13"),
    ("I saw Rui last Tuesday.", "2025-06-10"),
    ("I saw Rui last Saturday.", "2025-06-07"),
    ("We fly next Monday", "2025-06-16"),
    ("this Sunday we rest", "2025-06-15"),
    ("We moved last week", "2025-06-02..2025-06-08"),
    ("I am away next week", "2025-06-16..2025-06-22"),
    ("busy this week", "2025-06-09..2025-06-15"),
    ("We hiked last weekend", "2025-06-07..2025-06-08"),
    ("We hike this weekend", "2025-06-14..2025-06-15"),
    ("It broke last month", "2025-05"),
    ("Due next month", "2025-07"),
    ("We married last year", "2024"),
    ("next  year we retire", "2026"),
    ("two days ago", "2025-06-12"),
    ("a week ago", "2025-06-02..2025-06-08"),
    ("a couple of months ago", "2025-04"),
    ("10 years ago", "2015"),
    ("three days from now", "2025-06-17"),
    ("last May she left", "2025-05"),
    ("last August she left", "2024-08"),
    ("next January she starts", "2026-01"),
    ("Ich bin gestern umgezogen", "2025-06-13"),
    ("Das war vorgestern", "2025-06-12"),
    ("Wir fliegen übermorgen", "2025-06-16"),
    ("Ich fliege morgen nach Rom", "2025-06-15"),
    ("Das war letzten Dienstag", "2025-06-10"),
    ("vor zwei Wochen", "2025-05-26..2025-06-01"),
    ("vor 3 Jahren", "2022"),
    ("nächsten Monat ziehe ich um", "2025-07"),
    ("Hier, j'ai adopté un chien avec ma fille", "2025-06-13"),
    ("J'y vais après-demain", "2025-06-16"),
    ("il y a deux ans", "2023"),
    ("mardi dernier", "2025-06-10"),
    ("la semaine prochaine", "2025-06-16..2025-06-22"),
    ("l\u2019année dernière", "2024"),
    ("Ayer compré un coche", "2025-06-13"),
    ("hace tres días", "2025-06-11"),
    ("el martes pasado", "2025-06-10"),
    ("el año que viene", "2026"),
    ("Mañana vuelo a Roma", "2025-06-15"),
    ("Ontem comprei um carro", "2025-06-13"),
    ("há dois meses", "2025-04"),
    ("no mês passado", "2025-05"),
    ("depois de amanhã", "2025-06-16"),
    ("daqui a 2 semanas", "2025-06-23..2025-06-29"),
    ("terça-feira passada", "2025-06-10"),
]


@pytest.mark.parametrize(("text", "expected"), READ, ids=[text for text, _ in READ])
def test_a_relative_date_is_resolved_by_the_day_it_was_said(text: str, expected: str):
    (mention,) = relative_dates(text, SATURDAY)
    assert str(mention.readings[0]) == expected


@pytest.mark.parametrize(
    "text",
    [
        "I like tea.",
        "the last day of the journey",
        "On 3 May 2025 we met",
        "Guten Morgen, wie geht es dir und der Familie?",
        "Trabajo por la mañana en el puerto",
        "hier wohne ich mit der Familie",
        "The weeks pass",
        "yesterdays",
        "on the 42nd floor",
        "am 12:30 Uhr",
        "1234 years ago",
    ],
)
def test_other_words_are_no_dates(text: str):
    assert relative_dates(text, SATURDAY) == ()


@pytest.mark.parametrize(
    ("text", "said_on", "readings"),
    [
        # On a Thursday people differ about "last Tuesday" and "next Friday".
        ("last Tuesday", date(2025, 6, 12), {"2025-06-10", "2025-06-03"}),
        ("next Friday", date(2025, 6, 11), {"2025-06-13", "2025-06-20"}),
        ("on Friday", date(2025, 6, 14), {"2025-06-13", "2025-06-20"}),
        ("this Friday", date(2025, 6, 14), {"2025-06-20", "2025-06-13"}),
        ("on Saturday", date(2025, 6, 14), {"2025-06-14"}),
        ("by the 20th", date(2025, 6, 14), {"2025-06-20", "2025-07-20", "2025-05-20"}),
        ("no dia 31", date(2025, 6, 14), {"2025-07-31", "2025-05-31"}),
        ("last May", date(2025, 6, 14), {"2025-05", "2024-05"}),
        ("two weeks ago", date(2025, 6, 14), {"2025-05-26..2025-06-01", "2025-05-31"}),
    ],
)
def test_an_ambiguous_date_has_several_readings(text: str, said_on: date, readings: set[str]):
    (mention,) = relative_dates(text, said_on)
    assert {str(one) for one in mention.readings} == readings


@pytest.mark.parametrize(
    ("text", "sure"), [("last Tuesday", True), ("next Friday", True), ("on Friday", False), ("in two weeks", False)]
)
def test_what_can_be_meant_otherwise_is_not_sure(text: str, sure: bool):
    assert [one.sure for one in relative_dates(text, SATURDAY)] == [sure]


def test_several_dates_are_all_found():
    found = relative_dates("Yesterday we said we would leave next week, not last Monday.", SATURDAY)
    assert {one.phrase for one in found} == {"yesterday", "next week", "last monday"}


@pytest.mark.parametrize("said_on", [date.min, date.max])
@pytest.mark.parametrize("text", ["yesterday and tomorrow", "last week, next week", "900 years ago, in 900 years"])
def test_beyond_the_calendar_there_is_nothing(text: str, said_on: date):
    assert len(relative_dates(text, said_on)) <= 1


@pytest.mark.parametrize(
    ("month", "day", "said_on", "expected"),
    [
        (5, 3, SATURDAY, ["2025-05-03"]),
        (12, 20, date(2025, 1, 10), ["2025-12-20", "2024-12-20"]),
        (1, None, date(2025, 12, 30), ["2025-01", "2026-01"]),
        (2, 29, SATURDAY, ["2024-02-29"]),
        (2, 30, SATURDAY, []),
    ],
)
def test_a_date_without_a_year_is_near_the_day_it_was_said(
    month: int, day: int | None, said_on: date, expected: list[str]
):
    assert [str(one) for one in nearest_years(month, day, said_on)] == expected


@given(st.text(max_size=200), st.dates())
def test_any_text_on_any_day_is_read(text: str, said_on: date):
    for mention in relative_dates(f"yesterday {text} 3 weeks ago", said_on):
        assert mention.readings
