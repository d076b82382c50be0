"""The built-in storage passes the public suite, in memory and on a file; and the suite is fit for others."""

import inspect
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from agentcore.errors import InvalidContentError, StaleVersionError
from agentcore.stores import Storage
from agentcore.testing import contracts
from agentcore.testing.contracts import StorageContract
from agentcore.testing.contracts.samples import expect_equal, expect_error, expect_some, expect_within


class TestSqlStorage(StorageContract):
    @pytest.fixture(params=["memory", "file", "postgres"])
    async def storage(self, request: pytest.FixtureRequest, open_storage: Any, path: Path) -> Storage:
        places: dict[str, Any] = {"memory": lambda: None, "file": lambda: path}
        postgres: Any = lambda: request.getfixturevalue("postgres_url")  # noqa: E731
        return await open_storage(places.get(request.param, postgres)())


def test_the_suite_has_every_contract_of_the_package():
    parts = {getattr(contracts, name) for name in contracts.__all__ if name.endswith("Contract")}
    assert parts - {StorageContract, contracts.ConcurrencyContract} == set(StorageContract.__bases__)


def test_no_contract_hides_the_test_of_another():
    names = [name for part in StorageContract.__bases__ for name in vars(part) if name.startswith("test_")]
    assert sorted(name for name in set(names) if names.count(name) > 1) == []
    assert all(inspect.iscoroutinefunction(getattr(StorageContract, name)) for name in names)


def test_the_suite_is_run_as_its_documentation_says():
    _, _, rest = contracts.__doc__.partition("\n    import pytest")
    example = textwrap.dedent("    import pytest" + rest.partition("\n\nA parameter")[0])
    names: dict[str, Any] = {}
    exec(example, names)
    assert issubclass(names["TestSqlStorage"], StorageContract)
    assert {"clock", "storage"} <= set(vars(names["TestSqlStorage"]))


def test_the_suite_can_be_imported_without_pytest():
    code = "import sys, agentcore.testing.contracts; print('pytest' in sys.modules, 'sqlalchemy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False False\n"


async def test_an_unmet_contract_says_what_was_given_and_what_is_wanted():
    async def fail(error: Exception) -> None:
        raise error

    async def succeed() -> int:
        return 7

    expect_equal([1], [1])
    expect_within("a", "tea")
    assert expect_some(0) == 0
    assert isinstance(await expect_error(ValueError, fail(ValueError())), ValueError)
    with pytest.raises(AssertionError, match=r"\[1\]\nwhere the contract wants\n    \[2\]"):
        expect_equal([1], [2])
    with pytest.raises(AssertionError, match="'tea'\nwhere the contract wants\n    'milk'"):
        expect_within("milk", "tea")
    with pytest.raises(AssertionError, match="None where the contract wants a record"):
        expect_some(None)
    with pytest.raises(AssertionError, match="7\nwhere the contract wants StaleVersionError"):
        await expect_error(StaleVersionError, succeed())
    with pytest.raises(KeyError):
        await expect_error(InvalidContentError, fail(KeyError()))
