"""The filter before a careful look lets pass whatever says a forgotten text, in every script and case."""

from types import SimpleNamespace
from typing import Any, cast

import orjson
from hypothesis import example, given, strategies as st
from sqlalchemy import create_engine, literal, select

from agentcore.domain import normalise
from agentcore.stores.sql.stored_texts import TextFilter, says
from agentcore.stores.sql.transaction import Transaction

LETTERS = 'abskfi ABSKFI9_-.!"\\\n\u00df\u1e9e\u017f\u212a\ufb01\ufb02\u00e9\u00c9e\u0301\u0130\u0131\u01f0\u0149\u00e6'
WORLD = "\u0416\u0436\u03c9\u03a3\u03c2\u3055\u6771\u4eac\u0e33\u0bbe"
words = st.text(alphabet=st.sampled_from(LETTERS + WORLD), max_size=12)
engine = create_engine("sqlite://")


def found_in_sqlite(kept_by: TextFilter, stored: str) -> bool:
    with engine.connect() as connection:
        transaction = cast("Transaction", SimpleNamespace(connection=connection))
        condition: Any = kept_by.condition(transaction, literal(stored))
        return connection.execute(select(condition)).scalar_one() == 1


@given(words, words, words)
@example("", "Kelvin and the STRASSE of kings", "")
@example("", "straße nach kiew", "")
def test_what_says_a_text_in_whatever_case_passes(before: str, text: str, after: str):
    wanted = normalise(text)
    for said in (text, text.upper(), text.title(), text.casefold()):
        sentence = f"{before}{said}{after}"
        stored = orjson.dumps([{"sentence": sentence}]).decode()
        if wanted and (says(sentence, {wanted}) or normalise(sentence) == wanted):
            kept_by = TextFilter.of({wanted})
            assert kept_by.lets_pass(stored)
            assert kept_by.lets_pass(sentence)
            assert found_in_sqlite(kept_by, stored)
            assert found_in_sqlite(kept_by, sentence)


def test_what_names_a_record_passes_and_what_says_something_else_does_not():
    kept_by = TextFilter.of({"ana likes tea"}, ["t1"])
    for stored, passes in (('["turn:t1"]', True), ("ANA likes  TEA", True), ("ana likes rye", False)):
        assert kept_by.lets_pass(stored) is passes
        assert found_in_sqlite(kept_by, stored) is passes
