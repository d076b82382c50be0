"""Documents in a host: forgotten at once, carried by an export, written by the host that opens."""

from pathlib import Path

from agentcore import AgentHostBuilder, Host, Scope
from agentcore.clock import SystemClock
from agentcore.ids import RandomIds
from dream.interfaces.exchange import export_file, import_file


def host_on(data: Path, folder: Path) -> Host:
    return AgentHostBuilder(data).with_memory().with_workspace(folder).with_dreaming().build()


def made(tmp_path: Path, name: str) -> Path:
    folder = tmp_path / name
    folder.mkdir()
    return folder


async def test_a_forget_takes_the_line_out_of_the_file_at_once(tmp_path: Path):
    folder = made(tmp_path, "workspace")
    async with host_on(tmp_path / "data", folder) as host:
        await host.workspace.append("Ana moved to Lisbon in May", "Bo sails")
        entry = await host.memory.remember("Ana moved to Lisbon in May.")
        await host.memory.remember("Bo sings")
        await host.memory.forget(entry.id)
        assert (folder / "MEMORY.md").read_text() == "- Bo sails\n"


async def test_an_export_carries_documents_and_the_next_host_writes_their_files(tmp_path: Path):
    async with host_on(tmp_path / "old", made(tmp_path, "one")) as host:
        await host.workspace.append("Ana keeps bees")
        await export_file(host.storage, Scope.default(), tmp_path / "all.jsonl")
    async with AgentHostBuilder(tmp_path / "new").with_memory().build() as bare:
        told = await import_file(
            bare.storage, Scope.default(), tmp_path / "all.jsonl", clock=SystemClock(), ids=RandomIds()
        )
        assert sum(told.added.values()) == 1
    other = made(tmp_path, "other")
    (other / "MEMORY.md").write_text("- Bo wrote this\n")
    async with host_on(tmp_path / "new", other) as host:
        assert await host.workspace.read() == "- Bo wrote this\n- Ana keeps bees\n"
        stored = await host.storage.read(Scope.default(), lambda view: view.documents.get("MEMORY.md"))
        assert stored is not None
        assert (stored.content, len(stored.own)) == ("- Bo wrote this\n- Ana keeps bees\n", 1)
