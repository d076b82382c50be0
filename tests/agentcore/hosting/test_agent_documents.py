from pathlib import Path

import orjson
import pytest

from agentcore import AgentHostBuilder, Host, SyncHost, Trust
from agentcore.errors import InvalidContentError

TEA = "Ana drinks green tea every morning."
RYE = "Ben bakes rye bread on Sundays."
MESSAGE = "What does Ana drink, and what does Ben bake?"


def host_of(tmp_path: Path, memory_file: str = "", **context: float) -> Host:
    folder = tmp_path / "notes"
    folder.mkdir(exist_ok=True)
    if memory_file:
        (folder / "MEMORY.md").write_text(memory_file)
    builder = AgentHostBuilder(None).with_memory().with_workspace(folder).with_dreaming()
    return builder.with_context(lambda usual: usual.replace(**context)).build()


async def test_memory_md_is_loaded_whatever_is_asked(tmp_path: Path):
    async with host_of(tmp_path, "# Notes\n\n- The office is closed on Fridays.\n") as host:
        given = await host.context.for_turn("s", "hello", budget_tokens=500)
    assert given.document == ("The office is closed on Fridays.",)
    assert "From MEMORY.md:\n- The office is closed on Fridays." in given.text


async def test_an_entry_that_stands_in_memory_md_is_not_given_twice(tmp_path: Path):
    async with host_of(tmp_path, f"- {TEA}\n") as host:
        await host.memory.remember(TEA)
        await host.memory.remember(RYE)
        given = await host.context.for_turn("s", MESSAGE, budget_tokens=500)
        again = await host.context.for_turn("s", MESSAGE, budget_tokens=500)
    assert given.text.count(TEA) == 1
    assert [entry.content for entry in given.entries] == [RYE]
    assert (again.document, again.entries) == ((), ())


async def test_an_entry_that_an_item_names_as_its_source_is_not_given_twice(tmp_path: Path):
    async with host_of(tmp_path) as host:
        tea = await host.memory.remember(TEA)
        (tmp_path / "notes" / "MEMORY.md").write_text(f"- Green tea for Ana <!-- from entry:{tea.id} -->\n")
        given = await host.context.for_turn("s", MESSAGE, budget_tokens=500)
    assert given.document == ("Green tea for Ana",)
    assert given.entries == ()


@pytest.mark.parametrize("budget", [20, 40, 60, 100, 200, 400, 1_000])
async def test_memory_md_keeps_within_its_share_and_the_block_within_its_budget(tmp_path: Path, budget: int):
    lines = "".join(f"- Note {number} about the harbour and its cranes.\n" for number in range(200))
    async with host_of(tmp_path, lines) as host:
        for text in (TEA, RYE):
            await host.memory.remember(text)
        given = await host.context.for_turn("s", MESSAGE, budget_tokens=budget)
    assert given.tokens <= budget
    assert sum(-(-len(line) // 4) for line in given.document) <= 0.15 * budget


@pytest.mark.parametrize("memory_file", ["", "\n\n"])
async def test_without_a_memory_md_nothing_changes(tmp_path: Path, memory_file: str):
    texts: list[str] = []
    for share in (0.15, 0.0):
        async with host_of(tmp_path, memory_file, document_share=share) as host:
            await host.memory.remember(TEA)
            texts.append((await host.context.for_turn("s", MESSAGE, budget_tokens=120)).text)
    assert texts[0] == texts[1]


async def test_an_agent_reads_and_edits_its_document(tmp_path: Path):
    async with host_of(tmp_path, f"- {TEA}\n") as host:
        tools = host.tools(trust=Trust.INFERRED)
        assert {"read_document", "edit_document", "my_stats"} <= set(tools.names)
        assert TEA in orjson.loads(await tools.call("read_document", "{}"))["text"]
        await tools.call("edit_document", {"text": RYE, "section": "People/Ben"})
        await tools.call("edit_document", {"text": "Ben bakes spelt bread.", "old": RYE})
        text = (tmp_path / "notes" / "MEMORY.md").read_text()
    assert "Ben bakes spelt bread." in text
    assert RYE not in text


async def test_a_model_that_is_not_trusted_leaves_what_people_wrote(tmp_path: Path):
    async with host_of(tmp_path, f"- {TEA}\n") as host:
        refused = orjson.loads(await host.tools().call("edit_document", {"text": RYE, "old": TEA}))
        assert "a person wrote that item" in refused["error"]
        await host.tools(trust=Trust.STATED).call("edit_document", {"text": RYE, "old": TEA})
        assert RYE in (tmp_path / "notes" / "MEMORY.md").read_text()


async def test_a_model_writes_nothing_that_was_forgotten(tmp_path: Path):
    gone = "Ana moved to Lisbon in May with two cats, a parrot and her grandmother's piano"
    async with host_of(tmp_path) as host:
        moved = await host.memory.remember(gone)
        await host.memory.forget(moved.id)
        refused = orjson.loads(await host.tools().call("edit_document", {"text": gone}))
        assert "a person asked to forget" in refused["error"]
        assert not (tmp_path / "notes" / "MEMORY.md").exists()


async def test_an_agent_is_told_how_its_memory_stands(tmp_path: Path):
    async with host_of(tmp_path) as host:
        stats = orjson.loads(await host.tools().call("my_stats", "{}"))
        assert stats == {
            "memories": {"active": 0, "superseded": 0, "archived": 0},
            "last_dream": None,
            "last_diary_entry": None,
        }
        await host.memory.remember(TEA)
        await host.dreams.run()
        (tmp_path / "notes" / "DREAMS.md").write_text("# Diary\n\n## Monday\n\nold\n\n## Tuesday\n\nTea again.\n")
        stats = orjson.loads(await host.tools().call("my_stats", "{}"))
    assert stats["memories"]["active"] == 1
    assert stats["last_dream"]["outcome"] == "completed"
    assert stats["last_diary_entry"] == "## Tuesday\n\nTea again."


def test_a_host_can_be_used_without_a_loop(tmp_path: Path):
    with SyncHost(host_of(tmp_path)) as host:
        tea = host.memory.remember(TEA)
        assert host.memory.get(tea.id).content == TEA
        host.desk.pin(tea.id)
        assert host.dreams.run().outcome.value == "completed"
        there = host.for_scope("acme/bot/ana")
        there.memory.remember(RYE)
        assert (host.memory.count(), there.memory.count()) == (1, 1)
        assert str(there.memory.scope) == "acme/bot/ana"
        with pytest.raises(InvalidContentError):
            host.memory.remember("  ")


def test_an_error_in_the_block_leaves_a_sync_host_stopped(tmp_path: Path):
    host = SyncHost(host_of(tmp_path))

    def divide() -> None:
        with host:
            host.memory.remember(TEA)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        divide()
    assert host.state.value == "stopped"
