"""The page: what it shows and does, for whom, and what it refuses."""

import re
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from html import unescape

import httpx2
import pytest
from served import MEMORIES, RUNS, Served, served
from visiting import HOME, texts, visiting

from agentcore import AgentHostBuilder
from agentcore.domain import Scope
from agentcore.domain.subject_time import SubjectTime
from agentcore.testing import ManualClock
from dream.cycle.running.run_envelope import dream_lease
from dream.domain.report import RunKind, RunReport
from dream.interfaces.page.actions import ACTIONS
from dream.interfaces.page.logins import LOGIN_HOLDS
from dream.interfaces.page.views import VIEWS
from dream.options import DreamOptions, RetentionOptions
from dream.stores import dream_stores

HOSTILE = "<script>alert(1)</script> <img src=x onerror=alert(2)> \u202egnp.exe\u202c {{ 7 * 7 }} &amp; \"'"


@pytest.fixture
async def server() -> AsyncIterator[Served]:
    async with served() as running:
        yield running


async def remembered(server: Served, *contents: str) -> list[str]:
    answers = [await server.client.post(MEMORIES, json={"content": one}) for one in contents]
    return [answer.json()["id"] for answer in answers]


async def test_a_link_logs_in_once_and_no_page_is_shown_without_a_login(server: Served):
    secret, _ = await server.host.tokens.create("ana", scopes=["*/*/*"], rights=["read"])
    link = f"/login?code={server.page.logins.link(secret)}"
    async with httpx2.AsyncClient(base_url=server.url) as client, httpx2.AsyncClient(base_url=server.url) as thief:
        assert (await client.get(f"{HOME}memories")).headers["location"].startswith("/login?")
        entered = await client.get(link)
        cookie = entered.headers["set-cookie"]
        assert all(part in cookie for part in ("HttpOnly", "SameSite=strict", "Path=/"))
        assert (await client.get(HOME)).status_code == 200
        assert (await thief.get(link)).status_code == 401
        assert (await thief.get(HOME)).headers["location"].startswith("/login?")


async def test_a_login_leads_to_the_view_that_was_asked_for_and_nowhere_else(server: Served):
    secret, _ = await server.host.tokens.create("ana", scopes=["*/*/*"], rights=["read"])
    async with httpx2.AsyncClient(base_url=server.url) as client:
        asked = await client.get(f"{HOME}memories?q=tea+&status=all", follow_redirects=True)
        wanted = re.search(r'name="next" value="([^"]*)"', asked.text)
        assert wanted is not None
        for place, leads in ((unescape(wanted[1]), f"{HOME}memories?q=tea+&status=all"), ("//evil.example/in/", "/")):
            entered = await client.post("/login", data={"token": secret, "next": place})
            assert entered.headers["location"] == leads


async def test_a_revoked_token_ends_its_logins(server: Served):
    async with visiting(server, name="guest") as guest:
        await server.host.tokens.revoke("guest")
        assert "Log in" in await guest.see()


async def test_nothing_on_the_page_may_run_or_load_but_its_own_files(server: Served):
    async with visiting(server) as person:
        for view in ("", *VIEWS):
            answer = await person.client.get(f"{HOME}{'' if view == 'overview' else view}", follow_redirects=True)
            policy = answer.headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "unsafe" not in policy
            assert answer.headers["cache-control"] == "no-store"
            assert not re.search(r"<script(?![^>]*\bsrc=)|\son\w+=|style=|javascript:", answer.text)
            assert not re.findall(r'(?:src|href|action)="(?:https?:)?//', answer.text)


