"""Puts a host together from its checked configuration: the one place that wires the services."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from agentcore import hosting
from agentcore.clock import Clock
from agentcore.domain.capability import Capability
from agentcore.domain.scope import Scope
from agentcore.hosting.busy import BusyAnnouncer, BusySource, BusyWatch
from agentcore.hosting.correction_detector import CorrectionDetector, is_correction
from agentcore.hosting.erasing import Eraser
from agentcore.hosting.fan_out import FanOut
from agentcore.hosting.forget_hooks import ForgetHooks
from agentcore.hosting.host import Host
from agentcore.hosting.left_options import LeftOptions, OptionsLeft
from agentcore.hosting.lifecycle import HostedService
from agentcore.hosting.memory import Memory
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
from agentcore.hosting.peer_session import PeerSessions
from agentcore.hosting.remember import MemoryWrites
from agentcore.hosting.restatements import RestatementFinder
from agentcore.hosting.scoped_host import ServiceFactories
from agentcore.hosting.services import HostServices
from agentcore.hosting.switches import Switchboard
from agentcore.hosting.wiring_library import containers, providers
from agentcore.hosting.write_behind import ActivityRecorder, EmbeddingFiller, RecallNotes
from agentcore.ids import IdFactory, RandomIds
from agentcore.llm.chat import ChatClient
from agentcore.llm.embedding import Embedder
from agentcore.llm.gate import BusyGate
from agentcore.recall.recall import INDEX_FOLDER, Recall
from agentcore.stores.sql.forget_key import ForgetKey
from agentcore.stores.sql.sql_storage import FILE_NAME, SqlStorage
from agentcore.stores.storage import Storage
from agentcore.workspace.workspaces import Whereabouts, Workspaces

if TYPE_CHECKING:
    from agentcore.hosting.context import ContextParts
    from dream.cycle.dreams import Dreams
    from dream.interfaces.plugin import DreamFactory

_Service = TypeVar("_Service")


@dataclass(frozen=True, slots=True, kw_only=True)
class HostConfig:
    """What a host is made of; None stands for a service it was built without.

    Args:
        data_dir: Where it keeps its files; None keeps everything in memory.
        database: The URL of the database that keeps the records; None is a file in that folder.
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
        left: What the code says of options beside those of dreams; None if none are left to others.
    """

    data_dir: Path | None
    clock: Clock
    ids: IdFactory
    shutdown_timeout: timedelta
    database: str | None = None
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
    left: LeftOptions | None = None

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
        from agentcore.llm.openai_client import OpenAIChatClient  # noqa: PLC0415 - many hosts ask no model

        if not isinstance(self.chat, OpenAIChatClient):
            return False
        from agentcore.llm.settings import EndpointUse  # noqa: PLC0415 - such a client has imported them

        return self.chat.options.endpoint is EndpointUse.SHARED


def _dreams(make: "DreamFactory | None", parts: HostServices) -> "Dreams | None":
    return None if make is None else make(parts)


def _dreams_of(dreams: "Dreams | None", scope: Scope) -> "Dreams | None":
    return None if dreams is None else dreams.for_scope(scope)


def _holder() -> str:
    """Return this host's name among all that share the database: no host's own ids are unique beyond it."""
    return RandomIds().new()


def _late(service: Callable[[], type[_Service]]) -> Callable[..., _Service]:
    """Return what makes a service whose module is imported when the first is made: opening a host need not wait."""

    def make(*scope: Any, **parts: Any) -> _Service:
        return service()(*scope, **parts)

    return make


def _context_parts(**parts: Any) -> "ContextParts":
    from agentcore.hosting.context import ContextParts, ContextWindows  # noqa: PLC0415 - as `_late`

    return ContextParts(**parts, windows=ContextWindows())


class _HostContainer(containers.DeclarativeContainer):
    """How each part is made of the others; `assemble` supplies the dependencies and empties what is absent."""

    place: providers.Dependency[Any] = providers.Dependency()
    forget_key: providers.Dependency[Any] = providers.Dependency()
    data_dir: providers.Dependency[Any] = providers.Dependency()
    clock: providers.Dependency[Any] = providers.Dependency()
    ids: providers.Dependency[Any] = providers.Dependency()
    chat: providers.Dependency[Any] = providers.Dependency()
    dreaming: providers.Dependency[Any] = providers.Dependency()
    capabilities: providers.Dependency[Any] = providers.Dependency()
    shares_endpoint: providers.Dependency[Any] = providers.Dependency()
    busy_sources: providers.Dependency[Any] = providers.Dependency()
    shutdown_timeout: providers.Dependency[Any] = providers.Dependency()
    decay: providers.Dependency[Any] = providers.Dependency()
    recall_log_retention: providers.Dependency[Any] = providers.Dependency()
    synchronous: providers.Dependency[Any] = providers.Dependency()
    secrets: providers.Dependency[Any] = providers.Dependency()
    recall_options: providers.Dependency[Any] = providers.Dependency()
    embedder: providers.Dependency[Any] = providers.Dependency()
    dense_options: providers.Dependency[Any] = providers.Dependency()
    recall_folder: providers.Dependency[Any] = providers.Dependency()
    conversation_options: providers.Dependency[Any] = providers.Dependency()
    context_options: providers.Dependency[Any] = providers.Dependency()
    skill_options: providers.Dependency[Any] = providers.Dependency()
    workspaces: providers.Dependency[Any] = providers.Dependency()
    corrections: providers.Dependency[Any] = providers.Dependency()
    feedback_options: providers.Dependency[Any] = providers.Dependency()
    wisp_options: providers.Dependency[Any] = providers.Dependency()
    tool_call_options: providers.Dependency[Any] = providers.Dependency()

    gate = providers.Singleton(BusyGate)
    storage = providers.Singleton(SqlStorage, place, clock=clock, decay=decay, synchronous=synchronous, key=forget_key)
    recall = providers.Singleton(
        Recall, storage, options=recall_options, folder=recall_folder, embedder=embedder, dense=dense_options
    )
    holder = providers.Singleton(_holder)
    activity = providers.Singleton(ActivityRecorder, storage=storage, clock=clock)
    switchboard = providers.Singleton(Switchboard, storage)
    announcer = providers.Singleton(BusyAnnouncer, storage=storage, clock=clock, gate=gate, holder=holder)
    watch = providers.Singleton(BusyWatch, storage=storage, clock=clock, gate=gate, holder=holder, sources=busy_sources)

    aftermath = providers.Singleton(ForgetHooks)

    fan_out = providers.Singleton(FanOut, storage, clock=clock, recall=recall, aftermath=aftermath)
    peer_sessions = providers.Singleton(PeerSessions, storage, ids=ids, fan_out=fan_out, options=conversation_options)

    eraser = providers.Singleton(Eraser, storage, recall=recall, workspaces=workspaces, aftermath=aftermath)
    notes = providers.Singleton(RecallNotes, storage, clock=clock, keep=recall_log_retention)
    writes = providers.Singleton(MemoryWrites, storage, ids=ids)
    finder = providers.Singleton(RestatementFinder, storage, recall=recall, chat=chat)
    memory = providers.Factory(
        Memory,
        storage=storage,
        recall=recall,
        writes=writes,
        notes=notes,
        ids=ids,
        aftermath=aftermath,
        finder=finder,
        secrets=secrets,
    )
    conversation = providers.Factory(
        _late(lambda: hosting.Conversation),
        storage=storage,
        recall=recall,
        ids=ids,
        options=conversation_options,
        corrections=corrections,
        feedback=feedback_options,
        aftermath=aftermath,
    )
    skills = providers.Factory(
        _late(lambda: hosting.Skills), storage=storage, recall=recall, ids=ids, options=skill_options
    )
    feedback = providers.Factory(_late(lambda: hosting.FeedbackLog), storage=storage, ids=ids, options=feedback_options)
    context_parts = providers.Singleton(
        _context_parts, storage=storage, recall=recall, notes=notes, options=context_options, workspaces=workspaces
    )
    context = providers.Factory(_late(lambda: hosting.Context), parts=context_parts)
    wisps = providers.Factory(_late(lambda: hosting.WispLog), storage=storage, ids=ids, options=wisp_options)
    tool_calls = providers.Factory(
        _late(lambda: hosting.ToolCallLog), storage=storage, ids=ids, options=tool_call_options
    )

    off_limits = providers.Factory(_late(lambda: hosting.OffLimits), storage=storage, ids=ids)

    workspace = providers.Factory(_late(lambda: hosting.AgentWorkspace), storage=storage, workspaces=workspaces)

    parts = providers.Singleton(
        HostServices,
        storage=storage,
        clock=clock,
        ids=ids,
        gate=gate,
        activity=activity,
        watch=watch,
        chat=chat,
        recall=recall,
        capabilities=capabilities,
        data_dir=data_dir,
        shares_endpoint=shares_endpoint,
        workspaces=workspaces,
        aftermath=aftermath,
        fan_out=fan_out,
    )
    dreams = providers.Singleton(_dreams, dreaming, parts)
    dreams_of = providers.Factory(_dreams_of, dreams)

    factories = providers.Singleton(
        ServiceFactories,
        memory=memory.provider,
        conversation=conversation.provider,
        skills=skills.provider,
        feedback=feedback.provider,
        wisps=wisps.provider,
        tool_calls=tool_calls.provider,
        workspace=workspace.provider,
        context=context.provider,
        dreams=dreams_of.provider,
        off_limits=off_limits.provider,
        switchboard=switchboard,
        eraser=eraser,
        peer_sessions=peer_sessions,
    )
    services = providers.List(storage, recall, writes, notes, activity, announcer, fan_out, eraser)
    host = providers.Factory(
        Host, parts=parts, factories=factories, services=services, shutdown_timeout=shutdown_timeout
    )


def assemble(config: HostConfig) -> Host:
    """Put a host together; nothing of it is started."""
    container = _HostContainer(**_dependencies(config), **_substitutes(config))
    container.services.add_args(*_embedding_services(config, container.recall()))
    container.services.add_args(*_extra_services(config, container.storage(), container.dreams()))
    return container.host()


def _dependencies(config: HostConfig) -> dict[str, providers.Object[Any]]:
    memory, conversation = config.memory or MemoryOptions(), config.conversation or ConversationOptions()
    values: dict[str, object] = {
        "place": config.database or (None if config.data_dir is None else config.data_dir / FILE_NAME),
        "forget_key": ForgetKey.of(config.data_dir),
        "data_dir": config.data_dir,
        "clock": config.clock,
        "ids": config.ids,
        "chat": config.chat,
        "dreaming": config.dreaming,
        "capabilities": config.capabilities,
        "shares_endpoint": config.shares_endpoint,
        "busy_sources": config.busy_sources,
        "shutdown_timeout": config.shutdown_timeout,
        "decay": memory.decay(),
        "synchronous": memory.synchronous,
        "secrets": memory.secrets,
        "recall_log_retention": memory.recall_log_retention,
        "recall_options": replace(memory.recall(), turns=conversation.recall()),
        "embedder": config.embedder,
        "dense_options": (config.embeddings or EmbeddingOptions()).dense(),
        "recall_folder": None if config.data_dir is None else config.data_dir / INDEX_FOLDER,
        "conversation_options": config.conversation,
        "corrections": config.feedback and (config.corrections or is_correction),
        "workspaces": config.workspaces,
        "context_options": config.context or ContextOptions(),
        "skill_options": config.skills,
        "feedback_options": config.feedback,
        "wisp_options": config.wisps,
        "tool_call_options": config.tool_calls,
    }
    return {name: providers.Object(value) for name, value in values.items()}


def _substitutes(config: HostConfig) -> dict[str, providers.Object[Any]]:
    """Return the host's own storage, and nothing in the place of each absent service: called, it gives None."""
    services = {
        "memory": config.memory,
        "context": config.memory,
        "conversation": config.conversation,
        "skills": config.skills,
        "feedback": config.feedback,
        "wisps": config.wisps,
        "tool_calls": config.tool_calls,
        "workspace": config.workspace,
    }
    substitutes: dict[str, providers.Object[Any]] = {
        name: providers.Object(None) for name, options in services.items() if options is None
    }
    if config.storage is not None:
        substitutes["storage"] = providers.Object(config.storage)
    return substitutes


