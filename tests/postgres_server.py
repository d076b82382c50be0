"""A PostgreSQL of the tests' own: private folder and socket, no network, started when the first test wants it.

One server serves all worker processes of a test run; each has a database of its own, emptied between tests. It ends
with the run, also when that is killed. Where no PostgreSQL is installed, tests that want one are skipped; under
AGENTCORE_REQUIRE_ALL that is a failure where one could have been installed.
"""

import fcntl
import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any

import pytest

_FOLDER = "AGENTCORE_TESTS_POSTGRES"
"""Where the run's server is, told to its worker processes."""
_PLACES = ("/usr/local/bin", "/usr/lib/postgresql/*/bin", "/usr/local/pgsql/bin", "/opt/homebrew/opt/postgresql*/bin")
_USERS = ("postgres", "nobody")
SCOPED = "scoped"
"""The role that transactions on a scope may take on."""
_FAST = {
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "autovacuum": "off",
    "max_connections": "200",
    "shared_buffers": "64MB",
    "listen_addresses": "",
    "max_wal_size": "4GB",
    "checkpoint_timeout": "1h",
    "deadlock_timeout": "100ms",
    "log_min_messages": "fatal",
}
_WATCH = 'while kill -0 "$1" 2>/dev/null; do sleep 1; done; kill -INT "$2" 2>/dev/null; sleep 2; rm -rf "$3"'


def programs() -> Path | None:
    """Return the folder of `initdb` and `postgres`, or None where they are not installed."""
    found = shutil.which("initdb")
    folders = [Path(found).resolve().parent] if found else []
    folders += [Path(one) for place in _PLACES for one in sorted(Path("/").glob(place[1:]), reverse=True)]
    return next((one for one in folders if (one / "postgres").exists() and (one / "initdb").exists()), None)


def user() -> str | None:
    """Return who runs the server: PostgreSQL refuses root."""
    if os.getuid() != 0:
        return None
    known = {one.pw_name for one in pwd.getpwall()}
    return next((one for one in _USERS if one in known), None)


class Server:
    """A running PostgreSQL; lives until it is stopped.

    Args:
        folder: Where its data and its socket are.
        more: Settings beside the fast ones.
    """

    def __init__(self, folder: Path, **more: str) -> None:
        self.folder = folder
        self._more = more
        self._numbers = count(1)

    @property
    def pid_file(self) -> Path:
        """Its first line is the server's process."""
        return self.folder / "data" / "postmaster.pid"

    def url(self, database: str, user: str = "agentcore", password: str = "", **more: str) -> str:
        """Return the URL of one of its databases."""
        told = f"{user}:{password}" if password else user
        query = "&".join(f"{name}={value}" for name, value in {"host": str(self.folder), **more}.items())
        return f"postgresql+psycopg://{told}@/{database}?{query}"

    def create(self) -> None:
        """Make the cluster."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if os.getuid() == 0:
            shutil.chown(self.folder, user())
        self._run(
            "initdb",
            "-D",
            str(self.folder / "data"),
            *["-U", "agentcore", "-A", "trust", "--no-sync", "-E", "UTF8"],
            *_LOCALE,
        )
        # Who is called `guarded` needs a password.
        rules = self.folder / "data" / "pg_hba.conf"
        rules.write_text(f"local all guarded scram-sha-256\n{rules.read_text()}")

    def start(self) -> None:
        """Start it, and wait until it answers."""
        settings = {**_FAST, "unix_socket_directories": str(self.folder), **self._more}
        given = " ".join(f"-c {name}={value!r}" for name, value in settings.items())
        log = str(self.folder / "log")
        try:
            self._run("pg_ctl", "start", "-w", "-s", "-D", str(self.folder / "data"), "-l", log, "-o", given)
        except subprocess.CalledProcessError:
            raise RuntimeError(Path(log).read_text()[-2_000:]) from None

    def stop(self, how: str = "INT") -> None:
        """Stop it: `INT` ends every connection at once, `QUIT` is a crash."""
        with suppress(FileNotFoundError, ValueError, IndexError):
            pid = int(self.pid_file.read_text().splitlines()[0])
            subprocess.run(["kill", f"-{how}", str(pid)], check=False)
            for _ in range(400):
                if not self.pid_file.exists() or not _is_alive(pid):
                    return
                time.sleep(0.02)

    @contextmanager
    def connect(self, database: str = "postgres") -> Iterator[Any]:
        """Open a connection as the cluster's owner, each statement by itself."""
        import psycopg  # noqa: PLC0415 - not everybody has it

        connection = psycopg.connect(f"host={self.folder} user=agentcore dbname={database}", autocommit=True)
        try:
            yield connection
        finally:
            connection.close()

    def database(self, name: str, template: str = "template1") -> str:
        """Make a database; return its URL."""
        with self.connect() as connection:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY file_copy")
        return self.url(name)

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(_found() / program), *arguments]
        quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        subprocess.run(command, check=True, user=user(), cwd="/", **quiet)


