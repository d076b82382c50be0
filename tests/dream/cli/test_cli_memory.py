"""remember, recall, memories, forget."""

import asyncio
import os
import re
import sqlite3
import subprocess
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import orjson
import pytest
from commandline import CommandLine

from agentcore import AgentHostBuilder
from agentcore.domain import MemoryEntry, Scope, SourceKind, SourceRef
from agentcore.domain.validity import superseded
from agentcore.recall import DenseScore, Explanation, Hit, TermScore
from dream.interfaces.cli.render.entries import hit_lines
from dream.interfaces.documents import explanation_json

NOON = datetime(2025, 6, 14, 12, tzinfo=UTC)


def test_what_was_remembered_is_recalled_and_listed(cli: CommandLine):
    entry = cli.json(
        *("remember", "Ana moved to Lisbon", "--category", "people/ana", "--tags", "home", "--tag", "city"),
        *("--importance", "0.8", "--subject-time", "2025-05", "--pinned"),
    )
    (hit,) = cli.json("recall", "where does Ana live, Lisbon?")["hits"]
    listed = cli.json("memories")
    assert hit["score"] > 0
    assert listed["total"] == 1
    assert hit["entry"] == listed["entries"][0] == entry
    assert {name: entry[name] for name in ("category", "tags", "importance", "subject_time", "pinned")} == {
        "category": "people/ana",
        "tags": ["city", "home"],
        "importance": 0.8,
        "subject_time": "2025-05",
        "pinned": True,
    }


def test_a_secret_is_refused_and_the_refusal_says_how_it_is_kept_all_the_same(cli: CommandLine):
    refusal = cli("remember", "Ana's password is hunter2")
    assert refusal.code == 2
    assert refusal.complaint.startswith("The text seems to hold a password")
    assert "--allow-secret" in refusal.complaint
    assert "hunter2" not in refusal.err
    assert not cli.database.exists()
    kept = cli.json("remember", "Ana's password is hunter2", "--allow-secret")["id"]
    doctor = cli("doctor")
    assert doctor.code == 0
    told = " ".join(doctor.out.split())
    assert f"1 of active entries seem to hold a password, a key or the like ({kept}): `dream forget ID`" in told
    assert "hunter2" not in told


def test_what_is_known_is_reinforced(cli: CommandLine):
    cli.good("remember", "Ana likes tea")
    assert "seen 2 times" in cli.good("remember", "ana likes  tea.")
    assert cli.json("memories")["entries"][0]["reinforcement_count"] == 2


def test_a_recall_of_nothing_says_so(cli: CommandLine):
    cli.make_folder()
    assert "Nothing is known about 'zebras'" in cli.good("recall", "zebras")
    assert cli.json("recall", "zebras")["hits"] == []
    for blank in ("", " \n"):
        refused = cli("recall", blank)
        assert (refused.code, refused.complaint) == (2, "The question is missing: say in words what you want to know.")


def test_a_recall_that_finds_no_entry_says_that_turns_are_not_searched(cli: CommandLine, tmp_path: Path):
    chat = tmp_path / "chat.jsonl"
    chat.write_text('{"role": "user", "content": "The zebras moved to Lisbon"}\n', encoding="utf-8")
    cli.good("import", str(chat))
    told = " ".join(cli.good("recall", "zebras").split())
    assert "The conversation log holds 1 turn, which this command does not search" in told
    cli.good("remember", "The zebras like hay")
    assert "conversation log" not in cli.good("recall", "zebras")


def test_recall_gives_as_many_as_asked_for(cli: CommandLine):
    cli.known("tea one", "tea two", "tea three")
    assert len(cli.json("recall", "tea", "-k", 2)["hits"]) == 2


def test_memories_are_chosen_by_category_tag_and_state(cli: CommandLine):
    cli.good("remember", "Ana likes tea", "--category", "people/ana", "--tag", "drinks")
    cli.good("remember", "Ben likes tea", "--category", "people/ben", "--tag", "drinks", "--tag", "new")
    cli.good("remember", "Lisbon is sunny", "--category", "places")
    assert cli.json("memories", "--category", "people")["total"] == 2
    assert cli.json("memories", "--tag", "drinks", "--tag", "new")["entries"][0]["content"] == "Ben likes tea"
    assert cli.json("memories", "--status", "archived") == {"total": 0, "entries": []}
    assert cli.json("memories", "--status", "all")["total"] == 3


