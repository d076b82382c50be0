"""Gives every command whose memory it works on, where that lies, and where output goes."""

import os
import shlex
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum, auto
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from agentcore.clock import Clock
from agentcore.domain.scope import Scope
from agentcore.domain.scope_pattern import ScopePattern
from agentcore.errors import InvalidOptionsError
from agentcore.ids import IdFactory
from agentcore.llm.settings_file import FILE_NAME, WORKSPACE, is_told, read_section, scope_tables
from dream.interfaces.cli.errors import LaterOptionsError, MissingFolderError, UnknownScopeError
from dream.interfaces.cli.screen import Screen

if TYPE_CHECKING:
    from agentcore.hosting.builder import AgentHostBuilder
    from agentcore.hosting.host import Host
    from agentcore.hosting.left_options import LeftOptions
    from agentcore.llm.chat import ChatClient
    from agentcore.llm.settings import ChatOptions, EmbedderOptions
    from agentcore.stores.storage import Storage
    from dream.options import PassMode
    from dream.options.levels import OptionLevels

DATA_VARIABLE = "AGENTCORE_DATA"
DATABASE_VARIABLE = "AGENTCORE_DATABASE"
_DATABASE = "agentcore.db"
_ONE_SCOPE = (
    r"name one scope, with \* for a * of its own name; these take patterns: status, usage, export, doctor, run, "
    "forget --everything, forget --all-of"
)


