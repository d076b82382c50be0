import asyncio
import contextlib
from collections.abc import Sequence
from datetime import timedelta
from typing import cast

import pytest
from hypothesis import given, strategies as st

from agentcore.errors import HostError, HostNotStartedError, InvalidOptionsError
from agentcore.hosting import (
    BackgroundService,
    Lifecycle,
    LifecycleState,
    NotRestartableError,
    ServiceFailedError,
    ShutdownTimeoutError,
    WorkerFailure,
)

Log = list[str]


class Recorded:
    """Writes down when it starts and stops, takes its time, and fails as told."""

    def __init__(
        self,
        name: str,
        log: Log,
        *,
        start_error: BaseException | None = None,
        stop_error: BaseException | None = None,
        stop_seconds: float = 0.0,
    ) -> None:
        self._name = name
        self._log = log
        self._start_error = start_error
        self._stop_error = stop_error
        self._stop_seconds = stop_seconds

    async def start(self) -> None:
        self._log.append(f"+{self._name}")
        if self._start_error is not None:
            raise self._start_error

    async def stop(self) -> None:
        self._log.append(f"-{self._name}")
        if self._stop_seconds:
            await asyncio.sleep(self._stop_seconds)
        if self._stop_error is not None:
            raise self._stop_error
        self._log.append(f"-{self._name}.")


class Endless(Recorded):
    """Never finishes starting."""

    async def start(self) -> None:
        await super().start()
        await asyncio.Event().wait()


class Stubborn(Recorded):
    """Ignores the first cancellation of its stop and ends a little later."""

    async def stop(self) -> None:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        await super().stop()


class Dying(BackgroundService):
    async def run(self) -> None:
        raise ValueError("out of paper")


def lifecycle(services: Sequence[Recorded | BackgroundService], milliseconds: int = 5000) -> Lifecycle:
    return Lifecycle(services, shutdown_timeout=timedelta(milliseconds=milliseconds))


async def use(subject: Lifecycle, error: BaseException | None = None) -> None:
    async with subject:
        if error is not None:
            raise error


async def test_services_start_in_order_and_stop_in_reverse():
    log: Log = []
    async with lifecycle([Recorded("a", log), Recorded("b", log), Recorded("c", log)]):
        assert log == ["+a", "+b", "+c"]
    assert log[3:] == ["-c", "-c.", "-b", "-b.", "-a", "-a."]


async def test_entering_gives_the_lifecycle_itself_and_its_state_moves_forward():
    subject = lifecycle([])
    states = [subject.state]
    async with subject as entered:
        states.append(entered.state)
    states.append(subject.state)
    assert entered is subject
    assert states == [LifecycleState.CREATED, LifecycleState.RUNNING, LifecycleState.STOPPED]


async def test_a_failed_start_unwinds_the_started_ones_in_reverse_and_raises_itself():
    log: Log = []
    failure = OSError("no disk")
    services = [
        Recorded("a", log),
        Recorded("b", log),
        Recorded("c", log, start_error=failure),
        Recorded("d", log),
    ]
    with pytest.raises(OSError, match="no disk") as caught:
        await use(lifecycle(services))
    assert caught.value is failure
    assert log == ["+a", "+b", "+c", "-b", "-b.", "-a", "-a."]
    assert caught.value.__notes__ == ["Raised while starting the service Recorded."]


async def test_a_failed_start_and_the_errors_of_unwinding_it_are_raised_together():
    log: Log = []
    start, stop = OSError("no disk"), ValueError("bad stop")
    with pytest.raises(ExceptionGroup) as caught:
        await use(lifecycle([Recorded("a", log, stop_error=stop), Recorded("b", log, start_error=start)]))
    assert caught.value.exceptions == (start, stop)


async def test_a_cancellation_during_the_start_unwinds_and_stays_a_cancellation():
    log: Log = []
    subject = lifecycle([Recorded("a", log), Endless("b", log)])
    task = asyncio.create_task(use(subject))
    await asyncio.sleep(0.01)
    task.cancel()
    await asyncio.wait({task})
    assert task.cancelled()
    assert log == ["+a", "+b", "-a", "-a."]
    assert subject.state is LifecycleState.STOPPED


async def test_a_failing_stop_does_not_keep_the_others_from_stopping():
    log: Log = []
    failure = ValueError("bad stop")
    with pytest.raises(ValueError, match="bad stop") as caught:
        await use(lifecycle([Recorded("a", log), Recorded("b", log, stop_error=failure), Recorded("c", log)]))
    assert caught.value is failure
    assert log[3:] == ["-c", "-c.", "-b", "-a", "-a."]
    assert caught.value.__notes__ == ["Raised while stopping the service Recorded."]


async def test_several_stop_errors_form_one_group_in_the_order_they_came():
    log: Log = []
    first, last = ValueError("a"), OSError("b")
    with pytest.raises(ExceptionGroup) as caught:
        await use(lifecycle([Recorded("a", log, stop_error=first), Recorded("b", log, stop_error=last)]))
    assert caught.value.exceptions == (last, first)


