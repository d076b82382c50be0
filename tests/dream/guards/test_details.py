"""What counts as a detail of a text, and which spellings of it are the same."""

from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from dream.guards import DetailKind, Vocabulary, builtin_vocabulary, details_of


def _keys(text: str, *kinds: DetailKind) -> list[Any]:
    return [item.key for item in details_of(text, builtin_vocabulary()).of(*kinds)]


def _texts(text: str, *kinds: DetailKind) -> list[str]:
    return [item.text for item in details_of(text, builtin_vocabulary()).of(*kinds)]


def test_names_acronyms_numbers_and_dates_are_found():
    found = details_of("In Porto, Ana pays 60 euros to the IRS on 1 May 2025.", builtin_vocabulary())
    assert [(item.kind, item.text) for item in found] == [
        (DetailKind.NAME, "Porto"),
        (DetailKind.NAME, "Ana"),
        (DetailKind.NUMBER, "60 euros"),
        (DetailKind.ACRONYM, "IRS"),
        (DetailKind.DATE, "1 May 2025"),
    ]


def test_a_word_that_opens_a_sentence_is_no_name():
    assert _keys("Deploys run nightly. Meetings are short. However, Ana may be late.", DetailKind.NAME) == ["ana"]


def test_a_load_bearing_generic_word_with_a_capital_inside_a_sentence_stays():
    assert _keys("She reports to the Board about Project Lantern.", DetailKind.NAME) == ["board", "project", "lantern"]


def test_a_word_also_seen_in_lower_case_is_ordinary():
    assert _keys("She reports to the Board; the board meets on Mondays.", DetailKind.NAME) == []


def test_nothing_specific_makes_no_demand():
    assert len(details_of("the tea is warm and the soup is good", builtin_vocabulary())) == 0


def test_single_digits_are_numbers():
    assert _keys("She has 3 cats and two dogs.", DetailKind.NUMBER) == [(("3",), None), (("2",), None)]


@pytest.mark.parametrize(
    "spelling",
    ["2025-05-01", "2025/5/1", "1 May 2025", "May 1st, 2025", "1. Mai 2025", "1 de maio de 2025", "1er mai 2025",
     "1 de mayo de 2025", "01.05.2025", "2025年5月1日"],
)  # fmt: skip
def test_a_date_is_the_same_in_every_spelling(spelling: str):
    assert _keys(f"x {spelling} x", DetailKind.DATE) == [(2025, 5, 1, "")]


def test_a_date_whose_day_and_month_could_be_exchanged_is_equal_to_itself_alone():
    assert _keys("x 01/05/2025 x", DetailKind.DATE) == _keys("x 1/5/2025 x", DetailKind.DATE)
    assert _keys("x 01/05/2025 x", DetailKind.DATE) != _keys("x 1 May 2025 x", DetailKind.DATE)
    assert (
        _keys("x 25/05/2025 x", DetailKind.DATE)
        == _keys("x 05/25/2025 x", DetailKind.DATE)
        == _keys("25 May 2025", DetailKind.DATE)
    )


def test_no_calendar_has_the_thirteenth_month_or_the_thirty_second_day():
    assert _keys("see 2025-13-01 and 32.05.2025", DetailKind.DATE) == []


@pytest.mark.parametrize(
    "spelling", ["2:00 PM", "2 pm", "14:00", "14.00 Uhr", "14 Uhr", "14h00", "下午2点", "下午2:00"]
)
def test_a_time_is_the_same_in_every_spelling(spelling: str):
    assert _keys(spelling, DetailKind.TIME) == [14 * 3600]


def test_a_time_without_a_half_of_the_day_is_not_guessed():
    assert _keys("at 2:00", DetailKind.TIME) == [2 * 3600]


@pytest.mark.parametrize(
    "day", ["Thursday", "Thursdays", "quinta-feira", "Donnerstag", "jueves", "jeudi", "周四", "木曜日", "الخميس"]
)
def test_a_weekday_is_the_same_in_every_language(day: str):
    assert _keys(f"x {day} x", DetailKind.WEEKDAY) == [4]


