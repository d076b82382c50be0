"""Which outside items are already here, and which texts a person asked to forget."""

import hashlib
from collections.abc import Collection, Mapping

from sqlalchemy import insert, select

from agentcore.domain.records import RecordKind
from agentcore.stores.sql.schema import forgotten, imports
from agentcore.stores.sql.settings_store import SqlSettingsStore
from agentcore.stores.sql.transaction import Transaction, chunks

SALT_SETTING = "forget.salt"


class SqlImportLedger:
    """Imported items of one scope, in one transaction; lives as long as it."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self._mine = imports.c.scope_id == transaction.scope_id

    def known(self, source_keys: Collection[str]) -> set[str]:
        """Return those already imported."""
        found: set[str] = set()
        for chunk in chunks(sorted(set(source_keys))):
            statement = select(imports.c.source_key).where(self._mine, imports.c.source_key.in_(chunk))
            found.update(self._transaction.connection.execute(statement).scalars())
        return found

    def record(self, items: Mapping[str, tuple[RecordKind, str]]) -> None:
        """Remember that a source key became that record; what is known already stays as it is."""
        known = self.known(items)
        rows = [
            {"scope_id": self._transaction.scope_id, "source_key": key, "kind": kind.value, "record_id": record_id}
            for key, (kind, record_id) in items.items()
            if key not in known
        ]
        if rows:
            self._transaction.connection.execute(insert(imports), rows)


class SqlForgottenReader:
    """Salted hashes of forgotten texts of one scope, in one transaction; lives as long as it."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def contains(self, fold_keys: Collection[str]) -> set[str]:
        """Return those of *fold_keys* that were forgotten."""
        salt = SqlSettingsStore(self._transaction).get(SALT_SETTING)
        if salt is None:
            return set()
        by_fingerprint = {fingerprint(salt, fold_key): fold_key for fold_key in fold_keys}
        found: set[str] = set()
        for chunk in chunks(sorted(by_fingerprint)):
            statement = select(forgotten.c.fingerprint).where(
                forgotten.c.scope_id == self._transaction.scope_id,
                forgotten.c.fingerprint.in_(chunk),
            )
            found.update(by_fingerprint[item] for item in self._transaction.connection.execute(statement).scalars())
        return found


def fingerprint(salt: str, fold_key: str) -> str:
    """Return the salted hash under which a forgotten text is remembered."""
    return hashlib.blake2b(fold_key.encode(), key=bytes.fromhex(salt), digest_size=32).hexdigest()
