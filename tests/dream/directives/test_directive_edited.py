"""An edited directive has the consolidation look again at what it had reviewed, in portions, and only once."""

from dataclasses import replace
from pathlib import Path

import pytest
from dreaming import VerifyingChatClient, World
from wishing import Curious

from dream.domain import RunReport
from dream.options import ConsolidationOptions
from dream.passes.memory_consolidation import MemoryConsolidation

NOTHING = '{"toDelete": [], "toSave": []}'
TEXTS = ("Ana likes green tea from Porto", "Ana likes green tea from Porto a lot")


@pytest.fixture
def at_home(world: World, tmp_path: Path) -> World:
    consolidation = ConsolidationOptions(max_entries=2)
    chat = VerifyingChatClient([NOTHING] * 20)
    return replace(world, data_dir=tmp_path, options=world.options.replace(consolidation=consolidation), chat=chat)


def write(world: World, name: str, text: str) -> None:
    assert world.data_dir is not None
    path = world.data_dir / "directives" / f"{name}.md"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)


async def consolidate(world: World) -> RunReport:
    return await world.run_passes(MemoryConsolidation())


async def reviewed(world: World) -> None:
    """Remember two pairs of like texts, and dream until nothing is left to do."""
    await world.add(*TEXTS, *(text.replace("Ana likes green tea", "Ben plays blue drums") for text in TEXTS))
    for _ in range(2):
        await consolidate(world)
    assert (await asked(world)) == 0


async def asked(world: World) -> int:
    before = len(world.chat.requests)
    await consolidate(world)
    return len(world.chat.requests) - before


@pytest.mark.parametrize("name", ["dream", "memory-rules"])
async def test_reviewed_entries_are_looked_at_again_in_portions_and_once(at_home: World, name: str):
    await reviewed(at_home)
    write(at_home, name, "Merge what is alike.")
    report = await consolidate(at_home)
    assert report.passes[0].backlog == 2
    assert "Merge what is alike." in at_home.chat.requests[-1].messages[0].content
    assert await asked(at_home) == 1
    assert await asked(at_home) == 0


async def test_another_passes_directive_and_mere_line_ends_change_nothing(at_home: World):
    await reviewed(at_home)
    write(at_home, "memory-mining", "Mine deep.")
    assert await asked(at_home) == 0
    write(at_home, "dream", "Merge what is alike.")
    await consolidate(at_home)
    await consolidate(at_home)
    write(at_home, "dream", "\r\nMerge what is alike.\r\n\r\n")
    assert await asked(at_home) == 0


async def test_a_run_that_fails_before_it_packed_leaves_it_all_to_be_done(at_home: World):
    await reviewed(at_home)
    write(at_home, "dream", " ")
    failed = (await consolidate(at_home)).passes[0]
    assert "it is empty" in str(failed.reason)
    write(at_home, "dream", "Merge what is alike.")
    assert await asked(at_home) == 1
    assert await asked(at_home) == 1
    assert await asked(at_home) == 0


async def test_a_pass_of_another_name_keeps_its_own_mark(at_home: World):
    await reviewed(at_home)
    await at_home.run_passes(Curious(()))
    assert await asked(at_home) == 0