@pytest.mark.parametrize("count", [1, 2])
async def test_except_star_handles_one_stop_error_and_several_alike(count: int):
    log: Log = []
    handled: list[Exception] = []
    services = [Recorded(str(number), log, stop_error=ValueError(number)) for number in range(count)]
    try:
        await use(lifecycle(services))
    except* ValueError as group:
        handled.extend(error for error in group.exceptions if isinstance(error, ValueError))
    assert len(handled) == count


async def test_the_error_of_the_body_leaves_alone_when_all_stops_are_clean():
    failure = KeyError("body")
    with pytest.raises(KeyError) as caught:
        await use(lifecycle([Recorded("a", [])]), failure)
    assert caught.value is failure


async def test_the_error_of_the_body_comes_first_in_a_group_with_the_stop_errors():
    body, stop = KeyError("body"), ValueError("stop")
    with pytest.raises(ExceptionGroup) as caught:
        await use(lifecycle([Recorded("a", [], stop_error=stop)]), body)
    assert caught.value.exceptions == (body, stop)


@pytest.mark.parametrize("leading", [asyncio.CancelledError(), SystemExit(3)])
async def test_a_cancellation_or_exit_keeps_its_type_and_carries_the_stop_errors_as_cause(
    leading: BaseException,
):
    log: Log = []
    first, last = ValueError("a"), OSError("b")
    services = [Recorded("a", log, stop_error=first), Recorded("b", log, stop_error=last)]
    with pytest.raises(type(leading)) as caught:
        await use(lifecycle(services), leading)
    assert caught.value is leading
    cause = cast("ExceptionGroup[Exception]", leading.__cause__)
    assert cause.exceptions == (last, first)


async def test_a_timeout_around_a_host_still_works_when_its_stop_fails():
    async def too_long() -> None:
        async with asyncio.timeout(0.01), lifecycle([Recorded("a", [], stop_error=ValueError("stop"))]):
            await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        await too_long()


async def test_all_stops_share_one_budget_and_the_late_ones_are_named_together():
    log: Log = []
    loop = asyncio.get_running_loop()
    services = [Recorded("a", log), Recorded("b", log, stop_seconds=9), Recorded("c", log, stop_seconds=9)]
    before = loop.time()
    with pytest.raises(ShutdownTimeoutError) as caught:
        await use(lifecycle(services, 50))
    assert 0.04 <= loop.time() - before < 5
    assert caught.value.services == ("Recorded", "Recorded")
    assert "shutdown budget of 0.05 s: Recorded, Recorded" in str(caught.value)
    assert isinstance(caught.value, HostError)


async def test_time_spent_by_one_stop_is_missing_to_the_next():
    log: Log = []
    services = [Recorded("a", log, stop_seconds=0.15), Recorded("b", log, stop_seconds=0.15)]
    with pytest.raises(ShutdownTimeoutError) as caught:
        await use(lifecycle(services, 270))
    assert len(caught.value.services) == 1
    assert log == ["+a", "+b", "-b", "-b.", "-a"]


async def test_a_stop_that_needs_no_waiting_still_finishes_after_the_budget_is_spent():
    log: Log = []
    with pytest.raises(ShutdownTimeoutError) as caught:
        await use(lifecycle([Recorded("a", log), Recorded("b", log, stop_seconds=9)], 20))
    assert len(caught.value.services) == 1
    assert log[-1] == "-a."


async def test_a_stop_cut_by_the_budget_that_then_fails_is_reported_with_its_error():
    failure = OSError("cannot flush")
    with pytest.raises(ExceptionGroup) as caught:
        await use(lifecycle([Stubborn("a", [], stop_error=failure)], 20))
    error, late = caught.value.exceptions
    assert error is failure
    assert isinstance(late, ShutdownTimeoutError)


async def test_a_stop_that_ends_well_after_the_budget_has_stopped():
    log: Log = []
    await use(lifecycle([Stubborn("a", log)], 20))
    assert log == ["+a", "-a", "-a."]


async def test_a_timeout_error_of_a_services_own_is_no_overrun():
    failure = TimeoutError("the server did not answer")
    with pytest.raises(TimeoutError) as caught:
        await use(lifecycle([Recorded("a", [], stop_error=failure)]))
    assert caught.value is failure


async def test_a_stop_that_cancels_itself_is_a_failed_service():
    log: Log = []
    with pytest.raises(ServiceFailedError, match="CancelledError"):
        await use(lifecycle([Recorded("a", log), Recorded("b", log, stop_error=asyncio.CancelledError())]))
    assert log[-1] == "-a."


async def test_the_budget_holds_for_a_host_that_was_cancelled():
    log: Log = []
    task = asyncio.create_task(
        wait_inside(lifecycle([Recorded("a", log), Recorded("b", log, stop_seconds=9)], 20)),
    )
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError) as caught:
        await task
    assert isinstance(caught.value.__cause__, ShutdownTimeoutError)
    assert log[-1] == "-a."


