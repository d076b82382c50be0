"""A world whose scope has a workspace."""

from pathlib import Path

import pytest
from dreaming import World

from agentcore.workspace import Workspaces


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "workspace"
    made.mkdir()
    return made


@pytest.fixture
def shared(world: World, folder: Path) -> World:
    world.workspaces = Workspaces(lambda _: folder)
    return world
