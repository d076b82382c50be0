"""Defines a line of the peer card: what is kept at hand about whomever a memory is about."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final

from agentcore.domain.conclusion import Premise
from agentcore.domain.evidence import SourceRef
from agentcore.domain.memory import PREMISE_GONE, Status
from agentcore.domain.scope import Scope
from agentcore.errors import InvalidContentError

MOST_LINES: Final = 40
"""Lines of a card: all of them stand in every prompt that has room for them."""
LONGEST_CARD_LINE: Final = 200
"""Characters of a line, its section aside."""


class CardSection(StrEnum):
    """What sort of thing a line tells, in the order of the card."""

    IDENTITY = "identity"
    """Who it is: names, pronouns, age, language."""
    ATTRIBUTE = "attribute"
    """What lasts: where they live, what they do, what they own or cannot eat."""
    RELATIONSHIP = "relationship"
    """Who belongs to them, and how."""
    INSTRUCTION = "instruction"
    """How they want to be treated."""


_ORDER: Final = {section: place for place, section in enumerate(CardSection)}


@dataclass(frozen=True, slots=True, kw_only=True)
class CardLine:
    """One line of a scope's card; what it says never changes, another line takes its place.

    Args:
        id: Unique within the scope.
        scope: Whose view of whom.
        section: What sort of thing it tells.
        content: What it says: one line of at most 200 characters, without its section.
        set_at: When it came onto the card.
        set_by: The pass or the person who put it there.
        reason: Why.
        pinned: Whether a person set it: no dream changes it then.
        sources: The entries that it goes back to; a person's line may have none.
        premises: These as they were when the line was written: where one does not hold any longer, the line goes too.
        status: Active, superseded by another line, or archived.
        status_reason: Why it is not active; None while it is.
        successor: Id of the line that took its place, if one did.
        status_at: When it left the card.
        version: Optimistic version.

    Example:
        >>> from datetime import UTC
        >>> said = datetime(2025, 5, 1, tzinfo=UTC)
        >>> print(CardLine(id="a", scope=Scope.default(), section=CardSection.IDENTITY, content="Name is Ana.",
        ...                set_at=said, set_by="person", reason="She said so.", pinned=True))
        IDENTITY: Name is Ana.
    """

    id: str
    scope: Scope
    section: CardSection
    content: str
    set_at: datetime
    set_by: str
    reason: str
    pinned: bool = False
    sources: tuple[SourceRef, ...] = ()
    premises: tuple[Premise, ...] = ()
    status: Status = Status.ACTIVE
    status_reason: str | None = None
    successor: str | None = None
    status_at: datetime | None = None
    version: int = field(default=1, compare=False)

    def __post_init__(self) -> None:
        """Refuse a line that is longer than a line may be, or none."""
        if not self.content.strip() or len(self.content.splitlines()) > 1:
            raise InvalidContentError(field="card line", problem="write one line that is not blank")
        if len(self.content) > LONGEST_CARD_LINE:
            problem = f"it has {len(self.content)} characters; write at most {LONGEST_CARD_LINE}"
            raise InvalidContentError(field="card line", problem=problem)

    def __str__(self) -> str:
        return f"{self.section.value.upper()}: {self.content}"

    @property
    def is_active(self) -> bool:
        """Whether it stands on the card."""
        return self.status is Status.ACTIVE

    @property
    def lost_premises(self) -> bool:
        """Whether the host took it off the card, since something that it rests on does not hold."""
        return self.status is Status.ARCHIVED and (self.status_reason or "").startswith(PREMISE_GONE)


def in_order(lines: Iterable[CardLine]) -> list[CardLine]:
    """Return lines in the order of the card: by section, then the one set first."""
    return sorted(lines, key=lambda one: (_ORDER[one.section], one.set_at, one.id))


def read_line(text: str) -> tuple[CardSection, str]:
    """Read `SECTION: content`, as people write a line.

    Raises:
        InvalidContentError: it does not begin with a section.

    Example:
        >>> read_line("relationship: Married to Rui.")
        (<CardSection.RELATIONSHIP: 'relationship'>, 'Married to Rui.')
    """
    section, colon, content = text.partition(":")
    named = section.strip().casefold()
    if not colon or named not in set(CardSection):
        names = ", ".join(one.value.upper() for one in CardSection)
        raise InvalidContentError(field="card line", problem=f"begin it with one of {names} and a colon")
    return CardSection(named), " ".join(content.split())
