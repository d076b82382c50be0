"""Killed at any touch of a file of the workspace or its repository, a run is completed by the next host that opens."""

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from dreaming import World
from dulwich.repo import Repo
from interrupting import Killed, WatchedStorage, bury
from scribe import Scribe, saying

from agentcore.workspace import GitUse, Workspaces
from dream.cycle import OutboxFlush
from dream.options.levels import OptionLevels
from dream.stores import dream_stores

PERSON = "- Bo wrote this himself\r\n"
_TOUCHES = {"open", "os.rename", "os.remove", "os.mkdir"}


@dataclass
class Doom:
    """Kills at the touch of a file below a folder, counted from 1; what is dead touches nothing any more."""

    folder: str = "\0"
    at: int = 0
    count: int = 0
    storage: WatchedStorage | None = None

    def expect(self, folder: str = "\0", at: int = 0, storage: WatchedStorage | None = None) -> None:
        self.folder, self.at, self.count, self.storage = folder, at, 0, storage

    def hear(self, name: str, told: tuple[Any, ...]) -> None:
        if name not in _TOUCHES or not str(told[0]).startswith(self.folder):
            return
        self.count += 1
        if self.at and self.count >= self.at:
            if self.storage is not None:
                self.storage.is_dead = True
            raise Killed


DOOM = Doom()
sys.addaudithook(DOOM.hear)


async def live(world: World, folder: Path, at: int) -> int:
    """Open a host and run; die at that touch of the folder; return how many touches there were."""
    storage = WatchedStorage(world.storage)
    DOOM.expect(f"{folder}/", at, storage)
    one = replace(world, storage=storage, workspaces=Workspaces(lambda _: folder, GitUse.INIT))
    count = 0
    try:
        await OutboxFlush(one.parts, OptionLevels(one.options)).follow(one.scope)
        done = await world.storage.read(world.scope, lambda view: view.documents.get("MEMORY.md"))
        if done is None or "Ana" not in done.content:
            await one.run_passes(Scribe(saying("Ana moved to Lisbon", "Cy sings")))
    except Killed:
        await bury(world)
    finally:
        count = DOOM.count
        DOOM.expect()
    return count


def made(tmp_path: Path, name: object) -> Path:
    folder = tmp_path / str(name)
    folder.mkdir()
    (folder / "MEMORY.md").write_text(PERSON, newline="")
    return folder


# The dead close no files.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")
async def test_killed_at_any_touch_of_a_file_it_is_all_written_and_committed_once(world: World, tmp_path: Path):
    whole = made(tmp_path, "whole")
    touches = await live(world.elsewhere(), whole, 0)
    expected = (whole / "MEMORY.md").read_bytes()
    assert expected.startswith(PERSON.encode())
    assert (expected.count(b"Ana moved"), expected.count(b"Cy sings")) == (1, 1)
    assert touches > 60
    for at in range(1, touches + 1, 2):
        one, folder = world.elsewhere(), made(tmp_path, at)
        await live(one, folder, at)
        for lock in folder.glob(".git/**/*.lock"):
            lock.unlink()  # as git asks a person to
        await live(one, folder, 0)
        assert (folder / "MEMORY.md").read_bytes() == expected, at
        waiting = await one.storage.read(one.scope, lambda view: dream_stores(view).outbox.waiting())
        assert waiting == [], at
        assert _commits(folder) == _commits(whole), at


def _commits(folder: Path) -> list[bytes]:
    """What the log of the branch that is checked out says, without a process for each."""
    with Repo(str(folder)) as repository:
        return [entry.commit.message.split(b"\n")[0] for entry in repository.get_walker()]
