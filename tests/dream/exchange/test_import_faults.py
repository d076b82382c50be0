"""Files that cannot be imported: one sentence each, nothing written; imports that were cut short: completed."""

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import orjson
import pytest
from exchange_desk import Desk

from agentcore.domain import RecordKind
from agentcore.errors import InvalidInputError, StorageUnavailableError
from dream.errors import DreamError, InvalidFileError, UnreadableFileError
from dream.interfaces.exchange import Format, importer

CHAT = b'{"role":"user","content":"a"}\n'
MIB = 1 << 20
EMPTY_SCOPE = 2
"""Lines in the export of a scope without records: the first and the last."""


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "it is empty; choose another file."),
        (b"\xef\xbb\xbf\n \n", "it is empty; choose another file."),
        (CHAT + b'{"role":"user","con', "line 2: the file ends in the middle of this line; get the file again,"),
        (CHAT + b'{"role" "user"}\n' + CHAT, "line 2: it is not JSON (unexpected character"),
        (CHAT + b'{"role":"user","content":"caf\xe9"}\n', "line 2: it is not UTF-8; save it as UTF-8."),
        (CHAT + b"\n[1]\n", "line 3: no JSON object stands on this line; write one object per line."),
        (CHAT + b"x" * (50 * MIB), "line 2: the line is longer than 32 MiB; put one record of at most"),
        (b'{"a":"' + b"x" * (33 * MIB), "line 1: the line is longer than 32 MiB;"),
        (b"\x7fELF\x02\x01\x01\0\0\0" + bytes(range(256)) * 99, "line 1: it is a binary file, not text;"),
        (b"\0" * (2 * MIB), "line 1: it is a binary file, not text;"),
        ("Grüße".encode("utf-16"), "line 1: it is a binary file, not text;"),
        (b"PK\x03\x04\xff\xfe", "line 1: it is not UTF-8;"),
        (b"\xc3\xa4" * (17 * MIB), "line 1: the line is longer than 32 MiB;"),
        (b"Dear diary\n", "line 1: its format cannot be told from its content; name it with --format (locomo,"),
        (b"\n{}\n", "line 2: its format cannot be told from its content;"),
        (b"{\n", "line 1: it is not JSON ("),
        (b'{"a": 1}', "line 1: its format cannot be told"),
        (b"[1, 2]", "it is no LoCoMo file: expected a JSON list of objects with sample_id and conversation."),
        (b"[" + b"1," * (17 * MIB), "it is larger than 32 MiB; split it."),
    ],
)
async def test_a_foreign_or_broken_file_is_refused_in_one_sentence_and_writes_nothing(
    desk: Desk, content: bytes, sentence: str | None
) -> None:
    path = desk.file("notes.dat", content)
    with pytest.raises(InvalidFileError) as caught:
        await desk.bring(path)
    assert isinstance(caught.value, DreamError)
    assert isinstance(caught.value, InvalidInputError)
    assert str(caught.value).startswith(f"{path}")
    assert sentence in str(caught.value)
    assert str(caught.value).endswith(".")
    assert (await desk.dump()).count(b"\n") == EMPTY_SCOPE


@pytest.mark.parametrize(
    ("wanted", "sentence"),
    [
        (Format.EXPORT, "format is missing"),
        (Format.MEMORY_JSONL, None),
        (Format.LOCOMO, "no LoCoMo file"),
        (Format.SKILLS, "name is missing; add it, or choose another --format."),
        (Format.SKILL_USES, "skill_name is missing"),
        (Format.FEEDBACK, "session is missing"),
        (Format.WISP_RUNS, "wisp_id is missing"),
    ],
)
async def test_a_wrong_format_is_refused_by_what_the_file_lacks(
    desk: Desk, wanted: Format, sentence: str | None
) -> None:
    path = desk.file("log.jsonl", CHAT)
    if sentence is None:
        assert (await desk.bring(path, file_format=wanted)).added == {RecordKind.ENTRY: 1}
        return
    with pytest.raises(InvalidFileError, match=sentence):
        await desk.bring(path, file_format=wanted)


