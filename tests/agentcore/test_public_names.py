import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import agentcore

_ROOT = Path(agentcore.__file__).parents[1]
_FACES = sorted(
    ".".join(stub.parent.relative_to(_ROOT).parts)
    for package in ("agentcore", "dream")
    for stub in (_ROOT / package).rglob("__init__.pyi")
)


@pytest.mark.parametrize("face", _FACES)
def test_every_name_of_a_public_face_can_be_imported(face: str):
    module = import_module(face)
    assert module.__all__
    for name in module.__all__:
        assert getattr(module, name) is not None


def test_an_unknown_name_is_missing_as_in_any_module():
    with pytest.raises(AttributeError, match="No agentcore attribute Hots"):
        _ = agentcore.Hots
    with pytest.raises(ImportError):
        from agentcore import Hots  # noqa: F401, PLC0415 - the point


def test_everything_can_be_imported_at_once():
    code = "from agentcore import *; print(AgentHostBuilder.__name__, Scope.default())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["AgentHostBuilder", "default/agent/agent"]
