"""Bad input and trouble: the right code, one sentence, nothing on stdout, and the memory as it was."""

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from commandline import EXAMPLES, CommandLine
from sqlalchemy import Engine, event

_GOOD_LINE = b'{"role":"user","content":"hello","session":"s1"}\n'


def _written(content: bytes, name: str = "chat.jsonl") -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        path = folder / name
        path.write_bytes(content)
        return path

    return write


def _long_line(folder: Path) -> Path:
    path = folder / "long.jsonl"
    with path.open("wb") as file:
        file.write(_GOOD_LINE + b'{"role":"user","content":"')
        for _ in range(50):
            file.write(b"x" * 1_000_000)
        file.write(b'"}\n')
    return path


_FILES: dict[str, tuple[Callable[[Path], Path], tuple[str, ...], str]] = {
    "missing": (lambda folder: folder / "nope.jsonl", (), "does not exist"),
    "a folder": (lambda folder: folder, (), "is a folder"),
    "a device": (lambda _: Path(os.devnull), (), "no regular file"),
    "empty": (_written(b""), (), "it is empty"),
    "blank": (_written(b"\n \n"), (), "it is empty"),
    "binary": (_written(b"\x7fELF\0\0\1\2" * 100), (), "binary"),
    "an image": (_written((EXAMPLES / "MEMORY.md").read_bytes()[:50] + b"\x89PNG\0", "a.md"), (), "binary"),
    "foreign": (_written(b"name,age\nana,7\n", "people.csv"), (), "--format"),
    "foreign JSON": (_written(b'{"name":"ana"}\n'), (), "--format"),
    "wrong format": (_written(_GOOD_LINE), ("--format", "locomo"), "chat.jsonl"),
    "not of the format": (_written(_GOOD_LINE), ("--format", "wisp-runs"), "line 1"),
    "half a line": (_written(_GOOD_LINE * 2 + b'{"role":"user","content":"hel'), (), "line 3"),
    "no object": (_written(_GOOD_LINE + b"[1, 2]\n"), (), "line 2"),
    "no role": (_written(_GOOD_LINE + b'{"role":"boss","content":"x"}\n'), (), "line 2"),
    "invalid UTF-8": (_written(_GOOD_LINE + b'{"role":"user","content":"caf\xe9"}\n'), (), "line 2: it is not UTF-8"),
    "50 MB in a line": (_long_line, (), "line 2: the line is longer than 32 MiB"),
    "a sample of no sample": (_written(_GOOD_LINE), ("--sample", "conv-1"), "leave out --sample"),
    "a cut export": (_written(b'{"format":"agentcore-dream/1","scope":"a/b/c"}\n'), (), "cut off"),
    "an export of tomorrow": (_written(b'{"format":"agentcore-dream/9","scope":"a/b/c"}\n'), (), "upgrade"),
}  # fmt: skip


@pytest.mark.parametrize("case", _FILES)
def test_a_bad_file_is_refused_whole(dreamt: CommandLine, tmp_path: Path, case: str):
    make, options, hint = _FILES[case]
    before = dreamt.exported()
    told = dreamt("--json", "import", make(tmp_path), *options)
    assert told.code == 2
    assert hint in told.complaint
    assert dreamt.exported() == before


@pytest.mark.parametrize(
    ("command", "hint"),
    [
        (["restore-backup", ".", "--yes"], "it is a folder: name a file in it"),
        (["backup", "--to", __file__], "it is a file: name a folder"),
        (["run", "--now", "0001-01-01"], "too far away to judge by; give one from 1900 to 2999"),
        (["plan", "--now", "9999-12-31"], "too far away to judge by; give one from 1900 to 2999"),
        (["never", "x" * 257, "--yes"], "give at most 100"),
        (["never", "x" * 101, "--yes"], "give at most 100"),
    ],
)
def test_what_a_command_cannot_take_is_refused_with_what_it_takes(dreamt: CommandLine, command: list[str], hint: str):
    before = dreamt.exported()
    told = dreamt(*command)
    assert (told.code, told.out, hint in " ".join(told.complaint.split())) == (2, "", True)
    assert dreamt.exported() == before


