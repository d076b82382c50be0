"""Pages of records: each record once, whatever is changed, added or removed between two pages."""

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given, settings, strategies as st

from agentcore import AgentHostBuilder, Host
from agentcore.stores.values import PagePlace
from agentcore.testing import ManualClock

_START = datetime(2025, 6, 14, 9, tzinfo=UTC)
_STEPS = st.lists(st.sampled_from(["add", "repeat", "change", "forget", "archive"]), max_size=6)


async def _disturb(host: Host, clock: ManualClock, step: str, number: int, given_already: set[str]) -> set[str]:
    """Do something to the records; return the ids of those that are gone."""
    clock.advance(timedelta(seconds=1))
    memory = host.memory
    if step == "add":
        await memory.remember(f"Something new, number {number}")
        return set()
    present = sorted(await memory.list(limit=1000), key=lambda entry: entry.id)
    if not present:
        return set()
    one = present[number % len(present)]
    if step == "repeat":
        await memory.remember(one.content)
    elif step == "change":
        await memory.update(one.id, content=f"{one.content} and more")
    elif step == "archive":
        await memory.archive(one.id, reason="no longer")
    else:
        return set((await memory.forget(one.id)).removed)
    return {one.id} if step == "archive" and one.id not in given_already else set()


@given(st.integers(0, 12), st.integers(1, 4), st.lists(_STEPS, max_size=4), st.booleans())
@settings(deadline=None)
async def test_pages_give_each_entry_once_while_entries_change(
    count: int, size: int, meanwhile: list[list[str]], is_same_instant: bool
):
    clock = ManualClock(_START)
    async with AgentHostBuilder(None, clock=clock).with_memory().build() as host:
        for number in range(count):
            await host.memory.remember(f"House {number} has a garden")
            clock.advance(timedelta(seconds=0 if is_same_instant else 1))
        expected = {entry.id for entry in await host.memory.list(limit=1000)}
        seen: list[str] = []
        after: PagePlace | None = None
        number = 0
        while page := await host.memory.page(limit=size, after=after):
            seen += [entry.id for entry in page]
            after = PagePlace(page[-1].recorded_at, page[-1].id)
            for step in meanwhile.pop() if meanwhile else ():
                number += 1
                expected -= await _disturb(host, clock, step, number, set(seen)) - set(seen)
        assert len(seen) == len(set(seen))
        assert set(seen) >= expected


async def test_turns_come_page_by_page_too(tmp_path: Any):
    clock = ManualClock(_START)
    async with AgentHostBuilder(tmp_path, clock=clock).with_conversation_log().build() as host:
        for number in range(5):
            await host.conversation.append(session_id=f"s{number % 2}", role="user", content=f"Turn {number}")
            clock.advance(timedelta(seconds=1))
        first = await host.conversation.page(limit=3)
        rest = await host.conversation.page(limit=3, after=PagePlace(first[-1].recorded_at, first[-1].id))
        assert [turn.content for turn in (*first, *rest)] == [f"Turn {number}" for number in (4, 3, 2, 1, 0)]
        assert [turn.content for turn in await host.conversation.page(session_id="s1")] == ["Turn 3", "Turn 1"]
