"""Forgetting: after it, no byte of the text is left in the bookkeeping, in the file or in its log."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from sqlalchemy import Table, insert, select, update

from agentcore.domain import Level, RecordKind, SourceKind, SourceRef, Status, to_image
from agentcore.domain.text import fold_key
from agentcore.stores import ReadView, UnitOfWork
from agentcore.stores.sql import REASON, REMOVED_TEXT, SqlStorage
from agentcore.stores.sql.schema import (
    decisions,
    documents,
    entry_sources,
    journal,
    model_calls,
    plans,
    prompt_texts,
    receipts,
    reopened,
    runs,
    steps,
)
from agentcore.stores.sql.stored_prompts import StoredPrompts
from agentcore.testing.contracts.samples import (
    OTHER_SCOPE,
    SCOPE,
    START,
    a_document,
    a_feedback,
    a_tool_call,
    a_turn,
    a_wisp_run,
    an_entry,
    some_evidence,
)

SECRET = 'Ana\'s PIN is "4711", says Zoë.'
IN_JSON = orjson.dumps(SECRET).decode()
KEPT = "Ben likes tea, and says so often."


def put(unit: UnitOfWork, table: Table, **values: Any) -> None:
    usual = {column.name: _sample(column) for column in table.c if not column.nullable and column.name != "pk"}
    row = usual | {"scope_id": unit.transaction.scope_id} | values
    unit.transaction.connection.execute(insert(table).values(row))


def _sample(column: Any) -> Any:
    return column.type.python_type()


LONG = "Find what is told. " * 40


def asked(unit: UnitOfWork, data: str, directive: str = LONG) -> bytes:
    """What a call with this directive and this data keeps of its prompt."""
    return StoredPrompts(unit.transaction).pack([("system", directive), ("user", data)])


async def prompts(storage: SqlStorage) -> list[list[tuple[str, str]]]:
    return await storage.read(SCOPE, lambda view: [told for _, told in StoredPrompts(view.transaction).all()])


def rows(view: ReadView, table: Table) -> list[dict[str, Any]]:
    statement = select(table).where(table.c.scope_id == view.transaction.scope_id).order_by(*table.primary_key)
    return [dict(row._mapping) for row in view.transaction.connection.execute(statement)]


def image(entry_id: str, content: str, **fields: Any) -> str:
    return orjson.dumps(to_image(an_entry(entry_id, content, **fields)), option=orjson.OPT_SORT_KEYS).decode()


def made_of(entry_id: str) -> dict[str, Any]:
    return {"level": Level.DERIVED, "sources": (SourceRef(SourceKind.ENTRY, entry_id),)}


async def after_forgetting(storage: SqlStorage, prepare: Callable[[UnitOfWork], object], table: Table) -> Any:
    """Say the secret, keep some books, forget; return what the books say then."""
    await storage.write(SCOPE, lambda unit: unit.entries.add([an_entry("a", SECRET), an_entry("b", KEPT)]))
    await storage.write(SCOPE, prepare)
    await storage.write(SCOPE, lambda unit: unit.forget("a"))
    return await storage.read(SCOPE, lambda view: rows(view, table))


def bytes_on_disk(path: Path) -> bytes:
    return b"".join(file.read_bytes() for file in sorted(path.parent.iterdir()))


async def test_journal_images_are_scrubbed(storage: SqlStorage):
    def prepare(unit: UnitOfWork) -> None:
        for record_id, text in (("a", SECRET), ("b", KEPT)):
            values = {"record_id": record_id, "fingerprint": f"f-{record_id}", "reason": f"About {text}"}
            put(unit, journal, before=image(record_id, text), after=image(record_id, text, base=0.9), **values)
            put(unit, decisions, fingerprint=f"f-{record_id}")

    about_a, about_b = await after_forgetting(storage, prepare, journal)
    assert [about_a[name] for name in ("before", "after", "fingerprint", "scrubbed")] == [None, None, None, True]
    assert about_a["reason"] == REASON
    assert (about_b["before"], about_b["scrubbed"]) == (image("b", KEPT), False)
    assert (about_b["fingerprint"], about_b["reason"]) == ("f-b", f"About {KEPT}")
    kept = await storage.read(SCOPE, lambda view: rows(view, decisions))
    assert [row["fingerprint"] for row in kept] == ["f-b"]


async def test_images_of_what_was_made_of_it_and_is_no_more_are_scrubbed(storage: SqlStorage):
    """An undone merge lives on in the journal alone, and so does what was made of that."""

    def prepare(unit: UnitOfWork) -> None:
        put(unit, journal, record_id="undone", after=image("undone", "Her PIN is 4711.", **made_of("a")))
        put(unit, journal, record_id="undone", before=image("undone", "Her PIN: 4711"))
        put(unit, journal, record_id="further", after=image("further", "A PIN of 4711.", **made_of("undone")))
        put(unit, journal, record_id="other", after=image("other", "Tea.", **made_of("b")))

    found = await after_forgetting(storage, prepare, journal)
    assert [row["scrubbed"] for row in found] == [True, False, True, False]


async def test_images_with_its_text_are_scrubbed_whoever_had_it(storage: SqlStorage):
    """A purged copy, and the former wording of an entry that says something else by now."""

    def prepare(unit: UnitOfWork) -> None:
        put(unit, journal, record_id="purged", before=image("purged", SECRET))
        put(unit, journal, record_id="b", before=image("b", SECRET), after=image("b", "Ben."))
        put(unit, journal, record_id="b", before=image("b", "Ben."), after=image("b", KEPT))

    found = await after_forgetting(storage, prepare, journal)
    assert [row["scrubbed"] for row in found] == [True, True, False]


async def test_prompts_and_answers_are_scrubbed(storage: SqlStorage):
    """By the ids they were about, and by the text they quote."""

    def prepare(unit: UnitOfWork) -> None:
        calls = {
            "by id": {"record_ids": '["b","a"]', "prompt": asked(unit, "shown"), "answer": "answered"},
            "by prompt": {"record_ids": "[]", "prompt": asked(unit, f"[e1] {IN_JSON}"), "answer": "answered"},
            "by text": {"record_ids": "[]", "prompt": asked(unit, SECRET), "answer": "answered"},
            "by answer": {"record_ids": "[]", "prompt": asked(unit, "shown"), "answer": f"So: {SECRET}"},
            "by directive": {"record_ids": "[]", "prompt": asked(unit, "", LONG + SECRET), "answer": "answered"},
            "other": {"record_ids": '["b","aa"]', "prompt": asked(unit, "shown"), "answer": "answered"},
        }
        for key, values in calls.items():
            put(unit, model_calls, batch_key=key, input_tokens=7, **values)

    found = await after_forgetting(storage, prepare, model_calls)
    assert {row["batch_key"]: row["answer"] for row in found if row["answer"]} == {"other": "answered"}
    assert [row["batch_key"] for row in found if row["prompt"]] == ["other"]
    assert [row["input_tokens"] for row in found] == [7] * 6
    assert await prompts(storage) == [[("system", LONG), ("user", "shown")]]
    assert len(await storage.read(SCOPE, lambda view: rows(view, prompt_texts))) == 1


async def test_plans_and_reopened_ids_are_removed(storage: SqlStorage):
    def prepare(unit: UnitOfWork) -> None:
        changes = {
            "by id": '[{"record_id":"a"}]',
            "by source": '[{"after":{"sources":["entry:a"]}}]',
            "by text": f'[{{"note":{IN_JSON}}}]',
            "other": '[{"record_id":"aa"},{"after":{"sources":["entry:ab"]}}]',
        }
        for name, text in changes.items():
            put(unit, plans, id=name, changes=text)
        for record_id in ("a", "b"):
            put(unit, reopened, reader="exact-fold", record_id=record_id)

    assert [row["id"] for row in await after_forgetting(storage, prepare, plans)] == ["other"]
    left = await storage.read(SCOPE, lambda view: rows(view, reopened))
    assert [row["record_id"] for row in left] == ["b"]


async def test_quotations_are_replaced_and_reports_stay_readable(storage: SqlStorage):
    report = {"notes": [f"kept {SECRET} apart", KEPT], "outcome": "completed"}

    def prepare(unit: UnitOfWork) -> None:
        put(unit, runs, id="r", report=orjson.dumps(report).decode())
        put(unit, steps, run_id="r", number=1, report=orjson.dumps(report).decode())
        put(unit, journal, record_id="b", reason=f"unlike: {SECRET}", before=image("b", KEPT))
        put(unit, runs, id="unfinished", report=None)

    found = await after_forgetting(storage, prepare, runs)
    wanted = {"notes": [f"kept {REMOVED_TEXT} apart", KEPT], "outcome": "completed"}
    assert (orjson.loads(found[0]["report"]), found[1]["report"]) == (wanted, None)
    (step,) = await storage.read(SCOPE, lambda view: rows(view, steps))
    assert orjson.loads(step["report"]) == wanted
    (row,) = await storage.read(SCOPE, lambda view: rows(view, journal))
    assert (row["reason"], row["scrubbed"]) == (f"unlike: {REMOVED_TEXT}", False)


async def test_a_quotation_in_a_living_entrys_reason_is_replaced(storage: SqlStorage):
    def prepare(unit: UnitOfWork) -> None:
        reason = f"Contradicts {SECRET}"
        unit.entries.add([an_entry("c", "Old.", status=Status.ARCHIVED, status_reason=reason, status_at=START)])

    await after_forgetting(storage, prepare, runs)
    entry = await storage.read(SCOPE, lambda view: view.entries.get("c"))
    assert entry.status_reason == f"Contradicts {REMOVED_TEXT}"


@pytest.mark.parametrize("text", ["outcome", "completed", "PIN", "near-duplicates"])
async def test_a_short_text_or_a_bare_name_breaks_no_report(storage: SqlStorage, text: str):
    report = '{"notes":["PIN"],"outcome":"completed","passes":["near-duplicates"]}'
    await storage.write(SCOPE, lambda unit: (unit.entries.add([an_entry("a", text)]), put(unit, runs, report=report)))
    await storage.write(SCOPE, lambda unit: unit.forget("a"))
    (run,) = await storage.read(SCOPE, lambda view: rows(view, runs))
    assert run["report"] == report


async def test_no_reference_to_it_is_left(storage: SqlStorage):
    await storage.write(SCOPE, lambda unit: unit.entries.add([an_entry("a", SECRET), an_entry("m", **made_of("a"))]))
    await storage.write(SCOPE, lambda unit: unit.forget("a"))
    assert await storage.read(SCOPE, lambda view: rows(view, entry_sources)) == []


async def test_another_scopes_books_are_left_alone(storage: SqlStorage):
    await storage.write(OTHER_SCOPE, lambda unit: put(unit, journal, record_id="a", before=image("a", SECRET)))
    await after_forgetting(storage, lambda _unit: None, journal)
    (row,) = await storage.read(OTHER_SCOPE, lambda view: rows(view, journal))
    assert (row["before"], row["scrubbed"]) == (image("a", SECRET), False)


async def test_no_byte_of_the_text_is_left_on_the_disk(storage: SqlStorage, path: Path):
    def prepare(unit: UnitOfWork) -> None:
        long = "x" * 9_000
        unit.entries.add([an_entry("m", f"{SECRET} {long}", **made_of("a"))])
        put(unit, journal, record_id="a", before=image("a", SECRET), after=image("a", f"{SECRET} {long}"))
        put(unit, model_calls, record_ids='["a"]', prompt=asked(unit, "", f"{SECRET} {long}"), answer=long + SECRET)

    await storage.write(SCOPE, lambda unit: unit.entries.add([an_entry("z", SECRET.upper())]))
    assert b"PIN IS" in bytes_on_disk(path)
    await after_forgetting(storage, prepare, journal)
    everything = bytes_on_disk(path)
    assert (b"4711" in everything, b"PIN IS" in everything, KEPT.encode() in everything) == (False, False, True)


async def test_the_log_is_emptied_as_soon_as_no_reader_needs_it(storage: SqlStorage, path: Path):
    """A forget does not wait for a long read, and the next write does what was left to do."""
    begun, go_on = threading.Event(), threading.Event()

    def read_slowly(view: ReadView) -> bool:
        before = view.entries.get("a") is not None
        begun.set()
        return before and go_on.wait(10)

    await storage.write(SCOPE, lambda unit: unit.entries.add([an_entry("a", SECRET)]))
    reading = asyncio.create_task(storage.read(SCOPE, read_slowly))
    await asyncio.to_thread(begun.wait, 10)
    await storage.write(SCOPE, lambda unit: unit.forget("a"))
    assert b"4711" in bytes_on_disk(path)
    go_on.set()
    assert await reading
    await storage.write(SCOPE, lambda unit: unit.settings.put("any", "write"))
    assert b"4711" not in bytes_on_disk(path)


async def test_stopping_empties_the_log_at_the_latest(storage: SqlStorage, path: Path):
    await storage.write(SCOPE, lambda unit: unit.entries.add([an_entry("a", SECRET)]))
    await storage.write(SCOPE, lambda unit: unit.forget("a"))
    await storage.stop()
    assert b"4711" not in bytes_on_disk(path)


async def test_the_journal_loses_the_sentences_of_a_withheld_turn_and_no_others(storage: SqlStorage):
    """So that an undo brings none of them back, and still finds the records as they are."""
    cited = SourceRef(SourceKind.TURN, "t1")
    kept = some_evidence("Ben drinks tea.", source="turn:t2")
    both = (some_evidence("My PIN is 4711.", source="turn:t1"), kept)
    entries = [an_entry("a", SECRET, sources=(cited,)), an_entry("b", KEPT, evidence=both)]
    await storage.write(SCOPE, lambda unit: unit.entries.add(entries))

    def prepare(unit: UnitOfWork) -> None:
        put(unit, journal, record_id="b", before=image("b", KEPT), after=image("b", KEPT, evidence=both))
        put(unit, journal, record_id="b", before=image("b", KEPT, evidence=both[:1]), after=image("b", KEPT))
        put(unit, model_calls, batch_key="b", record_ids='["b"]', prompt=asked(unit, "shown"), answer="answered")

    def entry_kind(unit: UnitOfWork) -> None:
        unit.transaction.connection.execute(update(journal).values(record_kind="entry"))

    await storage.write(SCOPE, prepare)
    await storage.write(SCOPE, entry_kind)
    await storage.write(SCOPE, lambda unit: unit.forget("a"))
    first, second = await storage.read(SCOPE, lambda view: rows(view, journal))
    present = await storage.read(SCOPE, lambda view: view.entries.get("b"))
    assert present is not None
    assert (present.evidence, present.version) == ((kept,), 2)
    assert (first["before"], first["after"]) == (image("b", KEPT), image("b", KEPT, evidence=(kept,)))
    assert (second["before"], second["after"]) == (image("b", KEPT), image("b", KEPT))
    assert [first["scrubbed"], second["scrubbed"]] == [False, False]
    (call,) = await storage.read(SCOPE, lambda view: rows(view, model_calls))
    assert (call["prompt"], call["answer"]) == (None, None)


async def test_no_byte_of_a_forgotten_sentence_is_left_in_the_file(path: Path, open_storage: Any):
    path.parent.mkdir()
    storage = await open_storage(path)
    cited = SourceRef(SourceKind.TURN, "t1")
    evidence = (some_evidence("My PIN is 4711-4711.", source="turn:t1"),)
    entries = [an_entry("a", SECRET, sources=(cited,)), an_entry("b", KEPT, evidence=evidence)]
    await storage.write(SCOPE, lambda unit: unit.entries.add(entries))
    assert b"4711-4711" in bytes_on_disk(path)
    await storage.write(SCOPE, lambda unit: unit.forget("a"))
    await storage.stop()
    assert b"4711-4711" not in bytes_on_disk(path)


async def test_no_hash_of_forgotten_feedback_is_left(storage: SqlStorage):
    """A receipt holds that of the request, an import that of the item: a guess of the text could be proven."""

    def prepare(unit: UnitOfWork) -> None:
        unit.turns.add([a_turn("t1", content=SECRET, session_id="s1")])
        noted = {"f1": "s1", "f2": "s2"}
        unit.feedback.append([a_feedback(one, session_id=session, summary=SECRET) for one, session in noted.items()])
        for one in noted:
            put(unit, receipts, request_key=f"r-{one}", digest="hash", records=f'[["feedback","{one}"]]')
        unit.imports.record({f"key-{one}": (RecordKind.FEEDBACK, one) for one in noted})

    await storage.write(SCOPE, prepare)
    await storage.write(SCOPE, lambda unit: unit.forget_turns(session_id="s1"))
    kept = await storage.read(SCOPE, lambda view: {row["request_key"]: row["digest"] for row in rows(view, receipts)})
    assert kept == {"r-f1": "", "r-f2": "hash"}
    keys = {"key-f1", "key-f2"}
    assert await storage.read(SCOPE, lambda view: view.imports.known(keys)) == {"key-f2"}
    assert await storage.read(SCOPE, lambda view: view.tombstones.items(keys)) == {"key-f1"}


async def test_no_hash_of_tool_calls_and_runs_of_a_forgotten_session_is_left(storage: SqlStorage):
    def prepare(unit: UnitOfWork) -> None:
        unit.turns.add([a_turn("t1", content=SECRET, session_id="s1")])
        unit.tool_calls.append([a_tool_call("c1", session_id="s1")])
        unit.wisp_runs.append([a_wisp_run("w1", session_id="s1")])
        put(unit, receipts, request_key="r", digest="hash", records='[["tool_call","c1"]]')
        unit.imports.record({"key-c1": (RecordKind.TOOL_CALL, "c1"), "key-w1": (RecordKind.WISP_RUN, "w1")})

    await storage.write(SCOPE, prepare)
    await storage.write(SCOPE, lambda unit: unit.forget_turns(session_id="s1"))
    (receipt,) = await storage.read(SCOPE, lambda view: rows(view, receipts))
    assert receipt["digest"] == ""
    keys = {"key-c1", "key-w1"}
    assert await storage.read(SCOPE, lambda view: view.imports.known(keys)) == set()
    assert await storage.read(SCOPE, lambda view: view.tombstones.items(keys)) == keys


async def test_a_document_keeps_no_hash_of_a_line_that_it_loses(storage: SqlStorage):
    said, kept = fold_key(SECRET), fold_key(KEPT)
    page = a_document("MEMORY.md", content=f"- {SECRET}\n- {KEPT}\n", own=(said, kept))

    def prepare(unit: UnitOfWork) -> None:
        unit.of_kind(RecordKind.DOCUMENT).apply([(None, page)])

    (row,) = await after_forgetting(storage, prepare, documents)
    assert (row["content"], orjson.loads(row["own"])) == (f"- {KEPT}\n", [kept])


async def test_no_reason_quotes_what_was_said_in_a_withheld_turn(storage: SqlStorage):
    """Of an entry that stays, since it says something else: why it was made tells the sentence that both rest on."""
    cited = {"sources": (SourceRef(SourceKind.TURN, "t1"),)}
    quoted, kept = 'said: "Her PIN is 4711"', "the person asked for it"

    def prepare(unit: UnitOfWork) -> None:
        unit.turns.add([a_turn("t1", content="Her PIN is 4711, and Ben likes tea.")])
        unit.entries.add([an_entry("p", "Her PIN: 4711.", **cited), an_entry("t", "Ben: tea.", **cited)])
        for reason in (quoted, kept):
            put(unit, journal, record_id="t", after=image("t", "Ben: tea.", **cited), reason=reason)

    await storage.write(SCOPE, prepare)
    await storage.write(SCOPE, lambda unit: unit.forget("p"))
    found = await storage.read(SCOPE, lambda view: [row["reason"] for row in rows(view, journal)])
    assert found == ["It quoted what a person asked to forget.", kept]