async def test_hostile_text_is_text_in_every_view(server: Served):
    (one, _) = await remembered(server, HOSTILE, HOSTILE + "!")
    await server.client.post("/api/v1/conversations/s1/turns", json={"role": "user", "content": HOSTILE})
    await server.client.post("/api/v1/off-limits", json={"words": HOSTILE[:60]})
    await server.finished(await server.client.post(RUNS, json={}))
    run = (await server.client.get(RUNS)).json()["runs"][0]["run_id"]
    async with visiting(server) as person:
        views = [
            "memories",
            f"memories/{one}",
            f"memories/{one}/forget",
            "memories?q=alert",
            f"runs/{run}",
            "sessions/s1",
        ]
        views += ["questions", "settings"]
        for view in views:
            page = await person.see(view)
            assert "<script>alert" not in page
            assert "<img src=x" not in page
        assert HOSTILE in texts(await person.see(f"memories/{one}"))


async def test_a_person_sees_what_a_dream_did_and_takes_it_back(server: Served):
    await remembered(server, "Ana likes tea.", "Ana  likes tea!")
    await server.client.post(f"{MEMORIES}", json={"content": "Rui rows."})
    run = await server.finished(await server.client.post(RUNS, json={}))
    async with visiting(server) as person:
        assert "Overview" in await person.see()
        page = texts(await person.see(f"runs/{run['run_id']}"))
        assert f"{run['changes']:,} changes" in page
        assert "becomes again what it was" in texts(await person.see(f"runs/{run['run_id']}/undo"))
        (first, *_) = (await server.client.get(f"{RUNS}/{run['run_id']}/changes")).json()["changes"]
        done = await person.do("undo", run=run["run_id"], change=first["number"], back=f"{HOME}runs/{run['run_id']}")
        assert "Taken back" in texts(done.text)
        assert ">taken back<" in done.text
        (newest, *_) = (await server.client.get(RUNS)).json()["runs"]
        await person.do("undo", run=newest["run_id"])
        assert ">taken back<" not in await person.see(f"runs/{run['run_id']}")


async def test_what_retention_removed_for_good_is_counted_everywhere_and_offers_no_undo():
    clock = ManualClock(datetime(2026, 3, 10, 12, tzinfo=UTC))
    options = DreamOptions(retention=RetentionOptions(archived=timedelta(days=1)))
    builder = AgentHostBuilder(None, clock=clock).with_dreaming(options, in_background=False)
    async with served(builder=builder) as server:
        kept = await server.host.memory.remember("Ana likes tea.", importance=0.1)
        await server.host.memory.archive(kept.id, reason="It is over.")
        clock.advance(timedelta(days=2))
        async with visiting(server) as person:
            run = await server.finished(await server.client.post(RUNS, json={"passes": ["retention"]}))
            here = f"runs/{run['run_id']}"
            for view in ("", here):
                assert "0 changes, 1 removed for good" in texts(await person.see(view))
            assert '<th class="number">removed for good</th>' in await person.see("runs")
            page = await person.see(here)
            assert "a backup is the only way back" in texts(page)
            assert "do/undo" not in page
            refused = await person.do("undo", run=run["run_id"], change="1", back=f"{HOME}{here}")
            assert "Nothing was taken back: it was removed for good" in texts(refused.text)


async def test_a_person_edits_pins_confirms_sets_aside_and_brings_back_and_is_named(server: Served):
    (one,) = await remembered(server, "Ana likes tea.")
    async with visiting(server, name="marta") as person:
        fields = {"memory": one, "back": f"{HOME}memories/{one}"}
        said = {"category": "drinks", "tags": "tea, green", "about": "2019..?", "importance": "0.50"}
        for year in (2019, 2017):  # who leaves the time has it follow the text
            tag = re.search(r'name="tag" value="([^"]*)"', await person.see(f"memories/{one}"))
            assert tag is not None
            text = f"Ana likes green tea since {year}."
            edited = await person.do("edit", tag=unescape(tag[1]), text=text, **said, **fields)
            assert "See the run" in texts(edited.text)
            assert (await server.client.get(f"{MEMORIES}/{one}")).json()["subject_time"] == f"{year}..?"
        for action, more in (("pin", {"pinned": "1"}), ("confirm", {}), ("archive", {}), ("restore", {})):
            answer = await person.do(action, **fields, **more)
            assert "See the run" in texts(answer.text)
        memory = (await server.client.get(f"{MEMORIES}/{one}")).json()
        assert (memory["content"], memory["pinned"], memory["trust"]) == (text, True, "confirmed")
        assert (memory["category"], memory["tags"], memory["importance"]) == ("drinks", ["green", "tea"], 0.5)
        assert "marta" in texts(await person.see(f"memories/{one}"))
        for run in (await server.client.get(RUNS)).json()["runs"]:
            await person.do("undo", run=run["run_id"])
        memory = (await server.client.get(f"{MEMORIES}/{one}")).json()
        assert (memory["content"], memory["pinned"], memory["category"]) == ("Ana likes tea.", False, "general")


