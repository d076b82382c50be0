"""Reads LoCoMo samples: the turns' names, and questions with the turns that answer them."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import cast

from agentcore.domain.conversation import Turn
from agentcore.domain.scope import Scope
from dream.errors import InvalidFileError, UnknownSampleError
from dream.interfaces.exchange.files import SourceFile
from dream.interfaces.exchange.locomo import dialogue_ids, parse_locomo, read_samples

ADVERSARIAL = 5
"""The category of questions that ask for what was never said of that person."""
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", ADVERSARIAL: "adversarial"}

_SESSION = re.compile(r"session_(\d{1,6})")


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and the dialogue ids of the turns that answer it: one at least, all of them in the sample."""

    text: str
    category: int
    evidence: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Faults:
    """What is wrong with a file's evidence.

    Args:
        left_out: Questions without any evidence that can be read and is there.
        repaired: Pieces of evidence in an unusual spelling that could be read.
        unreadable: Pieces of evidence that name no turn.
        unknown: Dialogue ids of turns that are not in the sample.
    """

    left_out: int = 0
    repaired: int = 0
    unreadable: int = 0
    unknown: int = 0

    def __add__(self, other: "Faults") -> "Faults":
        return Faults(
            self.left_out + other.left_out,
            self.repaired + other.repaired,
            self.unreadable + other.unreadable,
            self.unknown + other.unknown,
        )

    def to_json(self) -> dict[str, int]:
        """Return plain JSON values."""
        return {
            "left_out": self.left_out,
            "repaired": self.repaired,
            "unreadable": self.unreadable,
            "unknown": self.unknown,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkSample:
    """One conversation with its questions.

    Args:
        name: Its `sample_id`.
        path: The file it stands in.
        ended_at: When its last turn was said.
        sessions: By the id an import gives a session, the dialogue ids of its turns in order.
        questions: Those that can be asked.
        faults: What is wrong with the others.
    """

    name: str
    path: Path
    ended_at: datetime
    sessions: Mapping[str, tuple[str, ...]]
    questions: tuple[Question, ...]
    faults: Faults


def read_locomo(path: Path, *, now: datetime, wanted: Sequence[str] = ()) -> list[BenchmarkSample]:
    """Return the samples of a LoCoMo file; what an import would refuse is refused here.

    Args:
        path: The file.
        now: Any instant; records are read as if stored then.
        wanted: Names of samples, in the order in which they are returned; none for all.

    Raises:
        InvalidFileError: it is no LoCoMo file, or its questions cannot be read.
        UnknownSampleError: it holds no such sample.
    """
    source = SourceFile(path, Scope.default(), now)
    source.state()
    found = read_samples(source)
    for name in wanted:
        if name not in found:
            raise UnknownSampleError(path=str(path), sample=name, known=found)
    return [_sample(source, name, found[name]) for name in dict.fromkeys(wanted or found)]


def _sample(source: SourceFile, name: str, values: Mapping[str, object]) -> BenchmarkSample:
    turns = [one.record for one in parse_locomo(source, sample=name) if isinstance(one.record, Turn)]
    if not turns:
        raise _refusal(source, name, "it holds no turn")
    sessions = _sessions(name, cast("Mapping[str, object]", values["conversation"]))
    known = {one for ids in sessions.values() for one in ids}
    questions, faults = _questions(source, name, values.get("qa"), known)
    if not questions:
        raise _refusal(source, name, "it holds no question (qa) with evidence among its turns")
    return BenchmarkSample(
        name=name,
        path=source.path,
        ended_at=max(turn.occurred_at for turn in turns),
        sessions=sessions,
        questions=questions,
        faults=faults,
    )


def _sessions(name: str, conversation: Mapping[str, object]) -> dict[str, tuple[str, ...]]:
    numbers = sorted(int(match[1]) for match in map(_SESSION.fullmatch, conversation) if match)
    return {
        f"{name}:{number}": tuple(
            turn["dia_id"] for turn in cast("list[dict[str, str]]", conversation[f"session_{number}"])
        )
        for number in numbers
    }


def _questions(
    source: SourceFile, name: str, raw: object, known: Collection[str]
) -> tuple[tuple[Question, ...], Faults]:
    questions: list[Question] = []
    faults = Faults()
    for values in _list(raw):
        if not isinstance(values, dict):
            raise _refusal(source, name, "a question is no object")
        fields = cast("Mapping[str, object]", values)
        text, category, cited = (fields.get(key) for key in ("question", "category", "evidence"))
        if not (isinstance(text, str) and text.strip() and isinstance(category, int) and category in CATEGORIES):
            raise _refusal(source, name, "a question lacks its text or a category from 1 to 5")
        evidence, found = _evidence([str(piece) for piece in _list(cited)], known)
        faults += found
        if evidence:
            questions.append(Question(text, category, evidence))
    return tuple(questions), faults


def _evidence(pieces: Sequence[str], known: Collection[str]) -> tuple[tuple[str, ...], Faults]:
    read = [(piece, dialogue_ids(piece)) for piece in pieces]
    named = list(dict.fromkeys(one for _, ids in read for one in ids))
    present = tuple(one for one in named if one in known)
    faults = Faults(
        left_out=0 if present else 1,
        repaired=sum(bool(ids) and ids != [piece] for piece, ids in read),
        unreadable=sum(not ids for _, ids in read),
        unknown=len(named) - len(present),
    )
    return present, faults


def _list(raw: object) -> list[object]:
    """Return a list as it is, nothing as an empty one, and anything else as the one thing in it."""
    if isinstance(raw, list):
        return cast("list[object]", raw)
    return [] if raw is None else [raw]


def _refusal(source: SourceFile, name: str, problem: str) -> InvalidFileError:
    return source.refusal(f"sample {name}: {problem}", remedy="name another file")
