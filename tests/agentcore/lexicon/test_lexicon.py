import pytest

from agentcore.errors import InvalidLanguageError
from agentcore.lexicon import INTERNATIONAL, Language, language, languages, recognised

_RECOGNISED = list(recognised().values())


@pytest.mark.parametrize("one", languages(), ids=lambda one: one.code)
def test_no_word_of_a_list_stands_there_twice(one: Language):
    lists = {name: getattr(one, name) for name in Language.__dataclass_fields__ if name != "code"}
    words = {name: words for name, words in lists.items() if isinstance(words, tuple)}
    assert {name: words for name, words in words.items() if len(set(words)) < len(words)} == {}


@pytest.mark.parametrize("one", _RECOGNISED, ids=lambda one: one.code)
def test_a_language_that_is_recognised_has_a_whole_calendar_numbers_and_negations(one: Language):
    assert sorted(one.months) == list(range(1, 13))
    assert set(range(1, 8)) - set(one.weekdays) <= ({6} if one.code == "it" else set())
    assert {0, -1} <= set(one.days_from_now)
    assert {2, 3, 4, 5, 6, 7, 8, 10, 20, 30} <= set(one.numbers)
    assert {"day", "week", "month", "year"} <= set(one.stretches)
    assert one.negations
    assert one.yes
    assert one.no
    assert one.function_words or one.stop_words


def test_signs_and_symbols_stand_apart_from_the_languages():
    assert "km" in language(INTERNATIONAL).units["km"]
    assert INTERNATIONAL not in recognised()


def test_a_word_may_hold_spaces():
    assert "the day before yesterday" in language("en").days_from_now[-2]


def test_a_language_without_a_file_is_refused_by_name():
    with pytest.raises(InvalidLanguageError, match="'tlh'"):
        language("tlh")
