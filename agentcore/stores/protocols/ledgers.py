"""What a scope keeps beside its records: settings, the import ledger, the hashes of what was forgotten."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from agentcore.domain.memory import SourceKind
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

    def since(self, fold_keys: Collection[str]) -> dict[str, datetime]:
        """Return when those of *fold_keys* that were forgotten, or set aside by an agent, last were: later is new."""
        ...


@dataclass(frozen=True, slots=True, order=True)
class Withheld:
    """A mark that a record is told to nobody.

    Args:
        kind: What kind of record: a turn, or an entry that an agent set aside.
        record_id: Its id; it may be gone, or not have come yet.
        entry_id: The entry for whose sake, which a person asked to forget.
    """

    kind: SourceKind
    record_id: str
    entry_id: str


class WithheldReader(Protocol):
    """What is told to nobody, since a person asked to forget what it says."""

    def all(self) -> list[Withheld]:
        """Return every mark, sorted."""
        ...

    def turns(self, turn_ids: Collection[str]) -> set[str]:
        """Return those of *turn_ids* that are withheld."""
        ...


class WithheldStore(WithheldReader, Protocol):
    """Withhold records, and show them again."""

    def add(self, marks: Collection[Withheld]) -> None:
        """Withhold records: recall loses turns, no pass reads them, and nothing waits for them."""
        ...

    def release(self, entry_id: str) -> None:
        """Withhold nothing any longer for the sake of this entry."""
        ...


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What a `forget` did.

    Args:
        removed: Ids of the entries that are gone.
        restored: Ids of sources brought back because a merge that held them had to go.
        withheld: Ids of turns that say it, which nobody is told any longer.
    """

    removed: tuple[str, ...]
    restored: tuple[str, ...]
    withheld: tuple[str, ...] = ()
