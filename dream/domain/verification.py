"""Defines the second reading of what a model wrote: what is read, against which evidence, and what the reader found."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable

from dream.domain.declaration import DeclaredDirective

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from agentcore.domain.memory import SourceRef

VERIFY: Final = "verify"
"""The directive of the second reading."""
SECOND_READING: Final = DeclaredDirective(
    VERIFY,
    "How statements are read a second time beside their evidence, by a reader who did not write them.",
    ("says", "contradicts", "not_said"),
)
VERIFY_INFERENCE: Final = "verify-inference"
"""The directive of the second reading of conclusions."""

READ_AT_ONCE: Final = 60
"""Statements that one call of the second reading decides about at most."""
MOST_TOKENS: Final = 6_000
"""Tokens of statements and evidence in one such call."""


class Reading(StrEnum):
    """What a verifier found of a statement."""

    SAYS = "says"
    """The evidence says all of it; and where it has to tell the whole evidence, it does."""
    CONTRADICTS = "contradicts"
    """The evidence says otherwise."""
    NOT_SAID = "not_said"
    """The evidence does not say it, or not so surely, or the statement leaves out what it has to tell."""
    OFF_LIMITS = "off_limits"
    """It tells of a topic about which a person wants nothing kept; asked only where there are such topics."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceLine:
    """One text that a statement is judged by.

    Args:
        text: The text, whole.
        speaker: Who said it; None for what nobody said, such as an entry or a skill.
        role: The role of the turn, such as `user`; else what it is, such as `entry`.
        said_at: When it was said; None if that does not matter.
        is_beside: Whether it only helps to understand the others, such as the turn before.
        source: The record that it stands in; None if it is none.
        about: The time that it tells of, such as `2023-04`, where the record gives one.
    """

    text: str
    speaker: str | None = None
    role: str = "entry"
    said_at: datetime | None = None
    is_beside: bool = False
    source: SourceRef | None = None
    about: str | None = None

    @property
    def proves(self) -> bool:
        """Whether a statement may rest on it: what an assistant said, or stands beside, is there to be understood."""
        return not self.is_beside and self.role != "assistant"


@dataclass(frozen=True, slots=True, kw_only=True)
class Assertion:
    """One statement with all its evidence.

    Args:
        text: The statement.
        evidence: What it rests on, and what stands beside that, in the order it was said.
        whole: Whether it must also tell all that the evidence tells, as a merge or a rewrite must.
        adds: Whether it is a procedure that may bring steps of its own, as long as they name nothing specific.
        infers: Whether it is concluded from its evidence: it has to follow, and stands nowhere in it.
    """

    text: str
    evidence: tuple[EvidenceLine, ...]
    whole: bool = False
    adds: bool = False
    infers: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondReading:
    """What a verifier found of one assertion.

    Args:
        reading: Its verdict.
        quotes: Words copied from the evidence: for `says` those that prove it, else those that speak against it.
        left_out: What the evidence tells and the statement does not, where it must tell the whole.
    """

    reading: Reading
    quotes: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


@runtime_checkable
class Verifier(Protocol):
    """Reads statements a second time beside the model, such as a local grounding model.

    It may deny and never accept alone: what it does not deny is read by the model as well. `DreamOptions.verifier`
    takes one; what it raises is logged and changes nothing.
    """

    async def read(self, assertions: Sequence[Assertion], /) -> Sequence[SecondReading]:
        """Return what it found of each assertion, in their order."""
        ...
