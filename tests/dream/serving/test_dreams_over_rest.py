"""Hypotheses over REST, under Dense-Mem's names."""

from datetime import timedelta
from typing import Any

import pytest
from served import Served, served

DREAMS = "/api/v1/dreams"
CLAIMS = "/api/v1/claims"
CYCLES = "/api/v1/dreaming/runs"
ACME = "Yes, I asked her. Ana works at Acme."


async def test_dreams_are_listed_page_by_page_and_shown_one_by_one():
    async with served() as server:
        entries = [await server.host.memory.remember(f"Fact {n} about bees.") for n in range(4)]
        made = [
            await server.host.hypotheses.propose(
                f"Guess {n}.", what_if=f"What if {n}?", sources=[f"entry:{entries[0].id}", f"entry:{entries[n].id}"]
            )
            for n in (1, 2, 3)
        ]
        first = (await server.client.get(DREAMS, params={"limit": 2})).json()["data"]
        rest = (await server.client.get(DREAMS, params={"limit": 2, "cursor": first["next_cursor"]})).json()["data"]
        told = [one["dream_id"] for one in (*first["items"], *rest["items"])]
        assert sorted(told) == sorted(one.id for one in made)
        assert rest["next_cursor"] is None
        one = (await server.client.get(f"{DREAMS}/{made[0].id}")).json()["data"]
        assert (one["status"], one["likelihood_level"]) == ("proposed", "medium")
        assert [ref["type"] for ref in one["source_refs"]] == ["fragment", "fragment"]
        assert (await server.client.get("/api/v1/dreaming/status")).json()["data"]["pending_count"] == 3
        gone = await server.client.get(f"{DREAMS}/nothing")
        assert (gone.status_code, gone.json()["detail"]) == (404, "dream not found")
        for wrong, said in (
            ({"cursor": "x"}, "invalid cursor"),
            ({"status": "open"}, "status must be one of"),
            ({"limit": 0}, "limit"),
            ({"limit": 101}, "limit"),
            ({"cursor": first["next_cursor"], "status": "stale"}, "invalid cursor"),
            ({"cursor": first["next_cursor"], "sort": "updated_at"}, "invalid cursor"),
            ({"cursor": first["next_cursor"], "direction": "asc"}, "invalid cursor"),
        ):
            refused = await server.client.get(DREAMS, params=wrong)
            assert (refused.status_code, said in refused.json()["detail"]) == (422, True)


@pytest.mark.parametrize("sort", ["created_at", "updated_at", "last_evaluated_at"])
@pytest.mark.parametrize("direction", ["asc", "desc"])
async def test_dreams_are_ordered_as_asked_and_no_page_repeats_one(sort: str, direction: str):
    async with served() as server:
        made = [await proposed(server, n) for n in range(3)]
        await server.client.post(f"{DREAMS}/{made[0]}/resolve", json={"decision": "stale"})
        told: list[str] = []
        cursor: dict[str, str] | None = {}
        while cursor is not None:
            asked = {"limit": 1, "sort": sort, "direction": direction, **cursor}
            page = (await server.client.get(DREAMS, params=asked)).json()["data"]
            told += [one["dream_id"] for one in page["items"]]
            cursor = {"cursor": page["next_cursor"]} if page["next_cursor"] else None
        assert sorted(told) == sorted(made)
        if sort == "updated_at":
            assert told[0 if direction == "desc" else -1] == made[0]


async def proposed(server: Served, number: int) -> str:
    entries = [await server.host.memory.remember(f"{number} {text}") for text in ("Bees fly.", "Gardens bloom.")]
    refs = [f"entry:{one.id}" for one in entries]
    return (await server.host.hypotheses.propose(f"Guess {number}.", what_if="What if?", sources=refs)).id


