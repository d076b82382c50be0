"""Defines who asks for a write."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from agentcore.errors import InvalidContentError

_LONGEST_NAME = 128


class ActorKind(StrEnum):
    """What asks for writes."""

    HOST = "host"
    """The program that holds the memory; whoever says nothing else."""
    AGENT = "agent"
    """A model, by a tool."""
    PERSON = "person"
    """Somebody at a terminal or a page."""
    PASS = "pass"  # noqa: S105 - a pass of a dream, no password
    """A pass of a dream."""
    IMPORT = "import"
    """A file that is read in."""
    PEER = "peer"
    """A peer who said it, and whom the scope observes."""
    TOKEN = "token"  # noqa: S105 - the kind, no secret
    """A client of the server, by the name of its token."""


@dataclass(frozen=True, slots=True)
class Actor:
    """Who asks for a write: the kind, and a name where there are several of the kind.

    Args:
        kind: What it is.
        name: Which one, at most 128 characters; empty where there is one alone.

    Raises:
        InvalidContentError: the name is too long or holds a control character.

    Example:
        >>> str(Actor(ActorKind.TOKEN, "laptop"))
        'token:laptop'
        >>> Actor.parse("person")
        Actor(kind=<ActorKind.PERSON: 'person'>, name='')
    """

    kind: ActorKind
    name: str = ""

    def __post_init__(self) -> None:
        """Refuse a name that could not be shown on one line."""
        if len(self.name) > _LONGEST_NAME or not self.name.isprintable():
            problem = f"it must be at most {_LONGEST_NAME} printable characters"
            raise InvalidContentError(field="actor's name", problem=problem)

    @classmethod
    def parse(cls, text: str) -> "Actor":
        """Read what `str` gives."""
        kind, _, name = text.partition(":")
        return cls(ActorKind(kind), name)

    def __str__(self) -> str:
        return f"{self.kind.value}:{self.name}" if self.name else self.kind.value


HOST: Final = Actor(ActorKind.HOST)
"""Who asks where nobody else is named."""

AGENT: Final = Actor(ActorKind.AGENT)
"""Who asks where a model calls a tool and is not named."""
