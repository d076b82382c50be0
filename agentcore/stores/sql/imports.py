"""Remembers what a scope keeps beside its records: settings, imported items, hashes of forgotten texts."""

import hashlib
from collections.abc import Collection, Mapping
from datetime import datetime

from sqlalchemy import bindparam, delete, insert, select

from agentcore.domain.memory import SourceKind
from agentcore.domain.records import RecordKind
from agentcore.domain.temporal import from_micros
from agentcore.stores.sql.schema import entries, forgotten, imports, settings, withheld
from agentcore.stores.sql.transaction import Transaction, chunks, is_retired, of_my_scope

_OF_NAME = of_my_scope(settings) & (settings.c.name == bindparam("of_name"))
_VALUE = select(settings.c.value).where(_OF_NAME)
_UNSET = delete(settings).where(_OF_NAME)
_SET = insert(settings)


class SqlSettingsReader:
    """Read a scope's settings."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def get(self, name: str) -> str | None:
        """Return the value, or None."""
        return self._transaction.execute(_VALUE, of_name=name).scalar()


class SqlSettingsStore(SqlSettingsReader):
    """Write a scope's settings."""

    def put(self, name: str, value: str | None) -> None:
        """Set the value; None removes it."""
        self._transaction.execute(_UNSET, of_name=name)
        if value is not None:
            row = {"scope_id": self._transaction.scope_id, "name": name, "value": value}
            self._transaction.connection.execute(_SET, row)


SALT_SETTING = "forget.salt"

_SET_ASIDE = (
    select(entries.c.fold_key, withheld.c.withheld_at)
    .join_from(entries, withheld, (withheld.c.scope_id == entries.c.scope_id) & (withheld.c.record_id == entries.c.id))
    .where(
        of_my_scope(entries),
        is_retired(entries.c.status),
        withheld.c.kind == SourceKind.ENTRY.value,
        entries.c.fold_key.in_(bindparam("among", expanding=True)),
    )
)


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
        return set(self._forgotten(fold_keys))

    def since(self, fold_keys: Collection[str]) -> dict[str, datetime]:
        """Return when those of *fold_keys* that were forgotten, or set aside by an agent, last were: later is new."""
        found = self._forgotten(fold_keys)
        for chunk in chunks(sorted(set(fold_keys))):
            for key, at in self._transaction.execute(_SET_ASIDE, among=chunk):
                found[key] = max(at, found.get(key, at))
        return {key: from_micros(at) for key, at in found.items()}

    def _forgotten(self, fold_keys: Collection[str]) -> dict[str, int]:
        salt = SqlSettingsStore(self._transaction).get(SALT_SETTING)
        if salt is None:
            return {}
        by_fingerprint = {fingerprint(salt, fold_key): fold_key for fold_key in fold_keys}
        found: dict[str, int] = {}
        for chunk in chunks(sorted(by_fingerprint)):
            statement = select(forgotten.c.fingerprint, forgotten.c.forgotten_at).where(
                forgotten.c.scope_id == self._transaction.scope_id,
                forgotten.c.fingerprint.in_(chunk),
            )
            found.update((by_fingerprint[item], at) for item, at in self._transaction.connection.execute(statement))
        return found


def fingerprint(salt: str, fold_key: str) -> str:
    """Return the salted hash under which a forgotten text is remembered."""
    return hashlib.blake2b(fold_key.encode(), key=bytes.fromhex(salt), digest_size=32).hexdigest()
