"""Takes in what tools were called."""

from datetime import datetime

from agentcore.domain.scope import Scope
from agentcore.domain.signals import ToolCall
from agentcore.hosting.checks import clean_count, clean_instant, clean_name, optional_text
from agentcore.hosting.options import ToolCallOptions
from agentcore.ids import IdFactory
from agentcore.stores.storage import Storage, UnitOfWork


class ToolCallLog:
    """One scope's tool calls; keeps nothing itself, so it may be made anew at any time.

    Args:
        scope: Whose agent called.
        storage: Where they are kept.
        ids: Names new rows.
        options: What is kept of them.
    """

    def __init__(
        self, scope: Scope, *, storage: Storage, ids: IdFactory, options: ToolCallOptions | None = None
    ) -> None:
        self._scope = scope
        self._storage = storage
        self._ids = ids
        self._options = options or ToolCallOptions()

    @property
    def scope(self) -> Scope:
        """Whose agent called."""
        return self._scope

    async def append(
        self,
        *,
        session_id: str,
        tool_name: str,
        succeeded: bool,
        arguments: str | None = None,
        error_message: str | None = None,
        duration_ms: int | None = None,
        occurred_at: datetime | None = None,
    ) -> ToolCall:
        """Log one call of a tool.

        Args:
            session_id: The conversation it was made in.
            tool_name: The tool.
            succeeded: Whether it did what it was called for.
            arguments: What it was called with, in short and without secrets; cut off where the options say.
            error_message: What it said when it failed; cut off in the same way.
            duration_ms: How long it took, milliseconds.
            occurred_at: When it was made, aware; None is now.

        Raises:
            InvalidContentError: something cannot be stored; nothing was.

        Example:
            >>> import asyncio
            >>> from agentcore import AgentHostBuilder
            >>> async def main() -> None:
            ...     async with AgentHostBuilder(None).with_tool_calls().build() as host:
            ...         await host.tool_calls.append(session_id="s1", tool_name="mail_search", succeeded=True)
            ...         print([call.tool_name for call in await host.tool_calls.newest()])
            >>> asyncio.run(main())
            ['mail_search']
        """
        session, tool = clean_name("session id", session_id), clean_name("tool name", tool_name)
        called_with, said = self._short("arguments", arguments), self._short("error message", error_message)
        took = None if duration_ms is None else clean_count("duration", duration_ms)
        called_at = clean_instant(occurred_at)

        def work(unit: UnitOfWork) -> ToolCall:
            call = ToolCall(
                id=self._ids.new(),
                scope=self._scope,
                session_id=session,
                tool_name=tool,
                succeeded=bool(succeeded),
                arguments=called_with,
                error_message=said,
                duration_ms=took,
                occurred_at=called_at or unit.now,
                recorded_at=unit.now,
            )
            unit.tool_calls.append([call])
            return call

        return await self._storage.write(self._scope, work)

    async def newest(self, *, limit: int = 50, since: datetime | None = None) -> list[ToolCall]:
        """Return the newest *limit* calls at or after *since*, the oldest of them first."""
        return await self._storage.read(self._scope, lambda view: view.tool_calls.newest(limit=limit, since=since))

    async def count(self) -> int:
        """Count calls."""
        return await self._storage.read(self._scope, lambda view: view.tool_calls.count())

    def _short(self, field: str, text: str | None) -> str | None:
        return optional_text(field, text[: self._options.max_text] if text else None)
