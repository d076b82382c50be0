"""Extracts the one JSON object from a model's answer, or says why there is none.

Around the object, models write thoughts, prose and code fences. What is taken is exactly one object that stands
literally in the text; the rules, in one linear walk:

1. Thoughts are no answer: `<think>` up to its `</think>`, and everything before a `</think>` that opens nowhere,
   however broken it is. A thought that never ends is cut off. A tag inside an object is data, and so is a lone
   closing tag in a text that begins with an object: else a quoted memory could end a thought that never was.
2. `{` followed by `"` begins an object; it ends at its matching `}`, and all of it must be valid JSON. `{}` is
   prose, unless nothing else is there. Other braces, and fences, are prose.
3. An object inside other open brackets is a part of something, and is refused; so is a closing bracket too many
   after the object.
4. Several objects are refused, because choosing is guessing; the same text repeated is one.
5. Names that occur twice in one object, numbers too large to keep, NaN, and nesting deeper than `MAX_DEPTH` are
   refused.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import cast

import orjson

MAX_DEPTH = 100
"""Deepest nesting of an answer that is read."""

# Each costs a walk to the end, so a bound keeps the whole linear.
_MOST_BROKEN = 4


class UnreadableReason(StrEnum):
    """Why a text gives no object."""

    EMPTY = "empty"
    """Nothing but space and thoughts."""
    NO_OBJECT = "no_object"
    """Prose, or JSON that is no object."""
    CUT_OFF = "cut_off"
    """An object or a thought begins and does not end."""
    INVALID_JSON = "invalid_json"
    """What looks like an object is not valid JSON."""
    NESTED = "nested"
    """The object is inside other brackets, or a bracket too many follows."""
    SEVERAL = "several"
    """There are several different objects."""
    DUPLICATE_NAME = "duplicate_name"
    """A name occurs twice in one object."""
    NUMBER = "number"
    """A number is too large to keep exactly."""
    TOO_DEEP = "too_deep"
    """Nesting goes deeper than `MAX_DEPTH`."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A text without one clear object.

    Args:
        reason: Why.
    """

    reason: UnreadableReason


_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_OUTSIDE = re.compile(
    r'<(?P<tag>/?)think(?:ing)?>|\{[ \t\r\n]*(?:(?P<object>(?="))|(?P<empty>\}))|[{\[]|\}+|\]+',
    re.IGNORECASE,
)
_INSIDE = re.compile(rf'{_STRING}|["{{}}\[\]]', re.DOTALL)
_NAME_OR_NUMBER = re.compile(rf"{_STRING}(?P<name>\s*:)?|(?P<number>-?\d[\d.eE+-]*)", re.DOTALL)
_BEGINS_WITH_OBJECT = re.compile(r'\s*+(?:```\w*\s*)?\{[ \t\r\n]*["}]')
_TAG = re.compile(r"<(/?)think(?:ing)?>", re.IGNORECASE)
_CLOSING_TAG = re.compile(r"</think(?:ing)?>", re.IGNORECASE)


def extract_object(text: str) -> dict[str, object] | Unreadable:
    r"""Return the one JSON object in *text*, or why there is none; never raises, in time linear in the length.

    Example:
        >>> extract_object('<think>{maybe}</think>Here you {see}: ```json\n{"facts": []}\n```')
        {'facts': []}
        >>> extract_object('{"facts": [{"content": "Ana mov').reason
        <UnreadableReason.CUT_OFF: 'cut_off'>
    """
    return _Walk(text).run()


class _Walk:
    """One walk over a text, outside its objects."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._may_be_thought = _BEGINS_WITH_OBJECT.match(text) is None
        self._broken_thoughts = 0
        self._start_over(0)

    def _start_over(self, position: int) -> None:
        """Take everything before *position* for a thought."""
        self._begin = position
        self._open = {"{": 0, "[": 0}
        self._found: dict[str, object] | None = None
        self._place = (0, 0)
        self._has_empty = False
        self._fault: UnreadableReason | None = None
        self._is_over = False

    def run(self) -> dict[str, object] | Unreadable:
        """Return the object, or what stands against it."""
        position = 0
        while token := _OUTSIDE.search(self._text, position):
            position = self._pass(token)
            if self._is_over:
                break
        return Unreadable(self._fault) if self._fault else self._outcome()

    def _outcome(self) -> dict[str, object] | Unreadable:
        if self._found is not None:
            return self._found
        if self._open["{"]:
            return Unreadable(UnreadableReason.CUT_OFF)
        if self._has_empty:
            return {}
        is_blank = not self._text[self._begin :].strip()
        return Unreadable(UnreadableReason.EMPTY if is_blank else UnreadableReason.NO_OBJECT)

    def _pass(self, token: re.Match[str]) -> int:
        """Go past a token, and return where to go on."""
        if token["tag"] is not None:
            return self._pass_tag(token)
        if token["object"] is not None:
            return self._pass_object(token.start())
        if token["empty"] is not None:
            self._has_empty = self._has_empty or not any(self._open.values())
        else:
            return self._pass_bracket(token)
        return token.end()

    def _pass_tag(self, token: re.Match[str]) -> int:
        if token["tag"] == "/":
            if self._may_be_thought:
                self._start_over(token.end())
            return token.end()
        closing = _CLOSING_TAG.search(self._text, token.end())
        if closing is None:
            return self._end_with(UnreadableReason.CUT_OFF)
        if not self._text[self._begin : token.start()].strip():
            self._begin = closing.end()
        return closing.end()

    def _pass_bracket(self, token: re.Match[str]) -> int:
        bracket = token[0][0]
        if bracket in self._open:
            self._open[bracket] += 1
            is_too_deep = self._open[bracket] > MAX_DEPTH
            return self._give_up(token.start(), UnreadableReason.TOO_DEEP) if is_too_deep else token.end()
        opening = "{" if bracket == "}" else "["
        too_many = len(token[0]) - self._open[opening]
        self._open[opening] = max(0, -too_many)
        if too_many > 0 and self._found is not None:
            return self._give_up(token.start(), UnreadableReason.NESTED)
        return token.end()

    def _pass_object(self, start: int) -> int:
        end, fault = _matching_end(self._text, start)
        if fault is None:
            fault = self._take(start, end)
        return end if fault is None else self._give_up(start, fault)

    def _take(self, start: int, end: int) -> UnreadableReason | None:
        if any(self._open.values()):
            return UnreadableReason.NESTED
        if self._found is not None:
            is_same = self._text[slice(*self._place)] == self._text[start:end]
            return None if is_same else UnreadableReason.SEVERAL
        parsed = _parsed(self._text[start:end])
        if isinstance(parsed, Unreadable):
            return parsed.reason
        self._found, self._place = parsed, (start, end)
        return None

    def _give_up(self, position: int, fault: UnreadableReason) -> int:
        """Go on after the thought that *fault* lies in, if it lies in one; else end with it."""
        tag = _TAG.search(self._text, position) if self._may_be_thought else None
        if tag is None or not tag[1] or self._broken_thoughts >= _MOST_BROKEN:
            return self._end_with(fault)
        self._broken_thoughts += 1
        self._start_over(tag.end())
        return tag.end()

    def _end_with(self, fault: UnreadableReason) -> int:
        self._fault = fault
        self._is_over = True
        return len(self._text)


