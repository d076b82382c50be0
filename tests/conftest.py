"""What every test may take: a clock that stands still, ids that can be foreseen, a scope; how far properties go."""

import os
from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, settings

from agentcore.domain import Scope
from agentcore.testing import ManualClock, SequentialIds

# Slow machines are no failures, and a failure seen once is seen again: `thorough` is for hunting new ones.
settings.register_profile(
    "ci", deadline=None, max_examples=50, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("thorough", parent=settings.get_profile("ci"), max_examples=1_000, derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

LONGEST_FIRST = (
    "tests/quality/test_tools.py",
    "tests/dream/processes/",
    "tests/dream/injection/",
    "tests/dream/cycle/test_resume.py",
    "tests/dream/laws/",
    "tests/dream/guards/test_statements.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start what takes long first, so that no process is left alone with it at the end."""

    def rank(item: pytest.Item) -> int:
        return next((n for n, start in enumerate(LONGEST_FIRST) if item.nodeid.startswith(start)), len(LONGEST_FIRST))

    items.sort(key=rank)


@pytest.fixture
def clock():
    return ManualClock(datetime(2025, 6, 14, 9, 30, tzinfo=UTC))


@pytest.fixture
def ids():
    return SequentialIds()


@pytest.fixture
def scope():
    return Scope.default()
