"""Brings what peers say to those who observe them, in the background and after each forget, erasure and dream."""

from __future__ import annotations

import asyncio
import logging
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from agentcore.domain.actor import Actor, ActorKind
from agentcore.domain.scope import Scope
from agentcore.errors import StorageError
from agentcore.hosting.forget_hooks import ForgetHooks, clear_files
from agentcore.hosting.lifecycle import BackgroundService, WorkerFailure
from agentcore.stores.acting import acting_as
from agentcore.stores.storage import Origin

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentcore.clock import Clock
    from agentcore.recall.recall import Recall
    from agentcore.stores.storage import Storage

EVERY: Final = timedelta(milliseconds=150)
"""How long what peers say is gathered before observers are told of it."""
_log = logging.getLogger(__name__)


class FanOut(BackgroundService):
    """Has the scopes of observers follow the peers that they observe; lives as long as the host.

    No model is asked and no pass runs. Each scope follows in transactions of its own, which note how far it came: what
    a kill cut short is made up for when a host opens next, and nothing happens twice.

    Args:
        storage: Where everything is kept.
        clock: Gives the rhythm.
        recall: Clears its files of what was forgotten.
        aftermath: Tells it of forgets and erasures.
    """

    def __init__(self, storage: Storage, *, clock: Clock, recall: Recall, aftermath: ForgetHooks) -> None:
        super().__init__(name="peer-fan-out", on_failure=WorkerFailure.KEEP_RUNNING)
        self._storage = storage
        self._clock = clock
        self._recall = recall
        self._aftermath = aftermath
        self._said = asyncio.Event()

    async def start(self) -> None:
        """Follow what an earlier process left, and begin."""
        self._aftermath.add(self.follow)
        await self._catch_up_if_possible()
        await super().start()

    def wake(self) -> None:
        """Have it look at once, because a peer said something; it never waits."""
        self._said.set()

    async def follow(self, scope: Scope) -> None:
        """Bring what the peer of *scope* said in its own, and what became of it, to all who observe it."""
        if scope.observer == scope.observed:
            await self._bring(await self._storage.read(scope, lambda view: view.fan_out.observing()))

    async def catch_up(self) -> None:
        """Bring all that was said and not followed yet, of whatever peers."""
        await self._bring(await self._storage.read(None, lambda view: view.fan_out.behind()))

    async def run(self) -> None:
        """Follow a moment after a peer said something, until stopped."""
        while True:
            await self._said.wait()
            await self._clock.sleep(EVERY)
            self._said.clear()
            await self._catch_up_if_possible()

    async def stop(self) -> None:
        """Follow what is left."""
        try:
            await super().stop()
        finally:
            if self._said.is_set():
                await self._catch_up_if_possible()

    async def _catch_up_if_possible(self) -> None:
        try:
            await self.catch_up()
        except StorageError as error:
            _log.warning("fan_out_waits", extra={"error": type(error).__name__})

    async def _bring(self, observing: Iterable[Scope]) -> None:
        for scope in observing:
            with acting_as(Actor(ActorKind.PEER, scope.observed)):
                more = True
                while more:
                    done = await self._storage.write(scope, lambda unit: unit.fan_out.follow(), origin=Origin.PEERS)
                    more = done.more
                    if done.forgot:
                        await clear_files(scope, self._storage, self._recall, self._aftermath)
