"""What a host holds of its fleet: workers that it makes, and how the fleet stands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentcore.errors import InvalidOptionsError
from dream.cycle.fleet.fleet_status import read_fleet_status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentcore.hosting.services import HostServices
    from dream.cycle.dreams import Dreams, HostDreams
    from dream.cycle.fleet.fleet_admission import FleetLimits
    from dream.cycle.fleet.fleet_status import FleetStatus
    from dream.cycle.fleet.worker import FleetWorker


@dataclass(frozen=True, slots=True)
class HostFleet:
    """The fleet of a host's PostgreSQL database; lives as long as the host.

    Args:
        parts: What the host offers.
        shared: What the dreams of all scopes share.
    """

    parts: HostServices
    shared: HostDreams

    @classmethod
    def of(cls, dreams: Dreams) -> HostFleet:
        """Return the fleet that the dreams of a host belong to."""
        return cls(dreams._host_parts, dreams._shared)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - a part of it

    def worker(
        self,
        database: str,
        *,
        at_once: int,
        limits: FleetLimits | None = None,
        rates: Mapping[str, int] | None = None,
    ) -> FleetWorker:
        """Return what dreams for all scopes of the database, beside other workers, from its start to its stop.

        Args:
            database: The URL of the host's database.
            at_once: Dreams that this worker has under way at once.
            limits: How much all workers together have; by default as much as they can hold.
            rates: Tokens a minute that all of them may ask of a model, by its name, under "*" for any other; the host's
                model has to be a `PacedModel` for that.

        Raises:
            InvalidOptionsError: the key of forgotten texts lies in this process alone, so no other worker knows them.
        """
        from agentcore.stores.sql.forget_key import KEY_SIZE, KEY_VARIABLE  # noqa: PLC0415 - SQLAlchemy takes a while
        from agentcore.stores.sql.sql_storage import SqlStorage  # noqa: PLC0415 - as above
        from dream.cycle.fleet.worker import FleetWorker  # noqa: PLC0415 - wants the extra `fleet`

        storage = self.parts.storage
        if isinstance(storage, SqlStorage) and storage.forgets_alone:
            allowed = f"set it, the same for all workers, as `openssl rand -hex {KEY_SIZE}` prints one"
            raise InvalidOptionsError(field=KEY_VARIABLE, value=None, allowed=allowed)
        shared = self.shared
        return FleetWorker(
            self.parts,
            shared.levels,
            shared.watch,
            database=database,
            at_once=at_once,
            limits=limits,
            rates=rates or {},
        )

    async def status(self, *, tenants: int = 20) -> FleetStatus:
        """Tell how the fleet stands.

        Args:
            tenants: So many at most, those with most due first.
        """
        return await read_fleet_status(self.parts.storage, tenants=tenants)
