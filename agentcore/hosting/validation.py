"""Checks and completes what a builder was told, and collects every mistake."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar, cast

from agentcore.clock import Clock
from agentcore.domain.decay import Decay
from agentcore.domain.scope import Scope
from agentcore.errors import InvalidInputError, InvalidOptionsError
from agentcore.hosting.options import MemoryOptions, Options, together
from agentcore.llm.chat import ChatClient
from agentcore.llm.embedding import Embedder
from agentcore.llm.errors import ChatNotConfiguredError
from agentcore.workspace.folder import WorkspaceFolder
from agentcore.workspace.workspaces import Whereabouts

OptionsT = TypeVar("OptionsT", bound=Options)
T = TypeVar("T")

IN_MEMORY = ":memory:"
"""The data directory that means none."""


class BuildValidation:
    """One examination of what a builder was told; lives as long as `build`.

    Example:
        >>> validation = BuildValidation()
        >>> validation.folder(" ")
        >>> validation.conclude()
        Traceback (most recent call last):
        ...
        agentcore.errors.InvalidOptionsError: Option data_dir = ' ' is not possible: name a folder, or give None to \
keep everything in memory.
    """

    def __init__(self) -> None:
        self._refusals: list[InvalidInputError] = []

    def conclude(self) -> None:
        """Raise what was refused: the one refusal itself, or a group of several."""
        # Of a settings file that cannot be read every part says the same.
        refusals = list({str(refusal): refusal for refusal in self._refusals}.values())
        if refusals:
            raise together(refusals)

    def refuse(self, field: str, value: object, allowed: str) -> None:
        """Note that an option cannot have its value."""
        self._refusals.append(InvalidOptionsError(field=field, value=value, allowed=allowed))

    def folder(self, data_dir: object) -> Path | None:
        """Return the folder that *data_dir* names; None for everything in memory."""
        if data_dir is None or data_dir == IN_MEMORY:
            return None
        if not isinstance(data_dir, (str, Path)) or not str(data_dir).strip():
            self.refuse("data_dir", data_dir, "name a folder, or give None to keep everything in memory")
            return None
        folder = Path(data_dir).expanduser()
        if folder.exists() and not folder.is_dir():
            self.refuse("data_dir", str(data_dir), "it is a file; name a folder, which need not exist yet")
        return folder

    def database(self, url: object) -> str | None:
        """Return the URL of a database; None if it is refused, which is noted."""
        from agentcore.stores.sql.engines.database_url import require_driver  # noqa: PLC0415 - as in chat

        if not isinstance(url, str):
            self.refuse("database", url, "give a URL, or None for a file in the data directory")
            return None
        return url if self.attempt(lambda: require_driver(url)) else None

    def workspace(self, where: object) -> Whereabouts | None:
        """Return where workspaces are; None if it is refused, which is noted."""
        if callable(where):
            return cast("Callable[[Scope], Path | None]", where)
        if not isinstance(where, (str, Path)) or not str(where).strip():
            self.refuse("with_workspace", where, "name a folder, or give a function that names that of a scope")
            return None
        path = Path(where).expanduser()
        return path if self.attempt(lambda: WorkspaceFolder(path)) else None

    def part(self, field: str, value: T, *methods: str) -> T:
        """Return *value*, which must have all *methods*."""
        missing = [name for name in methods if not callable(getattr(value, name, None))]
        if missing:
            self.refuse(field, value, f"give an object with the methods {', '.join(methods)}")
        return value

    def function(self, field: str, value: T) -> T:
        """Return *value*, which must be callable."""
        if not callable(value):
            self.refuse(field, value, "give a function without parameters")
        return value

    def duration(self, field: str, value: timedelta) -> timedelta:
        """Return *value*, which must be longer than zero."""
        if value <= timedelta():
            self.refuse(field, value, "give a duration longer than zero")
        return value

    def chat(self, given: object, folder: Path | None, clock: Clock) -> ChatClient | None:
        """Return the model that *given* is or describes; None if it is refused, which is noted.

        Args:
            given: A client, options of one, or None for what the environment and the settings file say.
            folder: Where the settings file is.
            clock: What the client waits by.
        """
        if callable(getattr(given, "complete", None)):
            return cast("ChatClient", given)
        # Deferred, because whoever brings a client of their own needs no settings.
        from agentcore.llm.settings import ChatOptions, from_environment  # noqa: PLC0415
        from agentcore.llm.settings_file import FILE_NAME  # noqa: PLC0415

        if given is not None and not isinstance(given, ChatOptions):
            self.refuse("with_llm", given, "give a ChatClient, ChatOptions, or nothing for what is configured")
            return None
        refused = len(self._refusals)
        options = given or self.attempt(lambda: from_environment(folder))
        if options is not None:
            from agentcore.llm.openai_client import OpenAIChatClient  # noqa: PLC0415 - as above

            return OpenAIChatClient(options, clock=clock)
        if len(self._refusals) == refused:
            self._refusals.append(ChatNotConfiguredError(settings_file=str(folder / FILE_NAME) if folder else None))
        return None

    def embedder(self, given: object, folder: Path | None, clock: Clock) -> Embedder | None:
        """Return the embedding model that *given* is or describes; None if it is refused, which is noted.

        Args:
            given: An embedder, options of one, or None for what the environment and the settings file say.
            folder: Where the settings file is.
            clock: What it waits by.
        """
        if callable(getattr(given, "embed", None)) and isinstance(getattr(given, "model", None), str):
            return cast("Embedder", given)
        from agentcore.llm.settings import ChatOptions, embedder_from_environment  # noqa: PLC0415 - as in chat

        if given is not None and not isinstance(given, ChatOptions):
            self.refuse(
                "with_embeddings", given, "give an Embedder, EmbedderOptions, or nothing for what is configured"
            )
            return None
        refused = len(self._refusals)
        options = given or self.attempt(lambda: embedder_from_environment(folder))
        if options is not None:
            from agentcore.llm.openai_embedder import OpenAIEmbedder  # noqa: PLC0415 - as above

            return OpenAIEmbedder(options, clock=clock)
        if len(self._refusals) == refused:
            allowed = "set AGENTCORE_EMBEDDINGS_MODEL, write model under [embeddings] in agentcore.toml, or give it one"
            self.refuse("with_embeddings", None, allowed)
        return None

    def from_file(self, kind: type[OptionsT], folder: Path | None) -> OptionsT | None:
        """Return the options that the settings file says; None if they are refused, which is noted.

        Args:
            kind: The options' class; its section is the file's table.
            folder: Where the settings file is.
        """
        if folder is None:
            return None
        from agentcore.hosting.option_parts import said_in_file  # noqa: PLC0415 - as in chat

        return self.attempt(lambda: kind(**said_in_file(kind, folder)))

    def workspace_plan(self, where: Whereabouts | None, folder: Path | None, text: str | None) -> Whereabouts | None:
        """Return where the workspaces are: what the code says, and where it says nothing what the settings file does.

        Args:
            where: What the code says; None if nothing.
            folder: The data directory.
            text: What the settings file says of all scopes.
        """
        if folder is None:
            return where
        from agentcore.llm.settings_file import FILE_NAME, WORKSPACE, scope_tables  # noqa: PLC0415 - as in chat
        from agentcore.workspace.templates import WorkspacePlan, WorkspaceTemplate  # noqa: PLC0415 - few files say so

        def read() -> list[WorkspaceTemplate]:
            tables = scope_tables(folder / FILE_NAME)
            said = [(str(table[WORKSPACE]), pattern) for pattern, table in tables if WORKSPACE in table]
            return [
                *([] if text is None else [WorkspaceTemplate(folder, text)]),
                *(WorkspaceTemplate(folder, one, pattern) for one, pattern in said),
            ]

        templates = self.attempt(read)
        return WorkspacePlan(templates, where) if templates else where

    def options(
        self, kind: type[OptionsT], told: Sequence[Any] | None, first: OptionsT | None = None
    ) -> OptionsT | None:
        """Return what a service's options have become; None where the service is not wanted.

        Args:
            kind: The options' class.
            told: Options, which replace what stood, or functions from what stood to what shall stand, in turn.
            first: What stands first; the defaults if None.
        """
        if told is None:
            return None
        settled: OptionsT | None = first or self.attempt(kind)
        for say in told:
            if settled is None:
                break
            settled = self._told(kind, settled, say)
        return settled

    def plugin(self, install: Callable[[Callable[[OptionsT], OptionsT]], T], told: Sequence[Any]) -> T | None:
        """Return what *install* makes of options that *told* settles; None if it refuses them, which is noted."""
        return self.attempt(lambda: install(lambda options: self.options(type(options), told, options) or options))

    def check_decay(self, storage: object | None, memory: MemoryOptions | None) -> None:
        """Refuse options of fading beside a storage of the host's own, which reads importance itself."""
        if storage is not None and memory is not None and memory.decay() != Decay():
            allowed = "a storage of your own decides how importance fades; give them to that storage"
            self.refuse("memory.grace, half_life or floor", memory.decay(), allowed)

    def attempt(self, call: Callable[[], T]) -> T | None:
        """Return what *call* returns; None if it refuses its input, which is noted."""
        try:
            return call()
        except InvalidInputError as refusal:
            self._refusals.append(refusal)
        except ExceptionGroup as group:
            refusals, others = group.split(InvalidInputError)
            if refusals is None or others is not None:
                raise
            self._refusals += [error for error in refusals.exceptions if isinstance(error, InvalidInputError)]
        return None

    def _told(self, kind: type[OptionsT], settled: OptionsT, say: Any) -> OptionsT | None:
        refused_so_far = len(self._refusals)
        given: object = self.attempt(lambda: say(settled)) if callable(say) else say
        if len(self._refusals) > refused_so_far:
            return None
        if not isinstance(given, kind):
            way = "the function must return them, as in `lambda options: options.replace(...)`"
            self.refuse(kind.section, given, f"give {kind.__name__}, or a function of them; {way}")
            return None
        return given
