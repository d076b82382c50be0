"""why, status, doctor."""

import asyncio
import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import orjson
import pytest
from commandline import CommandLine

from agentcore.clock import SystemClock
from agentcore.domain import Scope
from agentcore.stores.sql import SqlStorage


def _locomo(folder: Path) -> Path:
    turns = [
        {"speaker": "Ana", "dia_id": "D1:1", "text": "I moved to Lisbon\nlast week."},
        {"speaker": "Ben", "dia_id": "D1:2", "text": "How nice!"},
    ]
    sample = {
        "sample_id": "conv-1",
        "conversation": {"speaker_a": "Ana", "speaker_b": "Ben", "session_1_date_time": "1:56 pm on 8 May, 2023",
                         "session_1": turns},
        "observation": {"session_1_observation": {"Ana": [["Ana lives in Lisbon.", "D1:1"]]}},
    }  # fmt: skip
    path = folder / "locomo.json"
    path.write_bytes(orjson.dumps([sample]))
    return path


def _entry(cli: CommandLine, status: str) -> str:
    (entry,) = cli.json("memories", "--status", status)["entries"]
    return entry["id"]


def test_why_goes_back_to_the_turn_and_quotes_it(cli: CommandLine, tmp_path: Path):
    cli.good("import", _locomo(tmp_path))
    entry_id = _entry(cli, "active")
    out = cli.good("why", entry_id)
    assert '"I moved to Lisbon last week."' in out
    assert "2023-05-08 13:56 UTC, Ana" in out
    assert "How nice!" not in out
    (turn,) = cli.json("why", entry_id)["turns"]
    assert turn["speaker"] == "Ana"


def test_why_tells_of_the_survivor_what_it_took_over(dreamt: CommandLine):
    older, newer = _entry(dreamt, "active"), _entry(dreamt, "archived")
    out = dreamt.good("why", older)
    assert "fold (exact-fold)" in out
    assert f"because took over {newer}" in out
    assert f"absorbed: none -> {newer} x1" in out
    assert f"archived: duplicate of {older}" in out


def test_why_tells_of_the_retired_when_why_and_for_whom(dreamt: CommandLine):
    older, newer = _entry(dreamt, "active"), _entry(dreamt, "archived")
    out = " ".join(dreamt.good("why", newer).split())
    assert f"duplicate of {older}, succeeded by {older}" in out
    (event,) = dreamt.json("why", newer)["history"]
    assert (event["operation"], event["after"]["successor"]) == ("fold", older)


def test_why_of_something_untouched_says_that(cli: CommandLine):
    (entry_id,) = cli.known("Ana likes tea")
    out = cli.good("why", entry_id)
    assert "No dream and no undo has touched it." in out
    assert "No source is recorded" in out


def test_why_tells_who_said_the_sentences_it_rests_on_when_and_who_verified_them(cli: CommandLine, tmp_path: Path):
    at = "2025-06-01T10:00:00Z"
    said = {"source": "turn:t1", "speaker": "Ana", "said_at": at, "sentence": "I drink tea.", "verdict": "verified"}
    entry = {"kind": "entry", "id": "tea", "content": "Ana drinks tea.", "created_at": at, "recorded_at": at}
    entry |= {"last_seen_at": at, "evidence": [said | {"verified_by": "a-model", "round": 2}]}
    lines = [{"format": "agentcore-dream/1", "scope": "default/agent/agent"}, entry, {"kind": "end", "lines": 2}]
    path = tmp_path / "export.jsonl"
    path.write_bytes(b"\n".join(map(orjson.dumps, lines)))
    cli.good("import", path, "--format", "export")
    out = " ".join(cli.good("why", "tea").split())
    assert (
        'What it rests on: verified "I drink tea." 2025-06-01 10:00 UTC, Ana (turn:t1); verified by a-model in' in out
    )
    assert cli.json("why", "tea")["entry"]["evidence"] == entry["evidence"]


