from pathlib import Path

import pytest
from dreaming import World
from tidying import Desk, desk_in


@pytest.fixture
def desk(world: World, tmp_path: Path) -> Desk:
    return desk_in(world, tmp_path)
