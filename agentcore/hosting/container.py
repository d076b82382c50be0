"""The container: the one place where services are put together; it lives only while a host is built."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dependency_injector import containers, providers

from agentcore.domain.scope import Scope
from agentcore.hosting.blueprint import Blueprint
from agentcore.hosting.conversation import Conversation
from agentcore.hosting.feedback import FeedbackLog
from agentcore.hosting.host import Host, ServiceFactories
from agentcore.hosting.memory import Memory
from agentcore.hosting.options import MemoryOptions
from agentcore.hosting.parts import HostParts
from agentcore.hosting.service import HostedService
from agentcore.hosting.skills import Skills
from agentcore.hosting.wisps import WispLog
from agentcore.llm.gate import BusyGate
from agentcore.recall.recall import Recall
from agentcore.stores.protocols import Storage
from agentcore.stores.sql.storage import FILE_NAME, SqlStorage

if TYPE_CHECKING:
    from dream.cycle.dreams import Dreams


def _dreams_of(dreams: "Dreams", scope: Scope) -> "Dreams":
    return dreams if dreams.scope == scope else dreams.for_scope(scope)


class _HostContainer(containers.DeclarativeContainer):
    """How each part is made of the others; `assemble` supplies the dependencies and empties what is absent."""

    path: providers.Dependency[Path | None] = providers.Dependency()
    clock: providers.Dependency[Any] = providers.Dependency()
    ids: providers.Dependency[Any] = providers.Dependency()
    chat: providers.Dependency[Any] = providers.Dependency()
    capabilities: providers.Dependency[Any] = providers.Dependency()
    shutdown_timeout: providers.Dependency[Any] = providers.Dependency()
    decay: providers.Dependency[Any] = providers.Dependency()
    recall_options: providers.Dependency[Any] = providers.Dependency()
    conversation_options: providers.Dependency[Any] = providers.Dependency()
    skill_options: providers.Dependency[Any] = providers.Dependency()
    feedback_options: providers.Dependency[Any] = providers.Dependency()
    wisp_options: providers.Dependency[Any] = providers.Dependency()

    gate = providers.Singleton(BusyGate)
    storage: providers.Provider[Storage] = providers.Singleton(SqlStorage, path, clock=clock, decay=decay)
    recall = providers.Singleton(Recall, storage, options=recall_options)

    memory = providers.Factory(Memory, storage=storage, recall=recall, ids=ids)
    conversation = providers.Factory(Conversation, storage=storage, ids=ids, options=conversation_options)
    skills = providers.Factory(Skills, storage=storage, ids=ids, options=skill_options)
    feedback = providers.Factory(FeedbackLog, storage=storage, ids=ids, options=feedback_options)
    wisps = providers.Factory(WispLog, storage=storage, ids=ids, options=wisp_options)

    parts = providers.Singleton(
        HostParts,
        storage=storage,
        clock=clock,
        ids=ids,
        gate=gate,
        chat=chat,
        recall=recall,
        capabilities=capabilities,
    )
    dreams: providers.Provider[Any] = providers.Object(None)
    dreams_of = providers.Factory(_dreams_of, dreams)

    factories = providers.Singleton(
        ServiceFactories,
        memory=memory.provider,
        conversation=conversation.provider,
        skills=skills.provider,
        feedback=feedback.provider,
        wisps=wisps.provider,
        dreams=dreams_of.provider,
    )
    services = providers.List(storage, recall)
    host = providers.Factory(
        Host, parts=parts, factories=factories, services=services, shutdown_timeout=shutdown_timeout
    )


def assemble(blueprint: Blueprint) -> Host:
    """Put a host together; nothing of it is started."""
    memory = blueprint.memory or MemoryOptions()
    container = _HostContainer(
        path=providers.Object(None if blueprint.data_dir is None else blueprint.data_dir / FILE_NAME),
        clock=providers.Object(blueprint.clock),
        ids=providers.Object(blueprint.ids),
        chat=providers.Object(blueprint.chat),
        capabilities=providers.Object(blueprint.capabilities),
        shutdown_timeout=providers.Object(blueprint.shutdown_timeout),
        decay=providers.Object(memory.decay()),
        recall_options=providers.Object(memory.recall()),
        conversation_options=providers.Object(blueprint.conversation),
        skill_options=providers.Object(blueprint.skills),
        feedback_options=providers.Object(blueprint.feedback),
        wisp_options=providers.Object(blueprint.wisps),
    )
    _substitute(container, blueprint)
    container.services.add_args(*_extra_services(container, blueprint))
    return container.host()


def _substitute(container: _HostContainer, blueprint: Blueprint) -> None:
    """Exchange the storage for the host's own, plug in the dreams, and empty the places of absent services."""
    if blueprint.storage is not None:
        container.storage.override(providers.Object(blueprint.storage))
    if blueprint.dreaming is not None:
        container.dreams.override(providers.Singleton(blueprint.dreaming, container.parts))
    places: dict[providers.Provider[Any], object] = {
        container.memory: blueprint.memory,
        container.conversation: blueprint.conversation,
        container.skills: blueprint.skills,
        container.feedback: blueprint.feedback,
        container.wisps: blueprint.wisps,
        container.dreams_of: blueprint.dreaming,
    }
    for place, part in places.items():
        if part is None:
            place.override(providers.Object(None))


def _extra_services(container: _HostContainer, blueprint: Blueprint) -> Sequence[HostedService]:
    """Return the host's own services and then, as the last to start and the first to stop, the dreams."""
    dreams = container.dreams()
    lives = callable(getattr(dreams, "start", None)) and callable(getattr(dreams, "stop", None))
    return [*blueprint.services, dreams] if lives else blueprint.services
