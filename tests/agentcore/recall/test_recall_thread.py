import asyncio
from threading import Event

import numpy as np
import pytest

from agentcore.domain import Scope
from agentcore.errors import HostNotStartedError
from agentcore.recall import Bm25Index, IndexBudget, RecallThread


async def test_work_at_leisure_lets_others_in_between_and_is_begun_once():
    thread = RecallThread()
    thread.start()
    done: list[str] = []

    def tidy() -> bool:
        done.append("tidy")
        Event().wait(0.0001)
        return done.count("tidy") < 500

    thread.at_leisure(tidy)
    thread.at_leisure(tidy)
    await thread.run(done.append, "query")
    while len(done) < 501:
        await thread.run(lambda: None)
    await thread.stop()
    assert 0 < done.index("query") < 500
    assert len(done) == 501


async def test_work_at_leisure_ends_with_the_thread():
    thread = RecallThread()
    thread.start()
    calls: list[int] = []

    def endless() -> bool:
        calls.append(1)
        return True

    thread.at_leisure(endless)
    await thread.stop()
    thread.at_leisure(endless)
    count = len(calls)
    with pytest.raises(HostNotStartedError):
        await thread.run(lambda: None)
    assert len(calls) == count


async def test_work_at_leisure_that_fails_is_told_and_can_be_begun_again(caplog: pytest.LogCaptureFixture):
    thread = RecallThread()
    thread.start()
    tried: list[int] = []

    def fail() -> bool:
        tried.append(1)
        raise ZeroDivisionError

    for _ in range(2):
        thread.at_leisure(fail)
        await thread.run(lambda: None)
    await thread.stop()
    assert [record.message for record in caplog.records] == ["recall_tidying_failed"] * 2
    assert len(tried) == 2


async def test_a_call_cancelled_before_its_turn_never_runs_and_one_under_way_is_waited_for():
    thread = RecallThread()
    thread.start()
    begun, go_on = Event(), Event()
    done: list[str] = []

    def hold() -> None:
        begun.set()
        go_on.wait(5)
        done.append("held")

    async with asyncio.TaskGroup() as group:
        under_way = group.create_task(thread.run(hold))
        waiting = group.create_task(thread.run(done.append, "never"))
        await asyncio.to_thread(begun.wait, 5)
        waiting.cancel()
        await asyncio.wait([waiting])
        for _ in range(3):
            under_way.cancel()
            await asyncio.sleep(0)
        assert not under_way.done()
        go_on.set()
        await asyncio.wait([under_way])
        assert (done, under_way.cancelled(), waiting.cancelled()) == (["held"], True, True)
    with pytest.raises(ZeroDivisionError):
        await thread.run(lambda: 1 // 0)
    assert await thread.run(lambda: "answer") == "answer"
    await thread.stop()


async def test_a_compaction_at_leisure_changes_no_answer_while_documents_come_and_go():
    rng = np.random.default_rng(3)
    index, untouched = Bm25Index(), Bm25Index()
    documents = [[f"t{term}" for term in rng.zipf(1.3, 8) if term < 500] for _ in range(12_000)]
    for one in (index, untouched):
        one.update_many(range(len(documents)), documents)
        for key in range(0, len(documents), 2):
            one.remove(key)
    assert index.needs_compaction
    steps, key, has_more = 0, len(documents), True
    while has_more:
        has_more = index.tidy()
        steps += 1
        for one in (index, untouched):
            one.add(key, documents[steps % 100])
            one.remove(steps * 3)
            one.update(steps * 5 + 1, ["t1", "t2", "t3"])
        key += 1
        asked = [f"t{term}" for term in rng.integers(1, 60, 3)]
        answers = [one.top(asked, 20) for one in (index, untouched)]
        assert answers[0][0].tolist() == answers[1][0].tolist()
        assert answers[0][1].tolist() == answers[1][1].tolist()
    assert steps >= 3
    assert index.postings.slot_count < 6_100 + steps
    assert not index.needs_compaction
    assert index.nbytes < untouched.nbytes * 0.7


async def test_the_index_unused_for_longest_is_closed_first_and_the_last_used_stays():
    closed: list[str] = []

    async def close(scope: Scope) -> None:
        closed.append(scope.observed)
        await asyncio.sleep(0)

    ana, ben, lin = (Scope("acme", "agent", name) for name in ("ana", "ben", "lin"))
    budget = IndexBudget(1_000_000)
    await budget.use(close, ana, 400_000)
    await budget.use(close, ben, 400_000)
    await budget.use(close, ana, 410_000)
    assert closed == []
    await budget.use(close, lin, 400_000)
    assert closed == ["ben"]
    await budget.use(close, lin, 5_000_000)
    assert closed == ["ben", "ana"]
    await budget.use(close, lin, 5_000_000)
    assert closed == ["ben", "ana"]