@pytest.mark.parametrize(
    ("writer", "told"),
    [
        ("a-model", "verified by a-model in round 2, the model that wrote it"),
        ("b", "in round 2, written by b"),
        ("", ""),
    ],
)
def test_why_tells_who_wrote_it_and_whether_that_model_verified_it_too(
    cli: CommandLine, tmp_path: Path, writer: str, told: str
):
    at = "2025-06-01T10:00:00Z"
    piece = {"source": "turn:t1", "said_at": at, "sentence": "I drink tea.", "verdict": "verified"}
    piece |= {"written_by": writer, "verified_by": "a-model", "round": 2}
    entry = {"kind": "entry", "id": "tea", "content": "Ana drinks tea.", "created_at": at, "recorded_at": at}
    entry |= {"last_seen_at": at, "evidence": [piece]}
    lines = [{"format": "agentcore-dream/1", "scope": "default/agent/agent"}, entry, {"kind": "end", "lines": 2}]
    path = tmp_path / "export.jsonl"
    path.write_bytes(b"\n".join(map(orjson.dumps, lines)))
    cli.good("import", path, "--format", "export")
    out = " ".join(cli.good("why", "tea").split())
    assert told in out
    assert ("wrote it" in out, "written by" in out) == (writer == "a-model", writer == "b")


def test_why_of_the_forgotten_tells_that_and_not_the_text(dreamt: CommandLine):
    entry_id = _entry(dreamt, "active")
    dreamt.good("forget", entry_id, "--yes")
    out = dreamt.good("why", entry_id)
    assert "gone (purged or forgotten)" in out
    assert "tea" not in out


def test_why_of_a_skill_goes_by_its_name_or_id_and_tells_what_no_entry_has(cli: CommandLine, tmp_path: Path):
    skills = tmp_path / "skills.jsonl"
    fields = {"summary": "Writes mail", "content": "1. Ask first.", "created_at": "2025-06-01T09:00:00Z"}
    skills.write_bytes(orjson.dumps({"name": "mail/write", **fields}))
    cli.good("import", skills, "--format", "skills")
    document = cli.json("why", "mail/write")
    assert (document["name"], document["skill"]["content"], document["former"]) == ("mail/write", "1. Ask first.", [])
    assert cli.json("why", document["skill"]["id"][:6]) == document
    out = cli.good("why", "mail/write")
    assert "1. Ask first." in out
    assert "No dream and no undo has touched it." in out
    assert "entry or skill id 'mail/read' fits none" in cli("why", "mail/read").complaint


def test_status_counts_and_says_what_waits(filled: CommandLine):
    status = filled.json("status")
    assert status["entries"] == {"active": 181, "superseded": 0, "archived": 0}
    assert status["backlog"] == {"exact-fold": 181, "near-duplicates": 181}
    assert (status["last_run"], status["paused"], status["interrupted"], status["dreaming"]) == (
        None,
        False,
        None,
        None,
    )
    out = filled.good("status")
    assert "181 active" in out
    assert "near-duplicates 181" in out
    assert "never" in out


def test_status_names_the_last_dream(dreamt: CommandLine):
    run_id = dreamt.json("runs")["runs"][0]["run_id"]
    assert dreamt.json("status")["last_run"]["run_id"] == run_id
    assert f"{run_id} completed" in dreamt.good("status")


def test_status_of_nothing_says_how_to_begin(cli: CommandLine):
    cli.make_folder()
    assert "Nothing is stored here yet" in cli.good("status")


def _leave_a_run_behind(cli: CommandLine) -> None:
    """Leave the database as a process that was killed in the middle of a dream does."""
    with sqlite3.connect(cli.database) as connection:
        connection.execute("UPDATE runs SET finished = 0, finished_at = NULL, report = NULL, outcome = NULL")
        connection.execute("UPDATE leases SET pid = 4194304, process_started = '', expires_at = 9223372036854775807")
    connection.close()


def test_a_healthy_memory_passes_every_examination(dreamt: CommandLine):
    document = dreamt.json("doctor")
    assert document["healthy"]
    assert {finding["verdict"] for finding in document["findings"]} == {"ok"}
    assert {finding["subject"] for finding in document["findings"]} >= {
        "versions", "folder", "database", "schema", "integrity", "runs", "lease", "sources", "index",
    }  # fmt: skip
    assert "All is well." in dreamt.good("doctor")