async def test_an_edit_over_a_newer_version_is_refused_and_the_text_is_kept(server: Served):
    (one,) = await remembered(server, "Ana likes tea.")
    async with visiting(server) as person:
        tag = re.search(r'name="tag" value="([^"]*)"', await person.see(f"memories/{one}"))
        assert tag is not None
        await server.client.patch(f"{MEMORIES}/{one}", json={"content": "Ana likes coffee."})
        late = await person.do("edit", memory=one, text="Ana likes milk.", tag=tag[1].replace("&#34;", '"'))
        assert late.status_code in {409, 412}
        assert all(both in texts(late.text) for both in ("Ana likes milk.", "Ana likes coffee."))
        assert (await server.client.get(f"{MEMORIES}/{one}")).json()["content"] == "Ana likes coffee."


async def test_forgetting_shows_what_goes_and_then_it_is_gone(server: Served):
    (one,) = await remembered(server, "Ana has a scar.")
    async with visiting(server) as person:
        assert "Ana has a scar." in texts(await person.see(f"memories/{one}/forget"))
        await person.do("forget", memory=one, list=f"{HOME}memories", back=f"{HOME}memories")
        assert "scar" not in texts(await person.see("memories"))
        assert (await server.client.get(f"{MEMORIES}/{one}")).status_code == 404


async def test_questions_are_answered_and_an_answer_that_comes_second_is_told_so(server: Served):
    await remembered(server, "Ana is vegetarian.", "Ana is a vegetarian!")
    await server.finished(await server.client.post(RUNS, json={}))
    (asked,) = (await server.client.get("/api/v1/questions")).json()["questions"]
    kept = asked["members"][0]["id"]
    async with visiting(server) as person:
        assert asked["members"][1]["content"] in texts(await person.see("questions"))
        fields = {"question": asked["id"], "how": "keep", "keep": kept, "back": f"{HOME}questions"}
        assert "Answered" in texts((await person.do("answer", **fields)).text)
        assert (await person.do("answer", **fields)).status_code == 409


async def test_a_login_that_ended_does_nothing_and_keeps_what_was_written():
    clock = ManualClock(datetime(2026, 3, 1, tzinfo=UTC))
    async with served(builder=AgentHostBuilder(None, clock=clock)) as server, visiting(server) as person:
        await person.see("memories")
        clock.advance(LOGIN_HOLDS)
        late = await person.client.post(f"{HOME}do/remember", data={"text": "Ana likes milk."})
        assert (late.status_code, "Ana likes milk." in texts(late.text)) == (401, True)
        assert "Your login has ended" in late.text
        assert (await server.client.get(MEMORIES)).json()["memories"] == []


async def test_a_dream_beside_another_is_refused_and_the_one_under_way_is_shown(server: Served):
    now, scope = server.host.clock.now(), Scope.default()
    report = RunReport(run_id="other", scope=scope, kind=RunKind.DREAM, outcome="unchanged", as_of=now, started_at=now)
    await server.host.storage.write(
        scope, lambda unit: dream_stores(unit).runs.open(report, {"passes": ["exact-fold"]})
    )
    async with visiting(server) as person, dream_lease(server.host._parts, scope, DreamOptions().lease):
        refused = await person.do("dream")
        assert (refused.status_code, "other" in refused.text) == (409, True)
        assert "under way" in texts(await person.see("runs"))


