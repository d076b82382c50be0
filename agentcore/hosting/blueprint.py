"""Blueprint: everything a builder has settled, checked and ready to be put together."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from agentcore.clock import Clock
from agentcore.domain.capability import Capability
from agentcore.hosting.corrections import CorrectionDetector
from agentcore.hosting.options import (
    ContextOptions,
    ConversationOptions,
    EmbeddingOptions,
    FeedbackOptions,
    MemoryOptions,
    SkillOptions,
    ToolCallOptions,
    WispOptions,
    WorkspaceOptions,
)
from agentcore.hosting.service import HostedService
from agentcore.hosting.watching import BusySource
from agentcore.ids import IdFactory
from agentcore.llm.chat import ChatClient
from agentcore.llm.embedding import Embedder
from agentcore.stores.storage import Storage
from agentcore.workspace.workspaces import Whereabouts, Workspaces

if TYPE_CHECKING:
    from dream.interfaces.plugin import DreamFactory


@dataclass(frozen=True, slots=True, kw_only=True)
class Blueprint:
    """What a host is made of; None stands for a service it was built without.

    Args:
        data_dir: Where it keeps its files; None keeps everything in memory.
        clock: Where instants come from.
        ids: Where ids come from.
        shutdown_timeout: The time all services together may take to stop.
        storage: A storage of the host's own.
        chat: The model.
        embedder: Makes vectors for recall; None for words alone.
        embeddings: How they take part; None for the defaults.
        fills_embeddings: Whether the host has vectors made of its entries.
        memory: How memory fades and is recalled.
        conversation: How the conversation log is kept.
        skills: How skills are kept.
        feedback: How feedback is kept.
        wisps: How wisp runs are kept.
        workspace: What is done with documents.
        where: Where the workspaces are.
        corrections: What finds users' turns that correct the assistant; None is the rules there are.
        context: What a turn is given; None for the defaults.
        services: The host's own services, in the order to start them.
        busy_sources: What tells of people served where the host does not see it.
        dreaming: Makes the dreams.
    """

    data_dir: Path | None
    clock: Clock
    ids: IdFactory
    shutdown_timeout: timedelta
    storage: Storage | None = None
    chat: ChatClient | None = None
    embedder: Embedder | None = None
    embeddings: EmbeddingOptions | None = None
    fills_embeddings: bool = True
    memory: MemoryOptions | None = None
    conversation: ConversationOptions | None = None
    skills: SkillOptions | None = None
    feedback: FeedbackOptions | None = None
    wisps: WispOptions | None = None
    tool_calls: ToolCallOptions | None = None
    workspace: WorkspaceOptions | None = None
    where: Whereabouts | None = None
    corrections: CorrectionDetector | None = None
    context: ContextOptions | None = None
    services: Sequence[HostedService] = ()
    busy_sources: Sequence[BusySource] = ()
    dreaming: "DreamFactory | None" = None

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What the host is built with."""
        present = {
            Capability.MEMORY: self.memory,
            Capability.CONVERSATION: self.conversation,
            Capability.SKILLS: self.skills,
            Capability.FEEDBACK: self.feedback,
            Capability.WISPS: self.wisps,
            Capability.TOOL_CALLS: self.tool_calls,
            Capability.WORKSPACE: self.workspace,
            Capability.LLM: self.chat,
        }
        return frozenset(capability for capability, part in present.items() if part is not None)

    @property
    def workspaces(self) -> Workspaces | None:
        """Which folder is whose workspace; None without any."""
        if self.workspace is None or self.where is None:
            return None
        return Workspaces(self.where, self.workspace.git)

    @property
    def shares_endpoint(self) -> bool:
        """Whether the model's server is said to work for people too; a client of the host's own is not asked."""
        if self.chat is None:
            return False
        from agentcore.llm.openai_client import OpenAIChatClient  # noqa: PLC0415 - as below

        if not isinstance(self.chat, OpenAIChatClient):
            return False
        # Deferred: without such a client, the settings have not been imported.
        from agentcore.llm.settings import EndpointUse  # noqa: PLC0415

        return self.chat.options.endpoint is EndpointUse.SHARED
