"""Concepts: which words of a text say what it is about."""

import pytest
from hypothesis import given, strategies as st

from agentcore.recall import MAX_CONCEPT_BYTES, MAX_CONCEPTS, concept, concepts


@pytest.mark.parametrize(
    "word",
    [
        pytest.param("12345", id="digits"),
        pytest.param("10.5", id="a number"),
        pytest.param("2025-06-14", id="an ISO date"),
        pytest.param("2025-06-14T09:00Z", id="an ISO instant"),
        pytest.param("the", id="a little word of English"),
        pytest.param("porque", id="of Spanish"),
        pytest.param("toujours", id="of French"),
        pytest.param("zwischen", id="of German"),
        pytest.param("também", id="of Portuguese"),
        pytest.param("assistant", id="a word about notes"),
        pytest.param("json", id="the ending of a file"),
        pytest.param("ab", id="too short for Latin"),
        pytest.param("かな", id="too short for kana alone"),
        pytest.param("京", id="one character of Han"),
        pytest.param("x" * 33, id="too long"),
        pytest.param("語" * 11, id="too long in bytes"),
        pytest.param("«»—", id="signs alone"),
        pytest.param("", id="nothing"),
    ],
)
def test_what_says_nothing_is_no_concept(word: str):
    assert concept(word) is None


@pytest.mark.parametrize(
    ("word", "form"),
    [
        ("backup_job", "backup-job"),
        ("«Lisbon!»", "lisbon"),
        ("Ana's", "ana"),
        ("\uff2e\uff21\uff330\uff11", "nas01"),
        ("東京", "東京"),
        ("한국", "한국"),
        ("カメラ", "カメラ"),
        ("東京tower", "東京tower"),
        ("дом", "дом"),
        ("x" * 32, "x" * 32),
        ("Straße", "straße"),
    ],
)
def test_a_concept_has_one_form_in_every_script(word: str, form: str):
    assert concept(word) == form


def test_identifiers_stay_whole_and_come_before_words():
    assert concepts("Please restart nas-01.local and read /etc/dream.toml, Bo") == (
        "nas-01.local",
        "etc/dream.toml",
        "please",
        "restart",
        "read",
    )


def test_terms_of_the_glossary_come_first_as_whole_words_in_any_case():
    found = concepts("Ana said the NIGHTLY backup of the router failed", ("nightly backup", "ai", "route", "Router"))
    assert found == ("nightly backup", "router", "ana", "nightly", "backup", "failed")
    assert concepts("我們的路由器壞了", ("路由器",))[0] == "路由器"


def test_a_text_has_each_concept_once_and_at_most_so_many():
    assert concepts("Router router ROUTER, router_a", limit=2) == ("router-a", "router")
    many = "alpha bravo charlie delta echoes foxtrot golfing hotels indian juliet"
    assert concepts(many) == tuple(many.split()[:MAX_CONCEPTS])
    assert concepts(many, limit=0) == concepts("") == concepts("and the of", ("",)) == ()


def test_scripts_without_spaces_are_cut_where_the_script_changes():
    assert concepts("北京の大学でカメラを買った") == ("北京", "大学", "カメラ")
    assert concepts("中华人民共和国") == ("中华", "人民", "共和")


@given(text=st.text(max_size=200), glossary=st.lists(st.text(max_size=12), max_size=3))
def test_whatever_a_text_holds_its_concepts_are_few_short_and_their_own_form(text: str, glossary: list[str]):
    found = concepts(text, glossary)
    assert len(found) == len(set(found)) <= MAX_CONCEPTS
    for one in found:
        assert len(one.encode("utf-8", "replace")) <= MAX_CONCEPT_BYTES
        assert concept(one) == one
    assert concepts(text, glossary, limit=2) == found[:2]
