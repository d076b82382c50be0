"""The peer card: what dreams may put on it, what goes with its sources, and what is a person's."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from concluding import InferringChatClient
from dreaming import NOW, World, codes, fresh_scope, of_pass
from sqlalchemy import select
from test_inference import DAY, ON, answer, deduction, said
from traces import traces

from agentcore import AgentHostBuilder
from agentcore.domain import CardLine, CardSection, MemoryEntry, Scope, Status, SubjectTime, Trust
from agentcore.domain.card import MOST_LINES
from agentcore.domain.validity import superseded
from agentcore.errors import InvalidContentError, UnknownRecordError
from agentcore.hosting.host import Host
from agentcore.hosting.options import ContextOptions
from agentcore.stores.sql.schema import metadata
from dream.domain import PassReport
from dream.interfaces.exchange.export import export_scope
from dream.interfaces.exchange.importer import import_file
from dream.options import DreamOptions
from dream.passes.inference.deduction import Deduction
from dream.passes.inference.induction import Induction


@pytest.fixture
async def host() -> AsyncIterator[Host]:
    async with (
        AgentHostBuilder(None).with_memory().with_conversation_log().with_dreaming(in_background=False).build() as built
    ):
        yield built


@pytest.fixture
def world(world: World) -> World:
    world.options = DreamOptions(modes=ON)
    return world


def edit(content: str | None, *premises: str, **fields: Any) -> dict[str, Any]:
    usual = {"action": "add", "line": None, "section": "attribute", "content": content, "premises": list(premises),
             "reason": "said so"}  # fmt: skip
    return usual | fields


async def deduce(world: World, *edits: dict[str, Any], denies: tuple[str, ...] = (), **lists: Any) -> PassReport:
    world.chat = InferringChatClient([answer(conclusions=lists.get("conclusions", ()), card=edits)], denies=denies)
    return of_pass(await world.run_passes(Deduction()), "deduction")


async def card(world: World) -> list[CardLine]:
    return await world.storage.read(world.scope, lambda view: view.card.lines())


async def told(world: World) -> list[str]:
    return [str(line) for line in await card(world)]


async def stored(world: World) -> str:
    """Return all that any table keeps of the scope."""

    def read(view: Any) -> list[str]:
        mine = [table for table in metadata.sorted_tables if "scope_id" in table.c]
        found = (select(table).where(table.c.scope_id == view.transaction.scope_id) for table in mine)
        return [str(row) for statement in found for row in view.transaction.connection.execute(statement)]

    return "\n".join(await world.storage.read(world.scope, read))


async def anew(world: World, entry: MemoryEntry) -> None:
    """Have the next dream look at an entry again."""
    await world.change(await world.get(entry), subject_time=SubjectTime.parse("2025"))


async def retire(world: World, old: Any, new: Any) -> None:
    gone = superseded(old, by=new, reason="moved", at=NOW)
    await world.change(await world.get(old), **{name: getattr(gone, name) for name in
                               ("status", "status_reason", "successor", "status_at", "valid_until")})  # fmt: skip


async def test_a_dream_puts_a_line_on_the_card_with_its_source(world: World):
    (lives,) = await said(world, "Lea lives in Gdynia.")
    report = await deduce(world, edit("Lives in Gdynia.", "e1"))
    (line,) = await card(world)
    assert (str(line), line.set_by, line.reason) == ("ATTRIBUTE: Lives in Gdynia.", "deduction", "said so")
    assert [str(ref) for ref in line.sources] == [f"entry:{lives.id}"]
    assert (report.notes["card_added"], report.notes["read_again"]) == (1, 1)


async def test_a_line_that_no_reader_finds_in_its_premises_is_not_written(world: World):
    await said(world, "Lea lives in Gdynia.")
    report = await deduce(world, edit("Lives in Gdynia.", "e1"), denies=["Lives in Gdynia."])
    assert (await told(world), codes(report)) == ([], ["denied"])


async def test_a_line_is_replaced_by_what_holds_now_and_kept_in_the_history(world: World):
    await said(world, "Lea lives in Sopot.")
    await deduce(world, edit("Lives in Sopot.", "e1"))
    await said(world, "Lea lives in Gdynia.")
    await deduce(world, edit("Lives in Gdynia.", "e1", action="replace", line="e3"))
    assert await told(world) == ["ATTRIBUTE: Lives in Gdynia."]
    new, old = await world.dreams.card.history()
    assert (old.status, old.successor, old.status_reason) == (Status.SUPERSEDED, new.id, "said so")


async def test_a_line_goes_with_its_source_in_the_same_transaction_and_comes_back_with_it(world: World):
    old, new = await said(world, "Lea lives in Sopot.", "Lea works in Gdynia.")
    await deduce(world, edit("Lives in Sopot.", "e1"), edit("Works in Gdynia.", "e2"))
    await retire(world, old, new)
    assert await told(world) == ["ATTRIBUTE: Works in Gdynia."]
    gone = next(one for one in await world.dreams.card.history() if not one.is_active)
    assert gone.status_reason == f"premise_gone: {old.id}"
    await world.dreams.restore(old.id)
    assert len(await told(world)) == 2


async def test_the_undo_of_a_run_takes_its_lines_back_to_the_byte(world: World):
    await said(world, "Lea lives in Sopot.")
    await deduce(world, edit("Lives in Sopot.", "e1"))
    await said(world, "Lea lives in Gdynia.", "Lea lives in Sopot no more.")
    before = await world.export()
    await deduce(world, edit("Lives in Gdynia.", "e1", action="replace", line="e4"))
    assert await told(world) == ["ATTRIBUTE: Lives in Gdynia."]
    await world.dreams.undo((await world.dreams.runs())[0].run_id)
    assert await told(world) == ["ATTRIBUTE: Lives in Sopot."]
    assert await world.export() == before


async def test_a_superseded_fact_takes_its_line_along_and_undo_brings_both_back(world: World):
    old, _ = await said(world, "Lea lives in Sopot.", "Lea lives in Gdynia.")
    await deduce(world, edit("Lives in Sopot.", "e1"))
    before = await told(world)
    await anew(world, old)
    world.chat = InferringChatClient(
        [answer(conclusions=[deduction("Lea moved from Sopot to Gdynia.", "e1", "e2", kind="change")], card=[])]
    )
    report = of_pass(await world.run_passes(Deduction()), "deduction")
    assert (report.notes["updated"], await told(world)) == (1, [])
    await world.dreams.undo((await world.dreams.runs())[0].run_id)
    assert await told(world) == before


BAD = {
    "an unknown handle": (edit("Lives in Gdynia.", "e9"), "unknown_handle"),
    "no premise": (edit("Lives in Gdynia."), "no_sources"),
    "an unknown section": (edit("Lives in Gdynia.", "e1", section="MOOD"), "invalid_content"),
    "an unknown action": (edit("Lives in Gdynia.", "e1", action="rewrite"), "invalid_content"),
    "201 characters": (edit("a" * 201, "e1"), "invalid_content"),
    "a made-up detail": (edit("Lives in Gdynia since 1999.", "e1"), "invented_detail"),
    "a passing mood": (edit("Is tired today.", "e1"), "transitory"),
    "no reason": (edit("Lives in Gdynia.", "e1", reason=" "), "no_reason"),
    "a line that is not there": (edit(None, "e1", action="remove", line="e1"), "unknown_handle"),
    "an untrusted instruction": (edit("Call her Lea.", "e2", section="instruction"), "untrusted"),
    "a secret": (edit("The password is hunter2-Xk9.", "e1"), "secret"),
}


@pytest.mark.parametrize("case", BAD)
async def test_a_bad_edit_is_refused_alone(world: World, case: str):
    bad, code = BAD[case]
    await said(world, "Lea lives in Gdynia.")
    await world.add(world.entry("Lea wants to be called Lea.", trust=Trust.INFERRED))
    report = await deduce(world, bad, edit("Home is Gdynia.", "e1"))
    assert (await told(world), codes(report)) == (["ATTRIBUTE: Home is Gdynia."], [code])


async def test_what_was_concluded_bears_no_line(world: World):
    works, walks = await said(world, "Lea works at the harbour office in Gdynia.", "Lea walks to work every day.")
    await deduce(world, conclusions=[deduction("Lea lives within walking distance of the office.", "e1", "e2")])
    await anew(world, works)
    await anew(world, walks)
    (drawn,) = [one for one in await world.active() if one.is_conclusion]
    world.chat = chat = InferringChatClient([answer(conclusions=[], card=[edit("Lives near the office.", "e3", "e1")])])
    report = of_pass(await world.run_passes(Deduction()), "deduction")
    assert drawn.content in chat.requests[0].messages[1].content
    assert (await told(world), codes(report)) == ([], ["no_premise"])


async def test_a_full_card_asks_which_line_gives_way(world: World):
    for number in range(MOST_LINES):
        await world.dreams.card.set(f"ATTRIBUTE: Fact {number}.")
    with pytest.raises(InvalidContentError, match="say which one gives way"):
        await world.dreams.card.set("ATTRIBUTE: One more.")
    await said(world, "Lea lives in Gdynia.")
    world.chat = chat = InferringChatClient([answer(conclusions=[], card=[edit("Lives in Gdynia.", "e1")])])
    report = of_pass(await world.run_passes(Deduction()), "deduction")
    assert "It is full: whoever adds a line replaces the one that gives way." in chat.requests[0].messages[1].content
    assert (codes(report), len(await card(world))) == (["card_full"], MOST_LINES)
    first = (await card(world))[0]
    await world.dreams.card.set("ATTRIBUTE: One more.", replaces=first.id)
    assert len(await card(world)) == MOST_LINES


async def test_a_person_s_line_is_theirs(world: World):
    await world.dreams.card.set("IDENTITY: Name is Lea.", why="She said so.")
    await said(world, "Lea is called Eleonora.")
    report = await deduce(
        world,
        edit("Name is Eleonora.", "e1", action="replace", line="e2", section="identity"),
        edit(None, "e1", action="remove", line="e2"),
    )
    assert (await told(world), set(codes(report))) == (["IDENTITY: Name is Lea."], {"pinned"})


async def test_what_a_person_took_off_is_not_written_again_and_undo_puts_it_back(world: World):
    (lives,) = await said(world, "Lea lives in Gdynia.")
    await deduce(world, edit("Lives in Gdynia.", "e1"))
    (line,) = await card(world)
    removed = await world.dreams.card.remove(line.id[:12])
    await anew(world, lives)
    report = await deduce(world, edit("Home is Gdynia.", "e1"))
    assert (await told(world), codes(report)) == ([], ["undone_by_person"])
    await world.dreams.undo(removed.run_id)
    assert await told(world) == ["ATTRIBUTE: Lives in Gdynia."]
    with pytest.raises(UnknownRecordError):
        await world.dreams.card.remove("nothing")


async def test_a_forgotten_source_takes_its_line_out_of_every_place(world: World):
    (lives,) = await said(world, "Lea lives in Gdynia by the sea.")
    await deduce(world, edit("Home is by the sea in Gdynia.", "e1"))
    await world.write(lambda unit: unit.forget(lives.id))
    assert await world.dreams.card.history() == []
    assert "Gdynia" not in await stored(world)


async def test_an_erased_scope_leaves_no_word_of_its_card_and_others_keep_theirs(tmp_path: Path):
    ana, ben = Scope("acme", "agent", "ana"), Scope("acme", "agent", "ben")
    words = "Keeps bees behind the old lighthouse"
    async with AgentHostBuilder(tmp_path).with_memory().with_dreaming(in_background=False).build() as host:
        for scope in (ana, ben):
            await host.for_scope(scope).card.set("IDENTITY: Name is Ana.")
        await host.for_scope(ana).card.set(f"ATTRIBUTE: {words}.")
        (line,) = [one for one in await host.for_scope(ana).card.lines() if words in str(one)]
        await host.for_scope(ana).card.set(f"ATTRIBUTE: {words} in Nazare.", replaces=line.id)
        (line,) = [one for one in await host.for_scope(ana).card.lines() if words in str(one)]
        await host.for_scope(ana).card.remove(line.id)
        assert traces(tmp_path, words)
        erased = await host.erase(ana)
        assert erased.removed["card lines"] == 3
        assert await host.for_scope(ana).card.history() == []
        assert [str(one) for one in await host.for_scope(ben).card.lines()] == ["IDENTITY: Name is Ana."]
    assert traces(tmp_path, words, "lighthouse") == []


async def test_where_the_card_is_off_none_is_asked_for(world: World):
    world.options = DreamOptions(modes=ON).replace(inference={"card": False})
    await said(world, "Lea lives in Gdynia.")
    world.chat = chat = InferringChatClient([answer(conclusions=[], card=[edit("Lives in Gdynia.", "e1")])])
    await world.run_passes(Deduction())
    assert '"card"' not in chat.requests[0].messages[1].content
    assert await told(world) == []


async def test_sections_stand_in_their_order(world: World):
    for text in ("INSTRUCTION: Be brief.", "relationship: Married to Rui.", "IDENTITY: Name is Ana."):
        await world.dreams.card.set(text)
    assert [one.section for one in await card(world)] == [
        CardSection.IDENTITY, CardSection.RELATIONSHIP, CardSection.INSTRUCTION]  # fmt: skip


async def test_a_turn_is_given_the_card_within_its_share_and_once(host: Host):
    await host.card.set("IDENTITY: Name is Ana.")
    await host.card.set("INSTRUCTION: Keep answers short.")
    given = await host.context.for_turn("s1", "hello there", budget_tokens=500)
    assert [str(line) for line in given.card] == ["IDENTITY: Name is Ana.", "INSTRUCTION: Keep answers short."]
    assert "Card:\n- IDENTITY: Name is Ana.\n- INSTRUCTION: Keep answers short." in given.text
    assert (await host.context.for_turn("s1", "and now?", budget_tokens=500)).card == ()
    small = await host.context.for_turn("s2", "hello there", budget_tokens=100)
    assert [str(line) for line in small.card] == ["IDENTITY: Name is Ana."]


async def test_a_card_that_is_not_to_be_used_exists_and_is_given_to_no_turn():
    unused = AgentHostBuilder(None).with_memory().with_context(ContextOptions(card_share=0.0)).with_dreaming()
    async with unused.build() as host:
        await host.card.set("IDENTITY: Name is Ana.")
        given = await host.context.for_turn("s1", "hello there", budget_tokens=500)
        assert (given.card, "Name is Ana" in given.text) == ((), False)
        assert [str(line) for line in await host.card.lines()] == ["IDENTITY: Name is Ana."]


async def test_a_representation_begins_with_the_card(host: Host):
    await host.card.set("IDENTITY: Name is Ana.")
    await host.memory.remember("Ana grows tomatoes.")
    found = await host.memory.representation("tomatoes")
    assert found.text == "IDENTITY: Name is Ana.\n- Ana grows tomatoes."
    # Nobody said in a conversation what a person set by hand.
    assert (await host.memory.representation("tomatoes", sessions=["s1"])).card == ()


async def test_an_export_brings_the_card_and_its_history_along(world: World, tmp_path: Path):
    await said(world, "Lea lives in Gdynia.")
    await deduce(world, edit("Lives in Gdynia.", "e1"))
    await world.dreams.card.set("ATTRIBUTE: Lives in Gdynia by the sea.", replaces=(await card(world))[0].id)
    file, there = tmp_path / "export.jsonl", fresh_scope()
    with file.open("wb") as out:
        await export_scope(world.storage, world.scope, out.write)
    await import_file(world.storage, there, file, clock=world.clock, ids=world.ids)
    before, after = await exported(world, world.scope), await exported(world, there)
    assert b"card_line" in before
    assert after == before


async def exported(world: World, scope: Scope) -> bytes:
    lines: list[bytes] = []
    await export_scope(world.storage, scope, lines.append)
    return b"".join(lines[1:])


async def test_the_induction_neither_sees_nor_edits_the_card(world: World):
    await world.dreams.card.set("IDENTITY: Name is Eleonora.")
    await said(world, "Lea put off the bank.", "Lea moved the dentist.")
    world.chat = chat = InferringChatClient([answer(patterns=[], card=[edit("Lives in Gdynia.", "e1")])])
    await world.run_passes(Induction())
    assert "Eleonora" not in chat.requests[0].messages[1].content
    assert await told(world) == ["IDENTITY: Name is Eleonora."]


async def test_a_line_stays_when_its_source_is_merged_and_goes_when_the_merge_tells_something_else(world: World):
    lives, rows = await said(world, "Lea lives in Gdynia.", "Lea rows at dawn.")
    await deduce(world, edit("Lives in Gdynia.", "e1"))
    await world.dreams.desk.merge(lives.id, rows.id, text="Lea lives in Gdynia and rows at dawn.")
    assert await told(world) == ["ATTRIBUTE: Lives in Gdynia."]
    (one,) = await world.active()
    await world.dreams.desk.edit(one.id, content="Lea lives in Sopot and rows at dawn.")
    assert await told(world) == []
    await world.dreams.undo((await world.dreams.runs())[0].run_id)
    assert await told(world) == ["ATTRIBUTE: Lives in Gdynia."]


async def test_a_line_whose_source_gave_way_is_shown_as_lost_and_replaced_by_what_holds(world: World):
    old, new = await said(world, "Lea lives in Gdynia.", "Lea lives in the old town of Gdynia.")
    await deduce(world, edit("Lives in Gdynia.", "e1"))
    world.clock.advance(DAY)
    await retire(world, old, new)
    assert await told(world) == []
    before = await world.export()
    world.clock.advance(DAY)
    again = edit("Lives in Gdynia.", "e1", action="replace", line="e3")
    report = await deduce(world, again)
    assert '[e3] ATTRIBUTE lost "Lives in Gdynia."' in world.chat.requests[0].messages[-1].content
    assert (await told(world), codes(report)) == (["ATTRIBUTE: Lives in Gdynia."], [])
    (line,) = await card(world)
    assert [str(ref) for ref in line.sources] == [f"entry:{new.id}"]
    await world.dreams.undo((await world.dreams.runs())[0].run_id)
    assert await world.export() == before


async def test_the_induction_takes_no_line_of_the_card_for_its_own(world: World):
    old, new = await said(world, "Lea lives in Gdynia.", "Lea lives in the old town of Gdynia.")
    await deduce(world, edit("Lives in Gdynia.", "e1"))
    world.chat = InferringChatClient([answer(patterns=[])])
    await world.run_passes(Induction())
    world.clock.advance(DAY)
    await retire(world, old, new)
    world.chat = chat = InferringChatClient([answer(patterns=[])])
    await world.run_passes(Induction())
    assert chat.requests == []


async def refresh(
    world: World, *edits: dict[str, Any], rebuild: bool = False, denies: tuple[str, ...] = ()
) -> PassReport:
    world.chat = InferringChatClient([answer(card=edits)], denies=denies)
    return of_pass(await world.dreams.card.refresh(rebuild=rebuild), "card-refresh")


async def test_a_refresh_is_shown_the_card_and_puts_single_lines_right(world: World):
    await said(world, "Lea lives in Gdynia.", "Lea works in Sopot.")
    await deduce(world, edit("Home is Gdynia.", "e1"))
    await world.dreams.card.set("IDENTITY: Name is Lea.")
    report = await refresh(
        world,
        edit("Lives in Gdynia.", "e2", action="replace", line="e4"),
        edit("Works in Sopot.", "e1"),
        edit(None, "e1", action="remove", line="e3"),
    )
    prompt = world.chat.requests[0].messages[1].content
    assert '[e4] ATTRIBUTE "Home is Gdynia."' in prompt
    assert (report.notes["card_replaced"], report.notes["card_added"], codes(report)) == (1, 1, ["pinned"])
    assert await told(world) == [
        "IDENTITY: Name is Lea.", "ATTRIBUTE: Lives in Gdynia.", "ATTRIBUTE: Works in Sopot."]  # fmt: skip
    before = await world.dreams.runs()
    await world.dreams.undo(before[0].run_id)
    assert await told(world) == ["IDENTITY: Name is Lea.", "ATTRIBUTE: Home is Gdynia."]


async def test_a_card_that_is_written_anew_is_not_shown_and_keeps_what_is_said_again_and_a_person_s_lines(
    world: World,
):
    await said(world, "Lea lives in Gdynia.", "Lea works in Sopot.")
    await deduce(world, edit("Lives in Gdynia.", "e1"), edit("Is at work in Sopot.", "e2"))
    await world.dreams.card.set("IDENTITY: Name is Lea.")
    (kept,) = [line for line in await card(world) if "Gdynia" in line.content]
    await refresh(world, edit("Lives in Gdynia.", "e2"), edit("Works in Sopot.", "e1"), rebuild=True)
    assert "Lines of the card" not in world.chat.requests[0].messages[1].content
    assert await told(world) == [
        "IDENTITY: Name is Lea.", "ATTRIBUTE: Lives in Gdynia.", "ATTRIBUTE: Works in Sopot."]  # fmt: skip
    assert kept.id in {line.id for line in await card(world)}
    (gone,) = [line for line in await world.dreams.card.history() if "at work" in line.content]
    assert gone.status_reason == "not said again when the card was written anew"


async def test_a_rebuild_that_brings_nothing_takes_nothing_off(world: World):
    await said(world, "Lea lives in Gdynia.")
    await deduce(world, edit("Lives in Gdynia.", "e1"))
    await refresh(world, rebuild=True)
    assert await told(world) == ["ATTRIBUTE: Lives in Gdynia."]


async def test_a_refresh_runs_on_request_alone_and_leaves_cursors_and_thresholds(world: World):
    await said(world, "Lea lives in Gdynia.")
    report = await world.dreams.run()
    assert "card-refresh" not in {item.name for item in report.passes}
    before = await world.export()
    await refresh(world)
    assert await world.export() == before