def _embedding_services(config: HostConfig, recall: Recall) -> Sequence[Any]:
    """Return the embedding model and what has it make vectors, if there is one."""
    embedder: object = config.embedder
    own: list[object] = list(config.services)
    first = [embedder] if _lives(embedder) and not any(one is embedder for one in own) else []
    if recall.dense is None or not config.fills_embeddings:
        return first
    return [*first, EmbeddingFiller(recall.dense, clock=config.clock)]


def _options_left(config: HostConfig, storage: Storage, dreams: "Dreams | None") -> Sequence[Any]:
    """Return what leaves the options in the database; nothing where nobody else could read them."""
    if config.left is None or (config.data_dir is None and config.database is None):
        return []
    said = LeftOptions() if dreams is None else dreams.left_options()
    only_code = (*config.left.only_code, *said.only_code)
    left = replace(config.left, dreaming=said.dreaming, scopes=said.scopes, only_code=only_code)
    return [OptionsLeft(storage, ids=RandomIds(), options=left)]


def _extra_services(config: HostConfig, storage: Storage, dreams: "Dreams | None") -> Sequence[Any]:
    """Return what leaves options, the model, the host's own services and then, first to stop, what dreams bring."""
    own: list[object] = list(config.services)
    chat: object = config.chat
    # A client that is one of the host's own services has its place among them.
    first = [chat] if _lives(chat) and not any(one is chat for one in own) else []
    return [*_options_left(config, storage, dreams), *first, *own, *(dreams.services if dreams is not None else ())]


def _lives(part: object) -> bool:
    return callable(getattr(part, "start", None)) and callable(getattr(part, "stop", None))
