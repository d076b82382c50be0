"""A second reader: it accepts what it is not told to deny, and never what the host knows to be false."""

import re
from collections.abc import Callable
from typing import Any

import orjson

Denial = Callable[[str, str], bool]
"""Told a statement and all its evidence: whether the reader denies it."""


def nothing(text: str, told: str) -> bool:
    """Deny nothing."""
    del text, told
    return False


_WORD = re.compile(r"\w+")
_RECORD = re.compile(r'^\[(r\d+)\] .*?("(?:[^"\\]|\\.)*")$', re.MULTILINE)
_STATEMENT = re.compile(r'^\[(s\w+)\] evidence=(\S+)[^"]*("(?:[^"\\]|\\.)*")$', re.MULTILINE)


def is_second_reading(question: str) -> bool:
    return question.startswith('Answer with {"readings"')


def statements(question: str) -> list[tuple[str, str, list[str]]]:
    """Handle, text and evidence of each statement of a second reading, the checks of the reader among them."""
    records = {handle: orjson.loads(text) for handle, text in _RECORD.findall(question)}
    return [
        (handle, orjson.loads(text), [records[one] for one in evidence.split(",")])
        for handle, evidence, text in _STATEMENT.findall(question)
    ]


def reread(question: str, denies: Denial = nothing) -> str:
    """The answer of a reader who sees through what the host knows to be false."""
    given = statements(question)
    readings = [_reading(handle, text, evidence, given, denies) for handle, text, evidence in given]
    return orjson.dumps({"readings": readings}).decode()


def _reading(handle: str, text: str, evidence: list[str], given: list[Any], denies: Denial) -> dict[str, Any]:
    told = "\n".join(evidence)
    closest = max((one for one in given if one[1] == text), key=lambda one: _shared(text, "\n".join(one[2])))
    is_false = text.startswith("It is not true that: ") or closest[0] != handle or denies(text, told)
    quotes = [] if is_false else [" ".join(line.split()[:12]) for line in told.splitlines() if line.strip()]
    return {"id": handle, "reading": "not_said" if is_false else "says", "quotes": quotes, "leftOut": []}


def _shared(text: str, told: str) -> int:
    return len(set(text.casefold().split()) & set(told.casefold().split()))


def leaves_out_a_step(text: str, told: str) -> bool:
    """Whether a word of a step of the evidence is missing in the text."""
    words = set(_WORD.findall(text.casefold()))
    return any(not words.issuperset(_WORD.findall(line.casefold())) for line in told.splitlines() if line[:2] == "- ")
