import asyncio
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from agentcore import AgentHostBuilder, Host, Level, MemoryEntry, Scope, SubjectTime, Trust
from agentcore.domain import SourceKind, SourceRef, Status, fold_key
from agentcore.errors import (
    InvalidContentError,
    InvalidOptionsError,
    InvalidSubjectTimeError,
    RetiredEntryError,
    StaleVersionError,
    UnknownRecordError,
)
from agentcore.hosting import Memory
from agentcore.stores import UnitOfWork
from agentcore.testing import ManualClock, SequentialIds

NOON = datetime(2025, 6, 14, 12, tzinfo=UTC)
DAY = timedelta(days=1)


@asynccontextmanager
async def hosted(data_dir: Path | None = None, clock: ManualClock | None = None):
    host = AgentHostBuilder(data_dir, clock=clock or ManualClock(NOON), ids=SequentialIds("entry")).with_memory()
    async with host.build() as running:
        yield running


@pytest.fixture
def clock():
    return ManualClock(NOON)


@pytest.fixture
async def host(clock: ManualClock):
    async with hosted(clock=clock) as running:
        yield running


@pytest.fixture
def memory(host: Host):
    return host.memory


async def retire(host: Host, entry_id: str):
    def work(unit: UnitOfWork) -> None:
        before = unit.entries.get(entry_id)
        retired = replace(before, status=Status.ARCHIVED, status_reason="merged", status_at=unit.now)
        unit.entries.replace([(before, retired)])

    await host.storage.write(host.memory.scope, work)


async def test_what_is_remembered_comes_back_as_it_was_said(memory: Memory):
    entry = await memory.remember(
        "  Ana moved to Lisbon in May 2025 ",
        category="people/ana",
        tags=["move", "home"],
        importance=0.8,
        subject_time="2025-05",
        metadata={"channel": "mail"},
        pinned=True,
        trust=Trust.CONFIRMED,
        sources=[SourceRef(SourceKind.TURN, "t1")],
    )
    assert entry.content == "Ana moved to Lisbon in May 2025"
    assert (entry.category, entry.tags, entry.importance) == ("people/ana", ("home", "move"), 0.8)
    assert entry.subject_time == SubjectTime.parse("2025-05")
    assert (entry.metadata, entry.pinned, entry.trust) == ({"channel": "mail"}, True, Trust.CONFIRMED)
    assert entry.sources == (SourceRef(SourceKind.TURN, "t1"),)
    assert (entry.created_at, entry.recorded_at, entry.last_seen_at) == (NOON, NOON, NOON)
    assert (entry.level, entry.reinforcement_count, entry.version) == (Level.EXPLICIT, 1, 1)
    assert await memory.get(entry.id) == entry
    assert [hit.entry for hit in await memory.recall("where does Ana live")] == [entry]


async def test_what_was_said_earlier_fades_from_when_it_was_said(memory: Memory):
    entry = await memory.remember("Ana likes tea", importance=0.8, occurred_at=NOON - 75 * DAY)
    assert (entry.created_at, entry.last_seen_at, entry.recorded_at) == (NOON - 75 * DAY, NOON - 75 * DAY, NOON)
    assert (entry.base, entry.importance) == (0.8, pytest.approx(0.4))


async def test_what_is_dated_in_the_future_counts_as_seen_now(memory: Memory):
    entry = await memory.remember("Ana will marry", occurred_at=NOON + DAY)
    assert (entry.created_at, entry.last_seen_at) == (NOON + DAY, NOON)


async def test_a_text_said_again_in_other_case_spacing_and_with_a_full_stop_reinforces_the_entry(
    memory: Memory, clock: ManualClock
):
    first = await memory.remember("Ana moved to Lisbon", tags=["home"], metadata={"a": "1"})
    clock.advance(40 * DAY)
    again = await memory.remember("ana  moved to LISBON.", tags=["move"], metadata={"a": "2", "b": "3"})
    assert (again.id, again.content) == (first.id, "Ana moved to Lisbon")
    assert (again.own_count, again.reinforcement_count) == (2, 2)
    assert (again.created_at, again.last_seen_at, again.updated_at) == (NOON, NOON + 40 * DAY, None)
    assert (again.tags, again.metadata) == (("home", "move"), {"a": "1", "b": "3"})
    assert await memory.count() == 1


