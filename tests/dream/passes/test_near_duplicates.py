from typing import Any

import pytest
from dreaming import DAY, NOW, World, of_pass

from agentcore.domain import Status
from agentcore.domain.records import RecordKind
from dream.domain import Outcome, PassOutcome, PassReport
from dream.options import DreamOptions, NearDuplicateOptions

SEARCH = "near-duplicates"
TEA = "Ana drinks green tea from Kyoto every morning before work"
ALSO_TEA = "Every morning before work Ana drinks green tea from Osaka"
RYE = "Ben bakes dark rye bread with caraway on quiet Sundays"
ALSO_RYE = "On quiet Sundays Ben bakes dark rye bread with fennel"
CHESS = "Cem plays correspondence chess against a retired sailor"


def bounded(**fields: Any) -> DreamOptions:
    return DreamOptions(near_duplicates=NearDuplicateOptions(**fields))


async def search(world: World) -> PassReport:
    return of_pass(await world.dreams.run(passes=[SEARCH]), SEARCH)


async def clusters(world: World) -> list[list[str]]:
    return [cluster["entries"] for cluster in (await search(world)).notes["clusters"]]


async def test_entries_that_share_most_of_their_rare_words_are_listed_together(world: World):
    tea, rye, also_tea, _ = await world.add(TEA, RYE, ALSO_TEA, CHESS)
    found = (await search(world)).notes["clusters"]
    assert [cluster["entries"] for cluster in found] == [sorted([tea.id, also_tea.id])]
    assert 0.5 <= found[0]["similarity"] < 1.0
    assert rye.is_active


async def test_it_never_merges_however_alike_two_entries_are(world: World):
    await world.add(TEA, f"{TEA} today", RYE, ALSO_RYE)
    before = await world.entries()
    report = await world.dreams.run(passes=[SEARCH])
    assert (report.changes, report.outcome) == (0, Outcome.COMPLETED)
    assert of_pass(report, SEARCH).outcome is PassOutcome.UNCHANGED
    assert await world.entries() == before
    assert {row.kind for row in await world.journal()} == {RecordKind.QUESTION}


async def test_a_contradiction_is_a_candidate_like_a_paraphrase(world: World):
    yes, no = await world.add("Ana is allergic to peanuts and walnuts", "Ana is not allergic to peanuts and walnuts")
    await world.add(RYE, CHESS)
    assert await clusters(world) == [sorted([yes.id, no.id])]


async def test_equal_texts_in_two_categories_are_asked_about_and_one_category_makes_no_texts_alike(world: World):
    text, category = "Ana keeps receipts as PDF.", "tools-and-files/office/scanner"
    one, other = (*await world.add(text, category=category), *await world.add(text, category="money-and-invoices/tax"))
    await world.add("Rui rows.", "Eva sings.", category=category)
    found = (await search(world)).notes["clusters"]
    assert found == [{"entries": sorted([one.id, other.id]), "similarity": 1.0}]
    assert [one.question.similarity for one in await world.dreams.desk.questions()] == [1.0]


async def test_pairs_that_share_a_member_form_one_cluster(world: World):
    alpha, bravo, charlie = (" ".join(f"{name}{n}" for n in range(4)) for name in ("alpha", "bravo", "charlie"))
    world.options = bounded(threshold=0.2)
    first, middle, last, _ = await world.add(f"{alpha} {bravo}", f"{bravo} {charlie}", f"{charlie} delta", CHESS)
    assert await clusters(world) == [sorted([first.id, middle.id, last.id])]


async def test_the_most_alike_cluster_comes_first(world: World):
    rye, also_rye, tea, very_tea = await world.add(RYE, ALSO_RYE, TEA, f"{TEA} early")
    assert await clusters(world) == [sorted([tea.id, very_tea.id]), sorted([rye.id, also_rye.id])]


@pytest.mark.parametrize(("threshold", "expected"), [(0.95, 0), (0.5, 1)])
async def test_the_threshold_bites_both_ways(world: World, threshold: float, expected: int):
    world.options = bounded(threshold=threshold)
    await world.add(TEA, ALSO_TEA, RYE, CHESS)
    assert len(await clusters(world)) == expected


