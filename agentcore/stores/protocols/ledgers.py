"""What a scope keeps beside its records: settings, the import ledger, the hashes of what was forgotten."""

from dataclasses import dataclass

from agentcore.domain.memory import SourceKind


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
