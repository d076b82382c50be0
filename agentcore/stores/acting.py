"""Says who asks for the writes of a block of code.

Who asks is known at the edge (a command, a tool, a request) and wanted in the transaction, far below. It goes from
one to the other as the trace of a request does, in a context variable: services and stores need not hand it on, and
none can forget to.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from agentcore.domain.actor import HOST, Actor

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from agentcore.stores.storage import UnitOfWork


@dataclass(frozen=True, slots=True, eq=False)
class Acting:
    """On whose behalf code runs; lives as long as the block.

    Args:
        actor: Who asks.
        within: Called in each of its transactions that changes records, just before the commit; what it raises rolls
            the transaction back.
        always: Whether it is called in those too that change no records, such as switches.
        before: Called in each of its write transactions, before anything else; what it raises rolls it back.
    """

    actor: Actor = HOST
    within: Callable[[UnitOfWork], None] | None = None
    always: bool = False
    before: Callable[[UnitOfWork], None] | None = None

    def checked(self, before: Callable[[UnitOfWork], None]) -> Acting:
        """Return the same with a check before."""
        return replace(self, before=before)


_acting: ContextVar[Acting | None] = ContextVar("acting", default=None)
_NOBODY_ELSE = Acting()


def acting() -> Acting:
    """Return on whose behalf the calling code runs; the host's where nothing was said."""
    return _acting.get() or _NOBODY_ELSE


@contextmanager
def acting_as(
    actor: Actor, *, within: Callable[[UnitOfWork], None] | None = None, always: bool = False
) -> Generator[None]:
    """Have every write that the block asks for carry *actor*, which `why` shows.

    Args:
        actor: Who asks.
        within: As in `Acting`.
        always: As in `Acting`.

    Example:
        >>> from agentcore.domain.actor import ActorKind
        >>> with acting_as(Actor(ActorKind.PERSON, "ana")):
        ...     print(acting().actor)
        person:ana
    """
    with on_behalf(Acting(actor, within, always)):
        yield


@contextmanager
def on_behalf(of: Acting) -> Generator[None]:
    """Go on with what `acting` returned elsewhere: a worker does what another task asked it for."""
    token = _acting.set(of)
    try:
        yield
    finally:
        _acting.reset(token)
