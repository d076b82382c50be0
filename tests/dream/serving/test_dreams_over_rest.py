"""Hypotheses over REST, under Dense-Mem's names."""

from served import served

DREAMS = "/api/v1/dreams"


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
        assert (await server.client.get("/api/v1/dreaming/status")).json()["pending_count"] == 3
        gone = await server.client.get(f"{DREAMS}/nothing")
        assert (gone.status_code, gone.json()["detail"]) == (404, "dream not found")
        for wrong, said in (
            ({"cursor": "x"}, "invalid cursor"),
            ({"status": "open"}, "status must be one of"),
            ({"cursor": first["next_cursor"], "status": "stale"}, "invalid cursor"),
        ):
            refused = await server.client.get(DREAMS, params=wrong)
            assert (refused.status_code, said in refused.json()["detail"]) == (422, True)
