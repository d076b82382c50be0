import unicodedata

import pytest
from hypothesis import given, strategies as st

from agentcore.recall import ENGLISH_STOP_WORDS, MAX_QUERY_TERMS, MAX_TERM_LENGTH, Tokenizer

EMBEDDING, POP, NON_JOINER = "\u202b", "\u202c", "\u200c"


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer()


def shared(tokenizer: Tokenizer, query: str, document: str) -> set[str]:
    return set(tokenizer.query_tokens(query)) & set(tokenizer.tokens(document))


def test_english_words_are_stemmed_and_stop_words_dropped(tokenizer: Tokenizer) -> None:
    assert tokenizer.tokens("Ana was running with her dogs; she has moved to Lisbon.") == [
        "ana",
        "run",
        "dog",
        "move",
        "lisbon",
    ]


def test_contractions_leave_no_fragments(tokenizer: Tokenizer) -> None:
    assert tokenizer.tokens("Don't worry, they've said it's fine and we'll see") == [
        "worri",
        "said",
        "fine",
        "see",
    ]
    assert tokenizer.tokens("don\u2019t worry, I\u2019m sure he\u2019d come") == ["worri", "sure", "come"]


@pytest.mark.parametrize("term", ["AI", "C", "Go", "UI", "5G", "R", "2025", "7"])
def test_short_terms_and_numbers_are_kept(tokenizer: Tokenizer, term: str) -> None:
    assert tokenizer.tokens(f"about {term}!") == [term.casefold()]


@pytest.mark.parametrize(
    ("query", "document"),
    [
        ("Where does she live in the US?", "Her sister lives in the US"),
        ("Straße in Köln", "Die STRASSE, in der Anna wohnt, liegt mitten in KÖLN."),
        ("reunião em São Paulo", "A Joana marcou a reunião de segunda-feira em são paulo."),
        ("déménagé à Orléans", "Élodie a déménagé à ORLÉANS l\u2019été dernier."),
        ("cumpleaños del niño", "El cumpleaños del NIÑO es el 14 de junio."),
        ("北京大学", "她去年从北京大学毕业。"),
        ("東京タワー", "先週、家族と東京タワーに行きました。"),
        ("เชียงใหม่", "เธอย้ายไปอยู่เชียงใหม่เมื่อปีที่แล้ว"),
        ("हिन्दी", "वह हिन्दी और अंग्रेज़ी बोलती है।"),
        ("القاهرة", "انتقلت مريم إلى القاهرة في شهر مايو."),
        ("서울", "지난달 서울 여행"),
    ],
)
def test_a_question_meets_a_sentence_of_its_language(tokenizer: Tokenizer, query: str, document: str) -> None:
    assert shared(tokenizer, query, document) == set(tokenizer.tokens(query))


def test_a_clause_of_another_topic_shares_no_pair(tokenizer: Tokenizer) -> None:
    assert not shared(tokenizer, "東京タワー", "彼は猫が好きだ")


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("北京大学", ["北京", "京大", "大学"]),
        ("猫", ["猫"]),
        ("2025年 AI", ["2025", "年", "ai"]),
        ("Python入門", ["python", "入門"]),
        ("สวย", ["สว", "วย"]),
        ("ພາສາ", ["ພາ", "າສ", "ສາ"]),
        ("ភាសា។", ["ភា", "ាស", "សា"]),
        ("မြန်", ["မြ", "ြန", "န်"]),
    ],
)
def test_scripts_without_spaces_become_pairs(tokenizer: Tokenizer, text: str, terms: list[str]) -> None:
    assert tokenizer.tokens(text) == terms


def test_combining_marks_stay_in_their_word(tokenizer: Tokenizer) -> None:
    assert tokenizer.tokens("हिन्दी भाषा தமிழ்") == ["हिन्दी", "भाषा", "தமிழ்"]


def test_vowel_points_make_no_other_word(tokenizer: Tokenizer) -> None:
    assert tokenizer.tokens("لُغَة عـــربية שָׁלוֹם") == tokenizer.tokens("لغة عربية שלום")
    assert tokenizer.tokens("שָׁלוֹם") == ["שלום"]