async def test_retired_entries_are_no_candidates(world: World):
    await world.add(TEA, RYE, CHESS)
    await world.add(ALSO_TEA, status=Status.ARCHIVED, status_reason="set aside", status_at=NOW)
    assert await clusters(world) == []


async def test_a_new_entry_is_compared_with_those_seen_before(world: World):
    (tea, _) = await world.add(TEA, CHESS)
    await search(world)
    (also_tea,) = await world.add(ALSO_TEA)
    done = await search(world)
    assert done.looked_at == 1
    assert [cluster["entries"] for cluster in done.notes["clusters"]] == [sorted([tea.id, also_tea.id])]


async def test_an_edited_entry_is_compared_again(world: World):
    tea, other, _ = await world.add(TEA, CHESS, RYE)
    await search(world)
    await world.change(other, content=ALSO_TEA)
    assert await clusters(world) == [sorted([tea.id, other.id])]


async def test_with_nothing_new_it_has_no_work(world: World):
    await world.add(TEA, ALSO_TEA)
    await search(world)
    done = await search(world)
    assert (done.reason, done.looked_at, done.backlog) == ("no_work", 0, 0)


async def test_a_run_looks_at_so_many_entries_and_leaves_the_rest_as_backlog(world: World):
    world.options = bounded(max_entries=4)
    await world.add(*(f"Fact number {number} about place{number}" for number in range(10)))
    seen = [await search(world) for _ in range(4)]
    assert [(done.looked_at, done.backlog) for done in seen] == [(4, 6), (4, 2), (2, 0), (0, 0)]


async def test_the_bound_holds_across_the_steps_of_a_run(world: World):
    world.options = bounded(max_entries=260)
    await world.add(*(f"place{number} street{number} town{number}" for number in range(600)))
    done = await search(world)
    assert (done.looked_at, done.backlog) == (260, 340)


async def test_the_status_tells_the_backlog(world: World):
    world.options = bounded(max_entries=4)
    await world.add(*(f"Fact number {number} about place{number}" for number in range(10)))
    await world.dreams.run()
    assert (await world.dreams.status()).backlog == {SEARCH: 6}


async def test_every_entry_is_looked_at_once_and_every_pair_is_found_however_small_the_bound(world: World):
    whole = world.elsewhere()
    texts = [f"{one} number{number}" for number in range(4) for one in (TEA, RYE)]
    for one in (world, whole):
        await one.add(*(one.entry(text, id=f"e{place}") for place, text in enumerate(texts)))
    world.options = bounded(max_entries=3)
    found: set[tuple[str, ...]] = set()
    for _ in range(3):
        found.update(tuple(cluster) for cluster in await clusters(world))
    assert {frozenset(cluster) for cluster in found} >= {frozenset(cluster) for cluster in await clusters(whole)}
    assert (await search(world)).reason == "no_work"


async def test_what_an_undo_brought_back_is_looked_at_again(world: World):
    await world.add("Ana likes tea", "Ana likes tea", CHESS)
    run = await world.dreams.run()
    await world.dreams.undo(run.run_id)
    done = await search(world)
    assert done.looked_at == 3
    assert len(done.notes["clusters"]) == 1


async def test_a_fold_taken_back_alone_is_looked_at_again_too(world: World):
    tea, copy, _ = await world.add("Ana likes tea", "Ana likes tea", CHESS)
    run = await world.dreams.run()
    await world.dreams.undo(run.run_id, change=1)
    assert await clusters(world) == [sorted([tea.id, copy.id])]


async def test_an_undo_of_the_fold_after_a_later_run_reopens_what_it_brought_back(world: World):
    tea, copy, _ = await world.add("Ana likes tea", "Ana likes tea", CHESS)
    run = await world.dreams.run()
    await world.add(RYE, created_at=NOW + DAY)
    await world.dreams.run()
    await world.dreams.undo(run.run_id)
    done = await search(world)
    assert done.looked_at == 2
    assert [cluster["entries"] for cluster in done.notes["clusters"]] == [sorted([tea.id, copy.id])]
