import asyncio
import logging
from collections.abc import Awaitable, Callable

import pytest

from agentcore.errors import HostError
from agentcore.hosting import BackgroundService, NotRestartableError, ServiceFailedError, WorkerFailure


class Worker(BackgroundService):
    def __init__(
        self,
        work: Callable[[], Awaitable[None]],
        on_failure: WorkerFailure = WorkerFailure.STOP_HOST,
    ) -> None:
        super().__init__(name="worker", on_failure=on_failure)
        self._work = work

    async def run(self) -> None:
        await self._work()


async def forever() -> None:
    await asyncio.Event().wait()


async def at_once() -> None:
    return


async def broken() -> None:
    raise ValueError("disk is on fire.")


async def cancels_itself() -> None:
    raise asyncio.CancelledError


async def fails_on_cleanup() -> None:
    try:
        await forever()
    finally:
        raise OSError("cannot flush")


async def settle() -> None:
    for _ in range(3):
        await asyncio.sleep(0)


async def test_the_work_runs_in_a_task_that_carries_the_services_name():
    names: list[str] = []

    async def note_name() -> None:
        task = asyncio.current_task()
        assert task is not None
        names.append(task.get_name())

    worker = Worker(note_name)
    await worker.start()
    await settle()
    await worker.stop()
    assert names == ["worker"]


async def test_stop_returns_only_after_the_work_has_cleaned_up():
    steps: list[str] = []

    async def work() -> None:
        try:
            await forever()
        finally:
            await asyncio.sleep(0.01)
            steps.append("cleaned up")

    worker = Worker(work)
    await worker.start()
    await settle()
    await worker.stop()
    assert steps == ["cleaned up"]
    assert worker.failure is None


async def test_stop_before_start_and_a_second_stop_do_nothing():
    worker = Worker(forever)
    await worker.stop()
    await worker.start()
    await worker.stop()
    await worker.stop()
    assert worker.failure is None


async def test_stop_right_after_start_ends_the_work_before_it_begins():
    worker = Worker(broken)
    await worker.start()
    await worker.stop()
    assert worker.failure is None


async def test_a_service_cannot_be_started_twice_even_after_it_was_stopped():
    worker = Worker(forever)
    await worker.start()
    with pytest.raises(NotRestartableError, match="service worker has been started already"):
        await worker.start()
    await worker.stop()
    with pytest.raises(HostError, match="build a new one"):
        await worker.start()


async def test_work_that_returns_is_finished_and_asks_nobody_to_stop():
    calls: list[str] = []
    worker = Worker(at_once)
    worker.when_host_must_stop(lambda: calls.append("stop"))
    await worker.start()
    await settle()
    await worker.stop()
    assert calls == []
    assert worker.failure is None


async def test_a_dead_worker_keeps_its_error_asks_the_host_to_stop_and_raises_on_stop():
    calls: list[str] = []
    worker = Worker(broken)
    worker.when_host_must_stop(lambda: calls.append("stop"))
    await worker.start()
    await settle()
    assert calls == ["stop"]
    assert isinstance(worker.failure, ValueError)
    with pytest.raises(ServiceFailedError) as caught:
        await worker.stop()
    assert caught.value.__cause__ is worker.failure
    assert caught.value.service == "worker"
    assert str(caught.value) == (
        "The service worker failed (ValueError: disk is on fire): remove the cause and start a new host."
    )


async def test_stop_raises_an_error_that_nobody_has_been_told_of_yet():
    release = asyncio.Event()

    async def work() -> None:
        await release.wait()
        raise ValueError

    worker = Worker(work)
    await worker.start()
    await settle()
    release.set()
    await asyncio.sleep(0)  # the task has ended; its callbacks have not run yet
    with pytest.raises(ServiceFailedError, match=r"failed \(ValueError\)"):
        await worker.stop()


async def test_a_worker_cancelled_by_a_stranger_is_dead():
    calls: list[str] = []
    worker = Worker(cancels_itself)
    worker.when_host_must_stop(lambda: calls.append("stop"))
    await worker.start()
    await settle()
    assert calls == ["stop"]
    with pytest.raises(ServiceFailedError, match="CancelledError"):
        await worker.stop()


async def test_a_worker_told_to_keep_the_host_running_dies_alone_but_keeps_its_error():
    calls: list[str] = []
    worker = Worker(broken, WorkerFailure.KEEP_RUNNING)
    worker.when_host_must_stop(lambda: calls.append("stop"))
    await worker.start()
    await settle()
    await worker.stop()
    assert calls == []
    assert isinstance(worker.failure, ValueError)


@pytest.mark.parametrize("policy", list(WorkerFailure))
async def test_an_error_while_stopping_is_raised_whatever_the_policy(policy: WorkerFailure):
    calls: list[str] = []
    worker = Worker(fails_on_cleanup, policy)
    worker.when_host_must_stop(lambda: calls.append("stop"))
    await worker.start()
    await settle()
    with pytest.raises(ServiceFailedError, match="cannot flush"):
        await worker.stop()
    assert calls == []


async def test_cutting_stop_short_leaves_the_cleanup_of_the_work_running():
    steps: list[str] = []
    disk_answers = asyncio.Event()

    async def work() -> None:
        try:
            await forever()
        finally:
            await disk_answers.wait()
            steps.append("cleaned up")

    worker = Worker(work)
    await worker.start()
    await settle()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.005):
            await worker.stop()
    assert steps == []
    asyncio.get_running_loop().call_soon(disk_answers.set)
    await worker.stop()
    assert steps == ["cleaned up"]


async def test_a_worker_may_stop_itself():
    async def work() -> None:
        await worker.stop()

    worker = Worker(work)
    await worker.start()
    await settle()
    await worker.stop()
    assert worker.failure is None


async def test_the_log_names_the_service_and_the_kind_of_error_but_not_its_text(
    caplog: pytest.LogCaptureFixture,
):
    worker = Worker(broken, WorkerFailure.KEEP_RUNNING)
    with caplog.at_level(logging.ERROR, logger="agentcore"):
        await worker.start()
        await settle()
    (record,) = caplog.records
    assert record.getMessage().startswith("service_failed service=")
    assert (vars(record)["service"], vars(record)["error"]) == ("worker", "ValueError")
    assert "fire" not in caplog.text