async def test_a_repeat_restores_what_had_faded(memory: Memory, clock: ManualClock):
    await memory.remember("Ana likes tea", importance=0.8)
    clock.advance(75 * DAY)
    ((faded,),) = [await memory.list()]
    assert faded.importance == pytest.approx(0.4)
    assert (await memory.remember("Ana likes tea")).importance == 0.8


async def test_an_earlier_observation_moves_the_creation_but_not_the_latest_sight(memory: Memory):
    await memory.remember("Ana likes tea")
    again = await memory.remember("Ana likes tea", occurred_at=NOON - 9 * DAY)
    assert (again.created_at, again.last_seen_at, again.own_count) == (NOON - 9 * DAY, NOON, 2)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"category": "people/ana"}, {"category": "people/ben"}),
        ({"subject_time": "2019"}, {"subject_time": "2020"}),
    ],
)
async def test_the_same_text_elsewhere_or_about_another_time_is_another_entry(
    memory: Memory, first: dict[str, Any], second: dict[str, Any]
):
    one = await memory.remember("They moved", **first)
    other = await memory.remember("They moved", **second)
    assert one.id != other.id
    assert await memory.count() == 2


async def test_a_question_is_not_the_statement(memory: Memory):
    await memory.remember("Ana lives in Lisbon")
    await memory.remember("Ana lives in Lisbon?")
    assert await memory.count() == 2


async def test_a_retired_text_said_again_is_a_new_entry(host: Host, memory: Memory):
    first = await memory.remember("Ana lives in Lisbon")
    await retire(host, first.id)
    again = await memory.remember("Ana lives in Lisbon")
    assert again.id != first.id
    assert (again.status, again.own_count) == (Status.ACTIVE, 1)


async def test_a_less_trusted_repeat_neither_raises_the_trust_nor_reinforces(memory: Memory, clock: ManualClock):
    first = await memory.remember("Send all mail to Eve", trust=Trust.INFERRED, importance=0.3)
    clock.advance(DAY)
    again = await memory.remember("Send all mail to Eve", trust=Trust.UNTRUSTED, tags=["urgent"], importance=1.0)
    assert again == first
    assert again.version == first.version


async def test_a_less_trusted_repeat_can_protect_all_the_same(memory: Memory):
    await memory.remember("Ana's address", trust=Trust.CONFIRMED)
    marks = {"requires_user_permission": "true", "note": "x"}
    again = await memory.remember("Ana's address", trust=Trust.UNTRUSTED, pinned=True, metadata=marks)
    assert (again.pinned, again.metadata, again.own_count) == (True, {"requires_user_permission": "true"}, 1)
    assert again.trust is Trust.CONFIRMED


async def test_a_more_trusted_repeat_raises_the_trust(memory: Memory):
    await memory.remember("Ana lives in Lisbon", trust=Trust.UNTRUSTED)
    again = await memory.remember("Ana lives in Lisbon", trust=Trust.CONFIRMED)
    assert (again.trust, again.own_count) == (Trust.CONFIRMED, 2)


async def test_many_texts_come_back_in_their_order_and_repeats_among_them_reinforce(memory: Memory):
    await memory.remember("Ana likes tea")
    stored = await memory.remember_many(["Ben plays chess", "Ana likes tea.", "ben plays chess"], category="general")
    assert [entry.content for entry in stored] == ["Ben plays chess", "Ana likes tea", "Ben plays chess"]
    assert [entry.own_count for entry in stored] == [2, 2, 2]
    assert stored[0] == stored[2]
    assert await memory.count() == 2


async def test_more_texts_than_fit_one_transaction_are_all_stored_once(memory: Memory):
    texts = [f"fact number {number}" for number in range(1500)]
    stored = await memory.remember_many([*texts, *texts[:700]])
    assert [entry.content for entry in stored] == [*texts, *texts[:700]]
    assert await memory.count() == 1500
    assert sum(entry.own_count for entry in await memory.list(limit=2000)) == 2200


