"""What a changed directive costs: never less than what is done, and nothing where nothing was reviewed."""

from dataclasses import replace

from dreaming import World
from hypothesis import given, strategies as st

from agentcore.llm import estimate_tokens
from agentcore.stores import UnitOfWork
from dream.cycle import REVIEWER, DirectiveForecast, directive_forecast, read_directive_forecast
from dream.directives import KNOWN, DirectiveLibrary
from dream.domain import Outcome, RunReport
from dream.options import ConsolidationOptions, DreamOptions
from dream.stores import dream_stores

TEXTS = DirectiveLibrary(None, {}).read(KNOWN)


async def reviewed(world: World, *, reopened: tuple[str, ...] = ()) -> None:
    def work(unit: UnitOfWork) -> None:
        dream_stores(unit).cursors.move(REVIEWER, unit.entries.last_position())
        dream_stores(unit).cursors.reopen(REVIEWER, reopened)

    await world.storage.write(world.scope, work)


async def sent(world: World, **hashes: str) -> None:
    """Keep a run that sent directives of these hashes."""
    now = world.clock.now()
    report = RunReport(
        run_id=world.ids.new(),
        scope=world.scope,
        outcome=Outcome.COMPLETED,
        as_of=now,
        started_at=now,
        finished_at=now,
        directives={name.replace("_", "-"): value for name, value in hashes.items()},
    )

    def work(unit: UnitOfWork) -> None:
        dream_stores(unit).runs.open(report, {})
        dream_stores(unit).runs.close(report)

    await world.storage.write(world.scope, work)


async def read(world: World, **changed: str) -> DirectiveForecast:
    texts = {name: replace(one, text=changed.get(name, one.text)) for name, one in TEXTS.items()}
    return await world.storage.read(world.scope, lambda view: read_directive_forecast(view, texts, world.options))


async def test_what_no_run_has_reviewed_costs_nothing_more(world: World):
    await world.add("Ana likes tea", "Ben likes cake")
    assert await read(world) == DirectiveForecast(entries=0)


async def test_only_what_was_reviewed_and_still_is_active_counts(world: World):
    first, _, _, last = await world.add("Ana", "Ben", "Cem", "Dana")
    await world.memory.forget(last.id)
    await reviewed(world, reopened=(first.id,))
    await world.add("Eva")
    assert (await read(world)).entries == 2


async def test_a_longer_directive_costs_more_with_each_call_and_another_passes_nothing(world: World):
    await world.add(*(f"Ana's cup number {number} is blue" for number in range(100)))
    await reviewed(world)
    plain = await read(world)
    assert plain.calls > 1
    longer = await read(world, dream=TEXTS["dream"].text + "x" * 4_000)
    assert longer.tokens == plain.tokens + 1_000 * plain.calls
    assert await read(world, **{"memory-mining": "x" * 4_000}) == plain


async def test_it_names_what_is_not_as_it_was_last_sent(world: World):
    await world.add("Ana likes tea")
    await reviewed(world)
    assert (await read(world)).changed == ()
    await sent(world, memory_rules="0" * 32, dream=TEXTS["dream"].hash)
    assert (await read(world)).changed == ("memory-rules",)
    await sent(world, memory_rules=TEXTS["memory-rules"].hash)
    assert (await read(world)).changed == ()
    assert (await read(world, dream="Merge nothing.")).changed == ("dream",)
    assert (await read(world, **{"memory-mining": "Mine."})).changed == ()


@given(st.integers(1, 5_000), st.integers(1, 200), st.integers(0, 5_000), st.integers(2, 100), st.integers(0, 10))
def test_it_is_enough_for_every_entry_once_and_grows_with_each_figure(
    entries: int, text: int, share: int, batch: int, neighbours: int
):
    options = DreamOptions(consolidation=ConsolidationOptions(batch_entries=batch, neighbours=neighbours))
    found = directive_forecast(entries=entries, text=text, share=share, options=options)
    assert found.calls * batch >= entries
    assert found.runs * options.consolidation.max_entries >= entries
    assert found.tokens >= found.calls * share + 2 * entries * text
    more = directive_forecast(entries=entries + 1, text=text + 1, share=share + 1, options=options)
    assert more.tokens > found.tokens


def test_the_share_of_the_directives_is_about_what_the_page_says():
    assert 1_400 < sum(estimate_tokens(TEXTS[name].text) for name in ("memory-rules", "dream")) < 2_000
