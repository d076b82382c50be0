"""No import brings back what was forgotten, nor what was made of it, in whatever file it comes."""

import asyncio
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from shutil import copyfile
from typing import Any

import pytest
from exchange_desk import NOW, Desk

from agentcore.domain import RecordKind, SourceKind, SourceRef
from agentcore.domain.text import fold_key
from agentcore.hosting.off_limits import OffLimits
from agentcore.stores.sql import SqlStorage
from agentcore.stores.sql.forget_key import KEY_FILE
from agentcore.testing import ManualClock, SequentialIds
from agentcore.testing.contracts.samples import a_document, a_question, a_turn, an_entry
from dream.interfaces.exchange import export_file
from dream.interfaces.exchange.files import SourceFile
from dream.interfaces.exchange.items import ImportItem
from dream.interfaces.exchange.memory_md import parse_memory_md

TURN = SourceRef(SourceKind.TURN, "t1")


async def exported(desk: Any, *records: Any, turns: Any = ()) -> Any:
    await desk.storage.write(desk.scope, lambda unit: (unit.turns.add(turns), unit.entries.add(records)))
    path = desk.folder / "older.jsonl"
    await export_file(desk.storage, desk.scope, path)
    return path


def entry(desk: Any, entry_id: str, *sources: str) -> Any:
    return an_entry(entry_id, f"Text {entry_id}.", scope=desk.scope, sources=tuple(map(SourceRef.parse, sources)))


async def test_an_older_export_brings_back_neither_an_entry_nor_what_was_made_of_it(desk: Any):
    """However far down, and whatever stands first in the file; what is of another origin comes back."""
    made = [entry(desk, "z"), entry(desk, "b", "entry:z"), entry(desk, "a", "entry:b"), entry(desk, "other")]
    path = await exported(desk, *made)
    await desk.storage.write(desk.scope, lambda unit: unit.entries.delete(["a", "b", "other"]))
    await desk.storage.write(desk.scope, lambda unit: unit.forget("z"))
    report = await desk.bring(path)
    assert await desk.contents() == ["Text other."]
    assert report.document()["skipped"] == {"entry": {"forgotten": 2}}


async def test_an_older_export_brings_back_nothing_of_a_session(desk: Any):
    turns = [a_turn(one, scope=desk.scope, session_id="s1", content=f"I say {one}") for one in ("t1", "t2")]
    path = await exported(desk, entry(desk, "a", "turn:t1"), entry(desk, "b", "turn:t2"), turns=turns)
    await desk.storage.write(desk.scope, lambda unit: unit.turns.delete(["t2"]))
    await desk.storage.write(desk.scope, lambda unit: unit.entries.delete(["b"]))
    await desk.storage.write(desk.scope, lambda unit: unit.forget_turns(session_id="s1"))
    await desk.bring(path)
    assert await desk.contents() == []
    said = await desk.storage.read(desk.scope, lambda view: [one.content for one in view.turns.every()])
    assert said == ["[forgotten]"]


async def test_a_file_of_turns_brings_back_no_redacted_turn_and_no_entry_that_names_it(desk: Any):
    chat = desk.lines("chat.jsonl", {"role": "user", "content": "I am ill"}, {"role": "user", "content": "I sing"})
    await desk.bring(chat)
    await desk.storage.write(desk.scope, lambda unit: unit.entries.add([entry(desk, "a")]))
    said = await desk.storage.read(desk.scope, lambda view: list(view.turns.every()))
    ill = next(one for one in said if one.content == "I am ill")
    await desk.storage.write(desk.scope, lambda unit: unit.forget_turns(turn_id=ill.id))
    report = await desk.bring(chat)
    assert report.document()["skipped"] == {"turn": {"forgotten": 1}}
    assert report.document()["known"] == {"turn": 1}


async def test_what_outlived_a_forget_is_told_as_here_already_though_it_goes_back_to_the_same_turn(desk: Any):
    said = [{"speaker": "Jon", "dia_id": "D1:1", "text": "I bought a red bicycle. I adopted a parrot named Koko."}]
    talk = {"speaker_a": "Jon", "speaker_b": "Gina", "session_1_date_time": "1:56 pm on 8 May, 2023"}
    observed = [["Jon bought a red bicycle.", "D1:1"], ["Jon adopted a parrot named Koko.", "D1:1"]]
    sample = {"sample_id": "s", "conversation": {**talk, "session_1": said}}
    path = desk.lines("l.json", [{**sample, "observation": {"session_1_observation": {"Jon": observed}}}])
    await desk.bring(path)
    (parrot,) = [one for one in await desk.entries() if "parrot" in one.content]
    await desk.storage.write(desk.scope, lambda unit: unit.forget(parrot.id))
    export = desk.folder / "since.jsonl"
    await export_file(desk.storage, desk.scope, export)
    for file in (path, export):
        report = await desk.bring(file)
        assert (report.added, report.known[RecordKind.ENTRY]) == ({}, 1)
        assert report.document()["skipped"].get("entry") == ({"forgotten": 1} if file == path else None)
    assert await desk.contents() == ["Jon bought a red bicycle."]