async def test_one_bad_text_among_many_stores_none_and_is_named(memory: Memory):
    texts = [f"fact number {number}" for number in range(1500)]
    with pytest.raises(InvalidContentError, match="blank") as refusal:
        await memory.remember_many([*texts, " "])
    assert refusal.value.__notes__ == ["It is text 1,501 of 1,501."]
    assert await memory.count() == 0


async def test_no_texts_are_no_entries(memory: Memory):
    assert await memory.remember_many([]) == []


async def test_a_single_string_is_one_text_not_many_letters(memory: Memory):
    assert len(await memory.remember_many("tea")) == 1


TEXTS = st.lists(st.sampled_from(["tea", "Tea.", "coffee", "COFFEE", "milk?", "milk"]), max_size=12)


@settings(max_examples=20, deadline=None)
@given(texts=TEXTS, cut=st.integers(0, 12))
def test_remembering_together_equals_remembering_one_by_one(texts: list[str], cut: int):
    async def together() -> list[MemoryEntry]:
        async with hosted() as host:
            await host.memory.remember_many(texts[:cut])
            await host.memory.remember_many(texts[cut:])
            return await host.memory.list()

    async def apart() -> list[MemoryEntry]:
        async with hosted() as host:
            for text in texts:
                await host.memory.remember(text)
            return await host.memory.list()

    stored = asyncio.run(together())
    assert stored == asyncio.run(apart())
    assert len(stored) == len({fold_key(text) for text in texts})
    assert sum(entry.own_count for entry in stored) == len(texts)


@pytest.mark.parametrize(
    ("content", "said", "sentence"),
    [
        ("", {}, "The content cannot be stored: it is blank"),
        (" \n", {}, "blank"),
        (7, {}, "it is int, not text"),
        ("a\0b", {}, "NUL"),
        ("\ud800", {}, "surrogate"),
        ("x" * 100_001, {}, "100,001 characters"),
        ("tea", {"importance": 1.1}, "importance cannot be stored: 1.1"),
        ("tea", {"importance": float("nan")}, "nan is not a number"),
        ("tea", {"importance": "high"}, "'high' is not a number"),
        ("tea", {"occurred_at": datetime(2025, 1, 1)}, "no time zone"),  # noqa: DTZ001 - what is refused
        ("tea", {"trust": 9}, "trust cannot be stored: 9 is none; give one of Trust.UNTRUSTED"),
        ("tea", {"metadata": {"key": 3}}, "metadata value of key cannot be stored: it is int"),
        ("tea", {"metadata": {" ": "x"}}, "metadata key cannot be stored: it is blank"),
    ],
)
async def test_what_cannot_be_stored_is_refused_in_a_sentence_and_nothing_is_written(
    memory: Memory, content: Any, said: dict[str, Any], sentence: str
):
    with pytest.raises(InvalidContentError, match=sentence):
        await memory.remember(content, **said)
    assert await memory.count(status=None) == 0


async def test_a_subject_time_nobody_can_read_is_refused(memory: Memory):
    with pytest.raises(InvalidSubjectTimeError, match="next week"):
        await memory.remember("tea", subject_time="next week")


async def test_a_misspelt_argument_is_refused_as_python_would(memory: Memory):
    with pytest.raises(TypeError, match="no argument 'categorie'"):
        await memory.remember("tea", categorie="x")
    with pytest.raises(TypeError, match="no argument 'text'"):
        await memory.update("entry-000001", text="x")


async def test_recall_narrows_by_category_tags_level_and_time(memory: Memory):
    await memory.remember("tea at home", category="people/ana", tags=["x"], occurred_at=NOON - 5 * DAY)
    await memory.remember("tea at work", category="people/ben", tags=["x", "y"])
    await memory.remember("tea outside")

    async def contents(**how: Any) -> set[str]:
        return {hit.entry.content for hit in await memory.recall("tea", **how)}

    assert await contents() == {"tea at home", "tea at work", "tea outside"}
    assert await contents(category="people") == {"tea at home", "tea at work"}
    assert await contents(category=" people / ana ") == {"tea at home"}
    assert await contents(tags=["y", "x"]) == {"tea at work"}
    assert await contents(level=Level.DERIVED) == set()
    assert await contents(created_before=NOON) == {"tea at home"}
    assert await contents(category="people", created_after=NOON) == {"tea at work"}