def test_a_file_name_cannot_steer_the_terminal(cli: CommandLine, tmp_path: Path):
    told = cli("import", tmp_path / "a\x1b[31m\nb")
    assert told.code == 2
    assert "\\x1b[31m" in told.complaint


@contextmanager
def _held(database: Path) -> Iterator[None]:
    """Let another process hold the database for itself."""
    program = (
        "import sqlite3, sys; c = sqlite3.connect(sys.argv[1], isolation_level=None);"
        "c.execute('BEGIN EXCLUSIVE'); print('held', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", program, str(database)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        assert process.stdout.readline() == b"held\n"
        yield
        process.stdin.close()


def test_a_locked_database_is_waited_for_and_then_told(dreamt: CommandLine, monkeypatch: pytest.MonkeyPatch):
    before = dreamt.exported()
    commands = [["remember", "x"], ["import", EXAMPLES / "MEMORY.md"], ["run"], ["undo", "r"], ["pause"]]
    with _held(dreamt.database):
        for command in commands:
            run_id = dreamt.json("runs")["runs"][0]["run_id"] if "r" in command else ""
            told = dreamt("--busy-timeout", "0.01", "--json", *(run_id if word == "r" else word for word in command))
            assert told.code == 1, command
            assert "is locked by another process: end that process or try again." in told.complaint
        monkeypatch.setenv("AGENTCORE_BUSY_TIMEOUT", "0.01")
        assert "locked" in dreamt("remember", "x").complaint
        assert dreamt.exported() == before
    assert dreamt.exported() == before


def _foreign(database: Path) -> None:
    with sqlite3.connect(database) as connection:
        connection.execute("CREATE TABLE bookmarks (url TEXT)")
    connection.close()


def _newer(database: Path) -> None:
    with sqlite3.connect(database) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()


def _older(database: Path) -> None:
    with sqlite3.connect(database) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '0008'")
    connection.close()


def _damaged(database: Path) -> None:
    content = bytearray(database.read_bytes())
    content[100:] = bytes(len(content) - 100)
    database.write_bytes(content)


_DATABASES: dict[str, tuple[Callable[[Path], object], str]] = {
    "no database": (lambda database: database.write_bytes(b"Dear diary, " * 1_000), "restore it from a backup"),
    "of another program": (_foreign, "another program's"),
    "of a later version": (_newer, "upgrade agentcore-dream"),
    "from before the first release": (_older, "open it once with agentcore-dream 0.1.0 at commit"),
    "damaged": (_damaged, "restore it from a backup"),
    "a folder": (lambda database: database.mkdir(), "check that its folder exists"),
}


@pytest.mark.parametrize("case", _DATABASES)
@pytest.mark.parametrize("command", [("status",), ("remember", "x"), ("run",), ("export",)], ids=lambda words: words[0])
def test_a_file_that_is_no_healthy_memory_is_left_alone(dreamt: CommandLine, case: str, command: tuple[str, ...]):
    spoil, hint = _DATABASES[case]
    if case not in {"damaged", "of a later version", "from before the first release"}:
        dreamt.database.unlink()
    for beside in dreamt.data.glob("agentcore.db-*"):
        beside.unlink()
    spoil(dreamt.database)
    before = dreamt.database.is_dir() or dreamt.database.read_bytes()
    told = dreamt("--json", *command)
    assert told.code == 1
    assert hint in told.complaint
    assert before == (dreamt.database.is_dir() or dreamt.database.read_bytes())


@pytest.mark.parametrize("command", [("memories",), ("export",), ("recall", "tea")], ids=lambda words: words[0])
@pytest.mark.parametrize(
    "damage",
    [
        "tags = '[\"tea'",
        "content = CAST(x'ff41' AS TEXT)",
        "trust = 'much'",
        "created_at = 'soon'",
        "created_at = 9223372036854775807",
        "subject_time = 'tomorrow'",
    ],
)
def test_a_damaged_value_is_told_in_the_sentence_of_a_damaged_database(
    dreamt: CommandLine, damage: str, command: tuple[str, ...]
):
    with sqlite3.connect(dreamt.database) as connection:
        connection.execute(f"UPDATE entries SET {damage}")
    connection.close()
    told = dreamt("--json", *command)
    assert told.code == 1
    assert "is not a readable database" in told.complaint
    assert "more.)" not in told.complaint


@pytest.mark.parametrize("command", [("status",), ("run",), ("config", "show")], ids=lambda words: words[0])
@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        (b"[dreaming\n", "it is not TOML"),
        (b"a = '\xff'\n", "it is not UTF-8"),
        (b"[dreaming]\nsleep = 1\n", "there is none"),
    ],
)
def test_damaged_settings_are_told_and_nothing_is_done(
    dreamt: CommandLine, settings: bytes, problem: str, command: tuple[str, ...]
):
    (dreamt.data / "agentcore.toml").write_bytes(settings)
    told = dreamt("--json", *command)
    assert (told.code, problem in told.complaint) == (2, True)


@pytest.fixture
def full_disk() -> Iterator[None]:
    """Let no database grow by a page, as on a full disk."""

    def cap(connection: sqlite3.Connection, _record: object) -> None:
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages}")

    event.listen(Engine, "connect", cap)
    yield
    event.remove(Engine, "connect", cap)


def test_on_a_full_disk_nothing_is_half_written(dreamt: CommandLine, request: pytest.FixtureRequest):
    before = dreamt.exported()
    request.getfixturevalue("full_disk")
    told = dreamt("--json", "import", EXAMPLES / "conversation.jsonl")
    assert told.code == 1
    assert "the disk is full: free some space and run again." in told.complaint
    assert dreamt.exported() == before


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_an_export_to_a_full_device_fails_and_leaves_the_device(cli: CommandLine):
    cli.good("remember", "Ana likes tea")
    told = cli("export", "--output", "/dev/full")
    assert told.code == 1
    assert "No space left on device" in told.complaint
    assert Path("/dev/full").is_char_device()


def test_an_export_that_cannot_be_written_leaves_what_stood_there(cli: CommandLine, tmp_path: Path):
    cli.good("remember", "Ana likes tea")
    targets = {tmp_path: (2, "it is a folder: name a file in it"), tmp_path / "no" / "x": (1, "cannot be written")}
    for target, (code, problem) in targets.items():
        told = cli("--json", "export", "--output", target)
        assert (told.code, problem in told.complaint) == (code, True)
    assert not (tmp_path / "no").exists()


@pytest.mark.parametrize("command", [("remember", "x"), ("import", EXAMPLES / "MEMORY.md")])
def test_a_place_where_no_folder_can_be_made_is_refused(cli: CommandLine, command: tuple[object, ...]):
    told = cli.bare("--data", "/dev/null/memory", "--json", *command)
    assert told.code == 1
    assert "choose another data directory" in told.complaint


def test_a_data_directory_that_is_a_file_is_refused(cli: CommandLine, tmp_path: Path):
    path = tmp_path / "file"
    path.write_text("mine")
    for command in (["status"], ["remember", "x"]):
        told = cli.bare("--data", path, "--json", *command)
        assert told.code == 2
        assert "name a folder" in told.complaint
    assert path.read_text() == "mine"


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is read-only to root")
def test_a_read_only_data_directory_is_told(dreamt: CommandLine):
    for path in (dreamt.database, dreamt.data):
        path.chmod(0o500)
    told = dreamt("--json", "remember", "x")
    dreamt.data.chmod(0o700)
    assert told.code == 1
    assert "writable" in told.complaint
