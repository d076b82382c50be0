"""Bearer tokens: what they stand for, and when they no longer do."""

import asyncio
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from agentcore import AgentHostBuilder, Scope
from agentcore.domain.access import Right
from agentcore.errors import InvalidInputError
from agentcore.testing import ManualClock

_START = datetime(2025, 6, 14, 9, tzinfo=UTC)


async def test_a_token_stands_for_its_scopes_and_rights_and_its_secret_is_not_stored(tmp_path: Path):
    async with AgentHostBuilder(tmp_path).with_memory().build() as host:
        secret, made = await host.tokens.create("laptop", scopes=["acme/*/ana"], rights=["write"])
        found = await host.tokens.resolve(secret)
        assert found == made
        assert found.reaches(Scope("acme", "agent", "ana"))
        assert not found.reaches(Scope("acme", "agent", "ben"))
        assert found.may(Right.READ)
        assert found.may(Right.WRITE)
        assert not found.may(Right.REVIEW)
        assert await host.tokens.resolve(secret[:-1]) is None
        assert await host.storage.scopes() == []
    with closing(sqlite3.connect(tmp_path / "agentcore.db")) as database:
        assert secret not in "\n".join(database.iterdump())


async def test_a_token_that_another_process_revoked_is_refused_within_a_second_however_many_ask(tmp_path: Path):
    clock = ManualClock(_START)
    async with (
        AgentHostBuilder(tmp_path, clock=clock).with_memory().build() as host,
        AgentHostBuilder(tmp_path, clock=clock).with_memory().build() as other,
    ):
        secret, _ = await host.tokens.create("laptop", scopes=["*/*/*"], rights=["read"])
        for waited in (0, 0.6, 0.3, 0.3):
            clock.advance(timedelta(seconds=waited))
            assert None not in await asyncio.gather(*(host.tokens.resolve(secret) for _ in range(20)))
        await other.tokens.revoke("laptop")
        clock.advance(timedelta(seconds=1))
        assert set(await asyncio.gather(*(host.tokens.resolve(secret) for _ in range(20)))) == {None}


async def test_a_revoked_or_expired_token_is_refused():
    clock = ManualClock(_START)
    async with AgentHostBuilder(None, clock=clock).with_memory().build() as host:
        short, _ = await host.tokens.create("short", scopes=["*/*/*"], rights=[Right.READ], lifetime=timedelta(hours=1))
        long, _ = await host.tokens.create("long", scopes=["*/*/*"], rights=[Right.READ])
        clock.advance(timedelta(minutes=59))
        assert await host.tokens.resolve(short) is not None
        clock.advance(timedelta(minutes=1))
        assert await host.tokens.resolve(short) is None
        assert await host.tokens.revoke("long")
        assert await host.tokens.resolve(long) is None
        assert not await host.tokens.revoke("long")
        assert [token.revoked_at for token in await host.tokens.list()] == [None, clock.now()]


async def test_a_name_is_taken_until_its_token_is_revoked():
    async with AgentHostBuilder(None).with_memory().build() as host:
        await host.tokens.create("laptop", scopes=["*/*/*"], rights=["read"])
        with pytest.raises(InvalidInputError, match="revoke it first"):
            await host.tokens.create("laptop", scopes=["*/*/*"], rights=["read"])
        await host.tokens.revoke("laptop")
        await host.tokens.create("laptop", scopes=["*/*/*"], rights=["read"])


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"scopes": ["acme"], "rights": ["read"]}, "scope pattern"),
        ({"scopes": [], "rights": ["read"]}, "at least one"),
        ({"scopes": ["*/*/*"], "rights": []}, "at least one"),
        ({"scopes": ["*/*/*"], "rights": ["own"]}, "right"),
        ({"scopes": ["*/*/*"], "rights": ["read"], "lifetime": timedelta()}, "lifetime"),
    ],
)
async def test_a_token_that_could_not_work_is_refused(given: dict[str, object], sentence: str):
    async with AgentHostBuilder(None).with_memory().build() as host:
        with pytest.raises(InvalidInputError, match=sentence):
            await host.tokens.create("laptop", **given)
        assert await host.tokens.list() == []