@pytest.mark.parametrize(
    ("typed", "written"),
    [
        ("reuniao orcamento", "reunião orçamento"),
        ("Munchen naive cafe", "München naïve café"),
        ("Lodz Dvorak Aarhus smorrebrod", "Łódź Dvořák Aarhus smørrebrød"),
        ("erdnuss", "Erdnüsse"),
        ("Viet Nam", "Việt Nam"),
        ("قهوة", "القهوة"),
        ("مدرسه", "والمدرسة"),
        ("الاسكندرية", "للإسكندرية"),
        ("على يوم", "علي يوم"),
        ("كتاب", "کتاب"),
    ],
)
def test_what_many_leave_out_when_they_type_makes_no_other_word(tokenizer: Tokenizer, typed: str, written: str) -> None:
    assert tokenizer.tokens(typed) == tokenizer.tokens(written)


@pytest.mark.parametrize("word", ["ال", "بال", "والد"])
def test_a_short_arabic_word_is_not_taken_for_an_article(tokenizer: Tokenizer, word: str) -> None:
    assert tokenizer.tokens(word) == [word]


@pytest.mark.parametrize("text", ["café in São Paulo", "Dvořák", "Việt Nam", "한국어", "ǰ ΐ"])
def test_composed_and_decomposed_spellings_are_the_same_word(tokenizer: Tokenizer, text: str) -> None:
    assert tokenizer.tokens(unicodedata.normalize("NFD", text)) == tokenizer.tokens(unicodedata.normalize("NFC", text))


def test_an_identifier_yields_itself_and_its_parts(tokenizer: Tokenizer) -> None:
    assert tokenizer.tokens("get_user_name") == ["get_user_nam", "get", "user", "name"]
    assert tokenizer.tokens("parseHTTPResponse") == ["parsehttprespons", "pars", "http", "respons"]
    assert tokenizer.tokens("MAX_RETRIES") == tokenizer.tokens("max_retries")
    assert tokenizer.tokens("HTTPServer") == ["httpserver", "http", "server"]
    assert tokenizer.tokens("utf8Decoder") == ["utf8decod", "utf8", "decod"]
    assert tokenizer.tokens("src/api/userProfile.ts") == ["src", "api", "userprofil", "user", "profil", "ts"]
    assert tokenizer.tokens("__init__") == ["init"]
    assert tokenizer.tokens("x_axis") == ["x_axi", "axi"]


@pytest.mark.parametrize("query", ["get_user_name", "user name", "GET_USER_NAME", "getUserName"])
def test_an_identifier_is_found_by_its_spelling_or_its_parts(tokenizer: Tokenizer, query: str) -> None:
    assert shared(tokenizer, query, "calls get_user_name() twice") >= {"user", "name"}


@pytest.mark.parametrize("word", ["PDFs", "IDs", "5G", "USA", "B2B", "3D"])
def test_acronyms_are_not_cut(tokenizer: Tokenizer, word: str) -> None:
    assert tokenizer.tokens(word) == tokenizer.tokens(word.lower())


def test_a_text_of_stop_words_keeps_them(tokenizer: Tokenizer) -> None:
    assert tokenizer.tokens("To be, or not to be") == ["to", "be", "or", "not", "to", "be"]
    assert tokenizer.query_tokens("to be or not") == ["to", "be", "or", "not"]
    assert tokenizer.query_tokens("is it “so”?") == ["is", "it", "so"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n\t",
        "?!…",
        "\x00\x07\x1b",
        "___",
        "\u0301",
        "👩‍👩‍👧 🇵🇹 ❤️",
        "\u200d\u200c\ufeff",
        "\u202e\u2066",
    ],
)
def test_a_text_without_words_has_no_terms(tokenizer: Tokenizer, text: str) -> None:
    assert tokenizer.tokens(text) == []


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("co\u00adoperate", ["cooper"]),
        (f"{EMBEDDING}שלום{POP}", ["שלום"]),
        (f"می{NON_JOINER}خواهم", ["ميخواهم"]),
        ("1\ufe0f\u20e3", ["1"]),
    ],
)
def test_invisible_characters_do_not_split_or_change_words(tokenizer: Tokenizer, text: str, terms: list[str]) -> None:
    assert tokenizer.tokens(text) == terms


