"""Export: everything of a scope, byte for byte, there and back."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson
import pytest
from exchange_desk import Desk
from hypothesis import HealthCheck, given, settings, strategies as st

from agentcore.domain import (
    Evidence,
    EvidenceVerdict,
    FailureCategory,
    Feedback,
    FeedbackKind,
    Level,
    MemoryEntry,
    PartialDate,
    Rating,
    RecordKind,
    Scope,
    Skill,
    SkillUse,
    SourceKind,
    SourceRef,
    Status,
    SubjectTime,
    ToolCall,
    Trust,
    Turn,
    WispRun,
)
from agentcore.stores.sql import SqlStorage
from agentcore.testing import ManualClock, SequentialIds
from agentcore.testing.contracts.samples import an_entry, some_evidence
from dream.errors import InvalidFileError, UnwritableFileError
from dream.interfaces.exchange import ImportReport, export_file, export_scope, import_file, importer
from dream.stores import dream_stores

NOW = datetime(2025, 10, 12, tzinfo=UTC)
EMPTY_SCOPE = 2
"""Lines in the export of a scope without records: the first and the last."""
EXAMPLES = Path(__file__).parents[3] / "docs" / "examples"

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=20).filter(
    str.strip
)
names = st.text("abc/é ", min_size=1, max_size=6)
ids = st.text("abcdef0123456789", min_size=1, max_size=4)
instants = st.integers(0, 10**15).map(lambda micros: datetime(2000, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros))
subject_times = st.sampled_from(["2019", "2019-06; 1995..2003", "2020..?", "?..2003", "2019-06-14T09:30"]).map(
    SubjectTime.parse
)


def maybe(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | strategy


def unique(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    return st.lists(strategy, max_size=4, unique_by=lambda record: record.id)


SCOPE = st.just(Scope.default())
retirement = {
    "status": st.sampled_from(Status),
    "status_reason": maybe(texts),
    "successor": maybe(ids),
    "status_at": maybe(instants),
}
entries = st.builds(
    MemoryEntry,
    id=ids,
    scope=SCOPE,
    content=texts,
    category=names,
    tags=st.lists(texts, max_size=3).map(tuple),
    base=st.floats(0, 1),
    created_at=instants,
    recorded_at=instants,
    updated_at=maybe(instants),
    last_seen_at=instants,
    own_count=st.integers(1, 99),
    absorbed=st.lists(st.tuples(ids, st.integers(1, 9)), max_size=2).map(tuple),
    subject_time=maybe(subject_times),
    metadata=st.dictionaries(texts, texts, max_size=2),
    level=st.sampled_from([Level.EXPLICIT, Level.DERIVED]),
    sources=st.sets(st.builds(SourceRef, st.sampled_from(SourceKind), ids), max_size=3).map(
        lambda refs: tuple(sorted(refs))
    ),
    evidence=st.lists(
        st.builds(
            Evidence,
            source=st.builds(SourceRef, st.sampled_from(SourceKind), ids),
            speaker=maybe(names),
            said_at=instants,
            sentence=texts,
            verdict=st.sampled_from(EvidenceVerdict),
            written_by=st.just("") | names,
            verified_by=st.just("") | names,
            round=st.integers(0, 3),
        ),
        max_size=3,
    ).map(tuple),
    valid_until=maybe(st.sampled_from(["2022", "2022-03", "2022-03-04"]).map(PartialDate.parse)),
    trust=st.sampled_from(Trust),
    pinned=st.booleans(),
    **retirement,
)
turns = st.builds(
    Turn,
    id=ids,
    scope=SCOPE,
    session_id=names,
    role=st.sampled_from(["user", "tool"]),
    content=texts,
    speaker=maybe(names),
    occurred_at=instants,
    recorded_at=instants,
    consumed_at=maybe(instants),
    trust=st.sampled_from(Trust),
    generated=st.booleans(),
)
skills = st.builds(
    Skill,
    id=ids,
    scope=SCOPE,
    name=names,
    summary=texts,
    content=texts,
    created_at=instants,
    updated_at=maybe(instants),
    last_used_at=maybe(instants),
    see_also=st.lists(names, max_size=2).map(tuple),
    trust=st.sampled_from(Trust),
    **retirement,
)
uses = st.builds(
    SkillUse, id=ids, scope=SCOPE, skill_name=names, session_id=names, occurred_at=instants, recorded_at=instants
)
feedbacks = st.builds(
    Feedback,
    id=ids,
    scope=SCOPE,
    session_id=names,
    kind=st.sampled_from(FeedbackKind),
    summary=texts,
    detail=maybe(texts),
    rating=maybe(st.sampled_from(Rating)),
    occurred_at=instants,
    recorded_at=instants,
)
wisps = st.builds(
    WispRun,
    id=ids,
    scope=SCOPE,
    wisp_id=names,
    description=texts,
    definition_hash=names,
    succeeded=st.booleans(),
    step_count=st.integers(0, 9),
    steps_completed=st.integers(0, 9),
    failure_category=maybe(st.sampled_from(FailureCategory)),
    duration_ms=st.integers(0, 2**40),
    session_id=maybe(names),
    occurred_at=instants,
    recorded_at=instants,
)
tool_calls = st.builds(
    ToolCall,
    id=ids,
    scope=SCOPE,
    session_id=names,
    tool_name=names,
    succeeded=st.booleans(),
    arguments=maybe(texts),
    error_message=maybe(texts),
    duration_ms=maybe(st.integers(0, 2**40)),
    occurred_at=instants,
    recorded_at=instants,
)
stores = st.fixed_dictionaries(
    {
        "entries": unique(entries),
        "turns": unique(turns),
        "skills": unique(skills).map(lambda found: list({one.name: one for one in found}.values())),
        "skill_uses": unique(uses),
        "feedback": unique(feedbacks),
        "wisp_runs": unique(wisps),
        "tool_calls": unique(tool_calls),
        "cursors": st.dictionaries(names, st.sets(st.integers(0, 3), max_size=3), max_size=2),
    },
)


class Bench:
    """A store on a loop of its own, for tests that hypothesis calls many times; each example has scopes of its own."""

    def __init__(self, storage: SqlStorage) -> None:
        self._runner = asyncio.Runner()
        self._clock = ManualClock(NOW)
        self._examples = 0
        self._storage = storage

    def scopes(self) -> tuple[Scope, Scope]:
        self._examples += 1
        return Scope("from", "agent", f"example-{self._examples}"), Scope("to", "agent", f"example-{self._examples}")

    def fill(self, scope: Scope, store: dict[str, Any]) -> None:
        def mine(kind: str) -> list[Any]:
            return [replace(record, scope=scope) for record in store[kind]]

        def work(unit: Any) -> None:
            unit.entries.add(mine("entries"))
            unit.turns.add(mine("turns"))
            for skill in mine("skills"):
                unit.skills.add(skill)
            unit.skill_uses.append(mine("skill_uses"))
            unit.feedback.append(mine("feedback"))
            unit.wisp_runs.append(mine("wisp_runs"))
            unit.tool_calls.append(mine("tool_calls"))
            for reader, places in store["cursors"].items():
                pending = [entry.id for place, entry in enumerate(store["entries"]) if place in places]
                dream_stores(unit).cursors.restore(reader, pending)

        self._runner.run(self._storage.write(scope, work))

    def dump(self, scope: Scope) -> list[bytes]:
        lines: list[bytes] = []
        self._runner.run(export_scope(self._storage, scope, lines.append))
        return lines

    def bring(self, scope: Scope, path: Path) -> ImportReport:
        return self._runner.run(import_file(self._storage, scope, path, clock=self._clock, ids=SequentialIds()))

    def close(self) -> None:
        self._runner.close()


@pytest.fixture(scope="module")
def bench(storage: SqlStorage) -> Iterator[Bench]:
    opened = Bench(storage)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with TemporaryDirectory() as name:
        yield Path(name)


law = settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@law
@given(store=stores)
def test_an_export_read_into_an_empty_scope_is_exported_byte_for_byte(
    bench: Bench, folder: Path, store: dict[str, Any]
) -> None:
    origin, target = bench.scopes()
    bench.fill(origin, store)
    exported = bench.dump(origin)
    path = folder / "backup.jsonl"
    path.write_bytes(b"".join(exported))
    bench.bring(target, path)
    assert bench.dump(target)[1:] == exported[1:]
    assert bench.bring(target, path).added == {}
    assert bench.dump(target)[1:] == exported[1:]


@law
@given(store=stores, data=st.data())
def test_an_export_cut_off_anywhere_is_refused_and_writes_nothing(
    bench: Bench, folder: Path, store: dict[str, Any], data: st.DataObject
) -> None:
    origin, target = bench.scopes()
    bench.fill(origin, store)
    exported = b"".join(bench.dump(origin))
    path = folder / "backup.jsonl"
    path.write_bytes(exported[: data.draw(st.integers(0, 1_000_000)) % (len(exported) - 1)])
    with pytest.raises(InvalidFileError):
        bench.bring(target, path)
    assert len(bench.dump(target)) == EMPTY_SCOPE


async def moved(desk: Desk, path: Path) -> None:
    await desk.bring(EXAMPLES / "memory.jsonl")
    await desk.bring(EXAMPLES / "skills.jsonl")
    await desk.bring(EXAMPLES / "feedback.jsonl")

    def look(unit: Any) -> None:
        dream_stores(unit).cursors.move("exact-fold", 50)
        dream_stores(unit).cursors.reopen("exact-fold", ["id-000007"])
        dream_stores(unit).cursors.move("near-duplicates", 54)

    await desk.storage.write(desk.scope, look)
    desk.file(path.name, await desk.dump())


async def test_an_export_stands_sorted_between_its_header_and_its_last_line(desk: Desk) -> None:
    await moved(desk, desk.folder / "backup.jsonl")
    lines = [orjson.loads(line) for line in (await desk.dump()).splitlines()]
    assert lines[0] == {"format": "agentcore-dream/1", "scope": str(desk.scope)}
    assert lines[-1] == {"kind": "end", "lines": len(lines) - 1}
    assert [line for line in lines if line.get("kind") in ("cursor", "pending")] == [
        {"kind": "cursor", "reader": "exact-fold"},
        *({"kind": "pending", "reader": "exact-fold", "id": f"id-0000{n}"} for n in ("07", "51", "52", "53", "54")),
        {"kind": "cursor", "reader": "near-duplicates"},
    ]
    entries = [line["id"] for line in lines if line.get("kind") == "entry"]
    assert entries == sorted(entries)
    assert {line["feedback_kind"] for line in lines if line.get("kind") == "feedback"} >= {"correction", "thumbs_up"}


async def test_an_export_reaches_another_scope_with_ids_and_cursors(desk: Desk, other_desk: Desk) -> None:
    path = desk.folder / "backup.jsonl"
    await moved(desk, path)
    report = await other_desk.bring(path)
    assert report.added == {RecordKind.ENTRY: 54, RecordKind.SKILL: 10, RecordKind.FEEDBACK: 32}
    assert (await other_desk.dump()).splitlines()[1:] == (await desk.dump()).splitlines()[1:]


async def test_reading_an_export_into_its_own_scope_changes_nothing(desk: Desk) -> None:
    path = desk.folder / "backup.jsonl"
    await moved(desk, path)
    before = await desk.dump()
    report = await desk.bring(path)
    assert (report.added, report.known[RecordKind.ENTRY], report.known[RecordKind.FEEDBACK]) == ({}, 54, 32)
    assert await desk.dump() == before


async def test_an_export_brings_back_what_was_lost_since(desk: Desk) -> None:
    path = desk.folder / "backup.jsonl"
    await moved(desk, path)
    before = await desk.dump()
    await desk.storage.write(desk.scope, lambda unit: unit.entries.delete(["id-000007", "id-000008"]))
    report = await desk.bring(path)
    assert report.added == {RecordKind.ENTRY: 2}
    assert await desk.dump() == before


async def test_what_a_reader_has_still_to_look_at_stays_so_beside_an_export(desk: Desk, other_desk: Desk) -> None:
    path = desk.folder / "backup.jsonl"
    await moved(desk, path)
    await other_desk.bring(desk.file("MEMORY.md", "- here before\n"))
    await other_desk.bring(path)
    pending = await other_desk.storage.read(
        other_desk.scope, lambda view: dream_stores(view).cursors.pending("near-duplicates")
    )
    assert pending == ["other-000001"]


async def test_a_second_import_does_not_reopen_what_was_looked_at_since(desk: Desk, other_desk: Desk) -> None:
    path = desk.folder / "backup.jsonl"
    await moved(desk, path)
    await other_desk.bring(path)
    await other_desk.storage.write(other_desk.scope, lambda unit: dream_stores(unit).cursors.restore("exact-fold", []))
    await other_desk.bring(path)
    pending = await other_desk.storage.read(
        other_desk.scope, lambda view: dream_stores(view).cursors.pending("exact-fold")
    )
    assert pending == []


async def test_an_export_import_cut_short_is_completed_with_its_cursors(
    desk: Desk, other_desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = desk.folder / "backup.jsonl"
    await moved(desk, path)
    monkeypatch.setattr(importer, "CHUNK", 20)

    def stop(done: int, _total: int) -> None:
        if done == 40:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await other_desk.bring(path, progress=stop)
    report = await other_desk.bring(path)
    assert report.known == {RecordKind.ENTRY: 40}
    assert (await other_desk.dump()).splitlines()[1:] == (await desk.dump()).splitlines()[1:]


async def test_a_forgotten_text_does_not_come_back_with_an_export(desk: Desk) -> None:
    path = desk.folder / "backup.jsonl"
    await moved(desk, path)
    await desk.storage.write(desk.scope, lambda unit: unit.forget("id-000007"))
    gone = await desk.dump()
    report = await desk.bring(path)
    assert report.document()["skipped"]["entry"].keys() == {"forgotten"}
    assert report.added == {}
    assert await desk.dump() == gone


async def test_a_sentence_that_was_forgotten_since_does_not_come_back_with_an_export(
    desk: Desk, other_desk: Desk
) -> None:
    """Neither that of a turn that is withheld by now nor one that says the text; an import without them is whole."""
    path = desk.folder / "backup.jsonl"
    cited = SourceRef(SourceKind.TURN, "t1")
    pieces = [some_evidence("My PIN is 4711."), some_evidence("Her PIN is 4711", source="turn:t2")]
    kept = some_evidence("I drink tea.", source="turn:t3")
    secret = an_entry("a", "Her PIN is 4711.", scope=desk.scope, sources=(cited,), evidence=tuple(pieces[:1]))
    tea = an_entry("b", "Ana drinks tea.", scope=desk.scope, evidence=(*pieces, kept))
    await desk.storage.write(desk.scope, lambda unit: unit.entries.add([secret, tea]))
    await export_file(desk.storage, desk.scope, path)
    await desk.storage.write(desk.scope, lambda unit: unit.forget("a"))
    await desk.storage.write(desk.scope, lambda unit: unit.entries.delete(["b"]))
    await desk.bring(path)
    (again,) = await desk.storage.read(desk.scope, lambda view: list(view.entries.every()))
    assert again.evidence == (kept,)
    await other_desk.bring(path)
    assert (await other_desk.dump()).splitlines()[1:] == path.read_bytes().splitlines()[1:]


async def test_an_export_names_an_active_skill_once(desk: Desk, other_desk: Desk) -> None:
    path = desk.folder / "backup.jsonl"
    await moved(desk, path)
    await other_desk.bring(EXAMPLES / "skills.jsonl")
    report = await other_desk.bring(path)
    assert report.document()["skipped"] == {"skill": {"name_taken": 10}}


async def test_an_export_to_a_file_appears_whole(desk: Desk) -> None:
    await desk.bring(EXAMPLES / "memory.jsonl")
    path = desk.folder / "backup.jsonl"
    assert await export_file(desk.storage, desk.scope, path) == 54
    assert path.read_bytes() == await desk.dump()
    assert [one.name for one in desk.folder.iterdir()] == ["backup.jsonl"]


async def test_an_export_that_cannot_be_written_says_so_and_leaves_what_was_there(desk: Desk) -> None:
    occupied = desk.folder / "taken"
    occupied.mkdir()
    with pytest.raises(UnwritableFileError, match=r"taken cannot be written \(Is a directory\)"):
        await export_file(desk.storage, desk.scope, occupied)
    with pytest.raises(UnwritableFileError, match=r"No such file or directory"):
        await export_file(desk.storage, desk.scope, desk.folder / "nowhere" / "backup.jsonl")
    assert [one.name for one in desk.folder.iterdir()] == ["taken"]


HEADER = {"format": "agentcore-dream/1", "scope": "default/agent/agent"}
AT = "2025-01-01T00:00:00Z"
ENTRY = {"kind": "entry", "id": "a", "content": "x", "created_at": AT, "recorded_at": AT, "last_seen_at": AT}
END = {"kind": "end", "lines": 2}


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ([HEADER], "line 1: the export is cut off, its last line is missing; export again"),
        ([HEADER, ENTRY], "line 2: the export is cut off"),
        ([HEADER, {**END, "lines": 5}], "line 2: the export had 5 lines before this one, and 1 are left"),
        ([HEADER, ENTRY, END, ENTRY], "line 4: more follows after the end of the export"),
        ([{**HEADER, "format": "agentcore-dream/2"}, END], "line 1: .*agentcore-dream/2; upgrade agentcore-dream"),
        ([HEADER, {"id": "a"}, END], "line 2: kind is missing"),
        ([HEADER, {"kind": "idea", "id": "a"}, END], "line 2: kind should be one of entry, turn"),
        ([HEADER, {"kind": "cursor"}, END], "line 2: reader is missing"),
        ([HEADER, {"kind": "pending", "reader": "x"}, END], "line 2: id is missing"),
        ([HEADER, {**ENTRY, "content": None}, END], "line 2: it is no entry of an export: content is missing"),
        (
            [HEADER, {**ENTRY, "content": 5}, END],
            r"line 2: it is no entry of an export \(int stands where str belongs\)",
        ),
        ([HEADER, {**ENTRY, "own_count": True}, END], "it is no entry of an export"),
        ([HEADER, {**ENTRY, "pinned": 1}, END], "int stands where bool belongs"),
        ([HEADER, {**ENTRY, "created_at": "soon"}, END], "'soon' is no instant"),
        ([HEADER, {**ENTRY, "created_at": 5}, END], "it is no entry of an export"),
        ([HEADER, {**ENTRY, "base": 7}, END], "7.0 is not between 0 and 1"),
        ([HEADER, {**ENTRY, "trust": "great"}, END], "it is no entry of an export"),
        ([HEADER, {**ENTRY, "sources": ["turn"]}, END], None),
        ([HEADER, {**ENTRY, "sources": ["moon:1"]}, END], "it is no entry of an export"),
        ([HEADER, {**ENTRY, "source_keys": "a"}, END], "line 2: source_keys should be a list of"),
        ([HEADER, {**ENTRY, "source_keys": [7]}, END], "line 2: source_keys should be a list of"),
        (
            [HEADER, {**ENTRY, "source_keys": ["Ana"]}, END],
            "source_keys should be a list of 32 hexadecimal digits each",
        ),
        ([HEADER, {**ENTRY, "id": ""}, END], "id should have 1 to 64 characters"),
        ([HEADER, {**ENTRY, "kind": "feedback"}, END], "it is no feedback of an export: session_id is missing"),
    ],
)
async def test_a_faulty_line_of_an_export_is_named_by_its_number_and_nothing_is_written(
    desk: Desk, lines: list[Any], problem: str
) -> None:
    path = desk.lines("backup.jsonl", *lines)
    if problem is None:
        assert (await desk.bring(path)).added == {RecordKind.ENTRY: 1}
        return
    with pytest.raises(InvalidFileError, match=problem):
        await desk.bring(path)
    assert (await desk.dump()).count(b"\n") == EMPTY_SCOPE


async def test_a_record_that_stands_twice_in_an_export_comes_in_once(desk: Desk) -> None:
    path = desk.lines("backup.jsonl", HEADER, ENTRY, ENTRY, {"kind": "end", "lines": 3})
    report = await desk.bring(path)
    assert (report.added, report.known) == ({RecordKind.ENTRY: 1}, {RecordKind.ENTRY: 1})
