"""Hostile texts, and how a prompt is read back: what stands between the fences, and what does not."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson

from agentcore.llm import ChatMessage

_TEXTS = Path(__file__).parent / "data" / "hostile.jsonl"
_LINE = re.compile(
    r"\[(?P<handle>\w+)\]"
    r"(?P<attributes>(?: (?:[a-z-]+=(?:\"(?:[^\"\\]|\\.)*\"|[^\s\"]+)|[A-Za-z-]+))*)"
    r"(?:(?: \"(?:[^\"\\]|\\.)*\")?(?: read-before)?:)?"
    r" (?P<text>\"(?:[^\"\\]|\\.)*\")"
)
_QUOTED = re.compile(r"(?P<name>[a-z-]+)=(?P<value>\"(?:[^\"\\]|\\.)*\")")


@dataclass(frozen=True, slots=True)
class Hostile:
    """One hostile text.

    Args:
        id: Its name.
        kind: What it tries.
        language: BCP 47.
        text: It.
        demands: What a model that obeys it does; see `obedient.py`.
    """

    id: str
    kind: str
    language: str
    text: str
    demands: tuple[str, ...]

    def knowing(self, marker: str) -> "Hostile":
        """The same text of somebody who knows the marker of the run, which nobody can."""
        return Hostile(self.id, self.kind, self.language, self.text.replace("{marker}", marker), self.demands)


def hostile_texts() -> list[Hostile]:
    rows = [orjson.loads(line) for line in _TEXTS.read_bytes().split(b"\n") if line]
    return [Hostile(**row | {"demands": tuple(row["demands"])}) for row in rows]


@dataclass(frozen=True, slots=True)
class Line:
    """One record of a prompt: its handle, its attributes that are quoted, and its text."""

    handle: str
    attributes: dict[str, str]
    text: str
    is_bare: bool
    """Whether it stands without marks such as `context-only`."""


@dataclass(frozen=True, slots=True)
class Parted:
    """A message: the lines between fences, and everything else."""

    inside: tuple[str, ...]
    outside: str
    fences: int


def parted(message: ChatMessage | str, marker: str) -> Parted:
    """Take a message apart at the lines that are the run's own fences; AssertionError where they do not pair."""
    content = message if isinstance(message, str) else message.content
    inside: list[str] = []
    outside: list[str] = []
    fences = 0
    is_open = False
    for line in content.split("\n"):
        if line in {f"<<<{marker}", f"{marker}>>>"}:
            assert is_open == line.endswith(">>>"), f"fence {fences + 1} stands where it should not"
            is_open = not is_open
            fences += 1
        else:
            (inside if is_open else outside).append(line)
    assert not is_open
    return Parted(tuple(inside), "\n".join(outside), fences)


def read_line(line: str) -> Line:
    """Read a record back; AssertionError if it is not one line with one text at its end."""
    assert line.splitlines() == [line], "a record is more than one line to some reader"
    found = _LINE.fullmatch(line)
    assert found is not None, line[:200]
    attributes = {name: orjson.loads(value) for name, value in _QUOTED.findall(found["attributes"])}
    is_bare = not found["attributes"].endswith("-only")
    return Line(found["handle"], attributes, orjson.loads(found["text"]), is_bare)


def read_lines(message: ChatMessage | str, marker: str) -> list[Line]:
    return [read_line(line) for line in parted(message, marker).inside]


def marker_of(messages: Sequence[str]) -> str:
    """The marker of a request as a model sees it: the one that the rule about data names."""
    found = re.search(r"`<<<([0-9a-f]+)`", messages[0])
    assert found is not None
    return found[1]
