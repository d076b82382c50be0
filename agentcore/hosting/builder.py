"""Says what a host is made of, once, and builds it."""

from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeAlias, TypeVar

from agentcore.clock import Clock, SystemClock
from agentcore.hosting.errors import AlreadyBuiltError
from agentcore.ids import IdFactory, RandomIds

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentcore.hosting.assembly import HostConfig
    from agentcore.hosting.busy import BusySource
    from agentcore.hosting.correction_detector import CorrectionDetector
    from agentcore.hosting.host import Host
    from agentcore.hosting.left_options import LeftOptions
    from agentcore.hosting.lifecycle import HostedService
    from agentcore.hosting.options import (
        ContextOptions,
        ConversationOptions,
        EmbeddingOptions,
        FeedbackOptions,
        MemoryOptions,
        Options,
        SkillOptions,
        ToolCallOptions,
        WispOptions,
        WorkspaceOptions,
    )
    from agentcore.hosting.validation import BuildValidation
    from agentcore.llm.chat import ChatClient
    from agentcore.llm.embedding import Embedder
    from agentcore.llm.settings import ChatOptions
    from agentcore.stores.storage import Storage
    from agentcore.workspace.workspaces import Whereabouts
    from dream.interfaces.plugin import DreamFactory
    from dream.options import DreamOptions

Kind = TypeVar("Kind", bound="Options")

_Told: TypeAlias = "Kind | Callable[[Kind], Kind] | None"


