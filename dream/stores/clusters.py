"""Clusters that the model left as they are: when they are looked at again."""

from collections.abc import Sequence

import orjson
from sqlalchemy import bindparam, delete, insert, select

from agentcore.domain.instants import from_micros, to_micros
from agentcore.stores.sql.schema import settled_clusters
from agentcore.stores.sql.transaction import MY_SCOPE, Transaction, encode, of_my_scope
from dream.domain.cluster import SettledCluster

_OF_PASS = of_my_scope(settled_clusters) & (settled_clusters.c.pass_name == bindparam("of_pass"))
_ALL = (
    select(
        settled_clusters.c.fingerprint,
        settled_clusters.c.record_ids,
        settled_clusters.c.declines,
        settled_clusters.c.declined_at,
    )
    .where(_OF_PASS)
    .order_by(settled_clusters.c.declined_at, settled_clusters.c.fingerprint)
)
_PUT = insert(settled_clusters)
_REMOVE = delete(settled_clusters).where(_OF_PASS, settled_clusters.c.fingerprint == bindparam("of_fingerprint"))
_WITHDRAW = delete(settled_clusters).where(_OF_PASS, settled_clusters.c.run_id == bindparam("of_run"))


class ClusterReader:
    """Settled clusters of one scope, for reading; lives as long as its transaction."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def all(self, pass_name: str) -> list[SettledCluster]:
        """Return the clusters a pass settled, longest settled first."""
        return [
            SettledCluster(
                fingerprint=fingerprint,
                record_ids=tuple(orjson.loads(record_ids)),
                declines=declines,
                declined_at=from_micros(declined_at),
            )
            for fingerprint, record_ids, declines, declined_at in self._transaction.execute(
                _ALL, of_pass=pass_name
            ).all()
        ]


class ClusterStore(ClusterReader):
    """Settled clusters of one scope, in one transaction; lives as long as it."""

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
            self._transaction.connection.execute(_PUT, rows)

    def remove(self, fingerprints: Sequence[str], *, pass_name: str) -> None:
        """Forget clusters that are no more."""
        mine = {MY_SCOPE: self._transaction.scope_id, "of_pass": pass_name}
        rows = [{**mine, "of_fingerprint": fingerprint} for fingerprint in fingerprints]
        if rows:
            self._transaction.connection.execute(_REMOVE, rows)

    def withdraw(self, run_id: str, pass_name: str) -> None:
        """Forget what a run that is taken back settled."""
        self._transaction.execute(_WITHDRAW, of_pass=pass_name, of_run=run_id)
