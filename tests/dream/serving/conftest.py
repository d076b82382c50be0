"""Under `AGENTCORE_POSTGRES=all` the tests of the page and of the configuration run on PostgreSQL, too."""

import os
from collections.abc import Iterator

import pytest
import served

_ON_BOTH = ("test_page.py", "test_page_decisions.py", "test_page_calendar.py", "test_configuration.py")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if os.environ.get("AGENTCORE_POSTGRES") == "all" and metafunc.definition.path.name in _ON_BOTH:
        metafunc.parametrize("served_database", ["sqlite", "postgres"], indirect=True)


@pytest.fixture(autouse=True)
def served_database(request: pytest.FixtureRequest) -> Iterator[None]:
    """The database of what `served` builds: SQLite, unless a test runs on both."""
    if getattr(request, "param", "sqlite") == "postgres":
        served.DATABASE = request.getfixturevalue("postgres_url")
    yield
    served.DATABASE = None
