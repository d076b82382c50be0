"""Asks the model that a scope's options name, where they name one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentcore.hosting.services import HostServices
    from agentcore.llm.chat import ChatClient, ChatRequest, Completion
    from agentcore.llm.settings import ChatOptions
    from dream.options import DreamOptions


@dataclass(frozen=True, slots=True)
class NamedModel:
    """A client that asks another model of the same server where a request names none; lives as long as the host.

    Args:
        client: Who is asked.
        name: The model, as its server spells it.
    """

    client: ChatClient
    name: str

    @property
    def options(self) -> ChatOptions | None:
        """The client's options with that model; None where it has none that are known."""
        from agentcore.llm.settings import ChatOptions  # noqa: PLC0415 - a client that has some has imported them

        found: object = getattr(self.client, "options", None)
        return found.model_copy(update={"dream_model": self.name}) if isinstance(found, ChatOptions) else None

    async def complete(self, request: ChatRequest) -> Completion:
        """Return the answer of the model; see `ChatClient`."""
        return await self.client.complete(replace(request, model=request.model or self.name))


def with_model(parts: HostServices, options: DreamOptions) -> HostServices:
    """Return the services of a scope with these options: the same, with the model that they name."""
    name = options.model.name
    return parts if parts.chat is None or name is None else replace(parts, chat=NamedModel(parts.chat, name))
