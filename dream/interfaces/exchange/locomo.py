"""Parses LoCoMo: long conversations between two people, with observations drawn from them.

A JSON list of samples. Turns go to the conversation log in sessions `{sample}:{n}`. Both speakers are people, so both
have the role `user` and are told apart by `speaker`. A photo that a turn shares stands behind its text as
`[photo: caption]`. A session has one date for all its turns, taken as UTC; each turn is said a second after the one
before it, which keeps their order. Observations become entries in `people/{speaker}` with the session's date and the
turns they cite.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import cast

import orjson

from agentcore.domain.conversation import Turn
from agentcore.domain.memory import MemoryEntry
from agentcore.domain.text import clean_category, clean_content
from dream.errors import InvalidFileError, UnknownSampleError
from dream.interfaces.exchange.files import SourceFile
from dream.interfaces.exchange.items import UNNAMED, ImportItem, Note, SourceKeys

_SESSION = re.compile(r"session_(\d{1,6})")
_OBSERVATION = re.compile(r"session_(\d{1,6})_observation")
_SAID = re.compile(r"(1[0-2]|0?[1-9]):([0-5]\d) ?([ap])m on (\d{1,2}) ([a-z]{3})[a-z]*,? (\d{4})", re.ASCII)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DIALOGUE_ID = re.compile(r"D:?0*(\d+):0*(\d+)", re.ASCII)
_NOT_LOCOMO = "it is no LoCoMo file: expected a JSON list of objects with sample_id and conversation"


@dataclass(slots=True)
class _LocomoSample:
    """One sample while it is read: its parts, and the keys of its turns by dialogue id."""

    source: SourceFile
    name: str
    values: Mapping[str, object]
    keys: SourceKeys
    turn_keys: dict[str, str]

    def items(self) -> Iterator[ImportItem]:
        conversation = _mapping(self.values.get("conversation"))
        if conversation is None:
            raise self.refusal("its conversation is no object")
        dates: dict[int, datetime] = {}
        for number in sorted(int(match[1]) for match in map(_SESSION.fullmatch, conversation) if match):
            turns = conversation[f"session_{number}"]
            dates[number] = self.date(number, conversation.get(f"session_{number}_date_time"))
            for ordinal, turn in enumerate(self.list_of(turns, f"session_{number}")):
                yield self.turn(number, dates[number] + timedelta(seconds=ordinal), turn)
        yield from self.observations(dates)

    def turn(self, session: int, said: datetime, raw: object) -> ImportItem:
        fields = _mapping(raw) or {}
        speaker, dialogue_id, text = (fields.get(name) for name in ("speaker", "dia_id", "text"))
        if not (isinstance(speaker, str) and isinstance(dialogue_id, str) and isinstance(text, str)):
            raise self.refusal(f"a turn of session_{session} lacks speaker, dia_id or text")
        caption = fields.get("blip_caption")
        shown = f"{text} [photo: {caption}]" if isinstance(caption, str) and caption.strip() else text
        with self.source.at(None):
            content = clean_content(shown)
        key = self.keys.new("turn", self.name, dialogue_id)
        self.turn_keys.setdefault(dialogue_id, key)
        turn = Turn(
            id=UNNAMED,
            scope=self.source.scope,
            session_id=f"{self.name}:{session}",
            role="user",
            content=content,
            speaker=speaker,
            occurred_at=said,
            recorded_at=self.source.now,
        )
        return ImportItem(record=turn, source_key=key)

    def observations(self, dates: Mapping[int, datetime]) -> Iterator[ImportItem]:
        by_session = _mapping(self.values.get("observation")) or {}
        for name, by_speaker in by_session.items():
            match = _OBSERVATION.fullmatch(name)
            speakers = _mapping(by_speaker)
            if match is None or speakers is None or int(match[1]) not in dates:
                raise self.refusal(f"{name} belongs to no session of the conversation")
            for speaker, observed in speakers.items():
                for raw in self.list_of(observed, name):
                    yield self.observation(int(match[1]), dates[int(match[1])], speaker, raw)

    def observation(self, session: int, seen: datetime, speaker: str, raw: object) -> ImportItem:
        parts = self.list_of(raw, f"session_{session}_observation")
        if len(parts) != 2 or not isinstance(parts[0], str):
            raise self.refusal(f"an observation of session {session} is not a text with its dialogue ids")
        with self.source.at(None):
            content = clean_content(parts[0])
        raw_ids = cast("list[object]", parts[1]) if isinstance(parts[1], list) else [parts[1]]
        cites, notes = self.cited([str(one) for one in raw_ids])
        entry = MemoryEntry(
            id=UNNAMED,
            scope=self.source.scope,
            content=content,
            category=clean_category(f"people/{speaker}"),
            created_at=seen,
            recorded_at=self.source.now,
            last_seen_at=seen,
            metadata={"subject": speaker},
        )
        key = self.keys.new("observation", self.name, str(session), content, *map(str, raw_ids))
        return ImportItem(record=entry, source_key=key, cites=cites, notes=notes)

    def cited(self, raw_ids: Sequence[str]) -> tuple[tuple[str, ...], tuple[Note, ...]]:
        """Return the keys of the turns that are cited, and what was odd about the citations."""
        keys: list[str] = []
        notes: list[Note] = []
        for raw in raw_ids:
            found = dialogue_ids(raw)
            if found != [raw]:
                notes.append(Note.MALFORMED_SOURCE)
            known = [self.turn_keys[one] for one in found if one in self.turn_keys]
            notes += [Note.UNKNOWN_SOURCE] * (len(found) - len(known))
            keys += known
        return tuple(dict.fromkeys(keys)), tuple(notes)

    def date(self, session: int, raw: object) -> datetime:
        match = _SAID.fullmatch(raw.strip().lower()) if isinstance(raw, str) else None
        if match is not None and match[5] in _MONTHS:
            hour = int(match[1]) % 12 + (12 if match[3] == "p" else 0)
            month = _MONTHS.index(match[5]) + 1
            with suppress(ValueError):
                return datetime(int(match[6]), month, int(match[4]), hour, int(match[2]), tzinfo=UTC)
        raise self.refusal(f"session_{session}_date_time should be written like '1:56 pm on 8 May, 2023'")

    def list_of(self, raw: object, name: str) -> list[object]:
        if not isinstance(raw, list):
            raise self.refusal(f"{name} is no list")
        return cast("list[object]", raw)

    def refusal(self, problem: str) -> InvalidFileError:
        return self.source.refusal(f"sample {self.name}: {problem}")


def parse_locomo(source: SourceFile, *, sample: str | None = None) -> Iterator[ImportItem]:
    """Yield the turns and observations of one sample, or of all.

    Args:
        source: The file.
        sample: A `sample_id`, or None for all samples.

    Raises:
        InvalidFileError: it is no LoCoMo file.
        UnknownSampleError: it holds no such sample.
    """
    samples = read_samples(source)
    if sample is not None and sample not in samples:
        raise UnknownSampleError(path=str(source.path), sample=sample, known=samples)
    keys = SourceKeys("locomo")
    for name, values in samples.items():
        if sample in (None, name):
            yield from _LocomoSample(source, name, values, keys, {}).items()


def dialogue_ids(raw: str) -> list[str]:
    """Return the dialogue ids in *raw* as they should be written, however they are found in the wild.

    Example:
        >>> dialogue_ids("D8:6; D9:17"), dialogue_ids("D:11:26"), dialogue_ids("D30:05"), dialogue_ids("D")
        (['D8:6', 'D9:17'], ['D11:26'], ['D30:5'], [])
    """
    return [f"D{session}:{number}" for session, number in _DIALOGUE_ID.findall(raw)]


def read_samples(source: SourceFile) -> dict[str, Mapping[str, object]]:
    """Return the samples of a file by name, as they stand there.

    Raises:
        InvalidFileError: it is no LoCoMo file.
    """
    try:
        raw: object = orjson.loads(source.whole())
    except orjson.JSONDecodeError as error:
        raise source.refusal(f"it is not JSON ({error.msg})", line=error.lineno, remedy="get the file again") from None
    found: dict[str, Mapping[str, object]] = {}
    for values in map(_mapping, cast("list[object]", raw) if isinstance(raw, list) else [raw]):
        name = None if values is None or "conversation" not in values else values.get("sample_id")
        if values is None or not isinstance(name, str) or not name.strip():
            raise source.refusal(_NOT_LOCOMO)
        if name in found:
            raise source.refusal(f"two samples are called {name[:80]!r}", remedy="rename one")
        found[name] = values
    if not found:
        raise source.refusal(_NOT_LOCOMO)
    return found


def _mapping(raw: object) -> Mapping[str, object] | None:
    return cast("Mapping[str, object]", raw) if isinstance(raw, dict) else None
