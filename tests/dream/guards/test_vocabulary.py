"""The vocabulary file: built in, overridden field by field, and never broken silently."""

from pathlib import Path

import pytest

from dream.errors import InvalidVocabularyError
from dream.guards import EvidenceText, Verdict, builtin_vocabulary, judge, load_vocabulary, parse_vocabulary


def test_the_built_in_vocabulary_reads_back_from_its_own_json():
    assert parse_vocabulary(builtin_vocabulary().to_json(), path="copy.json") == builtin_vocabulary()


def test_an_absent_override_is_no_problem(tmp_path: Path):
    for path in (None, tmp_path / "absent.json"):
        loaded = load_vocabulary(path)
        assert (loaded.vocabulary, loaded.problem) == (builtin_vocabulary(), None)


def test_an_override_replaces_the_fields_it_names_and_no_other(tmp_path: Path):
    path = tmp_path / "mine.json"
    path.write_text('{"always_specific": ["Sterling Mill"]}', "utf-8")
    vocabulary = load_vocabulary(path).vocabulary
    assert vocabulary.always_specific == {"sterling", "mill"}
    assert vocabulary.sentence_openers == builtin_vocabulary().sentence_openers


@pytest.mark.parametrize(
    ("data", "part"),
    [
        (b"{", "not valid JSON"),
        (b"\xff\xfe", "not valid JSON"),
        (b"[]", "not a JSON object"),
        (b'{"colour": []}', "unknown field 'colour'"),
        (b'{"common_words": "tea"}', "common_words is not a list"),
        (b'{"common_words": [1]}', "common_words is not a list"),
        (b" " * 1_000_001, "more than 1,000,000"),
    ],
)
def test_a_malformed_override_is_told_and_the_built_in_kept(tmp_path: Path, data: bytes, part: str):
    path = tmp_path / "mine.json"
    path.write_bytes(data)
    loaded = load_vocabulary(path)
    assert loaded.vocabulary == builtin_vocabulary()
    assert isinstance(loaded.problem, InvalidVocabularyError)
    assert part in str(loaded.problem)
    assert "built-in one is" in str(loaded.problem)


def test_an_override_that_cannot_be_read_is_told(tmp_path: Path):
    assert "cannot be read" in str(load_vocabulary(tmp_path).problem)


def test_an_extra_common_word_is_no_name_and_an_always_specific_one_is():
    told, shown = "Ana met Tillman.", [EvidenceText(text="I met nobody.", speaker="Ana")]
    common = parse_vocabulary(b'{"common_words": ["Tillman"]}', path="mine.json", base=builtin_vocabulary())
    assert judge(told, shown, vocabulary=common).verdict is Verdict.UNDECIDED
    both = parse_vocabulary(b'{"always_specific": ["Tillman"]}', path="mine.json", base=common)
    assert judge(told, shown, vocabulary=both).verdict is Verdict.REFUTED
