"""The agent reads and writes its documents, and its text is known as its own."""

from pathlib import Path

import pytest

from agentcore import AgentHostBuilder, Host, Scope
from agentcore.domain import fold_key
from agentcore.errors import InvalidContentError, InvalidOptionsError, ServiceMissingError
from agentcore.workspace import InvalidWorkspaceError, UnreadableDocumentError


@pytest.fixture
async def host(tmp_path: Path):
    (tmp_path / "MEMORY.md").write_text("# Notes\n\n- Bo likes tea\n")
    async with AgentHostBuilder(None).with_memory().with_workspace(tmp_path).build() as running:
        yield running


async def own(host: Host) -> tuple[str, ...]:
    stored = await host.storage.read(Scope.default(), lambda view: view.documents.get("MEMORY.md"))
    return () if stored is None else stored.own


async def test_what_the_agent_adds_and_rewrites_is_its_own_and_all_else_stays(host: Host, tmp_path: Path):
    await host.workspace.append("Ana keeps bees", "Cy sings", section=("Notes",))
    assert await host.workspace.read() == "# Notes\n\n- Bo likes tea\n- Ana keeps bees\n- Cy sings\n"
    assert await own(host) == tuple(sorted(map(fold_key, ("Ana keeps bees", "Cy sings"))))
    await host.workspace.replace("cy sings", "Cy sings in a choir")
    assert (tmp_path / "MEMORY.md").read_text().endswith("- Cy sings in a choir\n")
    assert fold_key("Bo likes tea") not in await own(host)
    assert await host.workspace.read("USER.md") == ""


async def test_what_cannot_be_an_item_is_refused_and_nothing_is_written(host: Host, tmp_path: Path):
    before = (tmp_path / "MEMORY.md").read_bytes()
    for work in (
        host.workspace.append("# heading"),
        host.workspace.append(" "),
        host.workspace.replace("nobody says this", "x"),
    ):
        with pytest.raises(InvalidContentError):
            await work
    (tmp_path / "other.md").symlink_to("/etc/hostname")
    with pytest.raises(UnreadableDocumentError):
        await host.workspace.append("x", name="other.md")
    assert (tmp_path / "MEMORY.md").read_bytes() == before


async def test_a_folder_that_is_none_is_refused_when_the_host_is_built(tmp_path: Path):
    with pytest.raises(InvalidWorkspaceError, match="does not exist"):
        AgentHostBuilder(None).with_workspace(tmp_path / "missing").build()
    with pytest.raises(InvalidOptionsError):
        AgentHostBuilder(None).with_workspace(" ").build()
    with pytest.raises(ServiceMissingError, match="with_workspace"):
        _ = AgentHostBuilder(None).build().workspace


async def test_another_scope_has_no_folder_unless_a_function_names_one(host: Host, tmp_path: Path):
    other = Scope("a", "b", "c")
    with pytest.raises(InvalidWorkspaceError, match="no folder"):
        await host.for_scope(other).workspace.read()
    async with AgentHostBuilder(None).with_workspace(lambda _: tmp_path).build() as shared:
        await shared.workspace.read()
        with pytest.raises(InvalidWorkspaceError, match="already"):
            await shared.for_scope(other).workspace.read()
