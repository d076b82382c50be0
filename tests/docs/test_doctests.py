"""Every example in a docstring gives what it says."""

import doctest
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import pytest

import agentcore
import dream

_MIGRATIONS = "agentcore.stores.sql.migrations"


def _modules_with_examples() -> list[str]:
    """Return the modules that have a prompt in them; migrations can be imported by Alembic only."""
    found = (
        module
        for package in (agentcore, dream)
        for module in walk_packages(package.__path__, f"{package.__name__}.")
        if not module.name.startswith(_MIGRATIONS)
    )
    return [
        module.name
        for module in found
        if (spec := module.module_finder.find_spec(module.name, None)) is not None
        and spec.origin is not None
        and ">>> " in Path(spec.origin).read_text("utf-8")
    ]


@pytest.mark.parametrize("name", _modules_with_examples())
def test_the_examples_of_a_module_hold(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    module = import_module(name)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS, verbose=False)
    printed: list[str] = []
    for example in doctest.DocTestFinder().find(module):
        runner.run(example, out=printed.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(printed)
