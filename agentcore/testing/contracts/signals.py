"""Signals: the four kinds share one behaviour."""

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Generic, TypeVar

from agentcore.domain.signals import Feedback, FeedbackKind, ToolCall, WispRun
from agentcore.domain.skill import SkillUse
from agentcore.errors import InvalidContentError, StaleVersionError
from agentcore.stores.storage import ReadView, Storage, UnitOfWork
from agentcore.testing.contracts.samples import (
    DAY,
    OTHER_SCOPE,
    SCOPE,
    START,
    a_feedback,
    a_skill_use,
    a_tool_call,
    a_wisp_run,
    expect_equal,
    expect_error,
)

if TYPE_CHECKING:  # the suite can be imported where no database is
    from agentcore.stores.sql.record_store import SqlSignalReader, SqlSignalStore

S = TypeVar("S", SkillUse, Feedback, WispRun, ToolCall)


class SignalContract:
    """What a store of signals owes, whatever they are."""

    async def test_skill_uses_are_kept(self, storage: Storage) -> None:
        """Invocations of skills."""
        kind = SignalCases(storage, a_skill_use, lambda view: view.skill_uses, lambda unit: unit.skill_uses)
        await kind.check(a_skill_use("full", skill_name="odd/name", session_id="s2"))

    async def test_feedback_is_kept(self, storage: Storage) -> None:
        """Feedback, with and without its optional parts."""
        kind = SignalCases(storage, a_feedback, lambda view: view.feedback, lambda unit: unit.feedback)
        await kind.check(a_feedback("full", kind=FeedbackKind.CORRECTION, detail="She said so.", rating=None))

    async def test_wisp_runs_are_kept(self, storage: Storage) -> None:
        """Wisp runs, with and without their optional parts."""
        kind = SignalCases(storage, a_wisp_run, lambda view: view.wisp_runs, lambda unit: unit.wisp_runs)
        full = a_wisp_run(
            "full",
            shape_hash="s1",
            succeeded=True,
            steps_completed=3,
            failed_step_id=None,
            failure_category=None,
            error_message="none",
            failed_tool_name="http",
            session_id="s1",
            retry_of="r0",
            batch_id="b1",
            definition_body="[]",
        )
        await kind.check(full)

    async def test_tool_calls_are_kept(self, storage: Storage) -> None:
        """Calls of tools, with and without their optional parts."""
        kind = SignalCases(storage, a_tool_call, lambda view: view.tool_calls, lambda unit: unit.tool_calls)
        failed = a_tool_call(
            "full", succeeded=False, arguments='{"since": "today"}', error_message="timed out", duration_ms=30_000
        )
        await kind.check(failed)


class SignalCases(Generic[S]):
    """One kind of signal, and where it is kept."""

    def __init__(
        self,
        storage: Storage,
        make: Callable[..., S],
        reader: Callable[[ReadView], "SqlSignalReader[S]"],
        store: Callable[[UnitOfWork], "SqlSignalStore[S]"],
    ) -> None:
        self._storage = storage
        self._make = make
        self._reader = reader
        self._store = store

    async def check(self, full: S) -> None:
        """Check all that the contract says; *full* fills the fields that the usual sample leaves out."""
        await self._append(full)
        expect_equal(await self._storage.read(SCOPE, lambda view: self._reader(view).newest(limit=9)), [full])
        await expect_error(StaleVersionError, self._append(self._make("new"), full))
        await expect_error(InvalidContentError, self._append(self._make("new", scope=OTHER_SCOPE)))
        await self._storage.write(
            SCOPE,
            lambda unit: self._store(unit).drop_expired(recorded_before=START + DAY, keep=0, limit=9),
        )
        await self._check_reading()
        await self._check_expiry()

    async def _check_reading(self) -> None:
        """The newest by when they occurred; those of one instant in the order they came."""
        days = {"z": 2, "a": 2, "late": 3, "early": 1}
        await self._append(*(self._make(name, occurred_at=START + day * DAY) for name, day in days.items()))
        expect_equal(await self._newest(), ["early", "z", "a", "late"])
        expect_equal(await self._newest(limit=2), ["a", "late"])
        expect_equal(await self._newest(since=START + 2 * DAY), ["z", "a", "late"])
        expect_equal(await self._newest(limit=1, since=START + 2 * DAY), ["late"])
        expect_equal(await self._storage.read(SCOPE, lambda view: self._reader(view).count()), 4)
        named = await self._storage.read(SCOPE, lambda view: self._reader(view).get_many(["z", "early", "gone", "z"]))
        expect_equal([signal.id for signal in named], ["early", "z"])
        expect_equal(await self._storage.read(OTHER_SCOPE, lambda view: self._reader(view).get_many(["z"])), [])

    async def _check_expiry(self) -> None:
        """By when they were stored: too old, or beyond the newest that are kept."""
        ages = {"old-1": 4, "old-2": 3, "mid": 2}
        await self._append(*(self._make(name, recorded_at=START - age * DAY) for name, age in ages.items()))
        oldest = await self._storage.read(SCOPE, lambda view: self._reader(view).oldest_recorded())
        expect_equal(oldest, START - 4 * DAY)
        nothing = await self._storage.read(OTHER_SCOPE, lambda view: self._reader(view).oldest_recorded())
        expect_equal(nothing, None)
        expect_equal(await self._expired(START - 2 * DAY, keep=99), 2)
        expect_equal(await self._expired(START - 9 * DAY, keep=5), 2)
        expect_equal(await self._expired(START - 2 * DAY, keep=4), 3)
        expect_equal(await self._drop(START - 2 * DAY, keep=4, limit=1), 1)
        expect_equal(sorted(await self._newest()), ["a", "early", "late", "mid", "old-2", "z"])
        expect_equal(await self._drop(START - 2 * DAY, keep=4, limit=9), 2)
        expect_equal(sorted(await self._newest()), ["a", "early", "late", "z"])
        expect_equal(await self._drop(START - 2 * DAY, keep=4, limit=9), 0)

    async def _append(self, *signals: S) -> None:
        await self._storage.write(SCOPE, lambda unit: self._store(unit).append(signals))

    async def _newest(self, limit: int = 9, since: datetime | None = None) -> list[str]:
        found = await self._storage.read(SCOPE, lambda view: self._reader(view).newest(limit=limit, since=since))
        return [signal.id for signal in found]

    async def _expired(self, before: datetime, *, keep: int) -> int:
        return await self._storage.read(
            SCOPE, lambda view: self._reader(view).count_expired(recorded_before=before, keep=keep)
        )

    async def _drop(self, before: datetime, *, keep: int, limit: int) -> int:
        return await self._storage.write(
            SCOPE,
            lambda unit: self._store(unit).drop_expired(recorded_before=before, keep=keep, limit=limit),
        )
