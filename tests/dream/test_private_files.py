"""What is remembered is its owner's alone, whatever the umask says."""

import os
import stat
from collections.abc import Generator
from pathlib import Path

import pytest

from agentcore import AgentHostBuilder
from agentcore.domain import Scope
from dream.interfaces.exchange import export_scope
from dream.interfaces.exchange.files import replacing
from dream.interfaces.serving.token_file import local_token


@pytest.fixture(autouse=True)
def generous_umask() -> Generator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def open_to_others(folder: Path) -> list[str]:
    """Everything in a folder that somebody else may look at, the folder itself included."""
    found = [folder, *folder.rglob("*")]
    return [str(one.relative_to(folder)) for one in found if stat.S_IMODE(one.lstat().st_mode) & 0o077]


async def test_all_files_of_a_host_are_its_owners_alone(tmp_path: Path):
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    (folder / "agentcore.toml").write_text('workspace = "notes/{workspace}/{observed}"\n', "utf-8")
    (folder / "agentcore.toml").chmod(0o600)
    builder = AgentHostBuilder(folder).with_memory().with_conversation_log().with_dreaming(in_background=False)
    async with builder.build() as host:
        for number in range(300):
            await host.memory.remember(f"Ana has {number} lamps.")
        await host.memory.recall("lamps")
        await host.dreams.run()
        assert open_to_others(folder) == []
    assert list(folder.glob("*.db"))
    assert (folder / "notes" / "default" / "agent").is_dir()
    assert open_to_others(folder) == []


async def test_the_token_of_a_server_is_its_owners_alone_though_nothing_made_the_folder(tmp_path: Path):
    async with AgentHostBuilder(None).with_memory().build() as host:
        secret = await local_token(host.tokens, tmp_path / "data" / "serve.token")
    assert (tmp_path / "data" / "serve.token").read_text("utf-8").strip() == secret
    assert open_to_others(tmp_path / "data") == []


async def test_a_file_that_was_there_keeps_its_permissions(tmp_path: Path):
    folder = tmp_path / "data"
    async with AgentHostBuilder(folder).with_memory().build() as host:
        await host.memory.remember("Ana has a lamp.")
    (database,) = folder.glob("*.db")
    database.chmod(0o640)
    async with AgentHostBuilder(folder).with_memory().build() as host:
        await host.memory.remember("Ana has two lamps.")
    assert stat.S_IMODE(database.stat().st_mode) == 0o640


@pytest.mark.parametrize(("before", "after"), [(None, 0o600), (0o644, 0o644)])
async def test_an_export_is_private_unless_its_file_was_shared_before(tmp_path: Path, before: int | None, after: int):
    path = tmp_path / "export.jsonl"
    if before is not None:
        path.touch(mode=before)
    async with AgentHostBuilder(tmp_path / "data").with_memory().build() as host:
        await host.memory.remember("Ana has a lamp.")
        with replacing(path) as file:
            await export_scope(host.storage, Scope.default(), file.write)
    assert stat.S_IMODE(path.stat().st_mode) == after
    assert b"lamp" in path.read_bytes()
