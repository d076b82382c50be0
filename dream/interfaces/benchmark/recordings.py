"""Keeps a model's answers in a file, and gives them again: so that a benchmark needs no model the second time.

An answer is found again by the sample, the pass, the round, the records that the question shows (their handles and
texts) and how often the same was asked before. The wording of a prompt is no part of that: it may change, and the
answers stay; a prompt that shows other records, or the same ones under other handles, finds none.

Whatever an answer quotes of the conversation for `SHORTEST` characters or more is kept as `[name, begin, end]`, a turn
or a note of the file and a place in its text: a recording holds no text of the data that it was made on, and says
nothing without it.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, cast

import orjson

from agentcore.llm.chat import ChatClient, ChatRequest, ChatRole, Completion, FinishReason, Usage
from agentcore.llm.errors import ChatError, ChatRequestRefusedError
from dream.errors import InvalidFileError, StaleRecordingError
from dream.interfaces.benchmark.scripted import fenced_lines, record_of

SHORTEST: Final = 16
"""Characters of the shortest quotation that is kept as a place."""
_WORD: Final = re.compile(r"(?<!\w)\w")
_HANDLE: Final = re.compile(r"([a-z]+)(\d+)")

Parts = list[str | list[str | int]]
"""An answer: texts, and places `[name, begin, end]` whose texts stand between them."""


@dataclass(frozen=True, slots=True)
class AnswerPlace:
    """What a recorded answer is found by.

    Args:
        sample: The sample dreamt of.
        pass_name: The pass that asks.
        round: Which question of an exchange it is, from 1.
        shown: Digest of the records shown, and of the answers shown for a repair.
        time: Which time the same is asked, from 1.
    """

    sample: str
    pass_name: str
    round: int
    shown: str
    time: int

    def __str__(self) -> str:
        again = f", asked for the {self.time}. time" if self.time > 1 else ""
        return f"{self.sample}, {self.pass_name}, round {self.round}{again}"


@dataclass(slots=True)
class Recording:
    """The answers of a file; lives as long as a benchmark.

    Args:
        path: The file.
        answers: The lines, by what they are found by.
    """

    path: Path
    answers: dict[AnswerPlace, dict[str, Any]]

    @classmethod
    def read(cls, path: Path, *, must_exist: bool) -> "Recording":
        """Read a file.

        Raises:
            InvalidFileError: it is missing and must not be, or it is no recording.
        """
        if not path.exists() and not must_exist:
            return cls(path, {})
        try:
            lines = path.read_bytes().splitlines()
        except OSError as error:
            problem = f"cannot be read ({error.strerror})"
            raise InvalidFileError(path=str(path), problem=problem, remedy="check the path") from error
        answers: dict[AnswerPlace, dict[str, Any]] = {}
        for number, line in enumerate(lines, start=1):
            try:
                row: dict[str, Any] = orjson.loads(line)
                place = AnswerPlace(row["sample"], row["pass"], row["round"], row["shown"], row["time"])
                _ = row["answer"], row["records"], Usage(**row["usage"]), FinishReason(row["finish_reason"])
            except (ValueError, KeyError, TypeError):
                problem = "it is no answer of a recording"
                # What stands in the other lines was paid for.
                remedy = "remove that line, and --record asks for what is missing"
                raise InvalidFileError(path=str(path), problem=problem, line=number, remedy=remedy) from None
            answers[place] = row
        return cls(path, answers)

    def append(self, place: AnswerPlace, row: Mapping[str, Any]) -> None:
        """Add an answer to the file at once, so that a benchmark that is broken off loses none."""
        written = {"sample": place.sample, "pass": place.pass_name, "round": place.round, "shown": place.shown}
        whole = {**written, "time": place.time, **row}
        self.answers[place] = whole
        with self.path.open("ab") as file:
            file.write(orjson.dumps(whole) + b"\n")

    def drop(self, stale: Iterable[AnswerPlace]) -> None:
        """Write the file anew without these answers."""
        gone = set(stale)
        if gone:
            self.answers = {place: row for place, row in self.answers.items() if place not in gone}
            self.path.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in self.answers.values()))


@dataclass(frozen=True, slots=True)
class Quotes:
    """Finds what an answer quotes of some texts; made once for them.

    Args:
        texts: Them, by name.

    Example:
        >>> quotes = Quotes({"D1:3": "Well. I moved to Lisbon. You?"})
        >>> quotes.taken_out('{"quote": "I moved to Lisbon."}')
        ['{"quote": "', ['D1:3', 6, 24], '"}']
        >>> quotes.put_back(['{"quote": "', ['D1:3', 6, 24], '"}'])
        '{"quote": "I moved to Lisbon."}'
    """

    texts: Mapping[str, str]
    _places: dict[str, tuple[str, int]] = field(default_factory=dict[str, tuple[str, int]], init=False)

    def __post_init__(self) -> None:
        """Note where the first characters of each word's quotation stand."""
        for name, whole in self.texts.items():
            for start in (match.start() for match in _WORD.finditer(whole)):
                self._places.setdefault(whole[start : start + SHORTEST], (name, start))

    def taken_out(self, answer: str) -> Parts:
        """Return an answer with places instead of what it quotes."""
        parts: Parts = []
        done = 0
        for start in (match.start() for match in _WORD.finditer(answer)):
            head = answer[start : start + SHORTEST]
            if start < done or len(head) < SHORTEST or head not in self._places:
                continue
            name, begin = self._places[head]
            end = begin + _common(answer[start:], self.texts[name][begin:])
            parts += [answer[done:start], [name, begin, end]]
            done = start + end - begin
        return [part for part in (*parts, answer[done:]) if part]

    def put_back(self, parts: Parts) -> str | None:
        """Return an answer as it was; None if it quotes a text that is not there, or is shorter."""
        told: list[str] = []
        for part in parts:
            if isinstance(part, str):
                told.append(part)
                continue
            name, begin, end = cast("tuple[str, int, int]", tuple(part))
            if end > len(self.texts.get(name, "")):
                return None
            told.append(self.texts[name][begin:end])
        return "".join(told)


