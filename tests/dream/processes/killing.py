"""Killing dreams in earnest: a fork server, and what has to be true of a store whose process was killed."""

import os
import random
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from agentcore.stores.sql import FILE_NAME
from tests.postgres_server import Server

_DREAMER = Path(__file__).resolve().with_name("dreamer.py")
_FOLDERS = (_DREAMER.parents[3], _DREAMER.parents[1])
Answer = dict[str, Any]


class ForkServer:
    """Does work in processes of its own; lives as long as its context."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process

    def ask(self, **task: Any) -> Answer:
        """Have a task done, or begun with `wait=False`, and return the answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(orjson.dumps(task, default=str) + b"\n")
        self._process.stdin.flush()
        answer: Answer = orjson.loads(self._process.stdout.readline())
        assert "error" not in answer, answer["error"]
        return answer


@contextmanager
def fork_server() -> Iterator[ForkServer]:
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(map(str, _FOLDERS))}
    process = subprocess.Popen(
        [sys.executable, str(_DREAMER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
    )
    try:
        yield ForkServer(process)
    finally:
        assert process.stdin is not None
        process.stdin.close()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


@dataclass(frozen=True)
class Truth:
    """What work on a store leads to when nobody kills it."""

    export: bytes
    journal: list[Any]
    statements: int
    seconds: float


@dataclass(frozen=True)
class Death:
    """A kill, and what came of it."""

    statement: int | None
    after: float | None
    was_killed: bool
    faults: tuple[str, ...]
    seconds: float


class Databases:
    """Databases of a PostgreSQL server, of which there are two at most: a first one and its latest copy.

    Args:
        server: The server.
        name: How their names begin.
    """

    def __init__(self, server: Server, name: str) -> None:
        self._server = server
        self._name = name

    def make(self) -> str:
        """Return the URL of an empty one."""
        return self._remade(f"{self._name}_first")

    def copy(self, url: str) -> str:
        """Return the URL of a copy, in the place of the one before."""
        return self._remade(f"{self._name}_copy", template=url.partition("@/")[2].partition("?")[0])

    def _remade(self, name: str, **template: str) -> str:
        with self._server.connect() as connection:
            connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        return self._server.database(name, **template)


class Grave:
    """Kills work on copies of a store at random points, has it done again, and compares.

    Args:
        server: Where the processes come from.
        folder: An empty folder.
        work: `dream`, or `undo` of a dream.
        size: How many entries.
        databases: Where the stores are, if they are in no files.
    """

    def __init__(
        self,
        server: ForkServer,
        folder: Path,
        *,
        work: str = "dream",
        size: int = 40,
        databases: "Databases | None" = None,
    ) -> None:
        self._server = server
        self._folder = folder
        self._work = work
        self._template = folder / "template"
        self._template.mkdir(parents=True)
        self._databases = databases
        self._database = None if databases is None else databases.make()
        self._ask(self._template, work="fill", size=size)
        if work == "undo":
            self._ask(self._template, work="dream")
        self._first = self._database
        self.truth = self._truth()

    def _ask(self, folder: Path, **task: Any) -> Answer:
        return self._server.ask(folder=folder, database=self._database, **task)

    def kill_somewhere(self, chance: random.Random) -> Death:
        """Kill at a random statement, or at a random instant."""
        if chance.random() < 0.7:
            return self.kill(statement=chance.randint(1, self.truth.statements))
        return self.kill(after=chance.uniform(0.0, self.truth.seconds))

    def kill(self, *, statement: int | None = None, after: float | None = None) -> Death:
        """Kill a process at that statement or after so many seconds; do the work again; tell what is wrong then."""
        copy = self._copy()
        doom = {"statement": statement} if statement is not None else {"after": after}
        killed = self._ask(copy, work=self._work, **doom)
        faults = self._damage(copy)
        again = self._finish(copy)
        faults += [*self._damage(copy), *self._differences(again)]
        shutil.rmtree(copy)
        return Death(statement, after, killed["killed"], tuple(faults), killed["seconds"] + again["seconds"])

    def kill_repeatedly(self, chance: random.Random) -> tuple[list[str], int]:
        """Kill one life after the other, each a little later in it, until one comes to its end."""
        copy, lives = self._copy(), 0
        faults: list[str] = []
        while True:
            lives += 1
            life = self._ask(copy, work=self._work, statement=chance.randint(20, 60) + 20 * lives)
            faults += self._damage(copy)
            if not life["killed"]:
                return [*faults, *self._differences(self._finish(copy))], lives

    def _truth(self) -> Truth:
        copy = self._copy()
        done = self._finish(copy)
        shutil.rmtree(copy)
        export = (self._folder / "export").read_bytes()
        # Without the export, which a killed process is not asked for.
        other = self._copy()
        plain = self._ask(other, work=self._work)
        shutil.rmtree(other)
        return Truth(export, done["journal"], plain["statements"], plain["seconds"])

    def _finish(self, copy: Path) -> Answer:
        done = self._ask(copy, work=self._work, export=self._folder / "export")
        assert not done["killed"]
        return done

    def _copy(self) -> Path:
        copy = self._folder / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(self._template, copy)
        if self._databases is not None and self._first is not None:
            self._database = self._databases.copy(self._first)
        return copy

    def _damage(self, copy: Path) -> list[str]:
        if self._database is not None:
            return []  # a server holds its constraints itself
        with closing(sqlite3.connect(copy / FILE_NAME)) as database:
            found = database.execute("PRAGMA integrity_check").fetchall()
            broken = database.execute("PRAGMA foreign_key_check").fetchall()
        return [*(str(row) for row in found if row != ("ok",)), *(str(row) for row in broken)]

    def _differences(self, done: Answer) -> list[str]:
        faults: list[str] = []
        if (self._folder / "export").read_bytes() != self.truth.export:
            faults.append("the export differs")
        if sorted(map(str, done["journal"])) != sorted(map(str, self.truth.journal)):
            faults.append("the journal differs")
        last: dict[str, str | None] = {}
        for operation, record, before, after in done["journal"]:
            if operation != "purge" and last.get(record, before) != before:
                faults.append(f"the journal of {record} has a gap")
            last[record] = after
        return faults
