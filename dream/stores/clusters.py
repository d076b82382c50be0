"""Clusters that the model left as they are: when they are looked at again."""

from collections.abc import Sequence

import orjson
from sqlalchemy import delete, insert, select

from agentcore.domain.instants import from_micros, to_micros
from agentcore.stores.sql.schema import settled_clusters
from agentcore.stores.sql.transaction import Transaction, encode
from dream.domain.cluster import SettledCluster


class ClusterStore:
    """Settled clusters of one scope, in one transaction; lives as long as it."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self._connection = transaction.connection
        self._mine = settled_clusters.c.scope_id == transaction.scope_id

    def all(self, pass_name: str) -> list[SettledCluster]:
        """Return the clusters a pass settled, longest settled first."""
        mine = select(settled_clusters).where(self._mine, settled_clusters.c.pass_name == pass_name)
        rows = self._connection.execute(mine.order_by(settled_clusters.c.declined_at, settled_clusters.c.fingerprint))
        return [
            SettledCluster(
                fingerprint=row.fingerprint,
                record_ids=tuple(orjson.loads(row.record_ids)),
                declines=row.declines,
                declined_at=from_micros(row.declined_at),
            )
            for row in rows
        ]

    def put(self, clusters: Sequence[SettledCluster], *, pass_name: str, run_id: str) -> None:
        """Keep clusters as they now stand."""
        self.remove([cluster.fingerprint for cluster in clusters], pass_name=pass_name)
        rows = [
            {
                "scope_id": self._transaction.scope_id,
                "pass_name": pass_name,
                "fingerprint": cluster.fingerprint,
                "record_ids": encode(list(cluster.record_ids)),
                "declines": cluster.declines,
                "declined_at": to_micros(cluster.declined_at),
                "run_id": run_id,
            }
            for cluster in clusters
        ]
        if rows:
            self._connection.execute(insert(settled_clusters), rows)

    def remove(self, fingerprints: Sequence[str], *, pass_name: str) -> None:
        """Forget clusters that are no more."""
        mine = self._mine & (settled_clusters.c.pass_name == pass_name)
        for fingerprint in fingerprints:
            statement = delete(settled_clusters).where(mine, settled_clusters.c.fingerprint == fingerprint)
            self._connection.execute(statement)

    def withdraw(self, run_id: str, pass_name: str) -> None:
        """Forget what a run that is taken back settled."""
        mine = self._mine & (settled_clusters.c.pass_name == pass_name)
        self._connection.execute(delete(settled_clusters).where(mine, settled_clusters.c.run_id == run_id))
