"""A second reader: it accepts what it is not told to deny, and never what the host knows to be false."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson

from dream.passes.reader_checks import FILE, telling_words

Denial = Callable[[str, str], bool]
"""Told a statement and all its evidence: whether the reader denies it."""


def nothing(text: str, told: str) -> bool:
    """Deny nothing."""
    del text, told
    return False


_WORD = re.compile(r"\w+")
_NUMBER = re.compile(r"\d+")
_END = re.compile(r"(?<=[.!?])\s+|\n+")
_CHECKS = orjson.loads((Path(__file__).parents[2] / "directives" / FILE).read_bytes())
_TRUE = {one["true"] for one in _CHECKS}
_FALSE = {text for one in _CHECKS for text in one["false"]}
_STRING = r'"(?:[^"\\]|\\.)*"'
_RECORD = re.compile(rf"^\[(r\d+)\] .*?((?:\.\d+ )?{_STRING}(?: \.\d+ {_STRING})*)$", re.MULTILINE)
_STATEMENT = re.compile(r'^\[([s-z]\d+)\] ((?:r\d+ ?)+)[^"]*: ("(?:[^"\\]|\\.)*")$', re.MULTILINE)


def is_second_reading(question: str) -> bool:
    return question.startswith('Answer with {"readings"')


def statements(question: str) -> list[tuple[str, str, list[str]]]:
    """Handle, text and evidence of each statement of a second reading, the checks of the reader among them."""
    told = {handle: map(orjson.loads, re.findall(_STRING, text)) for handle, text in _RECORD.findall(question)}
    records = {
        handle: "".join(one if one.endswith("\n") else f"{one} " for one in texts).strip()
        for handle, texts in told.items()
    }
    return [
        (handle, orjson.loads(text), [records[one] for one in evidence.split()])
        for handle, evidence, text in _STATEMENT.findall(question)
    ]


def reread(question: str, denies: Denial = nothing) -> str:
    """The answer of a reader who sees through what the host knows to be false."""
    given = statements(question)
    readings = [_reading(handle, text, evidence, given, denies) for handle, text, evidence in given]
    return orjson.dumps({"readings": readings}).decode()


def _reading(handle: str, text: str, evidence: list[str], given: list[Any], denies: Denial) -> dict[str, Any]:
    told = "\n".join(evidence)
    is_false = (
        text in _FALSE
        or any(_is_nearer(one, (handle, text, evidence)) for one in given)
        or _lacks_a_sentence(text, told)
        or (denies(text, told) and text not in _TRUE and text != " ".join(evidence))
    )
    quotes = [] if is_false else [quote for record in evidence for quote in _quotes(text, record)]
    return {"id": handle, "reading": "not_said" if is_false else "says", "quotes": quotes, "leftOut": []}


def _quotes(text: str, record: str) -> list[str]:
    """The sentences of a record that share a word with a text; all of them if none does."""
    pieces = [piece.strip() for piece in _END.split(record) if _WORD.search(piece)]
    return [piece for piece in pieces if telling_words(piece) & telling_words(text)] or pieces


def _is_nearer(one: tuple[str, str, list[str]], other: tuple[str, str, list[str]]) -> bool:
    """Whether a statement says the same as another but for its numbers, and the other one is false for all it tells."""
    if one[1] == other[1]:
        return _shared(one) > _shared(other)
    is_alike = _NUMBER.sub("0", one[1]) == _NUMBER.sub("0", other[1])
    return is_alike and 0 < _made_up(other) >= _made_up(one)


def _shared(one: tuple[str, str, list[str]]) -> int:
    _, text, evidence = one
    return len(set(_WORD.findall(text.casefold())) & set(_WORD.findall("\n".join(evidence).casefold())))


def _made_up(one: tuple[str, str, list[str]]) -> int:
    _, text, evidence = one
    return sum(number not in "\n".join(evidence) for number in _NUMBER.findall(text))


def _lacks_a_sentence(text: str, told: str) -> bool:
    """Whether a text is the evidence itself on one line, but for a sentence whose words stand nowhere else."""
    pieces = [piece.strip() for piece in _END.split(told) if piece.strip()]
    kept = [piece for piece in pieces if piece in text]
    missing = telling_words(" ".join(piece for piece in pieces if piece not in text)) - telling_words(text)
    return text == " ".join(kept) and len(missing) > 1


def leaves_out_a_step(text: str, told: str) -> bool:
    """Whether a word of a step of the evidence is missing in the text."""
    words = set(_WORD.findall(text.casefold()))
    return any(not words.issuperset(_WORD.findall(line.casefold())) for line in told.splitlines() if line[:2] == "- ")
