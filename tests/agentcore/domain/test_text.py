"""Text at the door: normal form, fold keys, and what may be stored."""

import unicodedata

import pytest
from hypothesis import given, strategies as st

from agentcore.domain import clean_category, clean_content, clean_tags, fold_key, normalise
from agentcore.errors import InvalidContentError

# Letters whose folding decomposes, grows or depends on the order of marks; stops; spaces of several kinds.
_AWKWARD = st.text(
    st.sampled_from("aÀéÉßẞǰŉİ\u0131ΐᾳ\u017fK² .。…?!\t\n\u00a0\u3000\u0301\u0316\u0345\u0307\u030c\u200b\x00")
)
texts = _AWKWARD | st.text()
paths = st.text(st.sampled_from("aB ./\\-\t\x00\u200be\u0301é\u202e日本")) | st.text()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ana likes tea.", "ana likes tea"),
        ("Ana likes tea...", "Ana likes tea"),
        ("Ana likes tea . .", "Ana likes tea"),
        ("  Ana\tlikes\n tea ", "Ana likes tea"),
        ("Ana\u00a0likes\u3000tea", "Ana likes tea"),
        ("Caf\u00e9", "Cafe\u0301"),
        ("STRASSE", "straße"),
        ("ΣΊΣΥΦΟΣ", "σίσυφος"),
        ("\u01f0", "j\u030c"),
        ("\u212a", "k"),
        ("\ufb01le", "file"),
        ("アナはお茶が好きです。", "アナはお茶が好きです"),
        ("आना को चाय पसंद है।", "आना को चाय पसंद है"),
    ],
)
def test_wordings_that_differ_in_form_only_are_the_same(one: str, other: str) -> None:
    assert normalise(one) == normalise(other)
    assert fold_key(one) == fold_key(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ana likes tea?", "Ana likes tea"),
        ("Ana likes tea!", "Ana likes tea"),
        ("Ana likes tea…", "Ana likes tea"),
        ("Ana likes tea,", "Ana likes tea"),
        (".env is ignored", "env is ignored"),
        ("x² = 4", "x2 = 4"),
        ("résumé", "resume"),
        ("3.5", "35"),
        ("Ana likes tea", "Ana likes tee"),
        ("...", ""),
    ],
)
def test_wordings_that_may_differ_in_meaning_are_not_the_same(one: str, other: str) -> None:
    assert normalise(one) != normalise(other)
    assert fold_key(one) != fold_key(other)


@given(texts)
def test_normalising_twice_changes_nothing_more(text: str) -> None:
    once = normalise(text)
    assert normalise(once) == once
    assert unicodedata.is_normalized("NFC", once)


@given(texts)
def test_equivalent_spellings_normalise_alike(text: str) -> None:
    assert normalise(unicodedata.normalize("NFD", text)) == normalise(text)
    assert normalise(f"\n{text}  ") == normalise(text)


@given(texts, texts)
def test_fold_keys_are_equal_exactly_if_the_normal_forms_are(one: str, other: str) -> None:
    assert (fold_key(one) == fold_key(other)) == (normalise(one) == normalise(other))
    assert len(fold_key(one)) == 32
    assert int(fold_key(one), 16) >= 0


def test_fold_keys_stay_the_same_from_release_to_release() -> None:
    assert fold_key("Ana likes tea.") == "c73a84519cbce4c19c10c9dffcc036d7"


# --- content ------------------------------------------------------------------------------------------------


def test_content_is_stored_stripped_and_otherwise_as_given() -> None:
    assert clean_content("  Ana  likes\nTEA.\t") == "Ana  likes\nTEA."
    assert clean_content("x" * 100_000) == "x" * 100_000
    assert clean_content("smile 😀") == "smile 😀"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "it is blank"),
        (" \n\t\u3000", "it is blank"),
        ("x" * 100_001, "it has 100,001 characters; split it into parts of at most 100,000"),
        ("a\0b", "NUL"),
        ("a\ud83d", "character 2 is half of a surrogate pair"),
        (None, "it is NoneType, not text"),
        (b"bytes", "it is bytes, not text"),
        (7, "it is int, not text"),
    ],
)
def test_content_that_cannot_be_stored_is_refused_with_the_reason(content: object, problem: str) -> None:
    with pytest.raises(InvalidContentError) as caught:
        clean_content(content)
    assert str(caught.value).startswith("The content cannot be stored: ")
    assert problem in str(caught.value)


# --- categories ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given_text", "expected"),
    [
        (None, "general"),
        ("", "general"),
        (" / ", "general"),
        ("../..", "general"),
        ("\x00\u202e", "general"),
        ("people/ana", "people/ana"),
        ("People/Ana", "People/Ana"),
        (" people / ana silva ", "people/ana-silva"),
        ("people\\ana", "people/ana"),
        ("/people//ana/", "people/ana"),
        ("people/./../ana", "people/ana"),
        ("people/...", "people/..."),
        ("a\tb\nc", "a-b-c"),
        ("a\x00b\x7f", "ab"),
        (".\x00.", "general"),
        ("cafe\u0301/日本", "caf\u00e9/日本"),
        ("e\u200b\u0301", "\u00e9"),
        ("../../etc/passwd", "etc/passwd"),
        ("/".join("abcdefghij"), "a/b/c/d/e/f/g/h"),
        ("x" * 65 + "/y", "x" * 64 + "/y"),
    ],
)
def test_a_category_is_repaired_rather_than_refused(given_text: str | None, expected: str) -> None:
    assert clean_category(given_text) == expected


@given(paths)
def test_every_text_gives_a_category_that_is_safe_and_stable(text: str) -> None:
    category = clean_category(text)
    segments = category.split("/")
    assert clean_category(category) == category
    assert 1 <= len(segments) <= 8
    assert all(1 <= len(segment) <= 64 and segment not in {".", ".."} for segment in segments)
    assert not any(c.isspace() or c == "\\" or unicodedata.category(c) in {"Cc", "Cf", "Cs"} for c in category)


# --- tags ---------------------------------------------------------------------------------------------------


def test_tags_are_sorted_distinct_stripped_and_never_blank() -> None:
    assert clean_tags([" travel", "home", "", "  ", "travel ", "work\tplan"]) == (
        "home",
        "travel",
        "work plan",
    )
    assert clean_tags(()) == ()


def test_a_single_string_is_one_tag() -> None:
    assert clean_tags("travel") == ("travel",)


def test_a_long_tag_is_cut() -> None:
    assert clean_tags(["x" * 100, "y" * 63 + " z"]) == ("x" * 64, "y" * 63)


@given(st.lists(paths))
def test_cleaning_tags_twice_changes_nothing_more(tags: list[str]) -> None:
    once = clean_tags(tags)
    assert clean_tags(once) == once
    assert list(once) == sorted(set(once))
    assert all(1 <= len(tag) <= 64 and tag == tag.strip() for tag in once)
