"""Opens the connections to a server at `start` and closes them at `stop`."""

import asyncio
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from agentcore.llm.endpoint import Endpoint
    from agentcore.llm.settings import ChatOptions


class HostedClient:
    """A hosted service that asks one endpoint; lives as long as the host.

    Args:
        options: Where to ask.
    """

    def __init__(self, options: "ChatOptions") -> None:
        self._options = options
        self._endpoint: Endpoint | None = None

    async def start(self) -> None:
        """Make it usable; no connection is made before the first call."""
        if self._endpoint is None:
            # The package takes a good third of a second to import, which other tasks need not wait for.
            endpoint = await asyncio.to_thread(_endpoint_module)
            self._endpoint = endpoint.Endpoint(self._options)

    async def stop(self) -> None:
        """Close all connections; calls in flight fail as unreachable."""
        endpoint, self._endpoint = self._endpoint, None
        if endpoint is not None:
            await endpoint.close()

    async def __aenter__(self) -> Self:
        """Start."""
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Stop."""
        await self.stop()


def _endpoint_module() -> Any:
    from agentcore.llm import endpoint  # noqa: PLC0415 - openai is imported by those alone who ask a model

    return endpoint
