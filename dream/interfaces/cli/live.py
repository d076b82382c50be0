"""Tells, while a dream runs, that it waits for a person, and on a terminal which pass is at work and what it asked."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta

from agentcore.hosting.host import Host
from agentcore.hosting.lifecycle import BackgroundService, Lifecycle, WorkerFailure
from agentcore.stores.storage import ReadView
from dream.interfaces.cli.render.text import Line, one_line
from dream.interfaces.cli.session import CommandSession
from dream.stores import dream_stores

_BEAT = timedelta(seconds=1)


class _LiveStatus(BackgroundService):
    """Writes a status line once a second, of what the database says of the run under way; lives as long as the run."""

    def __init__(self, session: CommandSession, host: Host) -> None:
        super().__init__(name="dream-live-status", on_failure=WorkerFailure.KEEP_RUNNING)
        self._session = session
        self._host = host

    async def run(self) -> None:
        began = self._session.clock.now()
        while True:
            await self._session.clock.sleep(_BEAT)
            told = await self._host.storage.read(self._session.scope, _standing)
            seconds = int((self._session.clock.now() - began).total_seconds())
            self._session.screen.status(f"dreaming, {seconds} s{told}")


class _WaitNotice(BackgroundService):
    """Says once, on stderr, that the dream waits for a person who is served elsewhere; lives as long as the run."""

    def __init__(self, session: CommandSession, host: Host) -> None:
        super().__init__(name="dream-wait-notice", on_failure=WorkerFailure.KEEP_RUNNING)
        self._session = session
        self._host = host

    async def run(self) -> None:
        scope, screen = self._session.scope, self._session.screen
        reach = self._session.levels().of(scope).schedule.busy_reach
        while True:
            served = await self._host.storage.read(scope, lambda view: view.busy.holders(reach=reach))
            if served:
                screen.status("")
                who = f"process {served[0].pid} on {one_line(served[0].host)}"
                screen.tell(Line(f"Somebody is being served by {who}: the dream waits until that is over."))
                return
            await self._session.clock.sleep(_BEAT)


def _standing(view: ReadView) -> str:
    """Return which pass is at work, and how many of its calls were answered; empty where nothing is known yet."""
    books = dream_stores(view)
    unfinished = books.runs.unfinished()
    if not unfinished:
        return ""
    run_id = unfinished[-1].run_id
    steps = books.runs.steps(run_id)
    if not steps:
        return ""
    name = steps[-1].pass_name
    mine = [step for step in steps if step.pass_name == name]
    batches = max((len(step.batch) for step in mine if step.report.packed), default=0)
    if steps[-1].closing or not batches:
        return f": {name} done" if steps[-1].closing else f": {name}"
    spent = books.calls.spent(run_id=run_id, pass_name=name)
    tokens = spent.input_tokens + spent.output_tokens
    return f": {name} asks the model about {batches} batches, {spent.calls} calls answered, {tokens:,} tokens"


@asynccontextmanager
async def live_status(session: CommandSession, host: Host) -> AsyncGenerator[None]:
    """Tell what a run waits for, and keep a status line on a terminal, as long as the block lasts."""
    is_watched = session.screen.is_watched and not session.screen.as_json
    telling = [_WaitNotice(session, host), *([_LiveStatus(session, host)] if is_watched else [])]
    async with Lifecycle(telling):
        yield
    session.screen.status("")
