"""A small world to dream in: one scope of a store, with a clock and ids that a test controls."""

import itertools
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson

from agentcore.domain import Capability, EntryFilter, MemoryEntry, Scope, Status, SubjectTime
from agentcore.hosting import ActivityRecorder, BusySource, BusyWatch, HostServices, Memory
from agentcore.ids import IdFactory
from agentcore.llm import BusyGate, ChatRequest, Completion, FinishReason, Usage
from agentcore.recall import Recall
from agentcore.stores import Origin, Storage, UnitOfWork
from agentcore.testing import ManualClock, ScriptedChatClient, SequentialIds
from agentcore.workspace import Workspaces
from dream.cycle import Dreams, Runner
from dream.domain import JournalRow, PassReport, RunReport
from dream.domain.verification import VERIFY
from dream.interfaces.exchange import export_scope
from dream.options import DreamOptions
from dream.passes import DreamPass, PassSlot
from dream.passes.reader_checks import FILE
from dream.stores import dream_stores

NOW = datetime(2025, 6, 14, 9, tzinfo=UTC)
DAY = timedelta(days=1)

_scopes = itertools.count()


def fresh_scope() -> Scope:
    return Scope("dreams", "agent", f"test-{next(_scopes)}")


@dataclass
class World:
    """Everything a dream needs, on one scope."""

    storage: Storage
    recall: Recall
    clock: ManualClock
    ids: IdFactory = field(default_factory=SequentialIds)
    gate: BusyGate = field(default_factory=BusyGate)
    scope: Scope = field(default_factory=fresh_scope)
    holder: str = "this-world"
    busy_sources: tuple[BusySource, ...] = ()
    options: DreamOptions = field(default_factory=DreamOptions)
    chat: Any = None
    capabilities: frozenset[Capability] = frozenset(Capability) - {Capability.LLM, Capability.WORKSPACE}
    workspaces: Workspaces | None = None
    data_dir: Path | None = None
    shares_endpoint: bool = False

    @property
    def parts(self) -> HostServices:
        return HostServices(
            storage=self.storage,
            clock=self.clock,
            ids=self.ids,
            gate=self.gate,
            activity=ActivityRecorder(storage=self.storage, clock=self.clock),
            watch=self.watch,
            chat=self.chat,
            recall=self.recall,
            capabilities=self.capabilities
            | ({Capability.LLM} if self.chat else set())
            | ({Capability.WORKSPACE} if self.workspaces else set()),
            workspaces=self.workspaces,
            data_dir=self.data_dir,
            shares_endpoint=self.shares_endpoint,
        )

    @property
    def watch(self) -> BusyWatch:
        return BusyWatch(
            storage=self.storage, clock=self.clock, gate=self.gate, holder=self.holder, sources=self.busy_sources
        )

    @property
    def dreams(self) -> Dreams:
        return Dreams(self.parts, self.options, self.scope)

    @property
    def memory(self) -> Memory:
        return Memory(self.scope, storage=self.storage, recall=self.recall, ids=self.ids)

    def elsewhere(self) -> "World":
        """Another scope of the same store."""
        return replace(self, scope=fresh_scope())

    def entry(self, content: str, **fields: Any) -> MemoryEntry:
        """An entry first said now, unless told otherwise; subject times may be given as text."""
        said = fields.setdefault("created_at", self.clock.now())
        if isinstance(fields.get("subject_time"), str):
            fields["subject_time"] = SubjectTime.parse(fields["subject_time"])
        given = {"id": self.ids.new(), "scope": self.scope, "recorded_at": said, "last_seen_at": said}
        return MemoryEntry(content=content, **(given | fields))

    async def add(self, *contents: str | MemoryEntry, **fields: Any) -> list[MemoryEntry]:
        """Store texts, each a minute after the one before, or entries as they are; return them."""
        start = fields.pop("created_at", self.clock.now())
        entries = [
            content
            if isinstance(content, MemoryEntry)
            else self.entry(content, created_at=start + timedelta(minutes=place), **fields)
            for place, content in enumerate(contents)
        ]
        await self.write(lambda unit: unit.entries.add(entries))
        return await self.by_id(entry.id for entry in entries)

    async def write(self, work: Callable[[UnitOfWork], Any], *, origin: Origin = Origin.HOST) -> Any:
        return await self.storage.write(self.scope, work, origin=origin)

    async def change(self, entry: MemoryEntry, *, origin: Origin = Origin.HOST, **fields: Any) -> MemoryEntry:
        """Rewrite what is stored under the entry's id."""
        stored = await self.get(entry)
        await self.write(lambda unit: unit.entries.replace([(stored, replace(stored, **fields))]), origin=origin)
        return await self.get(entry)

    async def get(self, entry: MemoryEntry | str) -> MemoryEntry:
        entry_id = entry if isinstance(entry, str) else entry.id
        found = await self.storage.read(self.scope, lambda view: view.entries.get(entry_id))
        assert found is not None, entry_id
        return found

    async def by_id(self, ids: Iterable[str]) -> list[MemoryEntry]:
        wanted = list(ids)
        stored = await self.storage.read(self.scope, lambda view: view.entries.get_many(wanted))
        found = {entry.id: entry for entry in stored}
        return [found[entry_id] for entry_id in wanted]

    async def entries(self, *statuses: Status) -> list[MemoryEntry]:
        """All entries in these states (in any, if none is named), by id."""
        where = EntryFilter(statuses=frozenset(statuses))
        found = await self.storage.read(self.scope, lambda view: view.entries.select(where))
        return sorted(found, key=lambda entry: entry.id)

    async def active(self) -> list[MemoryEntry]:
        return await self.entries(Status.ACTIVE)

    async def export(self) -> bytes:
        """The scope's export without its first line, which names the scope."""
        lines: list[bytes] = []
        await export_scope(self.storage, self.scope, lines.append)
        return b"".join(lines[1:])

    async def revision(self) -> int:
        return await self.storage.read(self.scope, lambda view: view.revision)

    async def journal(self) -> list[JournalRow]:
        """The journal of every run of the scope, oldest first."""
        runs = await self.dreams.runs(limit=1_000)
        return [row for run in reversed(runs) for row in await self.dreams.diff(run.run_id)]

    async def positions(self) -> dict[str, int | None]:
        """How far each pass has looked."""

        def read(view: Any) -> dict[str, int | None]:
            cursors = dream_stores(view).cursors
            return {name: cursors.position(name) for name in cursors.readers()}

        return await self.storage.read(self.scope, read)

    async def run_passes(self, *passes: DreamPass, **asked: Any) -> RunReport:
        """Run a cycle of these passes alone."""
        order = tuple(PassSlot(one, "a test asked for it") for one in passes)
        return await Runner(self.parts, self.options, order).run(self.scope, **asked)


