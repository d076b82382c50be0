"""What guards know beside the change set."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Knowledge:
    """Facts of the transaction and the options that guards judge by.

    Args:
        declined: Fingerprints that a person took back.
        protected: Categories that no pass changes.
        live_skills: Those names of successors that active skills have.
        taken_names: Those names of new skills that a skill has or once had.
    """

    declined: frozenset[str] = frozenset()
    protected: tuple[str, ...] = ()
    live_skills: frozenset[str] = frozenset()
    taken_names: frozenset[str] = frozenset()