def test_a_cut_list_says_how_many_there_are(filled: CommandLine):
    out = filled.good("memories", "--limit", 2)
    assert "2 of 181 entries" in out
    assert len(filled.json("memories", "--limit", 2)["entries"]) == 2


def test_an_entry_is_named_by_the_beginning_of_its_id(cli: CommandLine):
    (entry_id,) = cli.known("Ana likes tea")
    assert cli.json("why", entry_id[:6])["id"] == entry_id


def test_an_ambiguous_beginning_is_refused(cli: CommandLine):
    cli.known("one fact", "another fact")
    told = cli("why", "")
    assert told.code == 2
    assert "give more characters" in told.complaint


def test_forget_removes_the_entry_and_says_what_it_cannot_reach(cli: CommandLine):
    (entry_id,) = cli.known("Ana likes tea")
    told = cli.json("forget", entry_id[:8], "--yes")
    assert told["removed"] == [entry_id]
    assert told["restored"] == []
    assert "git history" in told["untouched"]
    assert cli.json("memories", "--status", "all")["total"] == 0


def test_forget_says_it_in_words(cli: CommandLine):
    (entry_id,) = cli.known("Ana likes tea")
    out = cli.good("forget", entry_id, "--yes")
    assert entry_id in out
    assert "git history" in out
    assert "what says it in other words" in out
    assert "Ana likes tea" not in out


def test_nothing_is_forgotten_where_nobody_can_be_asked(cli: CommandLine):
    (entry_id,) = cli.known("Ana likes tea")
    told = cli("forget", entry_id)
    assert (told.code, "give --yes" in told.complaint) == (2, True)
    assert cli.json("memories")["total"] == 1


def test_what_a_forget_leaves_is_named_and_a_turn_of_it_goes_by_its_id(cli: CommandLine, tmp_path: Path):
    talk = tmp_path / "talk.jsonl"
    said = {"role": "user", "speaker": "Ana", "content": "Ana moved to Lisbon in May 2025, you know."}
    talk.write_bytes(orjson.dumps({"session_id": "s1", "occurred_at": "2025-06-01T09:00:00Z", **said}))
    cli.good("import", talk)
    entry = cli.json("remember", "Ana moved to Lisbon in May 2025.")["id"]
    told = cli.good("forget", entry, "--yes")
    assert "Found and left as they are: 1 turn." in told
    assert "forget --turn ID" in told
    assert re.search(
        r"near words, \d{4}-\d\d-\d\d: Ana moved to Lisbon in May 2025, you know\.", " ".join(told.split())
    )
    left = next(line.split()[1].rstrip(",") for line in told.splitlines() if line.startswith("  turn "))
    assert "1 of them redacted" in " ".join(cli.good("forget", "--turn", left, "--yes").split())


async def merged(cli: CommandLine) -> MemoryEntry:
    """Merge the one entry that is known, as a dream does."""
    async with AgentHostBuilder(cli.data).with_memory().build() as host:
        (source,) = await host.memory.list()
        whole = await host.memory.remember("Ana likes tea.", sources=(SourceRef(SourceKind.ENTRY, source.id),))
        gone = superseded(source, by=whole, reason="merged", at=NOON)
        await host.storage.write(host.memory.scope, lambda unit: unit.entries.replace([(source, gone)]))
        return whole


def test_what_comes_back_of_a_merge_is_named_with_the_command_that_forgets_it_too(cli: CommandLine):
    (source,) = cli.known("Ana likes tea very much")
    whole = asyncio.run(merged(cli))
    told = cli.good("forget", whole.id, "--yes")
    assert "Brought back: 1 entry" in told
    assert "Ana likes tea very much" in told
    assert f"forget {source}" in told
    cli.good("forget", source, "--yes")
    assert cli.json("memories", "--status", "all")["total"] == 0


def test_a_short_prefix_forgets_nothing(cli: CommandLine):
    (entry_id,) = cli.known("Ana likes tea")
    told = cli("forget", entry_id[:5], "--yes")
    assert (told.code, "at least 6 characters" in told.complaint) == (2, True)
    assert cli.json("memories")["total"] == 1


