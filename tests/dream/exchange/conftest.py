"""One store in memory for all tests; each test has scopes of its own."""

import asyncio
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from exchange_desk import NOW, Desk

from agentcore.domain import Scope
from agentcore.stores.sql import SqlStorage
from agentcore.testing import ManualClock, SequentialIds
from tests.writing_twice import WRITES_TWICE, TwiceStorage

_numbers = count()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Import what may be barred also where each commit is refused once."""
    named = metafunc.definition.nodeid.partition("::")[0].endswith("test_import_forgotten.py")
    if "desk" in metafunc.fixturenames and (named or WRITES_TWICE):
        metafunc.parametrize("storage", [TwiceStorage] if WRITES_TWICE else [SqlStorage, TwiceStorage], indirect=True)


@pytest.fixture(scope="session")
def storage(request: pytest.FixtureRequest) -> Iterator[SqlStorage]:
    opened = getattr(request, "param", SqlStorage)(None, clock=ManualClock(NOW))
    asyncio.run(opened.start())
    yield opened
    asyncio.run(opened.stop())


@pytest.fixture
def desk(storage: SqlStorage, tmp_path: Path) -> Desk:
    return Desk(storage, tmp_path, scope=Scope("here", "agent", f"test-{next(_numbers)}"))


@pytest.fixture
def other_desk(storage: SqlStorage, tmp_path: Path) -> Desk:
    scope = Scope("there", "agent", f"test-{next(_numbers)}")
    return Desk(storage, tmp_path, ids=SequentialIds("other"), scope=scope)
