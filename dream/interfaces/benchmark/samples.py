"""Reads conversations with questions: the turns by their names, and the turns that answer each question."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Final, cast

from agentcore.domain.conversation import Turn
from agentcore.domain.memory import MemoryEntry
from agentcore.domain.scope import Scope
from dream.errors import InvalidFileError, UnknownSampleError
from dream.interfaces.exchange.chat_json import ChatPart, chat_name, chat_turns, read_chat
from dream.interfaces.exchange.files import SourceFile
from dream.interfaces.exchange.formats import Format, detect_format
from dream.interfaces.exchange.items import ImportItem
from dream.interfaces.exchange.locomo import dialogue_ids, parse_locomo, read_samples

ADVERSARIAL: Final = "adversarial"
"""The category of questions that ask for what was never said of that person."""
LOCOMO_CATEGORIES: Final = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: ADVERSARIAL}
FORMATS: Final = (Format.LOCOMO, Format.CHAT_JSON)
"""Formats whose files can hold questions."""

_SESSION = re.compile(r"session_(\d{1,6})")


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleQuestion:
    """A question, and what is known of its answer.

    Args:
        name: Its id in the file, else its number among the file's questions, from 1.
        text: It.
        category: What sort of question it is.
        evidence: Names of the turns that answer it: one at least, all of them in the sample.
        answer: The answer as text; None where the file gives none, as for adversarial questions.
        asked_at: When it is asked; None for a day after the last turn.
    """

    name: str = ""
    text: str
    category: str
    evidence: tuple[str, ...]
    answer: str | None = None
    asked_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Faults:
    """What is wrong with a file's evidence.

    Args:
        left_out: Questions without any evidence that can be read and is there.
        repaired: Pieces of evidence in an unusual spelling that could be read.
        unreadable: Pieces of evidence that name no turn.
        unknown: Names of turns that are not in the sample.
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
        name: What it is called.
        path: The file it stands in.
        file_format: What the file is.
        turns: Its turns by their names in the file, in order; without the ids that a store gives them.
        notes: Texts of the entries that it holds beside them.
        questions: Those that can be asked.
        faults: What is wrong with the others.
    """

    name: str
    path: Path
    file_format: Format = Format.CHAT_JSON
    turns: Mapping[str, Turn]
    notes: tuple[str, ...] = ()
    questions: tuple[SampleQuestion, ...]
    faults: Faults

    @property
    def ended_at(self) -> datetime:
        """When its last turn was said."""
        return max(turn.occurred_at for turn in self.turns.values())

    @property
    def sessions(self) -> tuple[str, ...]:
        """Ids that an import gives its sessions, in order."""
        return tuple(dict.fromkeys(turn.session_id for turn in self.turns.values()))

    @property
    def texts(self) -> dict[str, str]:
        """What it says, by name: turns by theirs, notes by their number."""
        notes = {f"note {number}": text for number, text in enumerate(self.notes, start=1)}
        return {name: turn.content for name, turn in self.turns.items()} | notes

    def names_of(self, stored: Iterable[Turn]) -> dict[str, str]:
        """Return the names of stored turns by their ids."""
        names = {_place(turn): name for name, turn in reversed(list(self.turns.items()))}
        return {turn.id: names[_place(turn)] for turn in stored if _place(turn) in names}


def _place(turn: Turn) -> tuple[str, datetime, str]:
    return turn.session_id, turn.occurred_at, turn.content


def read_questions(
    paths: Sequence[Path], *, now: datetime, wanted: Sequence[str] = (), file_format: Format = Format.AUTO
) -> list[BenchmarkSample]:
    """Return the samples of files and folders; what an import would refuse is refused here.

    Args:
        paths: Files, and folders whose `.json` files are read by name.
        now: Any instant; records are read as if stored then.
        wanted: Names of samples, in the order in which they are returned; none for all.
        file_format: What the files are; found out of each by default.

    Raises:
        InvalidFileError: a file holds no conversation with questions, or two samples have one name.
        UnknownSampleError: no file holds such a sample.
    """
    found: dict[str, BenchmarkSample] = {}
    for path in _files(paths):
        for sample in _samples_of(SourceFile(path, Scope.default(), now), file_format):
            if sample.name in found:
                problem = f"sample {sample.name}: {found[sample.name].path} holds one of that name too"
                raise InvalidFileError(path=str(path), problem=problem, remedy="rename one")
            found[sample.name] = sample
    for name in wanted:
        if name not in found:
            raise UnknownSampleError(path=", ".join(map(str, paths)), sample=name, known=found)
    return [found[name] for name in dict.fromkeys(wanted or found)]


def read_locomo(path: Path, *, now: datetime, wanted: Sequence[str] = ()) -> list[BenchmarkSample]:
    """Return the samples of a LoCoMo file, as `read_questions` does."""
    return read_questions([path], now=now, wanted=wanted, file_format=Format.LOCOMO)


def _files(paths: Sequence[Path]) -> list[Path]:
    found: list[Path] = []
    for path in paths:
        inside = sorted(path.glob("*.json")) if path.is_dir() else [path]
        if not inside:
            raise InvalidFileError(path=str(path), problem="the folder holds no .json file", remedy="name another")
        found += inside
    return found


def _samples_of(source: SourceFile, file_format: Format) -> list[BenchmarkSample]:
    source.state()
    found = detect_format(source) if file_format is Format.AUTO else file_format
    if found is Format.LOCOMO:
        return [_locomo_sample(source, name, values) for name, values in read_samples(source).items()]
    if found is Format.CHAT_JSON:
        return [_chat_sample(source, read_chat(source))]
    formats = " or ".join(FORMATS)
    raise source.refusal(f"a {found} file holds no questions", remedy=f"name a file of the format {formats}")


def _locomo_sample(source: SourceFile, name: str, values: Mapping[str, object]) -> BenchmarkSample:
    records = [one.record for one in parse_locomo(source, sample=name)]
    said = [one for one in records if isinstance(one, Turn)]
    names = _dialogue_ids(cast("Mapping[str, object]", values["conversation"]))
    turns: dict[str, Turn] = {}
    for dialogue_id, turn in zip(names, said, strict=True):
        turns.setdefault(dialogue_id, turn)
    questions, faults = _locomo_questions(source, name, values.get("qa"), turns)
    sample = _sample(source, name, turns, questions, faults)
    notes = tuple(one.content for one in records if isinstance(one, MemoryEntry))
    return replace(sample, file_format=Format.LOCOMO, notes=notes)


def _chat_sample(source: SourceFile, chat: Mapping[str, object]) -> BenchmarkSample:
    items = {one.name: one.item for one in chat_turns(source, chat)}
    turns = {
        name: item.record
        for name, item in items.items()
        if isinstance(item, ImportItem) and isinstance(item.record, Turn)
    }
    questions, faults = _chat_questions(source, chat.get("questions"), turns)
    return _sample(source, chat_name(source, chat), turns, questions, faults)


def _sample(
    source: SourceFile, name: str, turns: Mapping[str, Turn], questions: Sequence[SampleQuestion], faults: Faults
) -> BenchmarkSample:
    problem = "" if turns else "it holds no turn"
    problem = problem or ("" if questions else "it holds no question with evidence among its turns")
    if problem:
        raise _refusal(source, name, problem)
    numbered = (replace(one, name=one.name or str(place)) for place, one in enumerate(questions, start=1))
    return BenchmarkSample(
        name=name,
        path=source.path,
        turns=turns,
        questions=tuple(numbered),
        faults=faults,
    )


def _dialogue_ids(conversation: Mapping[str, object]) -> list[str]:
    numbers = sorted(int(match[1]) for match in map(_SESSION.fullmatch, conversation) if match)
    return [
        turn["dia_id"] for number in numbers for turn in cast("list[dict[str, str]]", conversation[f"session_{number}"])
    ]


def _locomo_questions(
    source: SourceFile, name: str, raw: object, known: Collection[str]
) -> tuple[list[SampleQuestion], Faults]:
    questions: list[SampleQuestion] = []
    faults = Faults()
    for values in _list(raw):
        if not isinstance(values, dict):
            raise _refusal(source, name, "a question is no object")
        fields = cast("Mapping[str, object]", values)
        text, category, cited = (fields.get(key) for key in ("question", "category", "evidence"))
        if not (isinstance(text, str) and text.strip() and isinstance(category, int) and category in LOCOMO_CATEGORIES):
            raise _refusal(source, name, "a question lacks its text or a category from 1 to 5")
        evidence, found = _evidence([(piece, dialogue_ids(piece)) for piece in map(str, _list(cited))], known)
        faults += found
        # An adversarial question asks for what nobody said: whatever its file calls an answer is a trap.
        sort = LOCOMO_CATEGORIES[category]
        answer = None if sort == ADVERSARIAL else _answer(fields.get("answer"))
        if evidence:
            questions.append(SampleQuestion(text=text, category=sort, evidence=evidence, answer=answer))
    return questions, faults


def _chat_questions(source: SourceFile, raw: object, known: Collection[str]) -> tuple[list[SampleQuestion], Faults]:
    questions: list[SampleQuestion] = []
    faults = Faults()
    for number, values in enumerate(_list(raw), start=1):
        part = ChatPart.of(source, f"question {number}")
        fields = part.fields(values)
        text, category = fields.text("question"), fields.name("category")
        if not text.strip():
            raise fields.refusal("question", "a text")
        given = cast("Mapping[str, object]", values)
        evidence, found = _evidence([(piece, [piece]) for piece in map(str, _list(given.get("evidence")))], known)
        faults += found
        if evidence:
            one = SampleQuestion(
                name=fields.optional_name("id") or str(number),
                text=text,
                category=category,
                evidence=evidence,
                answer=_answer(given.get("answer")),
                asked_at=fields.instant("asked_at"),
            )
            questions.append(one)
    return questions, faults


def _answer(raw: object) -> str | None:
    """Return an answer as text; LoCoMo has numbers and lists among them."""
    text = ", ".join(map(str, _list(raw))).strip()
    return text or None


def _evidence(read: Sequence[tuple[str, Sequence[str]]], known: Collection[str]) -> tuple[tuple[str, ...], Faults]:
    """Return the evidence that is there.

    Args:
        read: The pieces as they stand there, each with the names that were read in it.
        known: Names of the sample's turns.
    """
    named = list(dict.fromkeys(one for _, names in read for one in names))
    present = tuple(one for one in named if one in known)
    faults = Faults(
        left_out=0 if present else 1,
        repaired=sum(bool(names) and list(names) != [piece] for piece, names in read),
        unreadable=sum(not names for _, names in read),
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
