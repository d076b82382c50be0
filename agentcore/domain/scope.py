"""Defines whose knowledge a record is."""

from dataclasses import dataclass

from agentcore.errors import InvalidScopeError

_MAX_PART = 128


@dataclass(frozen=True, slots=True, order=True)
class Scope:
    """The owner of every record, run, cursor, lease and setting; never mixed with another.

    Args:
        workspace: The tenant or application.
        observer: Who remembers.
        observed: Whom the memory is about.

    Raises:
        InvalidScopeError: a part is blank, too long, or holds a slash or a control character.

    Example:
        >>> Scope.parse("acme/agent/ana")
        Scope(workspace='acme', observer='agent', observed='ana')
        >>> str(Scope.default())
        'default/agent/agent'
    """

    workspace: str
    observer: str
    observed: str

    def __post_init__(self) -> None:
        """Refuse parts that could not be told apart in `workspace/observer/observed`."""
        for name in ("workspace", "observer", "observed"):
            part: str = getattr(self, name)
            if not part.strip() or len(part) > _MAX_PART or "/" in part or not part.isprintable():
                raise InvalidScopeError(part=name, value=part)

    @classmethod
    def default(cls) -> "Scope":
        """Return the scope of a single agent that remembers for itself."""
        return cls("default", "agent", "agent")

    @classmethod
    def parse(cls, text: str) -> "Scope":
        """Read `workspace/observer/observed`."""
        parts = text.split("/")
        if len(parts) != 3:
            raise InvalidScopeError(part="scope", value=text)
        return cls(*parts)

    def __str__(self) -> str:
        return f"{self.workspace}/{self.observer}/{self.observed}"
