import subprocess
import sys

import pytest

import agentcore


def test_every_public_name_can_be_imported():
    for name in agentcore.__all__:
        assert getattr(agentcore, name).__name__ == name


def test_the_public_names_are_exactly_those_that_have_a_home():
    assert sorted(agentcore.__all__) == sorted(agentcore._HOMES)


def test_an_unknown_name_is_missing_as_in_any_module():
    with pytest.raises(AttributeError, match="module 'agentcore' has no attribute 'Hots'"):
        _ = agentcore.Hots
    with pytest.raises(ImportError):
        from agentcore import Hots  # noqa: F401, PLC0415 - the point


def test_everything_can_be_imported_at_once():
    code = "from agentcore import *; print(AgentHostBuilder.__name__, Scope.default())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["AgentHostBuilder", "default/agent/agent"]