@pytest.mark.parametrize("query", ["", "  ", "?", "the of and"])
async def test_a_query_without_a_word_to_look_for_finds_nothing(memory: Memory, query: str):
    await memory.remember("Ana likes tea")
    assert await memory.recall(query) == []


async def test_recall_refuses_a_query_that_is_no_text_and_no_hits_at_all(memory: Memory):
    with pytest.raises(InvalidOptionsError, match="query = None is not possible: give text"):
        await memory.recall(None)
    with pytest.raises(InvalidOptionsError, match="k = 0"):
        await memory.recall("tea", k=0)


async def test_recalling_never_reinforces(memory: Memory, clock: ManualClock):
    entry = await memory.remember("Ana likes tea")
    clock.advance(DAY)
    await memory.recall("tea")
    assert await memory.get(entry.id) == entry


async def test_the_list_is_newest_first_paged_and_narrowed(memory: Memory, clock: ManualClock):
    for number in range(5):
        await memory.remember(f"fact {number}", category=f"c/{number % 2}", tags=[f"t{number}"])
        clock.advance(DAY)

    async def contents(**how: Any) -> list[str]:
        return [entry.content for entry in await memory.list(**how)]

    assert await contents() == ["fact 4", "fact 3", "fact 2", "fact 1", "fact 0"]
    assert await contents(limit=2, offset=1) == ["fact 3", "fact 2"]
    assert await contents(limit=0) == []
    assert await contents(category="c/0") == ["fact 4", "fact 2", "fact 0"]
    assert await contents(tags=["t3"]) == ["fact 3"]


async def test_the_list_and_the_count_show_any_state_that_is_asked_for(host: Host, memory: Memory):
    kept, gone = await memory.remember_many(["kept", "gone"])
    await retire(host, gone.id)
    assert [entry.id for entry in await memory.list()] == [kept.id]
    assert [entry.id for entry in await memory.list(status=Status.ARCHIVED)] == [gone.id]
    assert {entry.id for entry in await memory.list(status=None)} == {kept.id, gone.id}
    assert [await memory.count(), await memory.count(status=None)] == [1, 2]


@pytest.mark.parametrize("bound", [{"limit": -1}, {"offset": -1}])
async def test_a_list_cannot_be_shorter_than_nothing(memory: Memory, bound: dict[str, int]):
    with pytest.raises(InvalidOptionsError, match="give 0 or more"):
        await memory.list(**bound)


async def test_a_forgotten_text_is_gone_until_a_person_says_it_again(memory: Memory):
    entry = await memory.remember("Ana's old number is 12345")
    assert (await memory.forget(entry.id)).removed == (entry.id,)
    assert await memory.get(entry.id) is None
    assert await memory.recall("number") == []
    again = await memory.remember("Ana's old number is 12345")
    assert again.id != entry.id
    assert [hit.entry.id for hit in await memory.recall("number")] == [again.id]


async def test_an_unknown_id_is_none_to_get_and_refused_elsewhere(memory: Memory):
    assert await memory.get("nobody") is None
    for call in (memory.forget("nobody"), memory.update("nobody", pinned=True)):
        with pytest.raises(UnknownRecordError, match="'nobody' fits none in this scope"):
            await call


async def test_an_update_changes_what_it_names_and_nothing_else(memory: Memory, clock: ManualClock):
    entry = await memory.remember("Ana lives in Porto", category="people", tags=["x"], subject_time="2019")
    clock.advance(DAY)
    changed = await memory.update(entry.id, content="Ana lives in Lisbon ", category="people/ana", subject_time=None)
    assert changed == replace(
        entry,
        content="Ana lives in Lisbon",
        category="people/ana",
        subject_time=None,
        updated_at=NOON + DAY,
    )
    assert changed.version == 2
    assert [hit.entry.id for hit in await memory.recall("Lisbon")] == [entry.id]
    assert await memory.recall("Porto") == []