def test_right_to_left_and_left_to_right_words_stand_in_reading_order(tokenizer: Tokenizer) -> None:
    assert tokenizer.tokens("מרים uses Python 3") == ["מרים", "use", "python", "3"]


@pytest.mark.parametrize(
    "text",
    [
        "a" * 1_000_000,
        "word " * 200_000,
        "北" * 1_000_000,
        "a" + "\u0301\u0316" * 500_000,
        "👩‍👧" * 300_000,
        "_" * 1_000_000,
        "aB" * 500_000,
        "\ud800x " * 300_000,
    ],
    ids=["one word", "words", "han", "marks", "emoji", "underscores", "humps", "surrogates"],
)
def test_a_megabyte_is_taken(tokenizer: Tokenizer, text: str) -> None:
    assert all(len(term) <= MAX_TERM_LENGTH for term in tokenizer.tokens(text))


def test_long_words_are_compared_by_their_beginning(tokenizer: Tokenizer) -> None:
    assert tokenizer.tokens("f" * 70 + "g") == tokenizer.tokens("f" * 70 + "h")


def test_a_query_is_bounded(tokenizer: Tokenizer) -> None:
    text = " ".join(f"w{number}" for number in range(5_000))
    assert len(tokenizer.tokens(text)) == 5_000
    assert tokenizer.query_tokens(text) == tokenizer.tokens(text)[:MAX_QUERY_TERMS]


def test_more_spellings_than_the_memo_holds_change_nothing() -> None:
    tokenizer = Tokenizer()
    tokenizer.tokens(" ".join(f"w{number}" for number in range(51_000)))
    assert tokenizer.tokens("running w1") == ["run", "w1"]


def test_own_stop_words_replace_the_english_ones() -> None:
    assert Tokenizer(frozenset({"und"})).tokens("Anna und the Hund") == ["anna", "the", "hund"]


def test_stop_words_are_folded_words_and_spare_names_of_places_and_months() -> None:
    assert all(word == word.casefold() and word.isalpha() for word in ENGLISH_STOP_WORDS)
    assert not ENGLISH_STOP_WORDS & {"us", "may", "ai", "c", "go"}


@pytest.mark.parametrize(("text", "term"), [("ΐα", "ΐα"), ("ǰa", "ja"), ("ẖa", "ha")])
def test_folding_leaves_terms_composed(tokenizer: Tokenizer, text: str, term: str) -> None:
    assert tokenizer.tokens(text) == [term]


@given(st.text())
def test_any_text_is_taken_and_terms_are_folded(text: str) -> None:
    terms = Tokenizer().tokens(text)
    assert all(term and unicodedata.is_normalized("NFC", term) for term in terms)
    assert Tokenizer().tokens(text) == terms


@given(
    st.text(
        alphabet=st.one_of(
            st.characters(max_codepoint=0x24F),
            st.sampled_from("\u2010\u2013\u2014\u2018\u2019\u201c\u201d•…‰€₿─✓➡🌀🎉🫠"),
        ),
        max_size=40,
    )
)
def test_the_fast_path_agrees_with_the_full_one(text: str) -> None:
    tokenizer = Tokenizer()
    assert tokenizer.tokens(f"{text} ɐ") in ([*tokenizer.tokens(text), "ɐ"], ["ɐ"])


@pytest.mark.parametrize("letter", [chr(code) for code in range(0x80, 0x250)])
def test_the_fast_path_knows_every_latin_letter(letter: str) -> None:
    tokenizer = Tokenizer()
    assert tokenizer.tokens(f"q{letter}q ɐ") == [*tokenizer.tokens(f"q{letter}q"), "ɐ"]


def test_a_query_is_read_up_to_a_bound_however_long_it_is():
    asked = "house " * 20_000
    assert Tokenizer().query_tokens(f"the {asked} garden")[:2] == ["hous", "hous"]
    assert Tokenizer().query_tokens("the " * 40_000 + "garden")[-1] == "the"