async def test_an_older_export_brings_nothing_of_an_erased_scope_back(desk: Any, other_desk: Any):
    """In its own scope; what another scope holds is untouched."""
    turns = [a_turn("t1", scope=desk.scope, content="I am ill.")]
    path = await exported(desk, entry(desk, "a", "turn:t1"), turns=turns)
    await desk.storage.write(desk.scope, lambda unit: unit.erasure.begin())
    await desk.storage.write(desk.scope, lambda unit: unit.erasure.finish())
    report = await desk.bring(path)
    assert report.document()["skipped"] == {"entry": {"forgotten": 1}, "turn": {"forgotten": 1}}
    assert await desk.contents() == []
    await other_desk.bring(path)
    assert await other_desk.contents() == ["Text a."]


async def test_an_export_made_since_is_taken_whole_where_nothing_was_forgotten(desk: Any, other_desk: Any):
    turns = [a_turn("t1", scope=desk.scope, content="I am ill. I drink tea.")]
    await exported(desk, entry(desk, "a", "turn:t1"), entry(desk, "b", "turn:t1"), turns=turns)
    await desk.storage.write(desk.scope, lambda unit: unit.forget("a"))
    path = desk.folder / "newer.jsonl"
    await export_file(desk.storage, desk.scope, path)
    await other_desk.bring(path)
    again = desk.folder / "again.jsonl"
    await export_file(other_desk.storage, other_desk.scope, again)
    assert again.read_bytes().splitlines()[1:] == path.read_bytes().splitlines()[1:]
    assert b'"kind":"tombstone"' in path.read_bytes()


async def test_an_older_export_brings_back_no_question_about_what_was_forgotten(desk: Any):
    """Its answer may quote what it is about."""
    path = await exported(desk, entry(desk, "a"), entry(desk, "b"), entry(desk, "c"))
    about = [SourceRef.parse("entry:a"), SourceRef.parse("entry:b"), SourceRef.parse("entry:c")]
    said, kept = (
        a_question(name, scope=desk.scope, members=members, result=None, verdict=None, reason="Ana is ill.")
        for name, members in (("said", about[:2]), ("kept", about[1:]))
    )
    questions = RecordKind.QUESTION
    await desk.storage.write(desk.scope, lambda unit: unit.of_kind(questions).apply([(None, said), (None, kept)]))
    await export_file(desk.storage, desk.scope, path)
    await desk.storage.write(desk.scope, lambda unit: unit.of_kind(questions).apply([(said, None), (kept, None)]))
    await desk.storage.write(desk.scope, lambda unit: unit.forget("a"))
    report = await desk.bring(path)
    assert report.document()["skipped"] == {"entry": {"forgotten": 1}, "question": {"forgotten": 1}}
    assert await desk.storage.read(desk.scope, lambda view: view.of_kind(questions).existing(["said", "kept"])) == {
        "kept"
    }


PAGE = "# M\n\n- Ana is ill\n- Ben sings\n- Ana takes pills <!-- from entry:b -->\n"


async def test_an_older_export_brings_a_document_back_without_the_lines_that_say_it(desk: Any):
    """Where there is no document any longer; a line is known by what the file says elsewhere, or by what it names."""
    ill = an_entry("a", "Ana is ill.", scope=desk.scope)
    path = await exported(desk, ill, entry(desk, "b"))
    page = a_document("MEMORY.md", scope=desk.scope, content=PAGE, own=(fold_key("Ana is ill"), fold_key("Ben sings")))
    documents = RecordKind.DOCUMENT
    await desk.storage.write(desk.scope, lambda unit: unit.of_kind(documents).apply([(None, page)]))
    await export_file(desk.storage, desk.scope, path)
    await desk.storage.write(desk.scope, lambda unit: unit.of_kind(documents).delete(["MEMORY.md"]))
    for gone in ("a", "b"):
        await desk.storage.write(desk.scope, lambda unit, gone=gone: unit.forget(gone))
    await desk.bring(path)
    (back,) = await desk.storage.read(desk.scope, lambda view: list(view.of_kind(documents).every()))
    assert (back.content, back.own) == ("# M\n\n- Ben sings\n", (fold_key("Ben sings"),))