def of_pass(report: RunReport, name: str) -> PassReport:
    """The report of one pass of a run."""
    return next(item for item in report.passes if item.name == name)


def codes(report: PassReport) -> list[str]:
    """The codes of what was refused, in order."""
    return [str(item.code) for item in report.refused]


class VerifyingChatClient(ScriptedChatClient):
    """A scripted model that reads a second time what it wrote, and finds all of it in the records.

    Second readings take no reply of the script and are not among its requests.

    Args:
        replies: As for any scripted model.
        denies: Parts of statements that it does not find in the records.
    """

    def __init__(self, replies: Iterable[Any], *, denies: Collection[str] = ()) -> None:
        super().__init__(replies)
        self.readings: list[ChatRequest] = []
        self._denies = tuple(denies)
        self._written: Counter[str] = Counter()
        self._quotes: dict[str, str] = {}

    async def complete(self, request: ChatRequest) -> Completion:
        if request.purpose == VERIFY:
            self.readings.append(request)
            return _completed(request, self.reading(request.messages[-1].content))
        completion = await super().complete(request)
        self.remember(completion.text)
        return completion

    def remember(self, answer: str) -> None:
        """Know the texts of an answer as what it wrote, so that it can tell them from the host's checks."""
        try:
            items = list(_objects(orjson.loads(answer)))
        except orjson.JSONDecodeError:
            return
        texts = [(_plain(text), item) for item in items for text in item.values() if isinstance(text, str)]
        for text, count in Counter(text for text, _ in texts).items():
            self._written[text] = max(self._written[text], count)
        self._quotes |= {text: _plain(str(item.get("quote", ""))) for text, item in texts}

    def reading(self, prompt: str) -> str:
        """Answer a second reading, given by the text of its last message."""
        records = {handle: texts[-1] for handle, _, texts in _data(prompt, "r")}
        asked = [
            _Asked(
                handle,
                _plain(texts[-1]),
                *([records[one] for one in re.findall(r"r\d+", part)] for part in parts),
                is_whole=" whole" in named,
            )
            for handle, named, texts in _data(prompt, "[s-z]")
            for parts in [(named.partition("(")[0], named.partition("(")[2])]
        ]
        found = [
            {
                "id": one.handle,
                "reading": "says" if self._says(one, asked) else "not_said",
                "quotes": [*one.evidence, *one.beside],
                "leftOut": [],
            }
            for one in asked
        ]
        return orjson.dumps({"readings": found}).decode()

    def _says(self, one: "_Asked", asked: Sequence["_Asked"]) -> bool:
        if any(_plain(part) in one.text for part in self._denies):
            return False
        if one.text in _TRUE:
            return True
        if one.text not in self._written:
            pieces = re.split(r"(?<=[.!?])\s+", one.text)
            is_held = all(one.holds(piece) or piece in self._written for piece in pieces)
            return is_held and (not one.is_whole or one.is_all)
        quote = self._quotes[one.text]
        same = [other for other in asked if other.text == one.text]
        best = sorted(same, key=lambda other: (not other.holds(quote), -other.shared(), other.handle))
        return one in best[: self._written[one.text]]


