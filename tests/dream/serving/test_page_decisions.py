"""What people decide and configure on the page: directives, options, tokens, hypotheses, and who was faster."""

import re
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from served import MEMORIES, RUNS, Served, served
from visiting import HOME, Visitor, texts, visiting

from agentcore import AgentHostBuilder
from agentcore.domain import Scope
from dream.options import DreamOptions

HOSTILE = "<script>alert(1)</script> <img src=x onerror=alert(2)> \u202egnp.exe\u202c {{ 7 * 7 }} &amp; \"'"


@pytest.fixture
async def server() -> AsyncIterator[Served]:
    async with served() as running:
        yield running


async def tag_of(person: Visitor, view: str) -> str:
    found = re.search(r'name="tag" value="([^"]*)"', await person.see(view))
    assert found is not None
    return found[1].replace("&#34;", '"')


async def test_a_directive_is_compared_checked_saved_undone_and_reset(server: Served):
    async with visiting(server, name="marta") as person:
        assert "Which memories to merge" in texts(await person.see("directives"))
        tag = await tag_of(person, "directives/dream")
        form = {"directive": "dream", "text": "Keep every boat.", "tag": tag, "back": f"{HOME}directives/dream"}
        checked = await person.do("check-directive", **form)
        assert "It can be used, but" in texts(checked.text)
        assert "Keep every boat." in texts(checked.text)
        assert (await server.client.get("/api/v1/directives/dream")).json()["origin"] == "built-in"
        saved = await person.do("write-directive", **form)
        assert "<ins>" in saved.text
        assert "edited by token:marta" in texts(saved.text)
        await person.do("undo-edit", edit="1")
        assert (await server.client.get("/api/v1/directives/dream")).json()["origin"] == "built-in"
        refused = await person.do("write-directive", **{**form, "text": "Say \x07."})
        assert "control characters" in texts(refused.text)


async def test_a_directive_that_somebody_edited_meanwhile_is_shown_beside_what_was_written(server: Served):
    async with visiting(server, name="marta") as person, server.client_of("rui", "admin") as rui:
        tag = await tag_of(person, "directives/dream")
        await rui.put("/api/v1/directives/dream", json={"text": "Keep no boat."})
        late = await person.do("write-directive", directive="dream", text="Keep every boat.", tag=tag)
        assert late.status_code == 412
        for said in ("token:rui edited last", "Keep no boat.", "Keep every boat."):
            assert said in texts(late.text)
        new_tag = re.search(r'name="tag" value="([^"]*)"', late.text)
        assert new_tag is not None
        tag = new_tag[1].replace("&#34;", '"')
        await person.do("write-directive", directive="dream", text="Keep every boat.", tag=tag)
        assert (await server.client.get("/api/v1/directives/dream")).json()["text"] == "Keep every boat."


async def test_an_option_is_set_shown_with_its_source_undone_and_left_to_others(server: Served):
    async with visiting(server, name="marta") as person:
        fields = {"option": "schedule.trigger.every", "back": f"{HOME}settings"}
        done = await person.do("set-option", text="6h", tag=await tag_of(person, "settings"), **fields)
        assert "In force from the next run on." in texts(done.text)
        assert re.search(r"schedule\.trigger\.every\s*PT6H\s*admin", texts(done.text))
        assert "token:marta:" in texts(done.text)
        late = await person.do("set-option", text="7h", tag='"0"', **fields)
        assert (late.status_code, "token:marta edited last" in texts(late.text)) == (412, True)
        await person.do("set-option", leave="1", tag=await tag_of(person, "settings"), **fields)
        assert "PT6H" not in await person.see("settings")
        refused = await person.do("set-option", option="alarm_after", text="none", tag="*")
        assert refused.status_code == 422


async def test_a_token_is_made_shown_once_and_revoked(server: Served):
    async with visiting(server) as person:
        made = await person.do("create-token", name="ana", scopes="default/agent/ana", read="1", days="30")
        secret = re.search(r"dream_[\w-]{20,}", made.text)
        assert secret is not None
        page = await person.see("settings")
        assert secret[0] not in page
        assert "default/agent/ana" in texts(page)
        assert "Revoked: ana" in texts((await person.do("revoke-token", token="ana")).text)
        assert "default/agent/ana" not in texts(await person.see("settings"))