async def test_an_older_export_brings_back_no_topic_that_is_allowed_again(desk: Any):
    limits = OffLimits(desk.scope, storage=desk.storage, ids=desk.ids)
    await limits.add("my health")
    path = await exported(desk)
    await limits.remove("my health")
    report = await desk.bring(path)
    assert report.document()["skipped"] == {"off_limits_topic": {"forgotten": 1}}
    assert await limits.all() == []


MEMORY = """# People

- Ana moved from Porto to Lisbon in May 2025 with two cats and a piano
- Ben sings
"""


@pytest.fixture
def moved_to(tmp_path: Path) -> Iterator[Desk]:
    """A data folder of its own, and with it another key of what was forgotten."""
    opened = SqlStorage(tmp_path / "there" / "agentcore.db", clock=ManualClock(NOW))
    asyncio.run(opened.start())
    yield Desk(opened, tmp_path, ids=SequentialIds("moved"))
    asyncio.run(opened.stop())


async def test_a_file_adds_nothing_where_an_export_of_what_it_brought_was_read(desk: Any, moved_to: Any):
    """Entries and turns, with an export of that export too, byte for byte the same."""
    files = [desk.file("m.md", MEMORY), desk.lines("chat.jsonl", {"role": "user", "content": "I sing"})]
    for file in files:
        await desk.bring(file)
    dump = await desk.dump()
    await moved_to.bring(desk.file("export.jsonl", dump))
    for file in files:
        assert (await moved_to.bring(file)).added == {}
    assert (await moved_to.dump()).splitlines()[1:] == dump.splitlines()[1:]


@pytest.mark.parametrize("has_key", [True, False])
async def test_a_forgotten_item_stays_out_after_a_move_where_the_forget_key_is_the_same(tmp_path: Path, has_key: bool):
    """Its own key is a hash that could be guessed, so it leaves only as a keyed one."""
    folders = [tmp_path / "here", tmp_path / "there"]
    stores = [SqlStorage(one / "agentcore.db", clock=ManualClock(NOW)) for one in folders]
    desk, moved_to = (Desk(one, tmp_path, ids=SequentialIds(name)) for one, name in zip(stores, "ab", strict=True))
    async with AsyncExitStack() as stack:
        for one in stores:
            await one.start()
            stack.push_async_callback(one.stop)
        file = desk.file("m.md", MEMORY)
        await desk.bring(file)
        items = [
            one.source_key for one in parse_memory_md(SourceFile(file, desk.scope, NOW)) if isinstance(one, ImportItem)
        ]
        gone = next(one for one in await desk.entries() if one.content.startswith("Ana"))
        await desk.storage.write(desk.scope, lambda unit: unit.forget(gone.id))
        dump = await desk.dump()
        left = b"".join(one.read_bytes() for one in folders[0].iterdir())
        for held in (dump, left):
            assert [key.encode() in held for key in items] == [False, True]
        if has_key:
            copyfile(folders[0] / KEY_FILE, folders[1] / KEY_FILE)
        taken = await moved_to.bring(desk.file("export.jsonl", dump))
        assert taken.document()["notes"] == ({} if has_key else {"forgotten_without_key": 1})
        assert (await moved_to.dump()).splitlines()[1:] == dump.splitlines()[1:]
        report = (await moved_to.bring(file)).document()
        assert report["known"] == {"entry": 1}
        assert report["skipped"] == ({"entry": {"forgotten": 1}} if has_key else {})


async def test_what_an_entry_said_before_it_was_rewritten_leaves_no_hash_once_something_was_forgotten(desk: Any):
    await desk.bring(desk.file("m.md", MEMORY))
    entry, other = await desk.entries()
    after = replace(entry, content="Ana lives in Lisbon", updated_at=NOW)
    await desk.storage.write(desk.scope, lambda unit: unit.entries.replace([(entry, after)]))
    assert (await desk.dump()).count(b"source_keys") == 2
    await desk.storage.write(desk.scope, lambda unit: unit.forget(other.id))
    assert (await desk.dump()).count(b"source_keys") == 0