@dataclass(slots=True)
class RecordedClient:
    """A chat client that gives the answers of a recording, and asks a model for the others; lives as long as a sample.

    Args:
        recording: The answers.
        sample: Name of the sample dreamt of.
        quotes: What its answers can quote.
        client: Who is asked for answers that the recording lacks; None for nobody.
    """

    recording: Recording
    sample: str
    quotes: Quotes
    client: ChatClient | None = None
    _has_failed: bool = False
    _asked: Counter[tuple[str, int, str]] = field(default_factory=Counter[tuple[str, int, str]])
    _used: set[AnswerPlace] = field(default_factory=set[AnswerPlace])
    _missing: dict[AnswerPlace, str] = field(default_factory=dict[AnswerPlace, str])

    async def complete(self, request: ChatRequest) -> Completion:
        """Return the recorded answer, or the model's, which is recorded then.

        Raises:
            ChatRequestRefusedError: there is neither; `check` says so by name.
            ChatError: the model gave none.
        """
        records = list(shown_records(request))
        number = 1 + sum(message.role is ChatRole.ASSISTANT for message in request.messages)
        key = (request.purpose, number, digest(records))
        self._asked[key] += 1
        place = AnswerPlace(self.sample, *key, self._asked[key])
        row = self.recording.answers.get(place)
        text = None if row is None else self.quotes.put_back(row["answer"])
        if row is not None and text is not None:
            self._used.add(place)
            reason, used = FinishReason(row["finish_reason"]), Usage(**row["usage"])
            return Completion(text=text, finish_reason=reason, usage=used, model=row["model"])
        if self.client is None:
            self._missing[place] = handles(records)
            raise ChatRequestRefusedError(model="recorded", status=404, code="no answer is recorded")
        try:
            completion = await self.client.complete(request)
        except ChatError:
            self._has_failed = True
            raise
        self._used.add(place)
        usage = completion.usage
        self.recording.append(
            place,
            {
                "records": handles(records),
                "answer": self.quotes.taken_out(completion.text),
                "finish_reason": completion.finish_reason.value,
                "usage": {name: getattr(usage, name) for name in ("input_tokens", "output_tokens", "is_estimated")},
                "model": completion.model,
            },
        )
        return completion

    def check(self) -> None:
        """Refuse a recording that does not fit; one that is being made loses what nothing asked for.

        Raises:
            StaleRecordingError: an answer is missing, or nothing asked for one.
        """
        unused = [place for place in self.recording.answers if place.sample == self.sample and place not in self._used]
        if self.client is not None:
            # After a failed call, or where passes failed before any, nobody knows what would have been asked.
            self.recording.drop(unused if self._used and not self._has_failed else [])
            return
        problems = [f"{place} has no answer about {shown}" for place, shown in self._missing.items()]
        answers = self.recording.answers
        problems += [f"{place} is not asked about {answers[place]['records']} any more" for place in unused]
        if problems:
            raise StaleRecordingError(path=str(self.recording.path), problems=problems)


def shown_records(request: ChatRequest) -> Iterator[tuple[str, str]]:
    """Yield what a question shows: handle and text of its records, other lines whole, answers that are repaired."""
    for message in request.messages:
        if message.role is ChatRole.ASSISTANT:
            yield "", message.content
        for line in fenced_lines(message.content):
            record = record_of(line)
            yield ("", line) if record is None else (record.handle, record.text)


def digest(records: Sequence[tuple[str, str]]) -> str:
    """Return what the same records have in common."""
    return blake2b(orjson.dumps(records), digest_size=12).hexdigest()


def handles(records: Sequence[tuple[str, str]]) -> str:
    """Name records by their handles.

    Example:
        >>> handles([("t1", "Hi."), ("t2", "Hello."), ("e1", "Ana says hello.")])
        't1 to t2, e1'
    """
    found: dict[str, list[int]] = {}
    for handle, _ in records:
        match = _HANDLE.fullmatch(handle)
        if match is not None:
            found.setdefault(match[1], []).append(int(match[2]))
    ranges = [
        f"{letter}{min(numbers)}" + (f" to {letter}{max(numbers)}" if len(numbers) > 1 else "")
        for letter, numbers in found.items()
    ]
    return ", ".join(ranges) or "nothing with a handle"


def _common(one: str, other: str) -> int:
    """Return how many characters two texts begin with alike."""
    return next(
        (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )
