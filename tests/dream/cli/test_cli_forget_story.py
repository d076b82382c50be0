"""Told, learnt, forgotten, through real processes and a server that tries to learn it again: it is nowhere."""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest
from commandline import ROOT, environment
from rereading import is_second_reading, reread
from traces import traces

from agentcore.testing import ChatServer, ServedRequest
from tests.demo.serving import MODEL, demo_server

SAID = "I am Zoë, and I am pregnant since the first week of May. Tell nobody."
AGAIN = "As I said, I am pregnant since the first week of May, tell nobody."
WORDINGS = (
    "Zoë is pregnant since the first week of May.",
    "Zoë is expecting a baby since the first week of May.",
    "Since the first week of May Zoë is with child.",
    "Zoë will be a mother.",
    "Zoë has been having a baby growing since May.",
)
STEMS = ("pregnan", "expecting a baby", "with child", "will be a mother", "baby growing")
QUOTE = "I am pregnant since the first week of May"


def shows_it(text: str) -> bool:
    return any(stem in text.casefold() for stem in STEMS)


def says(request: ServedRequest) -> str:
    """Learn it in five wordings from whatever shows it; confirm whatever is asked again."""
    question = str(request.body["messages"][-1]["content"])
    if is_second_reading(question):
        return reread(question)
    if not shows_it(question):
        return '{"facts": []}'
    told: list[dict[str, Any]] = [
        {"content": one, "sourceTurns": ["t1"], "quote": QUOTE, "category": "general", "tags": []} for one in WORDINGS
    ]
    return orjson.dumps({"facts": told}).decode()


class Story:
    """The command `dream` in processes, with a workspace that is a repository, and a model behind a loopback server."""

    def __init__(self, folder: Path, server: ChatServer) -> None:
        self.folder, self.data, self.server = folder, folder / "data", server
        (folder / "workspace").mkdir()
        (folder / "workspace" / "MEMORY.md").write_text("# Memory\n\n- Zoë sails.\n- Zoë sails.\n")
        model = {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "none", "AGENTCORE_MODEL": MODEL}
        self._environment = environment() | model | {"AGENTCORE_WORKSPACE": str(folder / "workspace")}

    def dream(self, *arguments: object) -> Any:
        command = [sys.executable, "-m", "dream", "--data", str(self.data), "--json", *map(str, arguments)]
        done = subprocess.run(command, cwd=ROOT, env=self._environment, capture_output=True, check=False)
        assert done.returncode == 0, (arguments, done.stderr.decode())
        return orjson.loads(done.stdout) if done.stdout else None

    def say(self, *texts: str, day: int) -> None:
        path = self.folder / f"said-{day}.jsonl"
        at = f"2025-06-{day:02}T08:00:00Z"
        lines = [
            {"session": f"s{day}", "role": "user", "speaker": "Zoë", "content": one, "timestamp": at} for one in texts
        ]
        path.write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in lines))
        self.dream("import", path)
        path.unlink()


@pytest.fixture
def story(tmp_path: Path) -> Any:
    with demo_server(says) as server:
        yield Story(tmp_path, server)


def test_what_was_forgotten_is_nowhere_after_ten_dreams_an_older_export_undo_redo_and_a_restored_backup(story: Story):
    story.say(SAID, AGAIN, "I like tea.", day=1)
    story.dream("run")
    (entry, *_) = [one for one in story.dream("memories")["entries"] if "pregnan" in one["content"]]
    runs = [one["run_id"] for one in story.dream("runs")["runs"]]
    aside = story.folder.parent / "aside"
    aside.mkdir()
    older, backups = aside / "older.jsonl", aside / "backups"
    story.dream("export", "--output", older)
    story.dream("backup", "--to", backups)
    assert traces(story.folder, SAID, *STEMS) != []

    story.dream("forget", entry["id"], "--turns", "all", "--yes")
    assert traces(story.folder, SAID, *STEMS) == []
    asked = story.server.calls
    for day in range(2, 12):
        story.say(f"I drink {day} cups of tea.", day=day)
        story.dream("run")
        assert traces(story.folder, SAID, *STEMS) == [], day
    story.dream("import", older)
    undone = [story.dream("undo", one)["run_id"] for one in runs]
    for one in undone:
        story.dream("undo", one)
    assert traces(story.folder, SAID, *STEMS) == []
    (backup,) = backups.iterdir()
    story.dream("restore-backup", backup, "--yes")
    shutil.rmtree(story.folder / "data-backups")  # what was there before the restore
    story.dream("run")
    assert traces(story.folder, SAID, *STEMS) == []
    shutil.rmtree(aside)
    shown = [request.prompt for request in story.server.requests[asked:]]
    assert len(shown) >= 10
    assert not any(map(shows_it, shown))


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=Zoe", "-c", "user.email=zoe@example.org")
    done = subprocess.run(["git", *identity, *arguments], cwd=folder, capture_output=True, check=True)
    return done.stdout.decode()


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_of_a_repository_its_history_alone_holds_what_was_forgotten_and_the_command_says_so(story: Story):
    workspace = story.folder / "workspace"
    page = workspace / "MEMORY.md"
    page.write_text(f"# Memory\n\n- Zoë sails every Sunday.\n- Zoë sails every Sunday.\n- {WORDINGS[0]}\n")
    git(workspace, "init", "--quiet")
    git(workspace, "add", "MEMORY.md")
    git(workspace, "commit", "--quiet", "--message", "Begin")
    story.say(SAID, day=1)
    story.dream("run")
    (entry, *_) = [one for one in story.dream("memories")["entries"] if one["content"] == WORDINGS[0]]
    before = {path for path in (workspace / ".git").rglob("*") if path.is_file()}
    assert any("inflated" in one for one in traces(story.folder, WORDINGS[0], *STEMS))

    told = story.dream("forget", entry["id"], "--turns", "all", "--yes")
    assert "git history" in told["untouched"]
    for day in (2, 3):
        story.say(f"I drink {day} cups of tea.", day=day)
        story.dream("run")
    assert len(git(workspace, "log", "--oneline").splitlines()) > 1  # what dreams write is committed
    kept = traces(story.folder, WORDINGS[0], *STEMS)
    assert "Zoë sails every Sunday." in page.read_text()
    assert all(one.startswith("workspace/.git/objects/") for one in kept)
    for path in before:
        path.unlink(missing_ok=True)
    assert traces(story.folder, WORDINGS[0], *STEMS) == []