@pytest.mark.parametrize(
    ("what", "complaint"),
    [((), "entry or session"), (("4f00c2c2", "--session", "s"), "--session")],
)
def test_forget_takes_an_entry_or_a_session(cli: CommandLine, what: tuple[str, ...], complaint: str):
    cli.known("Ana likes tea")
    told = cli("forget", *what, "--yes")
    assert (told.code, complaint in told.complaint) == (2, True)


def test_a_session_is_forgotten_with_what_it_said(cli: CommandLine, tmp_path: Path):
    path = tmp_path / "chat.jsonl"
    path.write_text(
        '{"session":"a","role":"user","content":"I am ill.","timestamp":"2025-01-01T00:00:00Z"}\n'
        '{"session":"b","role":"user","content":"I like tea.","timestamp":"2025-01-01T00:00:00Z"}\n'
    )
    cli.good("import", path)
    assert len(cli.json("forget", "--session", "a", "--yes")["withheld"]) == 1
    exported = cli.exported()
    assert ("I am ill" in exported, "[forgotten]" in exported, "I like tea" in exported) == (False, True, True)
    told = cli("forget", "--session", "none", "--yes")
    assert (told.code, "session id 'none'" in told.complaint) == (2, True)


@pytest.mark.slow
@pytest.mark.parametrize(("answer", "left"), [("y\n", 0), ("n\n", 1), ("\n", 1)])
def test_a_terminal_shows_what_goes_and_is_asked(cli: CommandLine, answer: str, left: int):
    (entry_id,) = cli.known("Ana likes tea")
    ours, theirs = os.openpty()
    os.write(ours, answer.encode())
    try:
        cli.process("forget", entry_id, stdin=theirs, stderr=theirs, stdout=subprocess.PIPE, capture_output=False)
        shown = os.read(ours, 65_536).decode()
    finally:
        os.close(ours)
        os.close(theirs)
    assert "Ana likes tea" in shown
    assert "[y/N]" in shown
    assert cli.json("memories")["total"] == left


def test_a_person_who_forgot_may_be_told_again(cli: CommandLine):
    (entry_id,) = cli.known("Ana likes tea")
    cli.good("forget", entry_id, "--yes")
    cli.good("remember", "Ana likes tea")
    assert cli.json("memories")["total"] == 1


@pytest.mark.parametrize("text", ["[bold red]alarm[/] and [link=x]y[/link]", ":smile: http://x 'quoted' 3.14"])
def test_contents_are_printed_as_they_stand_and_never_as_markup(cli: CommandLine, text: str):
    cli.known(text)
    assert text in cli.good("memories")


@pytest.mark.parametrize("poison", ["\x1b[2J\x1b[31mred", "a\x07bell", "b\rover", "c\x9b31m", "\u202etxt.exe", "d\x7f"])
def test_contents_cannot_steer_the_terminal(cli: CommandLine, poison: str):
    (entry_id,) = cli.known(f"start {poison} end")
    for out in (cli.good("memories"), cli.good("why", entry_id)):
        assert all(character.isprintable() or character == "\n" for character in out)
        assert "start" in out
        assert "end" in out


def test_json_keeps_contents_as_they_are(cli: CommandLine):
    cli.known("a \x1b[31m b")
    assert cli.json("memories")["entries"][0]["content"] == "a \x1b[31m b"


def test_lists_keep_within_eighty_columns(filled: CommandLine):
    assert max(len(line) for line in filled.good("memories", "--limit", 200).splitlines()) <= 80


def test_nothing_is_coloured_without_a_terminal(filled: CommandLine):
    assert "\x1b" not in filled.good("memories") + filled.good("run") + filled.good("status")


def test_scores_are_explained_term_by_term(cli: CommandLine):
    cli.good("remember", "Ana drinks green tea", "--category", "people/ana", "--tag", "tea", "--importance", "1")
    cli.good("remember", "Ben drinks black tea")
    out = cli.good("recall", "green tea", "--explain")
    assert "+ " in out
    assert " x importance 1.000 x recency 1.000 x phrase 1.000 x length 1.000" in " ".join(out.split())
    hits = cli.json("recall", "green tea", "--explain")["hits"]
    why = hits[0]["explanation"]
    assert [term["term"] for term in why["terms"]] == ["green", "tea"]
    assert sum(term["score"] for term in why["terms"]) == pytest.approx(why["relevance"], abs=1e-5)
    assert why["relevance"] * why["importance"] == pytest.approx(hits[0]["score"], abs=1e-5)
    assert "explanation" not in cli.json("recall", "green tea")["hits"][0]