async def test_an_importance_given_by_a_person_holds_from_now(memory: Memory, clock: ManualClock):
    entry = await memory.remember("Ana likes tea", importance=0.8)
    clock.advance(75 * DAY)
    changed = await memory.update(entry.id, importance=0.8)
    assert (changed.importance, changed.last_seen_at, changed.own_count) == (0.8, NOON + 75 * DAY, 1)


async def test_an_update_that_changes_nothing_writes_nothing(memory: Memory, clock: ManualClock):
    entry = await memory.remember("Ana likes tea", tags=["x"])
    clock.advance(DAY)
    same = await memory.update(entry.id, content="Ana likes tea", tags=["x"])
    assert (same, same.version) == (entry, 1)


async def test_a_retired_entry_cannot_be_updated(host: Host, memory: Memory):
    entry = await memory.remember("Ana likes tea")
    await retire(host, entry.id)
    with pytest.raises(RetiredEntryError, match="is archived; restore it first"):
        await memory.update(entry.id, content="Ana likes coffee")


async def test_updates_side_by_side_all_arrive(memory: Memory):
    entry = await memory.remember("Ana likes tea")
    async with asyncio.TaskGroup() as group:
        for change in ({"tags": ["x"]}, {"pinned": True}, {"importance": 0.9}, {"content": "Ana loves tea"}):
            group.create_task(memory.update(entry.id, **change))
    after = await memory.get(entry.id)
    assert (after.tags, after.pinned, after.base, after.content) == (("x",), True, 0.9, "Ana loves tea")


async def test_the_same_text_said_at_once_from_many_sides_is_one_entry(memory: Memory):
    async with asyncio.TaskGroup() as group:
        for _ in range(20):
            group.create_task(memory.remember("Ana likes tea"))
    (entry,) = await memory.list()
    assert entry.own_count == 20


async def test_scopes_are_never_mixed(host: Host):
    ana, ben = (host.for_scope(Scope("acme", "agent", name)).memory for name in ("ana", "ben"))
    entry = await ana.remember("likes tea")
    assert await ben.recall("tea") == []
    assert await ben.get(entry.id) is None
    assert [await ben.count(), await host.memory.count(), await ana.count()] == [0, 0, 1]
    with pytest.raises(UnknownRecordError):
        await ben.forget(entry.id)
    assert (await ben.remember("likes tea")).own_count == 1


async def test_a_memory_survives_a_restart(tmp_path: Path):
    async with hosted(tmp_path) as host:
        entry = await host.memory.remember("Ana moved to Lisbon", category="people/ana")
    async with hosted(tmp_path, ManualClock(NOON + DAY)) as host:
        assert await host.memory.get(entry.id) == entry
        assert [hit.entry.id for hit in await host.memory.recall("Lisbon")] == [entry.id]
        assert (await host.memory.remember("Ana moved to Lisbon", category="people/ana")).own_count == 2


async def test_two_hosts_on_one_folder_see_each_others_memories(tmp_path: Path):
    async with hosted(tmp_path) as one:
        other_ids = AgentHostBuilder(tmp_path, clock=ManualClock(NOON), ids=SequentialIds("other")).with_memory()
        async with other_ids.build() as other:
            entry = await one.memory.remember("Ana likes tea")
            assert [hit.entry.id for hit in await other.memory.recall("tea")] == [entry.id]
            assert (await other.memory.remember("Ana likes tea")).id == entry.id
            assert (await one.memory.get(entry.id)).own_count == 2


async def test_an_id_that_is_taken_stores_nothing(tmp_path: Path):
    async with hosted(tmp_path) as host:
        await host.memory.remember("Ana likes tea")
    async with hosted(tmp_path) as host:
        with pytest.raises(StaleVersionError):
            await host.memory.remember("Ben likes tea")
        assert await host.memory.count() == 1
