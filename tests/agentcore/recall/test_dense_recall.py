"""Recall of entries by words and vectors together."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, event

from agentcore import AgentHostBuilder
from agentcore.domain import MemoryEntry, RecallFilter, Scope, SubjectTime, superseded
from agentcore.errors import InvalidOptionsError
from agentcore.hosting import EmbeddingOptions
from agentcore.llm import EmbedderOptions, EmbeddingError, OpenAIEmbedder, TryFailure, embedder_from_environment
from agentcore.recall import DenseOptions, Recall
from agentcore.stores.sql import SqlStorage
from agentcore.testing import ChatServer, ManualClock, hashed_words

NOON = datetime(2025, 6, 14, 12, tzinfo=UTC)
ANA, BEN = Scope("acme", "agent", "ana"), Scope("acme", "agent", "ben")
MEANINGS = {"automobile": "car", "vehicle": "car"}
CAR, TEA, PARK = "Ana drives an automobile", "Ben likes green tea", "The car park closes at nine"


class WordEmbedder:
    """Embeds at once, unless it is told to hang, to fail, or to answer with something else."""

    def __init__(self, model: str = "words", *, length: int = 64) -> None:
        self.model = model
        self.length = length
        self.asked: list[list[str]] = []
        self.hangs_on = 99
        self.failure: TryFailure | None = None
        self.refuses = ""
        self.answer: list[list[float]] | None = None

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        self.asked.append(list(texts))
        if len(texts) >= self.hangs_on:
            await asyncio.Event().wait()
        failure = TryFailure.REQUEST_REFUSED if self.refuses and self.refuses in texts else self.failure
        if failure is not None:
            raise EmbeddingError(model=self.model, base_url="http://here/v1", failure=failure)
        made = [hashed_words(text, length=self.length, meanings=MEANINGS) for text in texts]
        return made if self.answer is None else self.answer

    @property
    def texts(self) -> list[str]:
        return [text for texts in self.asked for text in texts]


@asynccontextmanager
async def opened(
    embedder: WordEmbedder, path: Path | None = None, **dense: Any
) -> AsyncGenerator[tuple[SqlStorage, Recall]]:
    async with AsyncExitStack() as stack:
        storage = SqlStorage(path, clock=ManualClock(NOON))
        await storage.start()
        stack.push_async_callback(storage.stop)
        recall = Recall(storage, embedder=embedder, dense=DenseOptions(**dense))
        await recall.start()
        stack.push_async_callback(recall.stop)
        yield storage, recall


async def add(storage: SqlStorage, *contents: str, scope: Scope = ANA, **fields: Any) -> None:
    made = [
        MemoryEntry(
            id=f"{scope.observed}-{content}", scope=scope, content=content, created_at=NOON, recorded_at=NOON,
            last_seen_at=NOON, **fields,
        )
        for content in contents
    ]  # fmt: skip
    await storage.write(scope, lambda unit: unit.entries.add(made))


async def found(recall: Recall, query: str, scope: Scope = ANA, **asked: Any) -> list[str]:
    return [hit.entry.content for hit in await recall.search(scope, query, **asked)]


async def fill(recall: Recall, *scopes: Scope) -> None:
    """Have every vector made that queries of these scopes lack."""
    assert recall.dense is not None
    for scope in scopes or (ANA,):
        await recall.search(scope, "anything")
        while recall.dense.lacks_vectors:
            await recall.dense.fill()


async def count(storage: SqlStorage, scope: Scope = ANA) -> int:
    return await storage.read(scope, lambda view: view.vectors.count())


async def test_an_entry_that_shares_no_word_is_found_by_meaning_and_its_score_explained():
    async with opened(WordEmbedder()) as (storage, recall):
        await add(storage, CAR, TEA, PARK)
        assert await found(recall, "whose vehicle") == []
        await fill(recall)
        assert (await found(recall, "whose vehicle", k=2))[0] == CAR
        for hit, why in await recall.explain(ANA, "car park", k=5):
            assert why.dense is not None
            assert why.score == pytest.approx(hit.score)
            assert why.relevance == pytest.approx(why.bm25 * why.dense.scale + why.dense.share)
        (first, why), *_ = await recall.explain(ANA, "the car park closes at nine")
        assert first.entry.content == PARK
        assert why.dense is not None
        assert (why.dense.similarity, why.dense.share) == (pytest.approx(1.0), pytest.approx(0.3))
        assert why.relevance == pytest.approx(1.0)


async def test_a_query_waits_for_no_vectors_of_entries():
    embedder = WordEmbedder()
    embedder.hangs_on = 2
    async with opened(embedder) as (storage, recall):
        await add(storage, CAR, TEA)
        assert recall.dense is not None
        async with asyncio.timeout(5), asyncio.TaskGroup() as group:
            assert await found(recall, "green tea") == [TEA]
            filling = group.create_task(recall.dense.fill())
            while len(embedder.asked) < 2:
                await asyncio.sleep(0)
            assert await found(recall, "green tea") == [TEA]
            filling.cancel()
        assert await count(storage) == 0


async def test_a_slow_model_costs_a_query_its_timeout_once_and_then_rests(caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.INFO, logger="agentcore.recall.dense")
    embedder = WordEmbedder()
    async with opened(embedder, query_timeout=timedelta(milliseconds=30), retry_after=timedelta(hours=1)) as (
        storage,
        recall,
    ):
        await add(storage, CAR, TEA)
        await fill(recall)
        embedder.hangs_on = 1
        asked = len(embedder.asked)
        assert [await found(recall, "green tea"), await found(recall, "automobile")] == [[TEA], [CAR]]
        assert len(embedder.asked) == asked + 1
    assert [vars(record)["reason"] for record in caplog.records] == ["timed_out", "resting"]


async def test_answers_that_are_no_vectors_leave_words_alone(caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.INFO, logger="agentcore.recall.dense")
    embedder = WordEmbedder()
    async with opened(embedder, retry_after=timedelta(0)) as (storage, recall):
        await add(storage, TEA)
        for answer in ([], [[]], [[float("nan")]], [[1.0], [2.0]]):
            embedder.answer = answer
            assert await found(recall, "green tea") == [TEA]
        embedder.failure = TryFailure.KEY_REFUSED
        assert await found(recall, "green tea") == [TEA]
    assert [vars(record)["reason"] for record in caplog.records] == [*["ValueError"] * 4, "key_refused"]


async def test_vectors_are_made_once_and_outlive_a_restart(tmp_path: Path):
    embedder = WordEmbedder()
    async with opened(embedder, tmp_path / "a.db", batch=2) as (storage, recall):
        await add(storage, CAR, TEA, PARK)
        await fill(recall)
        assert sorted(map(len, embedder.asked)) == [1, 1, 2]
    again = WordEmbedder()
    async with opened(again, tmp_path / "a.db") as (storage, recall):
        await fill(recall)
        assert (await found(recall, "whose vehicle"))[0] == CAR
        assert set(again.texts) == {"anything", "whose vehicle"}
        await add(storage, "Cho rides a horse")
        await fill(recall)
        assert again.texts.count("Cho rides a horse") == 1
    other = WordEmbedder("other", length=8)
    async with opened(other, tmp_path / "a.db") as (storage, recall):
        await fill(recall)
        assert {CAR, TEA, PARK} < set(other.texts)
        assert await count(storage) == 8


async def test_a_model_whose_vectors_change_their_length_is_asked_anew():
    embedder = WordEmbedder()
    async with opened(embedder) as (storage, recall):
        await add(storage, CAR, TEA)
        await fill(recall)
        embedder.length = 16
        await fill(recall)
        assert (await found(recall, "whose vehicle"))[0] == CAR
        assert await count(storage) == 2


async def test_what_is_forgotten_leaves_no_vector():
    async with opened(WordEmbedder()) as (storage, recall):
        await add(storage, CAR, TEA)
        await fill(recall)
        await storage.write(ANA, lambda unit: unit.forget(f"ana-{CAR}"))
        assert await count(storage) == 1
        assert CAR not in await found(recall, "whose vehicle")


async def test_a_text_forgotten_while_its_vector_is_made_leaves_none():
    embedder = WordEmbedder()
    async with opened(embedder) as (storage, recall):
        await add(storage, CAR, TEA)
        await recall.search(ANA, "anything")
        made = embedder.embed

        async def forget_meanwhile(texts: Sequence[str]) -> list[list[float]]:
            await storage.write(ANA, lambda unit: unit.forget(f"ana-{CAR}"))
            return await made(texts)

        embedder.embed = forget_meanwhile
        assert recall.dense is not None
        await recall.dense.fill()
        assert await count(storage) == 1


async def test_scopes_and_filters_hold_for_vectors_too():
    async with opened(WordEmbedder()) as (storage, recall):
        await add(storage, CAR, TEA, category="things")
        await add(storage, PARK, scope=ANA, category="places")
        await add(storage, CAR, scope=BEN)
        await fill(recall, ANA, BEN)
        assert await found(recall, "whose vehicle", BEN) == []
        assert CAR not in await found(recall, "whose vehicle", where=RecallFilter(category="places"))
        assert [await count(storage, ANA), await count(storage, BEN)] == [3, 1]
        await storage.write(ANA, lambda unit: unit.entries.delete([f"ana-{CAR}"]))
        assert await count(storage, BEN) == 1


async def test_what_held_once_answers_by_its_words_beside_vectors():
    async with opened(WordEmbedder()) as (storage, recall):
        await add(storage, CAR, TEA, scope=ANA)
        await fill(recall, ANA)
        car, tea = await storage.read(ANA, lambda view: view.entries.get_many([f"ana-{CAR}", f"ana-{TEA}"]))
        later = replace(tea, created_at=NOON + timedelta(days=1))
        gone = superseded(car, by=later, reason="She sold it.", at=NOON)
        await storage.write(ANA, lambda unit: unit.entries.replace([(car, gone)]))
        where = RecallFilter(about=SubjectTime.parse("2025-06"))
        assert CAR in await found(recall, "who drives an automobile", where=where)
        assert CAR not in await found(recall, "who drives an automobile")


async def test_a_text_the_model_refuses_is_set_aside_and_the_others_go_on():
    embedder = WordEmbedder()
    embedder.refuses = TEA
    async with opened(embedder) as (storage, recall):
        await add(storage, CAR, TEA, PARK)
        await fill(recall)
        assert await count(storage) == 2
        asked = embedder.texts.count(TEA)
        await fill(recall)
        assert embedder.texts.count(TEA) == asked
        assert (await found(recall, "green tea"))[0] == TEA


async def test_a_host_has_vectors_made_in_the_background_and_does_without_when_the_server_is_gone():
    async with AsyncExitStack() as stack:
        server = ChatServer([], embedding=lambda text: hashed_words(text, meanings=MEANINGS))
        await stack.enter_async_context(server)
        reach = EmbedderOptions(model="tiny", base_url=server.base_url, retries=0)
        options = EmbeddingOptions(weight=0.4, query_timeout=timedelta(seconds=5), retry_after=timedelta(0))
        host = AgentHostBuilder(None).with_memory().with_embeddings(reach, options).build()
        async with host, asyncio.timeout(10):
            await host.memory.remember_many([CAR, TEA])
            while not (hits := await host.memory.explain("whose vehicle")):
                await asyncio.sleep(0.005)
            assert hits[0][0].entry.content == CAR
            assert hits[0][1].dense is not None
            assert hits[0][1].dense.share == pytest.approx(0.4)
            await stack.aclose()
            assert [hit.entry.content for hit in await host.memory.recall("green tea")] == [TEA]
            assert await host.memory.recall("whose vehicle") == []


async def test_a_host_without_an_embedder_asks_the_store_for_no_vectors():
    statements: list[str] = []

    def note(*arguments: Any) -> None:
        statements.append(arguments[2])

    host = AgentHostBuilder(None).with_memory().build()
    async with host:
        event.listen(Engine, "before_cursor_execute", note)
        try:
            await host.memory.remember(TEA)
            assert len(await host.memory.recall("green tea")) == 1
        finally:
            event.remove(Engine, "before_cursor_execute", note)
        assert host._parts.recall.dense is None
    assert statements
    assert not [one for one in statements if "vectors" in one]


def test_what_cannot_be_an_embedder_or_an_option_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for name in ("MODEL", "BASE_URL", "API_KEY"):
        monkeypatch.delenv(f"AGENTCORE_EMBEDDINGS_{name}", raising=False)
    with pytest.raises(InvalidOptionsError, match="AGENTCORE_EMBEDDINGS_MODEL"):
        AgentHostBuilder(None).with_embeddings().build()
    with pytest.raises(InvalidOptionsError, match="give an Embedder"):
        AgentHostBuilder(None).with_embeddings("tiny").build()  # type: ignore[arg-type]
    for name, value in (("weight", 1.0), ("query_timeout", timedelta(0)), ("batch", 0), ("retry_after", timedelta(-1))):
        with pytest.raises(InvalidOptionsError, match=name):
            AgentHostBuilder(None).with_embeddings(
                WordEmbedder(), lambda one, name=name, value=value: one.replace(**{name: value})
            ).build()
    (tmp_path / "agentcore.toml").write_text('[embeddings]\nmodel = "tiny"\n', "utf-8")
    embedder = AgentHostBuilder(tmp_path).with_embeddings().build()._parts.recall.dense._embedder
    assert isinstance(embedder, OpenAIEmbedder)
    assert embedder.model == "tiny"


def test_a_key_goes_to_no_other_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-chat")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://chat/v1")
    monkeypatch.setenv("AGENTCORE_EMBEDDINGS_MODEL", "tiny")
    same = embedder_from_environment(tmp_path)
    assert same is not None
    assert (same.base_url, same.api_key and same.api_key.get_secret_value()) == ("http://chat/v1", "sk-chat")
    monkeypatch.setenv("AGENTCORE_EMBEDDINGS_BASE_URL", "http://vectors/v1")
    monkeypatch.setenv("AGENTCORE_EMBEDDINGS_RETRIES", "7")
    own = embedder_from_environment(tmp_path)
    assert own is not None
    assert (own.base_url, own.api_key, own.retries) == ("http://vectors/v1", None, 7)
    monkeypatch.setenv("AGENTCORE_EMBEDDINGS_RETRIES", "many")
    with pytest.raises(InvalidOptionsError, match=r"embeddings\.retries"):
        embedder_from_environment(tmp_path)