def test_the_doctor_finds_no_database_and_no_fault_in_a_new_folder(cli: CommandLine):
    cli.make_folder()
    assert cli.json("doctor")["healthy"]


def test_the_doctor_finds_an_interrupted_run(dreamt: CommandLine):
    _leave_a_run_behind(dreamt)
    with sqlite3.connect(dreamt.database) as connection:
        connection.execute("UPDATE leases SET expires_at = 1")
    connection.close()
    told = dreamt("doctor")
    assert told.code == 1
    assert "was interrupted: `dream run` goes on with it" in told.out
    assert "left behind: dream of process 4194304" in " ".join(told.out.split())
    assert told.err.count("\n") == 1


def test_status_and_doctor_tell_what_waits_why_and_since_when(dreamt: CommandLine):
    assert dreamt.json("status")["waits"] == []
    with sqlite3.connect(dreamt.database) as connection:
        connection.execute(
            "INSERT INTO waiting_exchanges (scope_id, id, run_id, pass_name, reason, since, runs, tried_in, records,"
            " rounds, changes) SELECT pk, 'a', 'r', 'fact-mining', 'unverified', 1750000000000000, 2, '', '[]', '[]',"
            " '[]' FROM scopes LIMIT 1"
        )
    connection.close()
    told = {"pass": "fact-mining", "reason": "unverified", "count": 1, "since": "2025-06-15T15:06:40Z", "runs": 2}
    assert dreamt.json("status")["waits"] == [told]
    assert "fact-mining: 1 since 2025-06-15" in " ".join(dreamt.good("status").split())
    assert "1 of fact-mining since 2025-06-15" in " ".join(dreamt.good("doctor").split())
    assert "decides nothing" not in dreamt.good("doctor")
    with sqlite3.connect(dreamt.database) as connection:
        connection.execute("UPDATE waiting_exchanges SET reason = 'verifier_unreliable'")
    connection.close()
    told_again = " ".join(dreamt.good("doctor").split())
    assert "(verifier_unreliable)" in told_again
    assert "name a better one in dreaming.model.verifier" in told_again


def test_an_entry_that_was_forgotten_is_told_as_that(dreamt: CommandLine):
    (kept,) = dreamt.json("memories")["entries"]
    dreamt.good("forget", kept["id"], "--yes")
    told = dreamt("restore", kept["id"])
    assert (told.code, f"{kept['id']} was forgotten; nothing brings it back" in told.complaint) == (2, True)
    why = dreamt.good("why", kept["id"])
    assert ("That went with it." in why, "No source is recorded" in why) == (True, False)


def test_an_interrupted_run_is_shown_listed_and_gone_on_with(dreamt: CommandLine):
    run_id = dreamt.json("runs")["runs"][0]["run_id"]
    _leave_a_run_behind(dreamt)
    with sqlite3.connect(dreamt.database) as connection:
        connection.execute("UPDATE leases SET expires_at = 1")
    connection.close()
    assert f"run {run_id}" in dreamt.good("status")
    assert "interrupted" in dreamt.good("runs")
    assert "It was interrupted; go on with it" in dreamt.good("show", run_id)
    assert dreamt.json("run")["resumed"]
    assert dreamt.json("doctor")["healthy"]


def _leave_a_run_under_way(cli: CommandLine) -> None:
    """Leave the database as it is while another process dreams."""
    with sqlite3.connect(cli.database) as connection:
        connection.execute("UPDATE runs SET finished = 0, finished_at = NULL, report = NULL, outcome = NULL")
    connection.close()

    async def beside() -> None:
        storage = SqlStorage(cli.database, clock=SystemClock())
        await storage.start()
        hour = timedelta(hours=1)
        await storage.write(Scope.default(), lambda unit: unit.leases.acquire("dream", holder="me", duration=hour))
        await storage.stop()

    asyncio.run(beside())


def test_the_doctor_sees_a_dream_that_is_under_way(dreamt: CommandLine):
    _leave_a_run_under_way(dreamt)
    assert "is under way" in dreamt.good("doctor")