async def test_a_form_of_another_page_does_nothing(server: Served):
    async with visiting(server) as person:
        for stamp in ("", "x" * 32):
            form = {"stamp": stamp, "text": "Ana is a spy."}
            answer = await person.client.post(f"{HOME}do/remember", data=form)
            assert answer.status_code == 403
        assert (await server.client.get(MEMORIES)).json()["memories"] == []
        foreign = await person.client.post(f"{HOME}do/remember", data={}, headers={"Origin": "https://evil.example"})
        assert foreign.status_code == 403


async def test_what_a_token_may_not_do_is_neither_offered_nor_done(server: Served):
    (one,) = await remembered(server, "Ana likes tea.")
    async with visiting(server, "read") as reader:
        page = await reader.see(f"memories/{one}")
        assert "/do/" not in page
        for action in ACTIONS:
            answer = await reader.do(action, home=HOME, memory=one) if "/do/" in page else None
            assert answer is None
        stamp = re.search(r'name="stamp" value="([^"]+)"', page)
        assert stamp is not None
        sent = await reader.client.post(f"{HOME}do/archive", data={"stamp": stamp[1], "memory": one})
        assert sent.status_code == 403


async def test_a_users_token_finds_no_trace_of_others(server: Served):
    theirs = await server.client.post(f"{MEMORIES}?scope=acme/agent/ben", json={"content": "Ben has a zebrafish."})
    await server.client.post(f"{MEMORIES}?scope=acme/agent/ana", json={"content": "Ana has a cat."})
    home, other = "/in/acme/agent/ana/", "/in/acme/agent/ben/"
    async with visiting(server, "read", "write", reach="acme/agent/ana") as ana:
        assert "Ana has a cat." in texts(await ana.see("memories", home=home))
        for view in ("", *VIEWS, f"memories/{theirs.json()['id']}"):
            page = await ana.see("" if view == "overview" else view, home=other, status=404)
            assert "ebrafish" not in page
        page = await ana.see(home=home)
        assert "agent/ben" not in page
        assert "Ben has" not in await ana.see("memories?q=zebrafish", home=home)
        await ana.see(f"memories/{theirs.json()['id']}", home=home, status=404)


async def test_an_address_of_nothing_is_told_so(server: Served):
    async with visiting(server) as person:
        for view in ("nothing", "memories/no-such", "runs/no-such", "skills/none", "static/../../etc/passwd"):
            assert "nothing here" in texts(await person.see(view, status=404))


async def test_deciding_without_a_selection_asks_for_one(server: Served):
    async with visiting(server) as person:
        for action in ("approve", "reject"):
            assert "Select something first." in texts((await person.do(action)).text)


async def test_a_dream_that_is_switched_off_says_where_to_switch_it_on(server: Served):
    await server.client.put("/api/v1/switches", json={"dream": False})
    async with visiting(server) as person:
        assert "Settings, Switches" in texts((await person.do("dream")).text)
        assert "They are switched off here" in texts(await person.see("schedule"))


async def test_a_token_without_an_end_holds_until_it_is_revoked(server: Served):
    async with visiting(server) as person:
        assert "it is revoked" in texts(await person.see("settings"))


async def test_forgetting_shows_what_else_says_it_and_takes_along_what_a_person_ticks(server: Served):
    (one,) = await remembered(server, "Lia has a place at Escola da Parada.")
    for said in ("Lia has a place at Escola da Parada!", "I heard that Lia has a place at Escola da Parada."):
        await server.client.post("/api/v1/conversations/s1/turns", json={"role": "user", "content": said})
    async with visiting(server) as person:
        page = await person.see(f"memories/{one}/forget")
        assert "What else says it" in page
        ids = re.findall(r'type="checkbox" name="id" value="([^"]+)"', page)
        assert len(ids) >= 1
        unknown = await server.client.delete(f"{MEMORIES}/{one}?also=none")
        assert (unknown.status_code, unknown.json()["code"]) == (409, "not_confirmed")
        done = await person.do("forget", memory=one, id=ids)
        assert "Forgotten for good: 1 memory, and what" in texts(done.text)
        said = (await server.client.get("/api/v1/conversations/s1/turns")).json()["turns"]
        assert not [turn for turn in said if turn["id"] in ids and "Escola" in turn["content"]]


