"""Runs `dream work` and `dream fleet`."""

from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from agentcore.domain.actor import HOST
from agentcore.errors import InvalidOptionsError
from agentcore.stores.acting import acting_as
from dream.cycle.fleet.facade import HostFleet
from dream.interfaces.cli.errors import MissingExtraError, MissingSettingError
from dream.interfaces.cli.log_lines import logged_to_stderr
from dream.interfaces.cli.render.fleet import fleet_json, fleet_lines
from dream.interfaces.cli.render.text import Line
from dream.interfaces.cli.session import Access, CliSession, CommandSession

if TYPE_CHECKING:
    from agentcore.hosting.host import Host
    from dream.cycle.fleet.model_rates import PacedModel
    from dream.cycle.fleet.worker import FleetWorker

Level = Literal["debug", "info", "warning", "error"]
Database = Annotated[str | None, Parameter(env_var="AGENTCORE_DATABASE")]
_EXTRA = "fleet"
_LEASE = timedelta(seconds=30)
"""How long a silent worker keeps a scope: on another machine nobody sees that its process is gone."""
_TENANTS_SHOWN = 20


async def work(
    *,
    database: Database = None,
    at_once: int = 100,
    per_tenant: int | None = None,
    in_fleet: int | None = None,
    rate: list[str] | None = None,
    queue: str | None = None,
    log_level: Level = "info",
    session: CliSession,
) -> None:
    """Dream for all scopes of a PostgreSQL database beside any number of other workers, until stopped.

    SIGTERM hands what is under way over to the others within 20 seconds.

    Args:
        database: The database, as postgresql+psycopg://user:password@host:5432/name.
        at_once: Dreams that this worker has under way at once.
        per_tenant: Dreams that one workspace has under way or waiting in the queue at once, in the whole fleet.
        in_fleet: The same of all workspaces together; never more than twice what the workers can hold.
        rate: Tokens a minute that all workers together may ask, as MODEL=TOKENS, or TOKENS for each model; give the
            option once for each model.
        queue: The same database by a direct connection, where the other goes through a pooler.
        log_level: From which level on events are logged to stderr; `debug` may show what is remembered.
        session: Whose memory.
    """
    session, rates = _at(session, database), _rates(rate or [])
    bounded = {"--at-once": at_once, "--per-tenant": per_tenant, "--in-fleet": in_fleet}
    for name, value in bounded.items():
        if value is not None and value < 1:
            raise InvalidOptionsError(field=name, value=value, allowed="give a whole number of at least 1")
    try:
        from dream.cycle.fleet import worker as _  # noqa: F401, PLC0415 - as above
        from dream.cycle.fleet.fleet_admission import FleetLimits  # noqa: PLC0415 - most commands open no queue
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in {"asyncpg", "pgqueuer"}:
            raise
        raise MissingExtraError(command="work", extra=_EXTRA) from None
    most = {"per_tenant": per_tenant, "in_fleet": in_fleet}
    limits = FleetLimits(**{name: value for name, value in most.items() if value is not None})
    with acting_as(HOST), logged_to_stderr(log_level):
        model = _model(session)
        async with session.host(
            Access.CREATE, chat=model, embedder=session.embedder(), needs_scope=False, lease=_LEASE
        ) as host:
            worker = HostFleet.of(host.dreams).worker(
                queue or session.url or "", at_once=at_once, limits=limits, rates=rates
            )
            await _until_stopped(session, host, worker, at_once)


async def fleet(*, database: Database = None, session: CliSession) -> None:
    """Show what a fleet has due, offered, under way and overdue, by workspace, who works, and what holds dreams back.

    Args:
        database: The database, as postgresql+psycopg://user:password@host:5432/name.
        session: Whose memory.
    """
    session = _at(session, database)
    async with session.host(Access.LOOK, needs_scope=False) as host:
        found = await HostFleet.of(host.dreams).status(tenants=_TENANTS_SHOWN)
    session.screen.show(lambda: fleet_json(found), lambda: fleet_lines(session, found))


async def _until_stopped(session: CommandSession, host: "Host", worker: "FleetWorker", at_once: int) -> None:
    from dream.interfaces.signals import stopping_on_signals  # noqa: PLC0415 - most commands end by themselves

    async with AsyncExitStack() as stack:
        stack.enter_context(stopping_on_signals(host.request_stop))
        worker.service.when_host_must_stop(host.request_stop)
        await worker.start()
        stack.push_async_callback(worker.stop)
        session.screen.print([Line(f"Worker {worker.holder} dreams for the fleet, {at_once:,} at once")])
        session.screen.finish()
        await host.wait_for_shutdown()


def _at(session: CommandSession, database: str | None) -> CommandSession:
    """Return the session on the database that was named.

    Raises:
        MissingSettingError: none was, and the environment names none.
        InvalidOptionsError: it is none of PostgreSQL.
    """
    if not database:
        raise MissingSettingError(what="database", remedy="give --database, or set AGENTCORE_DATABASE")
    from agentcore.stores.sql.engines.database_url import require_driver  # noqa: PLC0415 - SQLAlchemy takes a while

    require_driver(database)
    return replace(session, url=database)


def _rates(told: list[str]) -> Mapping[str, int]:
    rates: dict[str, int] = {}
    for one in told:
        model, _, tokens = one.rpartition("=")
        if not tokens.isdecimal() or not int(tokens):
            raise InvalidOptionsError(field="--rate", value=one, allowed="give MODEL=TOKENS or TOKENS, a minute")
        rates[model or "*"] = int(tokens)
    return rates


def _model(session: CommandSession) -> "PacedModel | None":
    chat = session.chat()
    if chat is None:
        return None
    from dream.cycle.fleet.model_rates import PacedModel  # noqa: PLC0415 - as above

    return PacedModel(chat, clock=session.clock)