def test_a_run_under_way_is_not_called_interrupted_where_it_is_shown_and_listed(dreamt: CommandLine):
    run_id = dreamt.json("runs")["runs"][0]["run_id"]
    _leave_a_run_under_way(dreamt)
    for told in (dreamt.good("runs"), dreamt.good("show", run_id)):
        assert "under way" in told
        assert "interrupted" not in told
    assert "go on with it" not in dreamt.good("show", run_id)


def test_the_doctor_finds_sources_that_are_gone(cli: CommandLine, tmp_path: Path):
    cli.good("import", _locomo(tmp_path))
    with sqlite3.connect(cli.database) as connection:
        connection.execute("DELETE FROM turns")
    connection.close()
    assert "as after their retention" in " ".join(cli.good("doctor").split())
    with sqlite3.connect(cli.database) as connection:
        connection.execute("UPDATE entry_sources SET kind = 'entry'")
    connection.close()
    told = cli("--json", "doctor")
    assert told.code == 1
    assert [one["subject"] for one in told.document["findings"] if one["verdict"] == "wrong"] == ["sources"]


def test_the_doctor_finds_a_damaged_database(filled: CommandLine):
    content = bytearray(filled.database.read_bytes())
    content[40_000:400_000] = bytes(360_000)
    filled.database.write_bytes(content)
    told = filled("doctor")
    assert told.code == 1
    assert "damaged" in " ".join(told.out.split())


def test_recall_on_a_damaged_database_says_so_in_one_sentence(filled: CommandLine):
    # By this index recall looks for what is new, wherever the schema of the day puts its page.
    root = "SELECT rootpage FROM sqlite_master WHERE name = 'ix_entries_revision'"
    with closing(sqlite3.connect(filled.database)) as database:
        ((page,),) = database.execute(root).fetchall()
    content = bytearray(filled.database.read_bytes())
    content[(page - 1) * 4_096 : page * 4_096] = bytes(4_096)
    filled.database.write_bytes(content)
    told = filled("recall", "the garden")
    assert (told.code, told.out, told.err.count("\n"), told.err.count("not a readable database")) == (1, "", 1, 1)


def test_entries_in_a_state_that_nobody_knows_are_told_once(filled: CommandLine, caplog: pytest.LogCaptureFixture):
    with sqlite3.connect(filled.database) as connection:
        connection.execute("UPDATE entries SET status = 'weird' WHERE pk IN (SELECT pk FROM entries LIMIT 2)")
    connection.close()
    filled.good("recall", "the garden")
    (told,) = [one for one in caplog.records if one.message == "entries_passed_over"]
    assert (told.__dict__["count"], told.__dict__["states"]) == (2, ["weird"])
    examined = filled("doctor")
    assert examined.code == 1
    assert "2 entries are in a state that this version does not know (weird)" in " ".join(examined.out.split())


def test_the_doctor_of_a_server_tells_where_the_key_of_forgotten_texts_is(
    cli: CommandLine, postgres_url: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("AGENTCORE_DATABASE", postgres_url)
    cli.good("remember", "Ana likes tea.")
    assert "set AGENTCORE_FORGET_KEY, the same everywhere" in " ".join(cli.good("doctor").split())
    monkeypatch.setenv("AGENTCORE_FORGET_KEY", "ab" * 32)
    assert "AGENTCORE_FORGET_KEY gives the key" in " ".join(cli.good("doctor").split())


def test_the_doctor_tells_of_a_key_of_forgotten_texts_that_was_lost_until_a_new_one_counts(cli: CommandLine):
    long = "Ana keeps the spare key of her summer house below the third flower pot on the left of the green door"
    cli.good("forget", *cli.known(long), "--yes")
    assert "the key of forgotten texts is the one they are remembered by" in " ".join(cli.good("doctor").split())
    (cli.data / "forget.key").unlink()
    examined = cli("doctor")
    assert examined.code == 1
    assert "remembered by another key than this host has: forget.key is not in its folder" in " ".join(
        examined.out.split()
    )
    assert "key of this host" in cli.good("forget", "--new-key")
    assert "a key was lost: texts forgotten before" in " ".join(cli.good("doctor").split())
    assert cli("forget", "--new-key", "--everything").code == 2


def test_the_doctor_counts_what_recall_would_find(filled: CommandLine):
    assert "recall finds all 181 active entries" in filled.good("doctor")
