"""The container: the one place where services are put together; it lives only while a host is built."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dependency_injector import containers, providers

from agentcore.domain.scope import Scope
from agentcore.hosting.activity import ActivityRecorder
from agentcore.hosting.aftermath import Aftermath
from agentcore.hosting.announcing import BusyAnnouncer
from agentcore.hosting.blueprint import Blueprint
from agentcore.hosting.context import Context, ContextParts
from agentcore.hosting.context_windows import ContextWindows
from agentcore.hosting.conversation import Conversation
from agentcore.hosting.corrections import is_correction
from agentcore.hosting.embedding_filler import EmbeddingFiller
from agentcore.hosting.feedback import FeedbackLog
from agentcore.hosting.host import Host, ServiceFactories
from agentcore.hosting.memory import Memory
from agentcore.hosting.options import ContextOptions, ConversationOptions, EmbeddingOptions, MemoryOptions
from agentcore.hosting.parts import HostParts
from agentcore.hosting.recall_notes import RecallNotes
from agentcore.hosting.skills import Skills
from agentcore.hosting.switching import Switchboard
from agentcore.hosting.tool_calls import ToolCallLog
from agentcore.hosting.watching import BusyWatch
from agentcore.hosting.wisps import WispLog
from agentcore.hosting.workspace import AgentWorkspace
from agentcore.ids import RandomIds
from agentcore.llm.gate import BusyGate
from agentcore.recall.recall import INDEX_FOLDER, Recall
from agentcore.stores.sql.sql_storage import FILE_NAME, SqlStorage

if TYPE_CHECKING:
    from dream.cycle.dreams import Dreams
    from dream.interfaces.plugin import DreamFactory


def _dreams(make: "DreamFactory | None", parts: HostParts) -> "Dreams | None":
    return None if make is None else make(parts)


def _dreams_of(dreams: "Dreams | None", scope: Scope) -> "Dreams | None":
    return dreams if dreams is None or dreams.scope == scope else dreams.for_scope(scope)


def _holder() -> str:
    """Return this host's name among all that share the database: no host's own ids are unique beyond it."""
    return RandomIds().new()


class _HostContainer(containers.DeclarativeContainer):
    """How each part is made of the others; `assemble` supplies the dependencies and empties what is absent."""

    path: providers.Dependency[Any] = providers.Dependency()
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
    recall_kept: providers.Dependency[Any] = providers.Dependency()
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
    storage = providers.Singleton(SqlStorage, path, clock=clock, decay=decay)
    recall = providers.Singleton(
        Recall, storage, options=recall_options, folder=recall_folder, embedder=embedder, dense=dense_options
    )
    holder = providers.Singleton(_holder)
    activity = providers.Singleton(ActivityRecorder, storage=storage, clock=clock)
    switchboard = providers.Singleton(Switchboard, storage)
    announcer = providers.Singleton(BusyAnnouncer, storage=storage, clock=clock, gate=gate, holder=holder)
    watch = providers.Singleton(BusyWatch, storage=storage, clock=clock, gate=gate, holder=holder, sources=busy_sources)

    aftermath = providers.Singleton(Aftermath)

    notes = providers.Singleton(RecallNotes, storage, clock=clock, keep=recall_kept)
    memory = providers.Factory(Memory, storage=storage, recall=recall, notes=notes, ids=ids, aftermath=aftermath)
    conversation = providers.Factory(
        Conversation,
        storage=storage,
        recall=recall,
        ids=ids,
        options=conversation_options,
        corrections=corrections,
        feedback=feedback_options,
    )
    skills = providers.Factory(Skills, storage=storage, recall=recall, ids=ids, options=skill_options)
    feedback = providers.Factory(FeedbackLog, storage=storage, ids=ids, options=feedback_options)
    windows = providers.Singleton(ContextWindows)
    context_parts = providers.Singleton(
        ContextParts, storage=storage, recall=recall, notes=notes, windows=windows, options=context_options
    )
    context = providers.Factory(Context, parts=context_parts)
    wisps = providers.Factory(WispLog, storage=storage, ids=ids, options=wisp_options)
    tool_calls = providers.Factory(ToolCallLog, storage=storage, ids=ids, options=tool_call_options)

    workspace = providers.Factory(AgentWorkspace, storage=storage, workspaces=workspaces)

    parts = providers.Singleton(
        HostParts,
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
        switchboard=switchboard,
    )
    services = providers.List(storage, recall, notes, activity, announcer)
    host = providers.Factory(
        Host, parts=parts, factories=factories, services=services, shutdown_timeout=shutdown_timeout
    )


def assemble(blueprint: Blueprint) -> Host:
    """Put a host together; nothing of it is started."""
    container = _HostContainer(**_dependencies(blueprint), **_substitutes(blueprint))
    container.services.add_args(*_embedding_services(blueprint, container.recall()))
    container.services.add_args(*_extra_services(blueprint, container.dreams()))
    return container.host()


def _dependencies(blueprint: Blueprint) -> dict[str, providers.Object[Any]]:
    memory, conversation = blueprint.memory or MemoryOptions(), blueprint.conversation or ConversationOptions()
    values: dict[str, object] = {
        "path": None if blueprint.data_dir is None else blueprint.data_dir / FILE_NAME,
        "data_dir": blueprint.data_dir,
        "clock": blueprint.clock,
        "ids": blueprint.ids,
        "chat": blueprint.chat,
        "dreaming": blueprint.dreaming,
        "capabilities": blueprint.capabilities,
        "shares_endpoint": blueprint.shares_endpoint,
        "busy_sources": blueprint.busy_sources,
        "shutdown_timeout": blueprint.shutdown_timeout,
        "decay": memory.decay(),
        "recall_kept": memory.recall_kept,
        "recall_options": replace(memory.recall(), turns=conversation.recall()),
        "embedder": blueprint.embedder,
        "dense_options": (blueprint.embeddings or EmbeddingOptions()).dense(),
        "recall_folder": None if blueprint.data_dir is None else blueprint.data_dir / INDEX_FOLDER,
        "conversation_options": blueprint.conversation,
        "corrections": blueprint.feedback and (blueprint.corrections or is_correction),
        "workspaces": blueprint.workspaces,
        "context_options": blueprint.context or ContextOptions(),
        "skill_options": blueprint.skills,
        "feedback_options": blueprint.feedback,
        "wisp_options": blueprint.wisps,
        "tool_call_options": blueprint.tool_calls,
    }
    return {name: providers.Object(value) for name, value in values.items()}


def _substitutes(blueprint: Blueprint) -> dict[str, providers.Object[Any]]:
    """Return the host's own storage, and nothing in the place of each absent service: called, it gives None."""
    services = {
        "memory": blueprint.memory,
        "context": blueprint.memory,
        "conversation": blueprint.conversation,
        "skills": blueprint.skills,
        "feedback": blueprint.feedback,
        "wisps": blueprint.wisps,
        "tool_calls": blueprint.tool_calls,
        "workspace": blueprint.workspace,
    }
    substitutes: dict[str, providers.Object[Any]] = {
        name: providers.Object(None) for name, options in services.items() if options is None
    }
    if blueprint.storage is not None:
        substitutes["storage"] = providers.Object(blueprint.storage)
    return substitutes


def _embedding_services(blueprint: Blueprint, recall: Recall) -> Sequence[Any]:
    """Return the embedding model and what has it make vectors, if there is one."""
    embedder: object = blueprint.embedder
    own: list[object] = list(blueprint.services)
    first = [embedder] if _lives(embedder) and not any(one is embedder for one in own) else []
    if recall.dense is None or not blueprint.fills_embeddings:
        return first
    return [*first, EmbeddingFiller(recall.dense, clock=blueprint.clock)]


def _extra_services(blueprint: Blueprint, dreams: "Dreams | None") -> Sequence[Any]:
    """Return the model, the host's own services and then, last to start and first to stop, what dreams bring."""
    own: list[object] = list(blueprint.services)
    chat: object = blueprint.chat
    # A client that is one of the host's own services has its place among them.
    first = [chat] if _lives(chat) and not any(one is chat for one in own) else []
    return [*first, *own, *(dreams.services if dreams is not None else ())]


def _lives(part: object) -> bool:
    return callable(getattr(part, "start", None)) and callable(getattr(part, "stop", None))