async def test_who_decides_second_is_told_who_was_faster():
    builder = AgentHostBuilder(None).with_dreaming(DreamOptions(modes={"exact-fold": "propose"}), in_background=False)
    async with served(builder=builder) as server, visiting(server, name="marta") as person:
        kept = await server.host.memory.remember_many(f"{name} rows." for name in ("Rui", "Ana", "Ben", "Eva"))
        again = [replace(one, id=f"again-{place}") for place, one in enumerate(kept)]
        await server.host.storage.write(Scope.default(), lambda unit: unit.entries.add(again))
        await server.finished(await server.client.post(RUNS, json={"passes": ["exact-fold"]}))
        ids = [one["proposal_id"] for one in (await server.client.get("/api/v1/proposals")).json()["proposals"]]
        # Several at once, approved and rejected: a run that names each of them in its steps alone.
        async with server.client_of("rui", "review") as rui, server.client_of("eva", "review") as eva:
            await rui.post("/api/v1/proposals/approve", json={"proposals": ids[:2]})
            await eva.post("/api/v1/proposals/reject", json={"proposals": ids[2:]})
        for one, who in zip(ids, ["rui", "rui", "eva", "eva"], strict=True):
            late = await person.do("approve" if who == "eva" else "reject", id=one)
            assert (late.status_code, f"token:{who} decided it" in texts(late.text)) == (409, True)


async def test_a_hypothesis_is_decided_in_a_persons_own_words(server: Served):
    ids = [(await server.client.post(MEMORIES, json={"content": one})).json()["id"] for one in ("Ana rows.", HOSTILE)]
    made = await server.host.hypotheses.propose(
        HOSTILE, what_if="Ana sells her boat.", sources=[f"entry:{one}" for one in ids], question="Is it so?"
    )
    async with visiting(server) as person:
        page = await person.see("hypotheses")
        assert "<script>alert" not in page
        assert "Ana rows." in texts(page)
        told = await person.do("resolve", hypothesis=made.id, decision="promote_candidate", text="Ana rows every day.")
        assert "Your words are a memory of their own." in texts(told.text)
        assert "Ana rows every day." in texts(await person.see("memories"))
        assert "promoted" in texts(await person.see("hypotheses?status=promoted"))


async def test_hostile_words_are_text_in_what_an_admin_configures_and_in_the_graph(server: Served):
    kept = (await server.client.post(MEMORIES, json={"content": HOSTILE})).json()["id"]
    await server.client.post(MEMORIES, json={"content": f"{HOSTILE} again"})
    await server.client.put("/api/v1/directives/dream", json={"text": HOSTILE})
    await server.client.patch("/api/v1/options", json={"said": {"protected_categories": [HOSTILE[:40]]}})
    await server.client.post(MEMORIES, json={"content": "word" * 25_000})
    other = (await server.client.get(MEMORIES)).json()["memories"][1]["id"]
    await server.client.post("/api/v1/merges", json={"memories": [kept, other], "text": f"{HOSTILE} merged"})
    async with visiting(server) as person:
        for view in ("directives/dream", "settings", "memories", f"memories/{kept}", "overview/plots", "runs"):
            page = await person.see(view)
            assert "<script>alert" not in page
            assert "<img src=x" not in page
        graph = await person.see(f"memories/{kept}")
        assert "<svg" in graph
        assert "\u202egnp.exe" in texts(graph)


async def test_the_overview_plots_what_the_memory_holds(server: Served):
    for content in ("Ana rows.", "Rui sails."):
        await server.client.post(MEMORIES, json={"content": content})
    grown = (await server.client.get("/api/v1/growth")).json()
    assert sum(one["memories"] for one in grown["days"]) == sum(grown["importance"]) == 2
    async with visiting(server, "read") as person:
        assert "Memories by importance" in texts(await person.see("overview/plots"))
