"""What guards know beside the change set."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Knowledge:
    """Facts of the transaction and the options that guards judge by.

    Args:
        declined: Fingerprints that a person took back.
        protected: Categories that no pass changes.
    """

    declined: frozenset[str] = frozenset()
    protected: tuple[str, ...] = ()