def test_words_alone_answer_where_the_embedding_model_is_absent(cli: CommandLine, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AGENTCORE_EMBEDDINGS_MODEL", "tiny")
    monkeypatch.setenv("AGENTCORE_EMBEDDINGS_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("AGENTCORE_EMBEDDINGS_RETRIES", "0")
    cli.good("remember", "Ana drinks green tea")
    (hit,) = cli.json("recall", "green tea", "--explain")["hits"]
    assert "dense" not in hit["explanation"]
    monkeypatch.setenv("AGENTCORE_EMBEDDINGS_RETRIES", "many")
    assert "embeddings.retries" in cli("recall", "green tea").err


def test_what_vectors_add_is_explained():
    entry = MemoryEntry(
        id="a", scope=Scope.default(), content="Ana drinks tea", created_at=NOON, recorded_at=NOON, last_seen_at=NOON
    )
    terms = (TermScore("tea", idf=2.0, count=1, norm=1.0),)
    why = Explanation(terms, dense=DenseScore(0.8125, share=0.25, scale=0.5))
    told = "\n".join(line.text for line in hit_lines("tea", [(Hit(entry, why.score), why)], 100))
    assert "0.250 by meaning: similarity 0.812; words count 0.500 of 1.000" in told
    assert "relevance 0.750 x" in told
    assert explanation_json(why)["dense"] == {"similarity": 0.8125, "share": 0.25, "scale": 0.5}
    lacking = Explanation(terms, dense=DenseScore(None, 0.0, 0.5))
    assert "no vector yet" in "".join(line.text for line in hit_lines("tea", [(Hit(entry, 1.0), lacking)], 100))


def test_filters_narrow_what_is_recalled_and_nothing_is_recorded(cli: CommandLine):
    cli.good(
        "remember", "Ana drinks green tea", "--category", "people/ana", "--tag", "hot", "--subject-time", "2024-05"
    )
    cli.good("remember", "Ben drinks black tea", "--tag", "cold")

    def found(*options: str) -> list[str]:
        hits = cli.json("recall", "tea", *options)["hits"]
        return [hit["entry"]["content"].split()[0] for hit in hits]

    for options in (("--category", "people"), ("--tags", "hot"), ("--any-tag", "hot", "--any-tag", "x"),
                    ("--about", "2024")):  # fmt: skip
        assert found(*options) == ["Ana"], options
    assert found("--seen-after", "2999-01-01") == found("--created-before", "2000-01-01") == []
    assert found("--level", "derived") == []
    assert sorted(found("--seen-before", "2999-01-01", "--created-after", "2000-01-01")) == ["Ana", "Ben"]
    assert "subject time" in cli("recall", "tea", "--about", "soon").complaint
    with closing(sqlite3.connect(cli.database)) as database:
        assert database.execute("SELECT count(*) FROM recall_hits").fetchone() == (0,)


def test_what_held_at_a_time_is_recalled_with_what_took_its_place(cli: CommandLine, tmp_path: Path):
    def line(entry_id: str, city: str, at: str, **fields: str) -> bytes:
        said = dict.fromkeys(("created_at", "recorded_at", "last_seen_at"), f"{at}T09:00:00Z")
        return orjson.dumps({"kind": "entry", "id": entry_id, "content": f"Ana lives in {city}"} | said | fields)

    gone = {"status": "superseded", "status_reason": "She moved.", "successor": "lisbon", "valid_until": "2022-03"}
    entries = [line("lisbon", "Lisbon", "2022-04-01"), line("porto", "Porto", "2020-05-01", **gone)]
    first, last = {"format": "agentcore-dream/1", "scope": "default/agent/agent"}, {"kind": "end", "lines": 3}
    path = tmp_path / "export.jsonl"
    path.write_bytes(b"\n".join([orjson.dumps(first), *entries, orjson.dumps(last)]))
    cli.good("import", path, "--format", "export")
    out = cli.good("recall", "where does Ana live", "--about", "2021")
    assert "Ana lives in Porto" in out
    assert "superseded, held until 2022-03" in out
    assert "Lisbon" not in out
    (hit,) = cli.json("recall", "where does Ana live", "--about", "2023")["hits"]
    assert hit["entry"]["id"] == "lisbon"
    assert "She moved., succeeded by lisbon; it held until 2022-03" in " ".join(cli.good("why", "porto").split())