async def test_what_a_person_decides_over_rest_passes_the_gates_and_is_carried_out_once():
    async with served() as server:
        dream = await proposed(server, 1)
        body, key = {"decision": "promote_candidate", "feedback": ACME}, {"Idempotency-Key": "one"}
        done = (await server.client.post(f"{DREAMS}/{dream}/resolve", json=body, headers=key)).json()["data"]
        assert (done["dream"]["status"], done["claims"][0]["outcome"]) == ("promoted", "promoted")
        again = await server.client.post(f"{DREAMS}/{dream}/resolve", json=body, headers=key)
        assert again.headers["Idempotency-Replayed"] == "true"
        assert len([one for one in await server.host.memory.list() if one.content == ACME]) == 1
        fact = done["claims"][0]["fact_id"]
        await server.host.hypotheses.propose("Guess.", what_if="Why?", sources=[f"entry:{fact}", f"hypothesis:{dream}"])
        guess = (await server.client.get(DREAMS, params={"status": "proposed"})).json()["data"]["items"][0]
        assert sorted(ref["type"] for ref in guess["source_refs"]) == ["dream", "fact"]
        other = await server.client.post(f"{DREAMS}/{dream}/resolve", json={"decision": "reject"})
        assert (other.status_code, "is promoted" in other.json()["detail"]) == (409, True)
        async with server.client_of("writer", "write") as writer:
            assert (await writer.post(f"{DREAMS}/{dream}/resolve", json=body)).status_code == 403


async def test_a_claim_goes_its_way_over_rest():
    async with served() as server:
        said = await server.host.memory.remember("Ana works at Acme.")
        body = {"subject": "Ana", "predicate": "works_at", "object": "Acme", "source": f"entry:{said.id}"}
        made = await server.client.post(CLAIMS, json=body, headers={"Idempotency-Key": "one"})
        again = await server.client.post(CLAIMS, json=body, headers={"Idempotency-Key": "one"})
        assert (made.status_code, again.json()) == (201, made.json())
        claim = f"{CLAIMS}/{made.json()['claim']['id']}"
        early = (await server.client.post(f"{claim}/promote", json={})).json()
        assert (early["outcome"], early["fact_id"]) == ("not_validated", None)
        assert (await server.client.post(f"{claim}/verify")).json()["claim"]["entailment"] == "entailed"
        gate = (await server.client.post(f"{claim}/promote", json={"why": "She said so."})).json()
        assert (gate["outcome"], gate["claim"]["state"]) == ("promoted", "promoted")
        listed = (await server.client.get(CLAIMS, params={"state": "promoted"})).json()["claims"]
        assert [one["fact"] for one in listed] == [gate["fact_id"]]
        refused = await server.client.post(f"{claim}/reject", json={})
        assert (refused.status_code, "is promoted" in refused.json()["detail"]) == (409, True)


def ran(run: dict[str, Any]) -> list[str]:
    return [one["name"] for one in run["passes"] if one["outcome"] != "skipped"]


async def test_a_cycle_over_rest_runs_its_three_phases_and_no_other_pass():
    async with served() as server:
        earlier = server.host.clock.now() - timedelta(days=9)
        await server.host.memory.remember("Ana sold her beehives in Porto", occurred_at=earlier)
        for text in ("The flat in Porto has no garden for beehives", "Rui plays chess on Sundays"):
            await server.host.memory.remember(text)
        begun = await server.client.post(CYCLES, json={"max_outputs": 1})
        run = await server.finished(begun)
        assert ran(run) == ["reflect", "re-evaluate", "hypotheses"]
        (cycle,) = (await server.client.get(CYCLES)).json()["data"]
        assert (cycle["run_id"], cycle["status"], cycle["created_dreams"]) == (run["run_id"], "completed", 1)
        asked = {"query": "beehives in Porto", "related_dreams": 3}
        found = (await server.client.get("/api/v1/memories/search", params=asked)).json()
        (dream,) = found["related_dreams"]
        assert dream["dream_id"] not in {one["entry"]["id"] for one in found["hits"]}
        shown = (await server.client.get(f"{DREAMS}/{dream['dream_id']}")).json()["data"]
        assert dream["cycle_run_id"] == shown["cycle_run_id"] == run["run_id"]
        run = await server.finished(await server.client.post(CYCLES, json={"dream_enabled": False}))
        assert ran(run) == ["reflect", "re-evaluate"]
