"""What guards know beside the change set."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from agentcore.domain.conversation import Turn


@dataclass(frozen=True, slots=True, kw_only=True)
class Knowledge:
    """Facts of the transaction and the options that guards judge by.

    Args:
        declined: Fingerprints that a person took back.
        protected: Categories that no pass changes.
        turns: Turns that the entries of the change sets cite, by id.
        protect_importance: Base importance that makes an entry undroppable: nothing that a pass heard starts there.
    """

    declined: frozenset[str] = frozenset()
    protected: tuple[str, ...] = ()
    turns: Mapping[str, Turn] = field(default_factory=dict[str, Turn])
    protect_importance: float = 0.8
