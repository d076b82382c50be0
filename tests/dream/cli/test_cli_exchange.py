"""import, export."""

import os
from pathlib import Path

import orjson
import pytest
from commandline import EXAMPLES, CommandLine


def _chat(path: Path, *texts: str) -> Path:
    lines = (orjson.dumps({"role": "user", "content": text, "session": "s1"}) for text in texts)
    path.write_bytes(b"\n".join(lines) + b"\n")
    return path


@pytest.mark.parametrize(
    ("name", "kind", "count"),
    [
        ("conversation.jsonl", "turn", 334),
        ("MEMORY.md", "entry", 127),
        ("memory.jsonl", "entry", 54),
        ("skills.jsonl", "skill", 10),
        ("skill-uses.jsonl", "skill_use", 60),
        ("feedback.jsonl", "feedback", 32),
        ("wisp-runs.jsonl", "wisp_run", 40),
    ],
)
def test_each_kind_of_file_is_recognised_and_comes_in_once(cli: CommandLine, name: str, kind: str, count: int):
    first = cli.json("import", EXAMPLES / name)
    again = cli.json("import", EXAMPLES / name)
    assert first["added"] == {kind: count}
    assert again["added"] == {}
    assert again["known"] == {kind: count}


def test_an_import_says_what_came_in_and_what_did_not(cli: CommandLine):
    out = cli.good("import", EXAMPLES / "MEMORY.md")
    assert "127 entries" in out
    assert "left out: 1 html, 1 prose (entry)" in out
    assert "here already: 127 entries" in cli.good("import", EXAMPLES / "MEMORY.md")


def test_fields_that_a_format_does_not_know_are_told_once_with_what_may_be_meant(cli: CommandLine, tmp_path: Path):
    def lines(name: str, *told: object) -> Path:
        path = tmp_path / name
        path.write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in told))
        return path

    memories = lines("m.jsonl", *({"content": f"Ana has {n} cats", "catgory": "a", "level": None} for n in range(3)))
    out = cli.good("import", memories)
    assert "3 entries.\n  left out: unknown field 'catgory' in 3 lines: did you mean category?\n" in out
    chat = {"session": "s", "session_id": "s", "role": "user", "content": "Hi", "name": "ana", "refusal": None}
    assert "left out" not in cli.good("import", lines("c.jsonl", chat))
    many = {**chat, "content": "Ho", **{f"{n}!\x1b": n for n in range(7)}}
    out = cli.good("import", lines("many.jsonl", many))
    assert (out.count("unknown field '"), "2 more unknown fields" in out, "\x1b" in out) == (5, True, False)
    assert cli.json("import", memories)["unknown_fields"] == {"catgory": 3}


def test_an_import_counts_documents_with_the_rest(cli: CommandLine, tmp_path: Path):
    document = {
        "content": "- Tea",
        "id": "MEMORY.md",
        "kind": "document",
        "own": [],
        "updated_at": "2025-06-01T10:00:00Z",
    }
    lines = [{"format": "agentcore-dream/1", "scope": "default/agent/agent"}, document, {"kind": "end", "lines": 2}]
    backup = tmp_path / "backup.jsonl"
    backup.write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in lines))
    assert "1 document." in cli.good("import", backup)


def test_a_format_can_be_named(cli: CommandLine, tmp_path: Path):
    notes = tmp_path / "notes.txt"
    notes.write_text("# People\n\n- Ana likes tea\n")
    assert cli("import", notes).code == 2
    assert cli.json("import", notes, "--format", "memory-md")["added"] == {"entry": 1}


def test_a_sample_is_taken_of_a_locomo_file(cli: CommandLine, tmp_path: Path):
    def sample(name: str) -> dict[str, object]:
        turns = [{"speaker": "Ana", "dia_id": "D1:1", "text": f"I am {name}"}]
        return {
            "sample_id": name,
            "conversation": {"speaker_a": "Ana", "speaker_b": "Ben", "session_1_date_time": "1:56 pm on 8 May, 2023",
                             "session_1": turns},
            "observation": {"session_1_observation": {"Ana": [[f"Ana is {name}.", "D1:1"]]}},
        }  # fmt: skip

    path = tmp_path / "locomo.json"
    path.write_bytes(orjson.dumps([sample("conv-1"), sample("conv-2")]))
    assert cli.json("import", path, "--format", "locomo", "--sample", "conv-2")["added"] == {"entry": 1, "turn": 1}
    assert "Ana is conv-2." in cli.good("memories")
    assert "conv-1" in cli("import", path, "--sample", "conv-3").complaint


def test_an_export_of_one_folder_fills_another(filled: CommandLine, tmp_path: Path):
    saved = tmp_path / "backup.jsonl"
    assert "181 records" in filled.good("export", "--output", saved)
    assert saved.read_text("utf-8") == filled.exported()
    copy = CommandLine(filled._capture, tmp_path / "copy")
    copy.good("import", saved)
    assert copy.exported() == filled.exported()


def test_the_json_of_an_export_is_one_document(cli: CommandLine, tmp_path: Path):
    cli.good("import", _chat(tmp_path / "chat.jsonl", "one", "two"))
    document = cli.json("export")
    assert document["records"] == 2
    assert document["lines"] == [orjson.loads(line) for line in cli.exported().splitlines()]
    assert cli.json("export", "--output", tmp_path / "x.jsonl")["records"] == 2


def test_an_export_overwrites_a_file_only_when_told_to(cli: CommandLine, tmp_path: Path):
    cli.good("remember", "Ana likes tea")
    path, folder = tmp_path / "x.jsonl", tmp_path / "each"
    path.write_bytes(b"mine")
    told = cli("--json", "export", "--output", path)
    assert (told.code, "--force" in told.complaint, path.read_bytes()) == (2, True, b"mine")
    cli.good("export", "--output", path, "--force")
    assert path.read_text("utf-8") == cli.exported()
    cli.good("export", "--all-scopes", "--output", folder)
    assert "--force" in cli("--json", "export", "--all-scopes", "--output", folder).complaint


def test_an_export_replaces_a_file_but_writes_into_a_pipe(cli: CommandLine, tmp_path: Path):
    cli.good("remember", "Ana likes tea")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    cli.good("export", "--output", pipe)
    assert os.read(reading, 100_000).decode() == cli.exported()
    os.close(reading)


def test_nothing_is_added_by_a_file_with_one_bad_line(cli: CommandLine, tmp_path: Path):
    cli.good("remember", "Ana likes tea")
    before = cli.exported()
    path = _chat(tmp_path / "chat.jsonl", *(f"text {number}" for number in range(5_000)))
    with path.open("ab") as file:
        file.write(b'{"role": "user", "content": ')
    told = cli("--json", "import", path)
    assert told.code == 2
    assert f"{path}, line 5001" in told.complaint
    assert cli.exported() == before


def test_file_and_folder_names_need_not_be_text(cli: CommandLine, tmp_path: Path):
    path = _chat(tmp_path / os.fsdecode(b"caf\xe9.jsonl"), "one")
    strange = CommandLine(cli._capture, tmp_path / os.fsdecode(b"d\xe4ta"))
    assert strange.json("import", path)["path"].endswith("caf\\udce9.jsonl")
    assert strange.json("status")["data"].endswith("d\\udce4ta")
    assert strange.json("doctor")["healthy"]
    assert "caf\\udce9.jsonl" in "".join(strange.good("import", path).split())
