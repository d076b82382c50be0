"""The ledger of the passes that look at all skills: unchanged input is skipped, and nothing else is."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from dreaming import World
from skilled import LONG, NOTHING, Library, Reply
from sqlalchemy import delete

from agentcore.llm import ChatRequestRefusedError, Completion, FinishReason, Usage
from agentcore.stores.sql.schema import pass_ledger, settled_clusters
from dream.domain import PassReport, Skip
from dream.passes.skills.consolidation import SkillConsolidation
from dream.passes.skills.optimization import SkillOptimization

CUT_OFF = Completion(
    text='{"toSave": []}',
    finish_reason=FinishReason.LENGTH,
    usage=Usage(input_tokens=100_000, output_tokens=1),
    model="scripted",
)


@pytest.fixture
async def library(world: World) -> Library:
    """Two skills that belong together, and that were used where something went wrong."""
    library = Library(world)
    for name in ("mail/send", "mail/read"):
        await library.skill(name)
        await library.used(name, "s1")
    await library.feedback("s1")
    return library


@pytest.fixture(params=[SkillConsolidation, SkillOptimization], ids=lambda one: one.name)
def review(request: pytest.FixtureRequest, library: Library) -> Callable[..., Any]:
    """Run the pass, in a process of its own as far as it can tell."""

    async def run(reply: Reply = NOTHING) -> PassReport:
        return await library.run(request.param(), reply)

    return run


async def test_unchanged_input_is_skipped_and_statistics_change_nothing(library: Library, review: Callable[..., Any]):
    assert (await review()).calls == 1
    await library.pass_time(hours=1)
    await library.used("mail/send", "s2", "s3", at=library.now)
    await _change(library, "mail/send", last_used_at=library.now)
    again = await review()
    assert (again.reason, again.calls) == (Skip.NO_WORK, 0)
    await _change(library, "mail/send", content=LONG + "4. Tell Ana.")
    assert (await review()).calls == 1


async def test_nothing_is_skipped_for_longer_than_a_week(library: Library):
    """A pass over all skills; optimization looks at each failure once, however long ago."""
    await library.consolidate()
    await library.pass_time(days=7, seconds=-1)
    assert (await library.consolidate()).calls == 0
    await library.pass_time(seconds=1)
    assert [(await library.consolidate()).calls for _ in range(2)] == [1, 0]


async def test_a_lost_ledger_runs_everything_once(library: Library, review: Callable[..., Any]):
    await review()

    def lose(unit: Any) -> None:
        for table in (settled_clusters, pass_ledger):
            unit.transaction.connection.execute(delete(table))

    await library.world.write(lose)
    shown = (await review()).calls, [library.prompts[0].count(f'name="mail/{name}"') for name in ("send", "read")]
    assert shown == (1, [1, 1])
    assert (await review()).calls == 0


@pytest.mark.parametrize(
    "reply",
    [ChatRequestRefusedError(model="m", status=400, code=""), "no JSON", {"skills": []}, CUT_OFF],
    ids=["refused", "unreadable", "another shape", "cut off"],
)
async def test_only_a_usable_answer_is_recorded(review: Callable[..., Any], reply: Any):
    assert (await review(reply)).refused
    assert (await review()).calls == 1
    assert (await review()).calls == 0


async def _change(library: Library, name: str, **fields: Any) -> None:
    skill = await library.named(name)
    assert skill is not None
    await library.world.write(lambda unit: unit.skills.replace(skill, replace(skill, **fields)))