class Access(Enum):
    """What a command does to the memory."""

    LOOK = auto()
    """It reads; a scope must exist, and nothing is made, not even the data directory."""
    AMEND = auto()
    """It writes to what is there, which it is given the name of; nothing is made where there is no memory."""
    CHANGE = auto()
    """It writes to a scope that exists."""
    CREATE = auto()
    """It writes, and makes the data directory and the scope if it must."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandSession:
    """One use of the command line.

    Args:
        data_dir: Where the memory lies.
        scope: Whose memory.
        pattern: The scopes that were named instead, with `*` or `?`; None if it was one.
        screen: Where output goes.
        clock: Where instants come from.
        ids: Where ids come from.
        given: The global options that were given, to be repeated in the commands that are suggested.
        is_data_given: Whether the data directory was named on the command line.
        workspace: Folder of the documents that the agent shares with its people; None without.
        busy_timeout: How long to wait for another process that holds the database; None for the usual time.
        follows_host: Whether the options go by what the code of the host says that ran last on the memory.
        url: The URL of the database that keeps the memory; None is a file in the data directory.
    """

    data_dir: Path
    scope: Scope
    screen: Screen
    clock: Clock
    ids: IdFactory
    given: tuple[str, ...] = ()
    is_data_given: bool = False
    pattern: ScopePattern | None = None
    workspace: Path | None = None
    busy_timeout: timedelta | None = None
    follows_host: bool = True
    url: str | None = None

    @property
    def database(self) -> Path:
        """The database file, which need not exist."""
        return self.data_dir / _DATABASE

    @property
    def has_database(self) -> bool:
        """Whether there is a memory to be opened; a database with a URL is asked for it."""
        return self.url is not None or self.database.exists()

    @property
    def place(self) -> str:
        """Where the memory lies, for people."""
        return str(self.data_dir) if self.url is None else self.database_name

    @property
    def database_name(self) -> str:
        """What the database is called; no password stands in it."""
        if self.url is None:
            return str(self.database)
        from agentcore.stores.sql.engines.database_url import parsed_url, shown_url  # noqa: PLC0415 - as below

        return shown_url(parsed_url(self.url))

    def command(self, *words: str) -> str:
        """Return a command that works on the same memory, ready to be pasted.

        Example:
            >>> from agentcore.clock import SystemClock
            >>> from agentcore.ids import RandomIds
            >>> session = CommandSession(data_dir=Path("d"), scope=Scope.default(), screen=Screen(),
            ...                          clock=SystemClock(), ids=RandomIds(), given=("--data", "my data"))
            >>> session.command("undo", "4f00c2")
            "dream --data 'my data' undo 4f00c2"
        """
        return shlex.join(("dream", *self.given, *words))

    def chat(self) -> "ChatOptions | None":
        """Return which model dreams ask: as the environment says, else the data directory's `agentcore.toml`, or none.

        Raises:
            InvalidOptionsError: an option is unknown or cannot have its value, or the file cannot be read.
            ExceptionGroup: several are.
        """
        if not is_told(self.data_dir, "llm", ("AGENTCORE_MODEL", "AGENTCORE_DREAM_MODEL")):
            return None
        from agentcore.llm.settings import from_environment  # noqa: PLC0415 - most commands ask no model

        return from_environment(self.data_dir)

    def embedder(self) -> "EmbedderOptions | None":
        """Return which embedding model recall asks, from where `chat` looks, or none; errors as there."""
        if not is_told(self.data_dir, "embeddings", ("AGENTCORE_EMBEDDINGS_MODEL",)):
            return None
        from agentcore.llm.settings import embedder_from_environment  # noqa: PLC0415 - as above

        return embedder_from_environment(self.data_dir)

    def left(self) -> "LeftOptions | None":
        """Return what the code of the host said that ran last on this memory; None if none did, or none is followed.

        Raises:
            LaterOptionsError: a later version of the program left it.
        """
        if not self.follows_host:
            return None
        from agentcore.hosting.left_options import left_in  # noqa: PLC0415 - as above

        found = left_in(self.url or self.database)
        if found is not None and not found.is_readable:
            raise LaterOptionsError(database=self.database_name)
        return found

    def names_workspace(self) -> bool:
        """Tell whether the scope has a folder of documents, by the command line or the settings file."""
        path = self.data_dir / FILE_NAME
        said = (pattern for pattern, table in scope_tables(path) if WORKSPACE in table)
        return (
            self.workspace is not None
            or "folder" in read_section(path, WORKSPACE)
            or any(pattern.matches(self.scope) for pattern in said)
        )

    def levels(self) -> "OptionLevels":
        """Return the options of dreams of each scope: as the environment, `agentcore.toml`, admins and code say.

        Raises:
            InvalidOptionsError: an option is unknown or cannot have its value, or the file cannot be read.
            ExceptionGroup: several are.
            LaterOptionsError: a later version of the program left those of the host.
        """
        from dream.options.levels import levels_of  # noqa: PLC0415 - as above

        found = levels_of(self.data_dir, self.left())
        place = self.url or self.database
        if not isinstance(place, Path) or place.is_file():
            from dream.stores.edited_options import edited_in  # noqa: PLC0415 - as above

            found.follow(edited_in(place))
        return found

    def require_one_scope(self) -> None:
        """Refuse a pattern, for a command that works in one scope.

        Raises:
            InvalidOptionsError: `--scope` holds `*` or `?`.
        """
        if self.pattern is not None:
            raise InvalidOptionsError(field="--scope", value=str(self.pattern), allowed=_ONE_SCOPE)

    def require_folder(self, access: Access = Access.LOOK, *, one_scope: bool = False) -> None:
        """Refuse a data directory that was named and does not exist, unless it is made: most likely it is mistyped.

        The environment names one as the command line does.

        Args:
            access: What is done to the memory.
            one_scope: Whether a pattern is refused, too.

        Raises:
            InvalidOptionsError: a pattern was given instead of the scope.
            MissingFolderError: it is so.
        """
        if one_scope:
            self.require_one_scope()
        is_named = (self.is_data_given or DATA_VARIABLE in os.environ) and self.url is None
        if access is not Access.CREATE and is_named and not self.data_dir.exists():
            raise MissingFolderError(path=str(self.data_dir))

    @asynccontextmanager
    async def host(
        self,
        access: Access,
        *,
        chat: "ChatOptions | ChatClient | None" = None,
        modes: "Mapping[str, PassMode] | None" = None,
        embedder: "EmbedderOptions | None" = None,
        dreams: bool = True,
        needs_scope: bool = True,
        in_background: bool = False,
        lease: timedelta | None = None,
    ) -> AsyncGenerator["Host"]:
        """Open the memory with all its services.

        Args:
            access: What is done to it.
            chat: Which model dreams ask; None for none.
            modes: What becomes of the changes of passes; all are made by default.
            embedder: Which embedding model recall asks; None for words alone.
            dreams: Whether dreams are among them; a command that only looks at entries is quicker without. A folder
                without a database may hold settings of them all the same.
            needs_scope: Whether the session's scope has to be one, and to exist; not for commands on several.
            in_background: Whether they start by themselves, for a command that stays.
            lease: How long a silent dream keeps its scope, where nobody said anything else.

        Raises:
            InvalidOptionsError: a pattern was given instead of the scope.
            MissingFolderError: the data directory was named and does not exist, and the command is none that makes it.
            UnknownScopeError: nothing was ever stored in the scope, and the command is none that makes it.
            InvalidWorkspaceError: the workspace is no folder.
            StorageError: the database cannot be opened.
        """
        from agentcore.hosting.builder import AgentHostBuilder  # noqa: PLC0415 - the database takes half a second
        from agentcore.workspace.folder import WorkspaceFolder  # noqa: PLC0415 - as above

        self.require_folder(access, one_scope=needs_scope)
        is_there = access in {Access.CHANGE, Access.CREATE} or self.has_database or self.data_dir.is_file()
        place = self.data_dir if is_there else None
        builder = AgentHostBuilder(place, database=self.url, clock=self.clock, ids=self.ids)
        builder.following(left := self.left())
        builder.with_memory().with_skills().with_conversation_log().with_feedback().with_wisps().with_tool_calls()
        if dreams:
            self._tell_whose_options(left)
            builder.with_dreaming(None if is_there else self.levels().of(self.scope), in_background=in_background)
            _keep_leases(builder, lease, in_background=in_background)
            if modes:
                builder.with_dreaming(lambda one: one.replace(modes={**one.modes, **modes}), scope=str(self.scope))
        if chat is not None:
            builder.with_llm(chat)
        if embedder is not None:
            builder.with_embeddings(embedder, in_background=False)
        if self.workspace is not None:
            folder = WorkspaceFolder(self.workspace).root  # refused before anything is opened
            builder.with_workspace(lambda scope: folder if scope == self.scope else None)
        if is_there and self.busy_timeout is not None:
            builder.with_storage(self._patient_storage(self.busy_timeout))
        async with builder.build() as host:
            if needs_scope and access is not Access.CREATE:
                await self._require_scope(host.storage)
            yield host

    def _tell_whose_options(self, left: "LeftOptions | None") -> None:
        if left is not None and not left.is_empty:
            from dream.interfaces.cli.render.followed import followed_sentence  # noqa: PLC0415 - as above
            from dream.interfaces.cli.render.text import Line, Tone  # noqa: PLC0415 - as above

            self.screen.tell(Line(followed_sentence(left), Tone.FAINT))

    def _patient_storage(self, busy_timeout: timedelta) -> "Storage":
        from agentcore.stores.sql.forget_key import ForgetKey  # noqa: PLC0415 - as above
        from agentcore.stores.sql.sql_storage import SqlStorage  # noqa: PLC0415 - as above

        key = ForgetKey.of(self.data_dir)
        return SqlStorage(self.url or self.database, clock=self.clock, busy_timeout=busy_timeout, key=key)

    async def _require_scope(self, storage: "Storage") -> None:
        """Refuse a scope that does not exist; where there is none at all, the default one counts as empty."""
        known = await storage.scopes()
        if self.scope not in known and (known or self.scope != Scope.default()):
            raise UnknownScopeError(scope=str(self.scope), known=map(str, map(ScopePattern.of, known)))


def _keep_leases(builder: "AgentHostBuilder", lease: timedelta | None, *, in_background: bool) -> None:
    """Have silent dreams keep their scopes for so long, if it is given and nobody said anything else."""
    if lease is None:
        return
    builder.with_dreaming(
        lambda one: one if "lease" in one.model_fields_set else one.replace(lease=lease), in_background=in_background
    )


CliSession = Annotated[CommandSession, Parameter(parse=False)]
"""The type of a command's parameter that the launcher fills in."""


def database_url() -> str | None:
    """Return the URL of the database that keeps the memory, as the environment says; None is a file.

    Raises:
        InvalidOptionsError: it is no URL of PostgreSQL, or its driver is not installed.
    """
    chosen = os.environ.get(DATABASE_VARIABLE)
    if not chosen:
        return None
    from agentcore.stores.sql.engines.database_url import require_driver  # noqa: PLC0415 - SQLAlchemy takes a while

    require_driver(chosen)
    return chosen


def data_directory(named: str | None) -> Path:
    """Return the data directory: as named, else from the environment, else the user's own.

    Raises:
        InvalidOptionsError: the name is blank.
    """
    chosen = os.environ.get(DATA_VARIABLE) if named is None else named
    if chosen is None:
        from platformdirs import user_data_path  # noqa: PLC0415 - most commands name a folder

        return user_data_path("agentcore", appauthor=False)
    if not chosen.strip():
        raise InvalidOptionsError(field="--data", value=chosen, allowed=f"name a folder, or unset {DATA_VARIABLE}")
    return Path(chosen).expanduser()