async def wait_inside(subject: Lifecycle) -> None:
    async with subject:
        await subject.wait_for_shutdown()


async def test_a_cancellation_during_the_stop_stops_the_others_and_is_then_raised():
    log: Log = []
    failure = ValueError("bad stop")
    services = [Recorded("a", log, stop_error=failure), Recorded("b", log, stop_seconds=9)]
    task = asyncio.create_task(use(lifecycle(services)))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError) as caught:
        await task
    assert task.cancelled()
    assert log == ["+a", "+b", "-b", "-a"]
    assert caught.value.__cause__ is failure


async def test_a_cancellation_during_the_stop_carries_the_error_of_the_body():
    body = KeyError("body")
    task = asyncio.create_task(use(lifecycle([Recorded("a", [], stop_seconds=9)]), body))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError) as caught:
        await task
    assert caught.value.__cause__ is body


async def test_a_request_to_stop_ends_the_wait():
    subject = lifecycle([])
    task = asyncio.create_task(wait_inside(subject))
    await asyncio.sleep(0.01)
    assert not task.done()
    subject.request_stop()
    await task
    await subject.wait_for_shutdown()


async def test_waiting_for_the_shutdown_of_a_host_that_never_started_is_refused():
    with pytest.raises(HostNotStartedError, match="async with host"):
        await lifecycle([]).wait_for_shutdown()


async def test_leaving_the_block_ends_the_wait_of_other_tasks():
    subject = lifecycle([])
    async with subject:
        waiter = asyncio.create_task(subject.wait_for_shutdown())
        await asyncio.sleep(0)
    await waiter


async def test_a_dead_worker_ends_the_wait_and_leaves_as_service_failed():
    log: Log = []
    with pytest.raises(ServiceFailedError, match=r"printer failed.*out of paper") as caught:
        await wait_inside(lifecycle([Recorded("a", log), Dying(name="printer")]))
    assert isinstance(caught.value.__cause__, ValueError)
    assert log == ["+a", "-a", "-a."]


async def test_a_dead_worker_that_may_die_leaves_the_host_running():
    subject = lifecycle([Dying(name="printer", on_failure=WorkerFailure.KEEP_RUNNING)])
    async with subject:
        waiter = asyncio.create_task(subject.wait_for_shutdown())
        await asyncio.sleep(0.01)
        assert not waiter.done()
    await waiter


async def test_a_dead_worker_is_told_apart_from_one_that_is_late():
    log: Log = []
    with pytest.raises(ExceptionGroup) as caught:
        await wait_inside(lifecycle([Dying(name="printer"), Recorded("a", log, stop_seconds=9)], 20))
    dead, late = caught.value.exceptions
    assert isinstance(dead, ServiceFailedError)
    assert isinstance(late, ShutdownTimeoutError)
    assert late.services == ("Recorded",)


async def test_a_host_lives_only_once():
    subject = lifecycle([])
    async with subject:
        with pytest.raises(NotRestartableError):
            await use(subject)
        assert subject.state is LifecycleState.RUNNING
    with pytest.raises(HostError, match="host has been started already"):
        await use(subject)


@pytest.mark.parametrize("timeout", [timedelta(0), timedelta(seconds=-1)])
def test_a_budget_of_nothing_is_refused(timeout: timedelta):
    with pytest.raises(InvalidOptionsError, match="shutdown_timeout"):
        Lifecycle([], shutdown_timeout=timeout)


@given(
    fates=st.lists(st.tuples(st.booleans(), st.booleans()), max_size=6),
    body_fails=st.booleans(),
)
def test_whatever_fails_each_started_service_is_stopped_once_and_no_error_is_lost(
    fates: list[tuple[bool, bool]],
    body_fails: bool,
):
    log: Log = []
    starts = [OSError(f"start {n}") if fails else None for n, (fails, _) in enumerate(fates)]
    stops = [ValueError(f"stop {n}") if fails else None for n, (_, fails) in enumerate(fates)]
    services = [
        Recorded(str(n), log, start_error=start, stop_error=stop)
        for n, (start, stop) in enumerate(zip(starts, stops, strict=True))
    ]
    body = KeyError("body") if body_fails else None
    first_bad = next((n for n, start in enumerate(starts) if start is not None), None)
    started = len(fates) if first_bad is None else first_bad
    reached = body if first_bad is None else starts[first_bad]
    expected = [error for error in [reached, *reversed(stops[:started])] if error is not None]

    raised: list[BaseException] = []
    try:
        asyncio.run(use(lifecycle(services), body))
    except* (OSError, ValueError, KeyError) as group:
        raised.extend(group.exceptions)
    assert raised == expected
    stopped = [line for line in log if line.startswith("-") and not line.endswith(".")]
    assert stopped == [f"-{n}" for n in reversed(range(started))]
