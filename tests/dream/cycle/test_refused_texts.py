"""What a model wrote and a dream refused stands whole beside the report, for a while, and goes with what it cites."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import orjson
import pytest
from dreaming import DAY, World, codes
from skilled import Library, handle_of
from sqlalchemy import select
from talking import answering, talk

from agentcore.stores import Origin
from agentcore.stores.sql import Transaction
from agentcore.stores.sql.schema import metadata
from agentcore.stores.sql.stored_prompts import StoredPrompts
from dream.domain import RefusedText
from dream.options import DreamOptions, RetentionOptions
from dream.passes.fact_mining import FactMining
from dream.passes.memory_consolidation import MemoryConsolidation
from dream.passes.retention import Retention

SAID = ("I pay 640 euros for my flat in Porto.", "My cat is called Miso.")
LIE = "Ana pays 720 euros for her flat in Porto."


def a_fact(content: str, *cites: str, quote: str = "I pay 640 euros") -> dict[str, Any]:
    return {"content": content, "category": "general", "tags": [], "sourceTurns": list(cites), "quote": quote}


async def refuse(world: World, *facts: Any) -> list[RefusedText]:
    """Mine facts that are refused, and return what is kept of them."""
    given = orjson.dumps({"facts": list(facts)}).decode()
    run = await answering(world, given, given).run_passes(FactMining())
    return await world.dreams.refused_texts(run.run_id)


async def kept(world: World) -> list[str]:
    runs = await world.dreams.runs(limit=100)
    return [one.text for run in runs for one in await world.dreams.refused_texts(run.run_id)]


async def test_a_refused_text_is_told_whole_with_why_and_what_it_cites(world: World):
    rent, _ = await talk(world, *SAID)
    (told,) = await refuse(world, a_fact(LIE, "t1"))
    assert (told.pass_name, told.code, told.text, told.cites) == ("fact-mining", "invented_detail", LIE, (rent.id,))
    assert "720" in told.detail
    assert told.to_json()["refused_at"] == "2025-06-14T09:00:00Z"


async def test_a_text_that_cites_nothing_it_was_shown_rests_on_all_of_it(world: World):
    turns = await talk(world, *SAID)
    (told,) = await refuse(world, a_fact(LIE, "t99"))
    assert (told.code, set(told.cites)) == ("unknown_handle", {turn.id for turn in turns})


async def test_what_was_put_right_is_no_refused_text(world: World):
    await talk(world, *SAID)
    first, second = a_fact(LIE, "t1"), {"item": 1, **a_fact(LIE.replace("720", "640"), "t1")}
    heard = answering(world, *(orjson.dumps({"facts": [one]}).decode() for one in (first, second)))
    await heard.run_passes(FactMining())
    assert await kept(world) == []


@pytest.mark.parametrize("quote", ["I pay 640 euros", "nobody said so"])
async def test_a_text_that_holds_a_secret_is_not_kept(world: World, quote: str):
    await talk(world, *SAID)
    assert await refuse(world, a_fact("Ana's password is hunter2hunter2!", "t1", quote=quote)) == []


LONG = "Ana has a grey tabby cat called Miso that she took over from her aunt in Porto."
"""Long enough for its hash to be kept."""


@pytest.mark.parametrize("quote", ["My cat is called Miso", "nobody said so"])
async def test_a_forgotten_text_is_not_kept(world: World, quote: str):
    (cat,) = await world.add(LONG)
    await world.memory.forget(cat.id)
    await talk(world, *SAID)
    assert await refuse(world, a_fact(LONG, "t2", quote=quote)) == []


async def test_it_goes_with_the_turns_it_cites(world: World):
    rent, _ = await talk(world, *SAID)
    await refuse(world, a_fact(LIE, "t1"), a_fact("Ana has 3 cats, one called Miso.", "t2", quote="cat"))
    assert len(await kept(world)) == 2
    await world.write(lambda unit: unit.turns.delete([rent.id]))
    assert await kept(world) == ["Ana has 3 cats, one called Miso."]


async def test_it_goes_when_what_was_made_of_its_turns_is_forgotten(world: World):
    await talk(world, *SAID)
    cat = a_fact("Ana has a cat called Miso.", "t2", quote="My cat is called Miso")
    await refuse(world, a_fact(LIE, "t1"), a_fact("Ana's cat Miso is 9 years old.", "t2", quote="cat"), cat)
    (entry,) = [one for one in await world.active() if one.content == cat["content"]]
    await world.memory.forget(entry.id)
    assert await kept(world) == [LIE]


async def test_it_goes_when_a_text_that_it_holds_is_forgotten(world: World):
    await talk(world, *SAID)
    (entry,) = await world.add("Miso is ill.")
    await refuse(world, a_fact("Ana pays 720 euros,  and miso is ILL.", "t1"), a_fact(LIE, "t1"))
    await world.memory.forget(entry.id)
    assert await kept(world) == [LIE]


async def test_nothing_of_a_forgotten_text_is_left_in_any_table_after_it_was_refused(world: World):
    await talk(world, *SAID)
    (entry,) = await world.add("Miso is ill.")
    await refuse(world, a_fact("Ana says: Miso is ill. That costs 720 euros.", "t2", quote="cat"))
    assert {"model_calls", "refused_texts"} <= await tables_telling(world, "Miso is ill")
    await world.memory.forget(entry.id)
    assert await tables_telling(world, "Miso is ill") == set()


async def test_another_scope_keeps_its_own(world: World):
    other = world.elsewhere()
    for one in (world, other):
        await talk(one, *SAID)
        await refuse(one, a_fact("Miso is ill.", "t1", quote="nobody said so"))
    (entry,) = await world.add("Miso is ill.")
    await world.memory.forget(entry.id)
    assert (await kept(world), await kept(other)) == ([], ["Miso is ill."])


async def test_a_refused_merge_is_told_whole_with_the_entries_it_cites(world: World):
    sources = await world.add("Ana rents a flat in Porto since 2019.", "Ana pays 640 euros for her flat.")
    lossy = "Ana rents a flat in Porto and pays 640 euros for it."
    item = {"content": lossy, "category": None, "tags": [], "importance": None, "sourceIds": ["e1", "e2"]}
    given = orjson.dumps({"toDelete": [], "toSave": [item]}).decode()
    await answering(world, given, given).run_passes(MemoryConsolidation())
    (run,) = await world.dreams.runs()
    (told,) = await world.dreams.refused_texts(run.run_id)
    wanted = ("lost_detail", lossy, {one.id for one in sources})
    assert (told.code, told.text, set(told.cites)) == wanted
    await world.memory.forget(sources[0].id)
    assert await kept(world) == []


async def test_a_refused_rewrite_of_a_skill_is_told_whole(world: World):
    library = Library(world)
    skill = await library.skill("mail/digest", "1. Open the inbox.\n2. Run `digest --all`.")
    await library.skill("mail/send", "1. Open the outbox.\n2. Run `send --now`.")

    def lossy(prompt: str) -> dict[str, Any]:
        saved = {"name": "mail/digest", "summary": "Digest mail", "content": "1. Open the inbox.", "seeAlso": []}
        return {"toSave": [saved | {"sourceNames": [handle_of(prompt, "mail/digest")]}], "toDelete": []}

    report = await library.consolidate(lossy)
    assert codes(report) == ["lost_detail"]
    (run,) = await world.dreams.runs()
    (told,) = await world.dreams.refused_texts(run.run_id)
    assert (told.text, told.cites) == ("mail/digest\nDigest mail\n1. Open the inbox.", (skill.id,))


async def test_it_is_removed_after_thirty_days(world: World):
    await talk(world, *SAID)
    await refuse(world, a_fact(LIE, "t1"))
    world.clock.advance(30 * DAY)
    await world.run_passes(Retention())
    assert await kept(world) == [LIE]
    world.clock.advance(timedelta(seconds=1))
    report = await world.run_passes(Retention())
    assert (await kept(world), report.passes[0].notes) == ([], {"refused_texts": 1})


async def test_how_long_it_is_kept_is_an_option(world: World):
    await talk(world, *SAID)
    await refuse(world, a_fact(LIE, "t1"))
    world.clock.advance(2 * DAY)
    brief = replace(world, options=DreamOptions(retention=RetentionOptions(refused=DAY)))
    await brief.run_passes(Retention())
    assert await kept(world) == []


async def test_it_is_in_no_export(world: World):
    await talk(world, *SAID)
    await refuse(world, a_fact(LIE, "t1"))
    assert LIE.encode() not in await world.export()


async def test_an_undo_leaves_it(world: World):
    await talk(world, *SAID)
    cat = a_fact("Ana has a cat called Miso.", "t2", quote="My cat is called Miso")
    await refuse(world, a_fact(LIE, "t1"), cat)
    (run,) = await world.dreams.runs()
    await world.dreams.undo(run.run_id)
    assert (await world.active(), await kept(world)) == ([], [LIE])


async def test_what_cites_a_turn_that_went_meanwhile_is_not_kept(world: World):
    rent, _ = await talk(world, *SAID)
    given = orjson.dumps({"facts": [a_fact(LIE, "t1")]}).decode()

    async def removing(_: Any) -> str:
        await world.write(lambda unit: unit.turns.delete([rent.id]), origin=Origin.HOST)
        return given

    await answering(world, removing, given).run_passes(FactMining())
    assert await kept(world) == []


async def tables_telling(world: World, text: str) -> set[str]:
    """The tables in which a row of the scope holds a text."""

    def read(view: Any) -> set[str]:
        transaction: Transaction = view.transaction
        mine = [table for table in metadata.tables.values() if "scope_id" in table.c]
        return {
            table.name
            for table in mine
            for row in transaction.connection.execute(select(table).where(table.c.scope_id == transaction.scope_id))
            if text in str(tuple(row))
        } | {"model_calls" for _, told in StoredPrompts(transaction).all() if text in str(told)}

    return await world.storage.read(world.scope, read)
