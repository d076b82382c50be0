"""Defines who takes part in a session of several peers, and who observes whom there."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPeer:
    """One participant of a session.

    Args:
        name: The peer, as the `observer` and `observed` of scopes name it.
        observe_me: Whether what the peer says may be learnt from, by itself and by others; None leaves it to what holds
            for the peer everywhere, which is True unless `Host.peer` says otherwise.
        observe_others: Whether the peer learns from what the others say.
    """

    name: str
    observe_me: bool | None = None
    observe_others: bool = False


def observers_of(speaker: SessionPeer, members: Iterable[SessionPeer]) -> tuple[str, ...]:
    """Return who of *members* observes what *speaker* says, by name; nobody observes whoever does not want it.

    Example:
        >>> ana, ben = SessionPeer(name="ana"), SessionPeer(name="ben", observe_others=True)
        >>> observers_of(ana, [ana, ben]), observers_of(ben, [ana, ben])
        (('ben',), ())
    """
    if speaker.observe_me is False:
        return ()
    return tuple(sorted(one.name for one in members if one.observe_others and one.name != speaker.name))
