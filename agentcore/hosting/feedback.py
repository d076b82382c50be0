"""Takes in signals about the agent's work."""

from datetime import datetime

from agentcore.domain.scope import Scope
from agentcore.domain.signals import Feedback, FeedbackKind, Rating
from agentcore.hosting.checks import clean_instant, clean_member, clean_name, clean_text, optional_text
from agentcore.hosting.options import FeedbackOptions
from agentcore.ids import IdFactory
from agentcore.stores.storage import Storage, UnitOfWork


class FeedbackLog:
    """One scope's feedback; keeps nothing itself, so it may be made anew at any time.

    Args:
        scope: Whose agent it is about.
        storage: Where it is kept.
        ids: Names new rows.
        options: What is kept of them.
    """

    def __init__(
        self, scope: Scope, *, storage: Storage, ids: IdFactory, options: FeedbackOptions | None = None
    ) -> None:
        self._scope = scope
        self._storage = storage
        self._ids = ids
        self._options = options or FeedbackOptions()

    @property
    def scope(self) -> Scope:
        """Whose agent it is about."""
        return self._scope

    async def append(
        self,
        *,
        session_id: str,
        kind: FeedbackKind | str,
        summary: str,
        detail: str | None = None,
        rating: Rating | str | None = None,
        occurred_at: datetime | None = None,
    ) -> Feedback:
        """Log one signal about the agent's work.

        Args:
            session_id: The conversation it came from.
            kind: What it says, such as `correction` or `thumbs_up`.
            summary: What happened, in short.
            detail: More, if there is more; cut off where the options say.
            rating: How the session went, for session summaries.
            occurred_at: When it was given, aware; None is now.

        Raises:
            InvalidContentError: something cannot be stored; nothing was.
        """
        more = optional_text("detail", detail[: self._options.max_detail] if detail else None)
        given_at = clean_instant(occurred_at)
        session, short = clean_name("session id", session_id), clean_text("summary", summary)
        says = clean_member(FeedbackKind, "kind", kind)
        went = None if rating is None else clean_member(Rating, "rating", rating)

        def work(unit: UnitOfWork) -> Feedback:
            signal = Feedback(
                id=self._ids.new(),
                scope=self._scope,
                session_id=session,
                kind=says,
                summary=short,
                detail=more,
                rating=went,
                occurred_at=given_at or unit.now,
                recorded_at=unit.now,
            )
            unit.feedback.append([signal])
            return signal

        return await self._storage.write(self._scope, work)

    async def newest(self, *, limit: int = 50, since: datetime | None = None) -> list[Feedback]:
        """Return the newest *limit* signals given at or after *since*, the oldest of them first."""
        return await self._storage.read(self._scope, lambda view: view.feedback.newest(limit=limit, since=since))

    async def count(self) -> int:
        """Count signals."""
        return await self._storage.read(self._scope, lambda view: view.feedback.count())
