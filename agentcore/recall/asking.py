"""One question to one or several indexes and to the store, answered by one state of the database."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeVar

from agentcore.domain.scope import Scope
from agentcore.recall.follower import Follower
from agentcore.recall.thread import RecallThread
from agentcore.stores.protocols import FeedPage, ReadView, Storage

T = TypeVar("T")

_TRIES: Final = 3


@dataclass(frozen=True, slots=True)
class _Behind:
    """A follower that has more to take over than a question may wait for on the thread."""

    follower: Follower[Any, Any]
    page: FeedPage[Any]


async def ask(
    storage: Storage,
    thread: RecallThread,
    scope: Scope,
    followers: Sequence[Follower[Any, Any]],
    work: Callable[[ReadView], T],
) -> T:
    """Call *work* on the recall thread with a view of the scope, when the indexes hold what the view holds.

    What was committed since the last question is taken over in the same view, so that a question after a write costs
    no more turns of the event loop than any other; only where that is much, it is taken over in slices before. Beside a
    writer that never rests and writes much, the last view may be ahead of the indexes.

    Args:
        storage: Where the records are.
        thread: What owns the indexes.
        scope: Whose records to ask for.
        followers: Whose indexes *work* uses; the caller holds their locks.
        work: What to ask; it may be long only where the question is.
    """
    for one in followers:
        if one.revision is None:
            await one.catch_up()
    answer: tuple[T] | _Behind
    for _ in range(_TRIES):
        answer = await thread.run(storage.read_here, scope, partial(_followed, followers=followers, work=work))
        for one in followers:
            one.tidy_at_leisure()
        if not isinstance(answer, _Behind):
            return answer[0]
        await answer.follower.take(answer.page)
        await answer.follower.catch_up()
    return await thread.run(storage.read_here, scope, work)


def _followed(
    view: ReadView, *, followers: Sequence[Follower[Any, Any]], work: Callable[[ReadView], T]
) -> tuple[T] | _Behind:
    for one in followers:
        page = one.follow(view)
        if page is not None:
            return _Behind(one, page)
    return (work(view),)