async def test_a_sample_of_a_file_that_has_none_is_refused(desk: Desk) -> None:
    with pytest.raises(InvalidFileError, match="a chat-jsonl file holds no samples; leave out --sample"):
        await desk.bring(desk.file("log.jsonl", CHAT), sample="conv-26")


async def test_missing_files_folders_and_pipes_are_refused_by_name(desk: Desk) -> None:
    with pytest.raises(UnreadableFileError, match=r"nowhere\.md: does not exist; check the path\."):
        await desk.bring(desk.folder / "nowhere.md")
    with pytest.raises(UnreadableFileError, match="is a folder; name one file inside it"):
        await desk.bring(desk.folder)
    with pytest.raises(UnreadableFileError, match="does not exist"):
        await desk.bring(desk.file("log.jsonl", CHAT) / "inside.md")
    os.mkfifo(desk.folder / "pipe.jsonl")
    with pytest.raises(UnreadableFileError, match="is no regular file; save it as one first"):
        await desk.bring(desk.folder / "pipe.jsonl")


class FailingStorage:
    """A storage whose disk is full after so many transactions."""

    def __init__(self, storage: Any, *, writes: int) -> None:
        self._storage = storage
        self._left = writes

    async def read(self, scope: Any, work: Callable[[Any], Any]) -> Any:
        return await self._storage.read(scope, work)

    async def write(self, scope: Any, work: Callable[[Any], Any], **options: Any) -> Any:
        if self._left == 0:
            raise StorageUnavailableError(path="x", problem="is full", remedy="free some space")
        self._left -= 1
        return await self._storage.write(scope, work, **options)


def chat(count: int) -> bytes:
    return b"".join(orjson.dumps({"role": "user", "content": f"message {n}"}) + b"\n" for n in range(count))


@pytest.mark.parametrize("writes", [0, 1, 2])
async def test_an_import_cut_short_between_transactions_is_completed_by_importing_again(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, writes: int
) -> None:
    monkeypatch.setattr(importer, "CHUNK", 10)
    path = desk.file("log.jsonl", chat(35))
    with pytest.raises(StorageUnavailableError):
        await replace(desk, storage=FailingStorage(desk.storage, writes=writes)).bring(path)
    report = await desk.bring(path)
    assert report.known.get(RecordKind.TURN, 0) == 10 * writes
    assert [turn.content for turn in await desk.session("log")] == [f"message {n}" for n in range(35)]
    assert (await desk.bring(path)).added == {}


async def test_a_fault_on_the_last_line_of_a_long_file_writes_nothing(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importer, "CHUNK", 10)
    with pytest.raises(InvalidFileError, match="line 36"):
        await desk.bring(desk.file("log.jsonl", chat(35) + b"{"))
    assert await desk.session("log") == []


async def test_a_file_that_changes_while_it_is_read_is_not_written_further(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importer, "CHUNK", 10)
    path = desk.file("log.jsonl", chat(35))

    def change(done: int, _total: int) -> None:
        if done == 10:
            path.write_bytes(chat(40))

    with pytest.raises(InvalidFileError, match="it was changed while it was read; import it again"):
        await desk.bring(path, progress=change)
    assert len(await desk.session("log")) == 10
    await desk.bring(path)
    assert len(await desk.session("log")) == 40


async def test_progress_is_told_from_nothing_to_all(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importer, "CHUNK", 10)
    seen: list[tuple[int, int]] = []
    await desk.bring(desk.file("log.jsonl", chat(25)), progress=lambda *step: seen.append(step))
    assert seen == [(0, 25), (10, 25), (20, 25), (25, 25)]


async def test_what_is_imported_counts_as_new_material(desk: Desk) -> None:
    await desk.bring(desk.file("MEMORY.md", "- a\n- b\n"))
    count = await desk.storage.read(desk.scope, lambda view: view.entries.count_material(after=0, also=()))
    assert count == 2


async def test_a_report_is_plain_json(desk: Desk) -> None:
    report = await desk.bring(desk.file("MEMORY.md", "prose\n\n- a\n"))
    assert orjson.loads(orjson.dumps(report.document())) == {
        "path": report.path,
        "format": "memory-md",
        "added": {"entry": 1},
        "known": {},
        "skipped": {"entry": {"prose": 1}},
        "unknown_fields": {},
        "notes": {},
        "sessions": 0,
    }