def _locale() -> tuple[str, ...]:
    """Return a locale that sorts as people do, so that a text that is to sort by its bytes is seen to."""
    known = subprocess.run(["locale", "-a"], capture_output=True, text=True, check=False).stdout.split()
    human = next((one for one in known if one.lower() in {"en_us.utf8", "en_us.utf-8"}), None)
    if human is not None:
        return ("--locale", human)
    version = subprocess.run([str(_found() / "postgres"), "--version"], capture_output=True, text=True, check=True)
    if int(version.stdout.split()[2].split(".")[0]) >= 15:
        return ("--locale=C.UTF-8", "--locale-provider=icu", "--icu-locale=en-US")
    return ("--locale=C.UTF-8",)


def _found() -> Path:
    folder = programs()
    assert folder is not None
    return folder


_LOCALE: tuple[str, ...] = _locale() if programs() is not None else ()


def _is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in {"Z", "X"}
    except OSError:
        return False


def _run_server() -> Server:
    """Return the server of this test run, started by whichever process wants it first."""
    server = Server(Path(os.environ[_FOLDER]) / "server")
    with (Path(os.environ[_FOLDER]) / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not server.pid_file.exists():
            server.create()
            server.start()
            with server.connect() as connection:
                connection.execute(f"CREATE ROLE {SCOPED} NOLOGIN")
            pid = server.pid_file.read_text().splitlines()[0]
            owner = os.environ[f"{_FOLDER}_OWNER"]
            watch = ["sh", "-c", f"({_WATCH}) >/dev/null 2>&1 &", "watch", owner, pid, os.environ[_FOLDER]]
            subprocess.run(watch, check=True, start_new_session=True)
    return server


def pytest_configure(config: pytest.Config) -> None:
    """Give the test run a folder for its server."""
    if not hasattr(config, "workerinput"):
        os.environ[_FOLDER] = tempfile.mkdtemp(prefix="agentcore-postgres-")
        os.environ[f"{_FOLDER}_OWNER"] = str(os.getpid())
        Path(os.environ[_FOLDER]).chmod(0o755)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop the server of the test run, if there is one."""
    if not hasattr(config, "workerinput") and _FOLDER in os.environ:
        folder = Path(os.environ.pop(_FOLDER))
        Server(folder / "server").stop()
        shutil.rmtree(folder, ignore_errors=True)


def _why_not() -> str | None:
    try:
        import psycopg  # noqa: F401, PLC0415
    except ImportError:
        return "psycopg is not installed: pip install 'agentcore-dream[postgres]'"
    if programs() is None:
        return "PostgreSQL is not installed: apt-get install postgresql"
    return "root may not run PostgreSQL, and there is no other user" if os.getuid() == 0 and user() is None else None


@pytest.fixture(scope="session")
def postgres_server() -> Server:
    """The server of this test run."""
    reason = _why_not()
    if reason is not None and os.environ.get("AGENTCORE_REQUIRE_ALL") and "AGENTCORE_NO_POSTGRES" not in os.environ:
        pytest.fail(reason)
    if reason is not None:
        pytest.skip(reason)
    return _run_server()


@pytest.fixture(scope="session")
def _own_server(postgres_server: Server) -> Iterator[Server]:
    server = Server(postgres_server.folder.parent / f"own-{os.getpid()}")
    server.create()
    yield server
    server.stop()


@pytest.fixture
def own_server(_own_server: Server) -> Server:
    """A server of this process's own, which a test may stop; what earlier tests stored is in it."""
    if not _own_server.pid_file.exists():
        _own_server.start()
    return _own_server


@pytest.fixture(scope="session")
def _worker_database(postgres_server: Server, worker_id: str) -> str:
    """The database of this worker process, with our schema in it."""
    return postgres_server.database(f"worker_{worker_id}")


@pytest.fixture
def postgres_url(postgres_server: Server, _worker_database: str) -> Generator[str]:
    """The URL of a database that nothing is stored in; whatever a test leaves is removed."""
    yield _worker_database
    _empty(postgres_server, _worker_database.partition("@/")[2].partition("?")[0])


@pytest.fixture
def new_postgres(postgres_server: Server, worker_id: str) -> Generator[Callable[[], str]]:
    """Makes databases without any schema, dropped in the end."""
    made: list[str] = []

    def make() -> str:
        made.append(f"own_{worker_id}_{next(postgres_server._numbers)}")
        return postgres_server.database(made[-1])

    yield make
    with postgres_server.connect() as connection:
        for name in made:
            connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


def _empty(server: Server, database: str) -> None:
    from agentcore.stores.sql.schema import metadata  # noqa: PLC0415 - half a second

    with server.connect(database) as connection:
        if connection.execute("SELECT to_regclass('agentcore.alembic_version')").fetchone() == (None,):
            return
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        tables = [table.name for table in reversed(metadata.sorted_tables)]
        connection.execute(";".join(["BEGIN", *(f"DELETE FROM agentcore.{name}" for name in tables), "COMMIT"]))
