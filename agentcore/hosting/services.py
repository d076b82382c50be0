"""Defines what a host hands to what is plugged into it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

from agentcore.domain.scope import Scope
from agentcore.llm.gate import CallSlots

if TYPE_CHECKING:
    from pathlib import Path

    from agentcore.clock import Clock
    from agentcore.domain.capability import Capability
    from agentcore.hosting.busy import BusyWatch
    from agentcore.hosting.fan_out import FanOut
    from agentcore.hosting.write_behind import ActivityRecorder
    from agentcore.ids import IdFactory
    from agentcore.llm.chat import ChatClient
    from agentcore.llm.gate import BusyGate
    from agentcore.recall.recall import Recall
    from agentcore.stores.forgetting import Forgotten
    from agentcore.stores.storage import Storage, UnitOfWork
    from agentcore.workspace.workspaces import Workspaces


Follow: TypeAlias = Callable[[Scope], Awaitable[None]]


class ForgetHooks:
    """Tells who keeps copies outside the storage that a text was forgotten; lives as long as the host."""

    def __init__(self) -> None:
        self._following: Final[list[Follow]] = []

    def add(self, follow: Follow) -> None:
        """Have *follow* awaited after each forget, with its scope."""
        self._following.append(follow)

    async def tell(self, scope: Scope) -> None:
        """Tell everybody, one after the other."""
        for follow in self._following:
            await follow(scope)


async def clear_files(scope: Scope, storage: Storage, recall: Recall, aftermath: ForgetHooks) -> None:
    """Clear the files beside the database of what was forgotten in it, and note that it is done.

    A kill before that leaves the note of the forget, and the next host that opens clears them.
    """
    await aftermath.tell(scope)
    await recall.scrub(scope)
    await storage.write(scope, lambda unit: unit.erasure.end_forget())


class _RolledBackError(Exception):
    """Takes back what a preview did."""

    def __init__(self, result: Forgotten) -> None:
        self.result = result
        super().__init__()


async def preview(storage: Storage, scope: Scope, work: Callable[[UnitOfWork], Forgotten]) -> Forgotten:
    """Return what *work* would do, by doing it in a transaction that is rolled back."""

    def attempt(unit: UnitOfWork) -> None:
        raise _RolledBackError(work(unit))

    try:
        await storage.write(scope, attempt)
    except _RolledBackError as told:
        return told.result
    raise AssertionError


@dataclass(frozen=True, slots=True, kw_only=True)
class HostServices:
    """The services of a host that plugins build on; lives as long as the host.

    Args:
        storage: Where everything is kept.
        clock: Where instants come from.
        ids: Where ids come from.
        gate: Tells when a person is being served.
        activity: Writes down activity that comes without a record.
        watch: Tells the gate of people served elsewhere, and never looks at a copy of the storage.
        chat: The model, if there is one.
        recall: Finds entries.
        capabilities: What the host was built with.
        data_dir: The folder of the host's files, which need not exist yet; None keeps everything in memory.
        workspaces: Which folder is whose workspace; None if there are none.
        aftermath: Who has to follow when a person forgot something.
        shares_endpoint: Whether the model works for people too, so that a call in flight is in their way.
        slots: How many calls background work has in flight at once, over all scopes; by default without a bound.
        fan_out: Brings what was learnt of peers to those who observe them; None where nobody is.
    """

    storage: Storage
    clock: Clock
    ids: IdFactory
    gate: BusyGate
    activity: ActivityRecorder
    watch: BusyWatch
    chat: ChatClient | None
    recall: Recall
    capabilities: frozenset[Capability]
    data_dir: Path | None = None
    workspaces: Workspaces | None = None
    aftermath: ForgetHooks = field(default_factory=ForgetHooks)
    shares_endpoint: bool = False
    slots: CallSlots = field(default_factory=CallSlots)
    fan_out: FanOut | None = None
