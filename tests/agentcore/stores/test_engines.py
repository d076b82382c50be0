"""What engines share."""

from sqlalchemy import literal, select
from sqlalchemy.engine.interfaces import CacheStats

from agentcore.stores.sql import sqlite_engine


def test_a_statement_is_worded_once_whichever_engine_it_goes_to():
    found: list[CacheStats] = []
    for _ in range(2):
        engine = sqlite_engine(None, writes=True)
        with engine.connect() as connection:
            result = connection.execute(select(literal("worded").label("once_for_all")))
            assert result.scalar_one() == "worded"
            found.append(result.context.cache_hit)
        engine.dispose()
    assert found == [CacheStats.CACHE_MISS, CacheStats.CACHE_HIT]