@dataclass(frozen=True)
class _Asked:
    """A statement that is read a second time."""

    handle: str
    text: str
    evidence: list[str]
    beside: list[str]
    is_whole: bool

    @property
    def is_all(self) -> bool:
        return all(_plain(text).rstrip(".!?") in self.text for text in self.evidence)

    def holds(self, piece: str) -> bool:
        return any(piece.rstrip(".!?") in _plain(text) for text in self.evidence)

    def shared(self) -> int:
        words = {word for text in self.evidence for word in re.findall(r"\w+", text.casefold())}
        return len(words & set(re.findall(r"\w+", self.text)))


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()


_EXAMPLES = Path(__file__).parents[2] / "directives" / FILE
_TRUE = {_plain(row["true"]) for row in orjson.loads(_EXAMPLES.read_bytes())}
"""What the host's own examples truly say."""


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    """Every object in a JSON value, and what stands in a row of texts."""
    if isinstance(value, dict):
        yield value
    if isinstance(value, list) and value and all(isinstance(one, str) for one in value):
        yield {str(place): one for place, one in enumerate(value)}
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for one in inner:
        yield from _objects(one)


def _data(prompt: str, letter: str) -> Iterator[tuple[str, str, list[str]]]:
    """The lines of data whose handles begin with a letter: handle, attributes, and the texts between quotes."""
    for line in prompt.splitlines():
        if (found := re.match(rf"\[({letter}\w+)\] ", line)) is not None:
            texts = re.findall(r'"(?:[^"\\]|\\.)*"', line)
            yield found[1], line[found.end() :].partition('"')[0], [orjson.loads(text) for text in texts]


def _completed(request: ChatRequest, text: str) -> Completion:
    asked = sum(len(message.content.encode()) for message in request.messages)
    usage = Usage(input_tokens=-(-asked // 4), output_tokens=-(-len(text.encode()) // 4))
    return Completion(text=text, finish_reason=FinishReason.STOP, usage=usage, model=request.model or "scripted")
