"""The built-in storage passes the public suite, in memory and on a file."""

import inspect
from pathlib import Path
from typing import Any

import pytest

from agentcore.stores.protocols import Storage
from agentcore.testing import contracts
from agentcore.testing.contracts import StorageContract


class TestSqlStorage(StorageContract):
    @pytest.fixture(params=["memory", "file"])
    async def storage(self, request: pytest.FixtureRequest, open_storage: Any, path: Path) -> Storage:
        return await open_storage(path if request.param == "file" else None)


def test_the_suite_has_every_contract_of_the_package():
    parts = {getattr(contracts, name) for name in contracts.__all__ if name.endswith("Contract")}
    assert parts - {StorageContract} == set(StorageContract.__bases__)


def test_no_contract_hides_the_test_of_another():
    names = [name for part in StorageContract.__bases__ for name in vars(part) if name.startswith("test_")]
    assert sorted(name for name in set(names) if names.count(name) > 1) == []
    assert all(inspect.iscoroutinefunction(getattr(StorageContract, name)) for name in names)
