"""Quotes and citations."""

import pytest
from hypothesis import given, strategies as st

from dream.passes.conversation import holds_quote

HELD = [
    ("I moved to Lisbon.", "moved to Lisbon"),
    ("I moved to Lisbon.", "I moved to Lisbon."),
    ("I moved to Lisbon", "i MOVED to lisbon!"),
    ("I\u2019ve moved", "I've moved"),
    ("\u201cGo,\u201d he said", '"Go," he said'),
    ("a \u2013 b", "a - b"),
    ("wait\u2026 no", "wait... no"),
    ("one\ntwo\t three", "one two three"),
    ("cafe\u0301 au lait", "caf\u00e9"),
    ("STRASSE", "stra\u00dfe"),
    ("soft\u00adware", "software"),
    ("我昨天搬到了里斯本", "搬到了"),
    ("昨日リスボンに引っ越した", "リスボン"),
    ("costs 1,200 euros", "1,200 euros"),
    ("it's 5", "5"),
    ("say C++ twice", "C++"),
]
NOT_HELD = [
    ("a catalogue", "cat"),
    ("a catalogue", "logue"),
    ("12,345", "345"),
    ("2025", "202"),
    ("I moved to Lisbon", "moved Lisbon"),
    ("I moved to Lisbon", "I have moved to Lisbon"),
    ("anything", ""),
    ("anything", " ... "),
    ("anything", "\u200b"),
    ("", "anything"),
]


@pytest.mark.parametrize(("text", "quote"), HELD)
def test_a_quote_stands_in_a_text_in_any_spelling(text: str, quote: str):
    assert holds_quote(text, quote)


@pytest.mark.parametrize(("text", "quote"), NOT_HELD)
def test_a_quote_that_was_not_said_stands_nowhere(text: str, quote: str):
    assert not holds_quote(text, quote)


@given(st.lists(st.from_regex(r"[a-z]{1,6}", fullmatch=True), min_size=1, max_size=8), st.data())
def test_every_run_of_whole_words_is_a_quote(words: list[str], data: st.DataObject):
    start = data.draw(st.integers(0, len(words) - 1))
    end = data.draw(st.integers(start + 1, len(words)))
    assert holds_quote("  ".join(words), " ".join(words[start:end]).upper())


@given(st.text(max_size=60), st.text(max_size=20))
def test_any_two_texts_can_be_compared(text: str, quote: str):
    assert holds_quote(text, quote) in {True, False}