def _matching_end(text: str, start: int) -> tuple[int, UnreadableReason | None]:
    """Return where the object that begins at *start* ends, were it valid."""
    depth = 0
    for token in _INSIDE.finditer(text, start):
        if token[0] in "{[":
            depth += 1
            if depth > MAX_DEPTH:
                return token.end(), UnreadableReason.TOO_DEEP
        elif token[0] in "}]":
            depth -= 1
            if not depth:
                return token.end(), None
        elif token[0] == '"':
            break
    return len(text), UnreadableReason.CUT_OFF


def _parsed(literal: str) -> dict[str, object] | Unreadable:
    try:
        value: object = orjson.loads(literal)
    except ValueError:
        return Unreadable(UnreadableReason.INVALID_JSON)
    if not isinstance(value, dict):
        return Unreadable(UnreadableReason.INVALID_JSON)
    names = 0
    for token in _NAME_OR_NUMBER.finditer(literal):
        names += token["name"] is not None
        if token["number"] is not None and not _is_kept(token["number"]):
            return Unreadable(UnreadableReason.NUMBER)
    found = cast("dict[str, object]", value)
    # The parser keeps the last of equal names, so that some are missing from what it made.
    return found if names == sum(map(len, _objects(found))) else Unreadable(UnreadableReason.DUPLICATE_NAME)


def _is_kept(number: str) -> bool:
    """Tell whether the parser keeps an integer exactly, which it does within 64 bits."""
    if len(number) < 19 or not number.lstrip("-").isdecimal():
        return True
    return len(number) <= 20 and -(2**63) <= int(number) < 2**64


def _objects(root: dict[str, object]) -> Iterator[dict[str, object]]:
    """Yield every object of a value, without recursion."""
    waiting: list[object] = [root]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            found = cast("dict[str, object]", value)
            yield found
            waiting += found.values()
        elif isinstance(value, list):
            waiting += cast("list[object]", value)
