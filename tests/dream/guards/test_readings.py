"""What honest texts hold is read in whatever spelling, and a single wrong value is still found."""

from functools import cache

import pytest
from readings import Reading, readings

from dream.guards import builtin_vocabulary, coverage, one_form, spoken_numbers

KINDS = tuple(dict.fromkeys(one.kind for one in readings()))


@cache
def _wrong(*, honest: bool) -> list[tuple[Reading, str]]:
    """Those that are judged wrongly: honest ones refused, or others accepted."""
    judged = ((one, one.why_refused()) for one in readings() if one.honest == honest)
    return [(one, why) for one, why in judged if bool(why) == honest]


def test_no_merge_with_one_wrong_value_is_accepted():
    assert [one for one in _wrong(honest=False) if one[0].said_on == "-"] == []


@pytest.mark.parametrize("kind", KINDS)
def test_honest_texts_of_each_kind_are_accepted(kind: str):
    wrong = [(one.said, one.text, why) for one, why in _wrong(honest=True) if one.kind == kind]
    total = sum(one.honest for one in readings() if one.kind == kind)
    assert len(wrong) <= max(1, 0.1 * total), wrong


def test_hardly_an_honest_text_is_refused():
    assert len(_wrong(honest=True)) <= 0.03 * sum(one.honest for one in readings())


def test_the_set_holds_every_kind_in_both_ways_and_seven_languages():
    for kind in KINDS:
        assert {one.honest for one in readings() if one.kind == kind} == {True, False}
    for language in ("en", "de", "fr", "es", "pt", "it", "nl"):
        assert sum(one.language == language for one in readings()) >= 30


@pytest.mark.parametrize("written", ["\uff13", "³", "③", "₃", "٣"])
def test_a_digit_of_any_shape_is_read_as_that_digit(written: str):
    assert coverage(["Ana has 3 cats."], f"Ana has {written} cats.", builtin_vocabulary()).faithful
    assert not coverage(["Ana has 5 cats."], f"Ana has {written} cats.", builtin_vocabulary()).faithful


@pytest.mark.parametrize("written", ["⑫", "½", "10²", "Ⅷ"])
def test_a_numeral_that_no_source_holds_is_refused_and_never_unread(written: str):
    assert not coverage(["Ana has 5 cats."], f"Ana has 5 cats and {written} dogs.", builtin_vocabulary()).faithful


def test_places_stay_the_same_whatever_shape_the_digits_have():
    text = "\uff12\uff10 m², ③ of 10³ CO₂, ½ and ⑫"
    assert len(one_form(text)) == len(text)


@pytest.mark.parametrize(
    ("language", "text", "values"),
    [
        (
            "en",
            "twenty-one of two thousand five hundred and six, two dozen, three and four",
            ["21", "2506", "24", "3", "4"],
        ),
        ("de", "fünfundvierzig, hundertzwanzig, zweitausenddreihundert, zweieinhalb", ["45", "120", "2300", "2.5"]),
        ("fr", "soixante-quinze, quatre-vingt-dix-sept, vingt et un", ["75", "97", "21"]),
        ("es", "cuarenta y cinco, ciento veinte", ["45", "120"]),
        ("pt", "cento e vinte e cinco, dois mil", ["125", "2000"]),
        ("it", "quarantacinque, ventuno, duecentomila", ["45", "21", "200000"]),
        ("nl", "vijfenveertig, tweeëntwintig, honderdtwintig", ["45", "22", "120"]),
    ],
)
def test_numbers_in_words_are_read_whole(language: str, text: str, values: list[str]):
    assert [one.value for one in spoken_numbers(text, language)] == values


@pytest.mark.parametrize(
    "text", ["She will wait a second.", "Second, run the tests.", "A second-hand car", "one by one"]
)
def test_little_words_that_look_like_numbers_are_none(text: str):
    assert coverage(["x"], text, builtin_vocabulary()).invented == ()


@pytest.mark.parametrize(
    ("source", "merged"),
    [
        ("The tank holds 40 litres.", "The tank holds 40 gallons."),
        ("The film lasts 90 minutes.", "The film lasts 1 hour."),
        ("Supper for 8 at 19:00.", "Supper for 7 at 19:00."),
        ("The nap took half an hour.", "The nap took an hour and a half."),
        ("The client needs v2.10.", "The client needs v2.1."),
        ("The route is 1.5 km.", "The route is 1.5 miles."),
        ("The drug dose is 5 mg.", "The drug dose is 5 g."),
    ],
)
def test_another_unit_or_amount_is_not_the_same(source: str, merged: str):
    assert not coverage([source], merged, builtin_vocabulary()).faithful