async def test_what_a_forget_brought_back_is_named_with_a_link_to_it(server: Served):
    both = await remembered(server, "Rui has <b>two</b> boats.", "Rui owns boats.")
    merged = await server.client.post("/api/v1/merges", json={"memories": both, "text": "Rui owns two boats."})
    assert merged.status_code < 300
    listed = (await server.client.get(MEMORIES)).json()["memories"]
    (one,) = [memory["id"] for memory in listed if memory["id"] not in both]
    async with visiting(server) as person:
        done = await person.do("forget", memory=one)
        assert "Forgotten for good: 1 memory, and what 0 turns said of it." in texts(done.text)
        assert "Brought back" in texts(done.text)
        assert "Rui has &lt;b&gt;two&lt;/b&gt; boats." in done.text
        assert all(f'href="{HOME}memories/{back}"' in done.text for back in both)
        assert "Brought back" not in await person.see("memories")


async def test_a_question_shows_what_tells_equal_sentences_apart(server: Served):
    first = await server.host.memory.remember("Ines gave a talk in Coimbra.", subject_time="2019-07", tags=["talk"])
    other = replace(first, id="again", subject_time=SubjectTime.parse("2023-07"), tags=("work",))
    await server.host.storage.write(Scope.default(), lambda unit: unit.entries.add([other]))
    await server.finished(await server.client.post(RUNS, json={}))
    async with visiting(server) as person:
        page = texts(await person.see("questions"))
        for told in ("about 2019-07", "about 2023-07", "general · work", "general · talk", "seen 1 time, last"):
            assert told in page


async def test_a_scope_that_never_held_anything_says_so(server: Served):
    async with visiting(server) as person:
        assert "Nothing was ever stored in the scope a/b/c." in texts(await person.see("memories", home="/in/a/b/c/"))


async def test_changes_and_errors_are_told_in_words_and_what_was_decided_waits_nowhere(server: Served):
    kept = await server.host.memory.remember("Ana keeps bees.", tags=["garden"])
    again = replace(kept, id="again", tags=("noise", "spring"), pinned=True)
    await server.host.storage.write(Scope.default(), lambda unit: unit.entries.add([again]))
    await server.client.patch("/api/v1/options", json={"said": {"modes.exact-fold": "propose"}})
    await server.finished(await server.client.post(RUNS, json={"passes": ["exact-fold"]}))
    async with visiting(server) as person:
        assert "1 proposed, 1 of them for you to decide" in texts(await person.see())
        page = await person.see("review")
        assert all(row in texts(page) for row in ("pinnednoyes", "tagsgardengarden, noise, spring"))
        assert f'memories/{kept.id}" dir="auto">Ana keeps bees.</a>' in page
        assert re.search(r'<ins><time datetime="[^"]+Z">\d{4}-\d\d-\d\d \d\d:\d\d UTC</time></ins>', page)
        (proposal,) = re.findall(r'name="id" value="(\w+)">\s*<button class="main"', page)
        told = texts((await person.do("reject", id=proposal)).text)
        assert "no undo brings it back." in told
        assert "Undo it" not in told
        assert "1 proposed, none of them waits" in texts(await person.see())
        told = texts((await person.do("edit", memory=kept.id, text="Ana keeps bees.", importance="7")).text)
        assert "Importance: it should be less than or equal to 1. Nothing was done." in told
        assert "OpenAPI" not in told
