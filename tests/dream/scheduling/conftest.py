"""A stage for each test."""

from collections.abc import AsyncIterator

import pytest
from watching_over import Stage, a_stage


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async with a_stage() as opened:
        yield opened