@pytest.mark.parametrize("spelling", ["1,000", "1000", "1'000", "1\u202f000", "1 000", "1k", "one 1,000.00"])
def test_a_number_is_the_same_in_every_spelling(spelling: str):
    assert _keys(spelling, DetailKind.NUMBER)[-1].values[0] == "1000"


def test_a_lone_full_stop_before_three_digits_has_both_readings():
    assert _keys("1.500", DetailKind.NUMBER)[0].values == ("1500", "1.500")
    assert _keys("1.234.567,80", DetailKind.NUMBER)[0].values == ("1234567.8",)


@pytest.mark.parametrize("spelling", ["€60", "60 €", "60€", "60 euros", "60 EUR", "EUR 60"])
def test_a_currency_is_the_same_before_and_after_its_number(spelling: str):
    assert _keys(f"it costs {spelling} now", DetailKind.NUMBER) == [(("60",), "eur")]


@pytest.mark.parametrize(
    ("text", "kind", "key"),
    [
        ("run `make ship` now", DetailKind.CODE, "make ship"),
        ("see https://Example.org/A, please", DetailKind.URL, "https://example.org/A"),
        ("write to Jo.Lind@halden.example.", DetailKind.EMAIL, "jo.lind@halden.example"),
        ("she said “quiet  Consolidation”", DetailKind.QUOTED, "quiet consolidation"),
        ("「みどり病院」です", DetailKind.QUOTED, "みどり病院"),
        ("server hal-07 is up", DetailKind.IDENTIFIER, "hal07"),
        ("call +44 20 7946 0018 now", DetailKind.IDENTIFIER, "+442079460018"),
        ("edit config.toml first", DetailKind.IDENTIFIER, "config.toml"),
        ("use getUserName here", DetailKind.IDENTIFIER, "getusername"),
        ("look in /srv/backups/", DetailKind.IDENTIFIER, "/srv/backups"),
        ("version 3.4.1 is out", DetailKind.IDENTIFIER, "3.4.1"),
        ("毎日コーヒーを飲む", DetailKind.NAME, "コーヒー"),
        ("昨日田中さんに会った", DetailKind.NAME, "昨日田中"),
    ],
)
def test_literal_details_are_found(text: str, kind: DetailKind, key: str):
    assert _keys(text, kind) == [key]


@pytest.mark.parametrize(
    "text",
    ["Ana does not smoke", "Ana never smokes", "Ana doesn't smoke", "a Ana não fuma", "Ana no fuma en la casa",
     "Ana raucht nicht", "Ana ne fume pas", "Ana non fuma con la famiglia", "安娜不抽烟", "アナは煙草を吸わない",
     "آنا لا تدخن", "Анна не курит"],
)  # fmt: skip
def test_a_negation_is_found_in_every_language(text: str):
    assert len(_texts(text, DetailKind.NEGATION)) == 1


@pytest.mark.parametrize(
    "text",
    ["A Inês mora no Porto e trabalha no hospital", "not only tea", "see no. 5", "她不仅会说法语", "かもしれない"],
)
def test_what_only_looks_like_a_negation_is_none(text: str):
    assert _texts(text, DetailKind.NEGATION) == []


def test_rare_terms_of_a_script_without_capitals_are_found_by_the_index():
    def frequency(term: str) -> int:
        return 900 if term in {"喜欢", "咖啡"} else 1

    assert [item.key for item in details_of("王敏喜欢咖啡", builtin_vocabulary(), frequency).of(DetailKind.RARE)] == [
        "王敏"
    ]
    assert details_of("王敏喜欢咖啡", builtin_vocabulary()).of(DetailKind.RARE) == ()


def test_each_detail_stands_once_in_reading_order():
    assert _texts("Nori saw Miso; Miso saw Nori.", DetailKind.NAME) == ["Nori", "Miso"]


def test_an_extra_common_word_is_no_name_and_an_always_specific_one_is():
    vocabulary = Vocabulary(common_words=frozenset({"board", "sage"}), always_specific=frozenset({"sage", "tea"}))
    assert [item.key for item in details_of("she told the Board and Sage about tea", vocabulary)] == ["sage", "tea"]


@settings(deadline=None)
@given(st.text(max_size=300))
def test_any_text_can_be_read(text: str):
    assert details_of(text, builtin_vocabulary()) == details_of(text, builtin_vocabulary())
