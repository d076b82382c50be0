"""Defines what a host hands to what is plugged into it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from agentcore.hosting.forget_hooks import ForgetHooks
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
    from agentcore.stores.storage import Storage
    from agentcore.workspace.workspaces import Workspaces


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