class AgentHostBuilder:
    """Collects what a host is made of and builds that host, once.

    Each `with_...` adds a service and returns the builder. Its options are given whole, or as a function from the
    options so far to other ones; called again, it goes on from there. Nothing is checked before `build`.

    Args:
        data_dir: The folder of the host's files, made when missing; None or `":memory:"` keeps everything in memory.
        database: The URL of a PostgreSQL database (`postgresql+psycopg://user:password@host:5432/name`) that keeps the
            records instead of a file in the folder; needs `agentcore-dream[postgres]`.
        clock: Where instants come from; the machine's by default.
        ids: Where ids come from; random ones by default.
        shutdown_timeout: The time all services together may take to stop; 30 seconds by default.

    Example:
        >>> import asyncio
        >>> async def main() -> None:
        ...     host = AgentHostBuilder(None).with_memory(lambda options: options.replace(floor=0.2)).build()
        ...     async with host:
        ...         await host.memory.remember("Ana moved to Lisbon in May 2025", category="people/ana")
        ...         for hit in await host.memory.recall("where does Ana live"):
        ...             print(hit.entry.content)
        >>> asyncio.run(main())
        Ana moved to Lisbon in May 2025
    """

    def __init__(
        self,
        data_dir: str | Path | None,
        *,
        database: str | None = None,
        clock: Clock | None = None,
        ids: IdFactory | None = None,
        shutdown_timeout: timedelta | None = None,
    ) -> None:
        self._data_dir = data_dir
        self._database = database
        self._clock = SystemClock() if clock is None else clock
        self._ids = RandomIds() if ids is None else ids
        self._shutdown_timeout = shutdown_timeout
        self._told: dict[str, list[object]] = {}
        self._told_scopes: list[tuple[str, object]] = []
        self._embedder: tuple[Embedder | ChatOptions | None] | None = None
        self._fills_embeddings = True
        self._chat: tuple[ChatClient | ChatOptions | None] | None = None
        self._storage: Storage | None = None
        self._services: list[HostedService] = []
        self._busy_sources: list[BusySource] = []
        self._corrections: CorrectionDetector | None = None
        self._install: Callable[..., DreamFactory] | None = None
        self._workspace: Whereabouts | str | None = None
        self._left: tuple[LeftOptions | None] | None = None
        self._is_built = False

    def with_memory(self, options: "_Told[MemoryOptions]" = None) -> Self:
        """Let the agent remember and recall."""
        return self._with("memory", options)

    def with_conversation_log(self, options: "_Told[ConversationOptions]" = None) -> Self:
        """Keep what was said."""
        return self._with("conversation", options)

    def with_skills(self, options: "_Told[SkillOptions]" = None) -> Self:
        """Let the agent look up procedures."""
        return self._with("skills", options)

    def with_feedback(
        self, options: "_Told[FeedbackOptions]" = None, *, corrections: "CorrectionDetector | None" = None
    ) -> Self:
        """Keep signals about the agent's work.

        Args:
            options: What is kept of them.
            corrections: Tells of a user's words whether they correct the assistant: then they are feedback, too. By
                default rules of many languages say so; `lambda text: False` finds none.
        """
        self._corrections = corrections or self._corrections
        return self._with("feedback", options)

    def with_wisps(self, options: "_Told[WispOptions]" = None) -> Self:
        """Keep what wisps did."""
        return self._with("wisps", options)

    def with_tool_calls(self, options: "_Told[ToolCallOptions]" = None) -> Self:
        """Keep what tools were called."""
        return self._with("tool_calls", options)

    def with_workspace(self, where: "Whereabouts | str", options: "_Told[WorkspaceOptions]" = None) -> Self:
        """Let the agent share documents with its people: MEMORY.md, DREAMS.md and memory-archive.md of a folder.

        Args:
            where: The default scope's folder, which must exist; or a function that names a scope's, None for one
                without a workspace. No two scopes may share a folder.
            options: What is done with them.
        """
        self._workspace = where
        return self._with("workspace", options)

    def with_context(self, options: "_Told[ContextOptions]" = None) -> Self:
        """Say what a turn is given by `host.context`, which every host with a memory has."""
        return self._with("context", options)

    def with_dreaming(
        self, configure: "_Told[DreamOptions]" = None, *, scope: str | None = None, in_background: bool = True
    ) -> Self:
        """Let dreams tend the memory in idle time.

        Args:
            configure: Their options, or a function from the options so far to other ones.
            scope: Only of these scopes, as in `acme/*/*` or `acme/rex/ana`: what is said of fewer scopes wins. Called
                so it changes nothing for others, *in_background* included.
            in_background: Whether the host starts them by itself, as `DreamOptions.schedule` says, and takes up what
                `dreams.schedule()` asks for; if not, only `dreams.run()` does.
        """
        # The one import from agentcore into dream.
        from dream.interfaces.plugin import install_dreaming  # noqa: PLC0415 - who does not dream does not load it

        if scope is None:
            self._install = partial(install_dreaming, in_background=in_background)
            return self._with("dreaming", configure)
        self._install = self._install or partial(install_dreaming, in_background=in_background)
        self._with("dreaming", None)
        if configure is not None:
            self._told_scopes.append((scope, configure))
        return self

    def with_llm(self, client: "ChatClient | ChatOptions | None" = None) -> Self:
        """Let dreams ask a model; the last one named is asked.

        Args:
            client: A client, or how to reach a server, or nothing: then the environment and the data directory's
                `agentcore.toml` say how. A client with `start` and `stop` lives as long as the host.
        """
        self._refuse_if_built()
        self._chat = (client,)
        return self

    def with_embeddings(
        self,
        embedder: "Embedder | ChatOptions | None" = None,
        options: "_Told[EmbeddingOptions]" = None,
        *,
        in_background: bool = True,
    ) -> Self:
        """Let the recall of entries go by meaning too, beside words; the last model named is asked.

        Args:
            embedder: A model, or how to reach a server (`EmbedderOptions`), or nothing: then the environment and the
                data directory's `agentcore.toml` say how. One with `start` and `stop` lives as long as the host.
            options: How vectors take part.
            in_background: Whether the host has vectors made of its entries; if not, it uses those there are.
        """
        self._with("embeddings", options)
        self._embedder = (embedder,)
        self._fills_embeddings = in_background
        return self

    def with_storage(self, storage: "Storage") -> Self:
        """Keep all records in this storage, such as one with more patience; the host opens and closes it.

        It decides how importance fades. Dreams want a `SqlStorage`.
        """
        self._refuse_if_built()
        self._storage = storage
        return self

    def with_service(self, service: "HostedService") -> Self:
        """Start and stop one more service with the host, after the storage and before the dreams."""
        self._refuse_if_built()
        self._services.append(service)
        return self

    def with_busy_source(self, source: "BusySource") -> Self:
        """Let dreams ask, every five seconds, whether a person is served where the host does not see it.

        Where you can, enter `host.gate.foreground()` instead: that is noticed at once.

        Args:
            source: A function without parameters that tells whether somebody is served. A coroutine function is
                awaited on the event loop, any other is called on a thread.
        """
        self._refuse_if_built()
        self._busy_sources.append(source)
        return self

    def following(self, left: "LeftOptions | None") -> Self:
        """Go by the options that a host left in the database, and leave none: for commands and other servers of it.

        Args:
            left: What its code says (`agentcore.hosting.left_options.left_in`); None to go by the file alone.
        """
        self._refuse_if_built()
        self._left = (left,)
        return self

    def build(self) -> "Host":
        """Check everything and put the host together; nothing is opened before `async with`.

        Raises:
            InvalidInputError: one thing is not possible.
            ExceptionGroup: several are not; one `InvalidInputError` for each.
            AlreadyBuiltError: this builder has built its host.
        """
        self._refuse_if_built()
        config = self._validated()
        from agentcore.hosting.assembly import assemble  # noqa: PLC0415 - the builder must not cost what building costs

        host = assemble(config)
        self._is_built = True
        return host

    def _with(self, name: str, options: object) -> Self:
        self._refuse_if_built()
        told = self._told.setdefault(name, [])
        if options is not None:
            told.append(options)
        return self

    def _refuse_if_built(self) -> None:
        if self._is_built:
            raise AlreadyBuiltError

    def _validated(self) -> "HostConfig":
        from agentcore.hosting.assembly import HostConfig  # noqa: PLC0415 - as in build
        from agentcore.hosting.lifecycle import DEFAULT_SHUTDOWN_TIMEOUT  # noqa: PLC0415 - as in build
        from agentcore.hosting.validation import BuildValidation  # noqa: PLC0415 - as in build

        checked = BuildValidation()
        storage, chat = self._storage, self._chat
        timeout = DEFAULT_SHUTDOWN_TIMEOUT if self._shutdown_timeout is None else self._shutdown_timeout
        folder = checked.folder(self._data_dir)
        clock = checked.part("clock", self._clock, "now", "sleep")

        config = HostConfig(
            data_dir=folder,
            database=None if self._database is None else checked.database(self._database),
            clock=clock,
            ids=checked.part("ids", self._ids, "new"),
            shutdown_timeout=checked.duration("shutdown_timeout", timeout),
            storage=None
            if storage is None
            else checked.part("with_storage", storage, "start", "stop", "read", "write"),
            chat=None if chat is None else checked.chat(chat[0], folder, clock),
            embedder=None if self._embedder is None else checked.embedder(self._embedder[0], folder, clock),
            fills_embeddings=self._fills_embeddings,
            corrections=self._corrections and checked.function("with_feedback(corrections)", self._corrections),
            services=tuple(checked.part("with_service", one, "start", "stop") for one in self._services),
            busy_sources=tuple(checked.function("with_busy_source", one) for one in self._busy_sources),
            dreaming=self._install
            and checked.plugin(
                partial(self._install, data_dir=folder, scopes=self._told_scopes, left=self._followed),
                self._told["dreaming"],
            ),
            **self._sections(checked, folder),
        )
        checked.check_decay(config.storage, config.memory)
        checked.conclude()
        return config

    def _sections(self, checked: "BuildValidation", folder: Path | None) -> "dict[str, Any]":
        """Return the options of each part, by the names of `HostConfig`: as the file says and then the code."""
        from agentcore.hosting.option_layers import overlaid  # noqa: PLC0415 - as in build
        from agentcore.hosting.option_parts import PARTS  # noqa: PLC0415 - as in build
        from agentcore.hosting.options import WorkspaceOptions  # noqa: PLC0415 - as in build

        followed, left = self._followed, self._code_alone()

        def told(kind: type[Kind]) -> Kind | None:
            nonlocal left
            said, first = self._told.get(kind.section), checked.from_file(kind, folder) or kind()
            if followed is not None and kind.section in followed.parts:
                first = overlaid(first, followed.parts[kind.section], replaces_mappings=True)
            settled = None if said is None else checked.options(kind, said, first)
            left = left if settled is None else left.with_part(kind.section, first, settled)
            return settled

        workspace = told(WorkspaceOptions) or checked.from_file(WorkspaceOptions, folder)
        where = None if self._workspace is None else checked.workspace(self._workspace)
        where = checked.workspace_plan(where, folder, workspace and workspace.folder)
        sections: dict[str, object] = {kind.section: told(kind) for kind in PARTS if kind is not WorkspaceOptions}
        sections |= {"workspace": None if where is None else workspace, "where": where}
        return {**sections, "left": left if self._left is None else None}

    @property
    def _followed(self) -> "LeftOptions | None":
        return None if self._left is None else self._left[0]

    def _code_alone(self) -> "LeftOptions":
        """Return what nobody can follow who has not this code."""
        from agentcore.hosting.left_options import LeftOptions  # noqa: PLC0415 - as in build

        given = {"with_llm": self._chat and self._chat[0], "with_embeddings": self._embedder and self._embedder[0]}
        given |= {"with_storage": self._storage, "with_workspace": self._workspace}
        return LeftOptions(only_code=tuple(name for name, value in given.items() if value is not None))
