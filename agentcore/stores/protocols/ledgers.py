"""What a scope keeps beside its records: settings, the import ledger, the hashes of what was forgotten."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

from agentcore.domain.records import RecordKind


class SettingsReader(Protocol):
    """Read a scope's settings."""

    def get(self, name: str) -> str | None:
        """Return the value, or None."""
        ...


class SettingsStore(SettingsReader, Protocol):
    """Write a scope's settings."""

    def put(self, name: str, value: str | None) -> None:
        """Set the value; None removes it."""
        ...


class ImportLedger(Protocol):
    """Which outside items are already here."""

    def known(self, source_keys: Collection[str]) -> set[str]:
        """Return those already imported."""
        ...

    def record(self, items: Mapping[str, tuple[RecordKind, str]]) -> None:
        """Remember that a source key became that record; what is known already stays as it is."""
        ...


class ForgottenReader(Protocol):
    """What a person asked to forget: salted hashes only."""

    def contains(self, fold_keys: Collection[str]) -> set[str]:
        """Return those of *fold_keys* that were forgotten."""
        ...


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What a `forget` did.

    Args:
        removed: Ids of the entries that are gone.
        restored: Ids of sources brought back because a merge that held them had to go.
    """

    removed: tuple[str, ...]
    restored: tuple[str, ...]
