"""One fork server for all tests of a process."""

from collections.abc import Iterator

import pytest
from killing import ForkServer, fork_server


@pytest.fixture(scope="session")
def server() -> Iterator[ForkServer]:
    with fork_server() as opened:
        yield opened
