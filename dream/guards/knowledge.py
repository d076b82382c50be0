"""What guards know beside the change set."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from agentcore.domain.conversation import Turn


@dataclass(frozen=True, slots=True, kw_only=True)
class Knowledge:
    """Facts of the transaction and the options that guards judge by.

    Args:
        declined: Fingerprints that a person took back.
        protected: Categories that no pass changes.
        turns: Turns that the entries of the change sets cite, by id.
        withheld: Those of them that are told to nobody, since a person asked to forget what they say.
        needed: When those entries that the change sets count as promoted for the first time were recalled last.
        protect_importance: Base importance that makes an entry undroppable: nothing that a pass heard starts there.
        live_skills: Those names of successors that active skills have.
        taken_names: Those names of new skills that a skill has or once had.
    """

    declined: frozenset[str] = frozenset()
    protected: tuple[str, ...] = ()
    turns: Mapping[str, Turn] = field(default_factory=dict[str, Turn])
    withheld: frozenset[str] = frozenset()
    needed: Mapping[str, datetime] = field(default_factory=dict[str, datetime])
    protect_importance: float = 0.8
    live_skills: frozenset[str] = frozenset()
    taken_names: frozenset[str] = frozenset()
