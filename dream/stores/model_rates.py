"""Keeps how many tokens a fleet has asked of each model lately, and until when its server wants none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import func, insert, select, update

from agentcore.domain.temporal import from_micros, to_micros
from agentcore.stores.sql.schema import model_rates

if TYPE_CHECKING:
    from datetime import datetime, timedelta

    from agentcore.stores.sql.transaction import Transaction


class ModelRateStore:
    """The rates of models, in one transaction; lives as long as it."""

    def __init__(self, transaction: Transaction) -> None:
        self._connection = transaction.connection
        self._now = transaction.now

    def take(self, model: str, tokens: int, *, most: int, window: timedelta) -> datetime | None:
        """Count tokens in the window of time that runs now; return None if they fit, else when to ask again.

        A call that is larger than a whole window is let through where nothing else was.

        Args:
            model: Whom they are for.
            tokens: How many.
            most: How many fit a window.
            window: Its length.
        """
        began = to_micros(self._now) // to_micros_of(window) * to_micros_of(window)
        row = self._connection.execute(
            select(model_rates).where(model_rates.c.model == model).with_for_update()
        ).one_or_none()
        if row is None:
            self._connection.execute(insert(model_rates), {"model": model, "window_at": began, "tokens": tokens})
            return None
        used = row.tokens if row.window_at == began else 0
        if used and used + tokens > most:
            return from_micros(began) + window
        counted = update(model_rates).where(model_rates.c.model == model)
        self._connection.execute(counted.values(window_at=began, tokens=used + tokens))
        return None

    def pause(self, model: str, *, until: datetime) -> None:
        """Have all workers ask a model nothing until an instant; a longer pause stays."""
        end = to_micros(until)
        longer = func.coalesce(model_rates.c.paused_until, 0) < end
        known = update(model_rates).where(model_rates.c.model == model)
        if self._connection.execute(known.where(longer).values(paused_until=end)).rowcount:
            return
        if self._connection.execute(select(model_rates.c.model).where(model_rates.c.model == model)).first() is None:
            self._connection.execute(
                insert(model_rates), {"model": model, "window_at": 0, "tokens": 0, "paused_until": end}
            )

    def pauses(self) -> dict[str, datetime]:
        """Return until when each model is to be asked nothing, of those for which that lies ahead."""
        ahead = select(model_rates.c.model, model_rates.c.paused_until).where(
            model_rates.c.paused_until > to_micros(self._now)
        )
        return {model: from_micros(until) for model, until in self._connection.execute(ahead)}

    def tokens(self, *, window: timedelta) -> dict[str, int]:
        """Return how many tokens were counted of each model in the window that runs now."""
        began = to_micros(self._now) // to_micros_of(window) * to_micros_of(window)
        found = select(model_rates.c.model, model_rates.c.tokens).where(model_rates.c.window_at == began)
        return {model: tokens for model, tokens in self._connection.execute(found)}  # noqa: C416 - rows are no pairs


def to_micros_of(duration: timedelta) -> int:
    """Return a duration in microseconds."""
    return round(duration.total_seconds() * 1_000_000)
