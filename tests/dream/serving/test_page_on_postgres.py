"""What the page shows, and what its routes count and keep, is the same on both databases."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from served import MEMORIES, RUNS, Served, served
from visiting import texts, visiting

from agentcore import AgentHostBuilder
from agentcore.domain import FeedbackKind, Scope
from agentcore.testing import ManualClock
from agentcore.testing.ids import SequentialIds
from dream.interfaces.page.views import VIEWS
from dream.options import DailyAt, DreamOptions, SchedulingOptions

_ROUTES = (
    "growth",
    "schedule/timeline",
    "options/edits",
    "usage?by=day",
    "runs",
    "proposals",
    "tokens",
    "status",
    "card",
)


async def _shown(folder: Path, database: str | None) -> dict[str, Any]:
    """Live three days, and return what every view and route tells of them."""
    clock = ManualClock(datetime(2026, 3, 10, 1, tzinfo=UTC))
    options = DreamOptions(
        modes={"exact-fold": "propose"}, schedule=SchedulingOptions(trigger=DailyAt(at="03:00", timezone="UTC"))
    )
    builder = AgentHostBuilder(folder, database=database, clock=clock, ids=SequentialIds()).with_dreaming(options)
    async with served(builder=builder) as server:
        await _lived(server, clock)
        async with visiting(server, name="marta") as person:
            ids = [one["id"] for one in (await server.client.get(MEMORIES)).json()["memories"]]
            runs = [one["run_id"] for one in (await server.client.get(RUNS)).json()["runs"]]
            views = ["" if one == "overview" else one for one in VIEWS]
            views += [f"memories/{one}" for one in ids[:3]] + [f"runs/{one}" for one in runs]
            views += ["overview/plots", "skills/boats", "sessions/s1", "memories?q=boat", "directives/dream"]
            told: dict[str, Any] = {view: texts(await person.see(view)) for view in views}
            told["late"] = texts(
                (await person.do("reject", id=(await server.host.dreams.proposals())[0].proposal_id)).text
            )
        for route in _ROUTES:
            told[route] = (await server.client.get(f"/api/v1/{route}")).json()
        return told


async def _lived(server: Served, clock: ManualClock) -> None:
    for day in range(3):
        kept = await server.host.memory.remember_many(f"Boat {one} is blue on day {day}." for one in range(4))
        again = [replace(one, id=f"again-{day}-{place}") for place, one in enumerate(kept)]
        await server.host.storage.write(Scope.default(), lambda unit, again=again: unit.entries.add(again))
        await server.host.conversation.append(session_id="s1", role="user", content=f"On day {day} I sailed.")
        await server.host.dreams.run()
        clock.advance(timedelta(days=1))
    await server.host.skills.save("boats", summary="Sail", content="Hoist the sail.")
    await server.host.skills.use("boats", session_id="s1")
    await server.host.feedback.append(session_id="s1", kind=FeedbackKind.CORRECTION, summary="Not so.")
    await server.client.patch("/api/v1/options", json={"said": {"alarm_after": 5, "lease": "90s"}})
    await server.client.put("/api/v1/directives/dream", json={"text": "Keep every boat."})
    assert (await server.client.post("/api/v1/options/edits/1/undo")).status_code == 200
    waiting = [one.proposal_id for one in await server.host.dreams.proposals()]
    await server.client.post("/api/v1/proposals/approve", json={"proposals": waiting[:2]})
    refused = await server.client.post("/api/v1/proposals/approve", json={"proposals": waiting[:1]})
    assert "token:everything decided it" in refused.json()["detail"]


async def test_three_days_look_the_same_on_both_databases(postgres_url: str, tmp_path: Path):
    here, there = await _shown(tmp_path / "a", None), await _shown(tmp_path / "b", postgres_url)
    assert here["growth"]["days"] != []
    assert here["schedule/timeline"]["past"] != []
    for view, told in here.items():
        assert there[view] == told, view
