"""Stored prompts: compressed, what they have in common once, and the same when they are read."""

from typing import Any

from hypothesis import given, strategies as st
from sqlalchemy import func, select

from agentcore.stores.sql import SqlStorage
from agentcore.stores.sql.schema import prompt_texts
from agentcore.stores.sql.stored_prompts import BETWEEN, StoredPrompts
from agentcore.testing import ManualClock
from agentcore.testing.contracts import START
from agentcore.testing.contracts.samples import OTHER_SCOPE, SCOPE

LONG = "Find what people tell of themselves. " * 30
TEXTS = st.text(max_size=60) | st.just(BETWEEN) | st.just(LONG) | st.just("-" * 700)
MESSAGES = st.lists(
    st.tuples(st.sampled_from(["system", "user", "assistant"]), st.lists(TEXTS, max_size=6).map("".join)), max_size=4
)


@given(messages=MESSAGES)
async def test_what_is_stored_is_read_as_it_was(messages: list[tuple[str, str]]):
    storage = SqlStorage(None, clock=ManualClock(START))
    await storage.start()
    told = await storage.write(SCOPE, lambda unit: _both_ways(unit, messages))
    await storage.stop()
    assert told == messages


async def test_a_directive_of_many_prompts_is_stored_once_for_each_scope(storage: SqlStorage):
    def ask(unit: Any) -> int:
        prompts = StoredPrompts(unit.transaction)
        packed = [prompts.pack([("system", f"{LONG}{BETWEEN}rule {place}"), ("user", "Hello")]) for place in range(9)]
        return max(map(len, packed))

    for scope in (SCOPE, OTHER_SCOPE):
        assert await storage.write(scope, ask) < 200
    count = await storage.read(SCOPE, lambda view: _scalar(view, select(func.count()).select_from(prompt_texts)))
    assert count == 2


async def test_a_prompt_whose_directive_was_forgotten_is_read_without_it(storage: SqlStorage):
    def ask(unit: Any) -> Any:
        prompts = StoredPrompts(unit.transaction)
        packed = prompts.pack([("system", f"{LONG}{BETWEEN}rule")])
        prompts.forget([LONG[:40]])
        return prompts.unpack(packed)

    assert await storage.write(SCOPE, ask) == [("system", f"{BETWEEN}rule")]


def _both_ways(unit: Any, messages: list[tuple[str, str]]) -> list[tuple[str, str]]:
    return StoredPrompts(unit.transaction).unpack(StoredPrompts(unit.transaction).pack(messages))


def _scalar(view: Any, statement: Any) -> Any:
    return view.transaction.connection.execute(statement).scalar_one()
